/** Names of accounts, repositories and subjects, as clients send them. */
import { z } from 'zod';
import { notFound } from '../http/errors.ts';

const allowed = 'must be letters, digits, `.`, `_` and `-`';

export const loginSchema = z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/, allowed);

/** Excludes `.` and `..`, which could not appear in a path. */
export const repositoryNameSchema = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/, allowed);

// Anything that the gate may put into `sub` or `client_id`, except what PostgreSQL or a log cannot hold.
const identifier = /^[^\p{Cc}\p{Cs}]{1,256}$/u;

/** Whether it may be a subject or client id. */
export const isIdentifier = (value: unknown): value is string => typeof value === 'string' && identifier.test(value);

/** A subject or client id in a body. */
export const identifierSchema = z
  .string()
  .regex(identifier, 'must be 1 to 256 characters, none of them a control character');

/** A subject or client id in a path. */
export function identifierIn(params: Record<string, string>, name: string): string {
  const value = params[name] ?? '';
  if (!identifier.test(value)) throw notFound();
  return value;
}
