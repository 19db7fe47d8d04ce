/**
 * Parses what somebody typed to identify themselves. Its form alone decides what it is, and no two kinds share a form: nobody’s
 * username can be another person’s email address or phone number.
 */
import { emailForm } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';

export type Identifier = { kind: 'email' | 'phone' | 'username'; value: string };

/**
 * The identifier as it is stored: addresses and usernames in lower case, numbers in E.164. Undefined if it is none of these. Reading
 * a username is more lenient than choosing one, so that usernames older than the rules still work.
 */
export function parseIdentifier(typed: unknown): Identifier | undefined {
  if (typeof typed !== 'string') return undefined;
  const text = typed.trim();
  if (text.length === 0 || text.length > 320 || /[\p{Cc}\p{Cs}]/u.test(text)) return undefined;
  if (isEmail(text)) return { kind: 'email', value: text.toLowerCase() };
  const digits = withoutSeparators(text);
  if (e164.test(digits)) return { kind: 'phone', value: digits };
  if (/^[^\s@]{1,128}$/.test(text)) return { kind: 'username', value: text.toLowerCase() };
  return undefined;
}

const e164 = /^\+[1-9]\d{6,14}$/;

/** For programs, which give a number as it is stored. */
export const phoneNumber = z.string().regex(e164, 'Not a phone number such as +15555550100');

export function isEmail(text: string): boolean {
  return text.length <= 320 && emailForm.test(text);
}

const lengthDefault = { min: 1, max: 15 };
const lengthBounds = { min: 1, max: 128 };

/**
 * A new username as it is stored, or what is wrong with it. Auth0’s alphabet without `@`, and Auth0’s lengths: 1 to 15, or as set by
 * the connection’s `options.validation.username` (up to 128). Never digits that could be a phone number.
 */
export function parseUsername(
  given: string,
  connection: { options: unknown },
): { username: string } | { problem: string } {
  const username = given.trim().toLowerCase();
  const { min, max } = usernameLength(connection.options);
  if (username.length < min || username.length > max)
    return { problem: `a username has between ${min} and ${max} characters` };
  if (!/^[a-z0-9_+\-.!#$'^`~]+$/.test(username))
    return { problem: "a username consists of letters, digits and _ + - . ! # $ ' ^ ` ~" };
  if (/^\+?\d{7,15}$/.test(withoutSeparators(username)))
    return { problem: 'a username must not be a telephone number' };
  return { username };
}

/** The lengths from a connection’s options, in Auth0’s form. */
function usernameLength(options: unknown): { min: number; max: number } {
  const { min, max } =
    (options as { validation?: { username?: { min?: unknown; max?: unknown } } } | null)?.validation?.username ?? {};
  const within = (value: unknown, otherwise: number) =>
    Number.isInteger(value) ? Math.min(Math.max(value as number, lengthBounds.min), lengthBounds.max) : otherwise;
  return { min: within(min, lengthDefault.min), max: within(max, lengthDefault.max) };
}

function withoutSeparators(text: string): string {
  return text.replace(/[\s().-]/g, '');
}
