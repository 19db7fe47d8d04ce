import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { makeSeal } from './seal.ts';

const seal = makeSeal(randomBytes(32));

test('sealed text opens to the same text', () => {
  expect(seal.open(seal.seal('gehëim ✓', 'hook secret'), 'hook secret')).toBe('gehëim ✓');
});

test('the same text is never sealed to the same bytes', () => {
  expect(seal.seal('a', 'p').equals(seal.seal('a', 'p'))).toBe(false);
});

test('sealed text does not open with changed bytes, another purpose or another key', () => {
  const sealed = seal.seal('secret', 'hook secret');
  const changed = Buffer.from(sealed);
  changed[changed.length - 1]! ^= 1;
  expect(() => seal.open(changed, 'hook secret')).toThrow();
  expect(() => seal.open(sealed, 'signing key')).toThrow();
  expect(() => makeSeal(randomBytes(32)).open(sealed, 'hook secret')).toThrow();
  expect(() => seal.open(Buffer.from([9, 1, 2]), 'hook secret')).toThrow('version 9');
});
