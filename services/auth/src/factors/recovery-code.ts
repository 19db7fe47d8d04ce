/**
 * Recovery codes: ten per person, each good for one sign-in. Each has 80 random bits, so a plain hash is enough and guesses need no
 * limit.
 */
import { createHash, randomBytes } from 'node:crypto';

const recoveryCodesCount = 10;

/** What all of a person's codes are called where they are listed with the factors. */
export const recoveryCodesId = 'recovery-code|dev_codes';

/** Crockford's alphabet without look-alikes: a typed O is read as 0, an I or L as 1. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export const newRecoveryCodes = (): string[] => Array.from({ length: recoveryCodesCount }, newRecoveryCode);

function newRecoveryCode(): string {
  const text = [...randomBytes(16)].map((byte) => alphabet[byte % 32]).join('');
  return text.replace(/.{4}(?=.)/g, '$&-');
}

export function hashRecoveryCode(typed: string): string {
  const text = typed
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
  return createHash('sha256').update(text).digest('base64url');
}
