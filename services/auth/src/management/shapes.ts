/** Values that several resources use, with their rules. */
import { isUnpadded } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';

export const shortText = z.string().trim().min(1).max(256);
export const seconds = z.number().int().min(1).max(157_788_000);

/** Schemes that execute or display the content of the URL itself; no application can be reached through them. */
const dangerous = /^(?:javascript|data|vbscript|file|blob|about):/i;

/** A redirect target: absolute, without a fragment (RFC 6749 3.1.2); also with an application’s own scheme. */
export const allowedUri = z
  .string()
  .max(1_024)
  .refine(
    (value) => isUnpadded(value) && URL.canParse(value) && !dangerous.test(value),
    'Not the absolute URI of an application, such as https://app.example.com/callback',
  )
  .refine((value) => !value.includes('#'), 'A URI must not have a fragment')
  .refine((value) => !value.includes('*'), 'Wildcards are not supported: a URI is compared as it is');

/** Null or empty means none. */
export const cleared = <T extends z.ZodType>(shape: T) =>
  z.union([shape, z.literal(''), z.null()]).transform((value) => (value === '' ? null : value));

/** As a browser sends it: scheme, host and port. */
export const origin = z
  .string()
  .max(1_024)
  .refine(
    (value) => /^https?:/.test(value) && URL.parse(value)?.origin === value,
    'Not an origin such as https://app.example.com',
  );

/** A scope token of RFC 6749 3.3. */
export const scope = z
  .string()
  .max(280)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'Not a scope such as read:things, which has no spaces');
