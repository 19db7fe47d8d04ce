/** Signatures of cookies: keygrip's, whose cookies people still have. */
import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { makeCookieKeys } from './cookie-keys.ts';

const secret = randomBytes(32);
const keys = makeCookieKeys(secret);

test('a cookie signature is the one that keygrip makes with its defaults', () => {
  const cookie = '_session=some-id';
  const keygrips = createHmac('sha1', secret.toString('base64url'))
    .update(cookie)
    .digest('base64')
    .replace(/\/|\+|=/g, (sign) => ({ '/': '_', '+': '-', '=': '' })[sign]!);
  expect(keys.sign(cookie)).toBe(keygrips);
});

test.each([
  ['another cookie', '_session=other-id', keys.sign('_session=some-id')],
  ['another key', '_session=some-id', makeCookieKeys(randomBytes(32)).sign('_session=some-id')],
  ['nothing', '_session=some-id', ''],
  ['a part of it', '_session=some-id', keys.sign('_session=some-id').slice(0, -1)],
  ['more than it', '_session=some-id', `${keys.sign('_session=some-id')}A`],
  ['as many characters, but more bytes', '_session=some-id', 'é'.repeat(27)],
])('a signature over %s is not valid', (_what, cookie, signature) => {
  expect([keys.verify(cookie, signature), keys.index(cookie, signature)]).toEqual([false, -1]);
});

test('a cookie’s own signature is valid', () => {
  const signature = keys.sign('_session=some-id');
  expect([keys.verify('_session=some-id', signature), keys.index('_session=some-id', signature)]).toEqual([true, 0]);
});

test('while the cookie secret is being rotated, both secrets verify and the first one signs', () => {
  const [after, before] = [randomBytes(32), secret];
  const both = makeCookieKeys(after, before);
  expect(both.verify('_session=some-id', keys.sign('_session=some-id'))).toBe(true);
  expect(both.sign('_session=some-id')).toBe(makeCookieKeys(after).sign('_session=some-id'));
  expect(both.verify('_session=some-id', makeCookieKeys(randomBytes(32)).sign('_session=some-id'))).toBe(false);
});
