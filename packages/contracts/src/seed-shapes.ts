/** The shapes of values in a seed file. */
import { z } from 'zod';

export const name = z.string().trim().min(1).max(256);
export const scopeToken = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: printable ASCII without space, quote or backslash');
/** URL parsers drop spaces around an address and line breaks within it, so it would be stored but, compared literally, match nothing. */
export const isUnpadded = (value: string): boolean => value === value.trim() && !/[\t\r\n]/.test(value);
export const uri = z
  .string()
  .refine((value) => URL.canParse(value) && isUnpadded(value), 'must be an absolute URI, without spaces around it');
export const origin = z
  .string()
  .refine(
    (value) => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin, such as https://app.example.com',
  );
/** Enough to catch a typo; only sending mail tells whether an address exists. */
export const emailForm = /^[^\s\p{Cc}@<>"(),;:\\[\]]+@[^\s\p{Cc}@.<>"(),;:\\[\]]+(?:\.[^\s\p{Cc}@.<>"(),;:\\[\]]+)*$/u;
/** As people may type it at sign-up: whoever has signed up can also be written by a program or a file. */
export const emailAddress = z.email({ pattern: emailForm }).max(320);
export const seconds = z.number().int().positive();
export const text = z.string().max(300);

/** The gate's signing algorithms. */
export const signingAlgs = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
