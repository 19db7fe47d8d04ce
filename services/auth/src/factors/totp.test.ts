/** Codes of authenticator apps, by the test vectors of RFC 6238, appendix B (SHA-1; the last six of their eight digits). */
import { expect, test } from '@jest/globals';
import { newTotpSecret, stepOf } from './totp.ts';

// "12345678901234567890" in Base32.
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1234567890, '005924'],
  [2000000000, '279037'],
])('the code for second %i is valid in its own time step and in the two beside it', (seconds, code) => {
  const step = Math.floor(seconds / 30);
  expect(stepOf(secret, code, seconds * 1000)).toBe(step);
  expect(stepOf(secret, `${code.slice(0, 3)} ${code.slice(3)}`, (seconds + 30) * 1000)).toBe(step);
  expect(stepOf(secret, code, (seconds - 30) * 1000)).toBe(step);
  expect(stepOf(secret, code, (seconds + 61) * 1000)).toBeUndefined();
});

test.each(['', '28708', '2870822', 'abcdef', '２８７０８２'])('%j is not a valid TOTP code', (code) => {
  expect(stepOf(secret, code, 59_000)).toBeUndefined();
});

test('a TOTP key has 160 random bits', () => {
  expect(newTotpSecret()).toMatch(/^[A-Z2-7]{32}$/);
  expect(newTotpSecret()).not.toBe(newTotpSecret());
});
