import { openLog } from '@gatepost/runtime/log';
import { type Issuer, openIssuer } from '@gatepost/testkit/tokens';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openKeys } from '../../src/access/keys.ts';
import { makeTokenCheck } from '../../src/access/token.ts';

const audience = 'http://localhost:4500/';
const log = openLog('webhook-api', 'silent', { write() {} });
let issuer: Issuer;

beforeAll(async () => {
  issuer = await openIssuer();
});
afterAll(async () => await issuer?.[Symbol.asyncDispose]());

function openCheck({
  refreshMs = 3_600_000,
  ...options
}: {
  refreshMs?: number;
  now?: () => number;
  max?: number;
} = {}) {
  const keys = openKeys({ url: new URL(issuer.jwksUrl), log, refreshMs });
  let checked = 0;
  const counted = {
    lastRead: keys.lastRead,
    get: ((...asked) => {
      checked += 1;
      return keys.get(...asked);
    }) as typeof keys.get,
  };
  const check = makeTokenCheck({ keys: counted, issuers: [issuer.issuer], audience, ...options });
  return { keys, check, checked: () => checked, [Symbol.dispose]: () => keys[Symbol.dispose]() };
}

const sign = (exp?: number) =>
  issuer.sign({ aud: audience, sub: 'm2m', client_id: 'm2m', scope: 'repo', ...(exp !== undefined && { exp }) });
const refused = expect.objectContaining({ status: 401 });

describe('a token that was found valid', () => {
  test('is not checked again while the keys are the same', async () => {
    using opened = openCheck();
    await until('the keys', () => opened.keys.lastRead() !== undefined);
    const token = await sign();
    for (let time = 0; time < 3; time += 1)
      expect(await opened.check(token)).toMatchObject({ subject: 'm2m', scopes: ['repo'] });
    expect(opened.checked()).toBe(1);
  });

  test('is refused from the moment it expires', async () => {
    let nowMs = Date.now();
    using opened = openCheck({ now: () => nowMs });
    const exp = Math.floor(nowMs / 1000) + 600;
    const token = await sign(exp);
    expect(await opened.check(token)).toMatchObject({ subject: 'm2m' });
    nowMs = (exp + 4) * 1000; // within the tolerance for clocks that differ
    expect(await opened.check(token)).toMatchObject({ subject: 'm2m' });
    nowMs = (exp + 5) * 1000;
    await expect(opened.check(token)).rejects.toEqual(refused);
  });

  test('is refused once its key is no longer among the gate’s keys', async () => {
    using opened = openCheck({ refreshMs: 20 });
    const token = await sign();
    expect(await opened.check(token)).toMatchObject({ subject: 'm2m' });
    await issuer.rotate();
    await until('it to be refused', () =>
      opened.check(token).then(
        () => false,
        (error) => error.status === 401,
      ),
    );
  });

  test('is forgotten in favour of newer ones when there are too many', async () => {
    using opened = openCheck({ max: 2 });
    await until('the keys', () => opened.keys.lastRead() !== undefined);
    const [first, second, third] = await Promise.all([sign(), sign(), sign()]);
    for (const token of [first, second, third]) await opened.check(token!);
    expect(opened.checked()).toBe(3);
    await opened.check(third!);
    expect(opened.checked()).toBe(3);
    await opened.check(first!);
    expect(opened.checked()).toBe(4);
  });
});
