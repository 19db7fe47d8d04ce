import { z } from '@gatepost/runtime/env';

/** URL parsers drop spaces around an address and line breaks within it, so it would be stored but match nothing. */
export const isUnpadded = (value: string): boolean => value === value.trim() && !/[\t\r\n]/.test(value);

export const httpUri = z
  .string()
  .max(1_024)
  .refine(
    (value) => isUnpadded(value) && /^https?:$/.test(URL.parse(value)?.protocol ?? ''),
    'Not an http or https URI',
  );
