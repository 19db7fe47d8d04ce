import { isUnpadded } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';

export const httpUri = z
  .string()
  .max(1_024)
  .refine(
    (value) => isUnpadded(value) && /^https?:$/.test(URL.parse(value)?.protocol ?? ''),
    'Not an http or https URI',
  );
