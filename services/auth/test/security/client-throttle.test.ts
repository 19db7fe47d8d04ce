/** Guesses at client secrets (sec-050), by addresses that a trusted proxy names (sec-063). */
import { openCuttable } from '@gatepost/testkit/cut';
import { redisUrl } from '@gatepost/testkit/stores';
import { afterAll, expect, test } from '@jest/globals';
import { api } from '../seeds.ts';
import { openTarget, type Target } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const TRUSTED_PROXIES = '127.0.0.0/8';
const one = stack.use(await openTarget({ TRUSTED_PROXIES }));
const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = one.gate.env as Record<string, string>;
const redis = stack.use(await openCuttable(redisUrl()));
const two = stack.use(
  await openTarget({
    TRUSTED_PROXIES,
    DATABASE_URL: DATABASE_URL!,
    SECRETS_KEY: SECRETS_KEY!,
    REDIS_KEY_PREFIX: REDIS_KEY_PREFIX!,
    REDIS_URL: redis.url,
  }),
);
const from = (address: string) => ({ 'x-forwarded-for': address });
const guess = (target: Target, address: string, form = {}) =>
  target.machineToken({ client_secret: 'wrong', ...form }, from(address));
const guesses = (target: Target, count: number, address: string, form = {}) =>
  Promise.all(Array.from({ length: count }, () => guess(target, address, form)));

test('sec-050-brute-force: thirty wrong secrets in a minute block a client at that address, and it works elsewhere', async () => {
  for (const answer of await guesses(one, 30, '192.0.2.1')) expect(answer.status).toBe(401);
  const refused = await guess(one, '192.0.2.1');
  expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After');
  expect(refused.headers.get('cache-control')).toContain('no-store');

  const right = await one.machineToken({}, from('192.0.2.1'));
  expect(right).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } });
  expect(right.headers.get('retry-after')).not.toBeNull();
  const basic = { authorization: `Basic ${btoa('machine:wrong')}`, ...from('192.0.2.1') };
  const byBasic = await one.gate.post('oauth/token', { grant_type: 'client_credentials', audience: api }, basic);
  expect(byBasic.status).toBe(429);
  expect(byBasic.headers.get('www-authenticate')).toBeNull();

  expect((await one.machineToken({}, from('192.0.2.2'))).status).toBe(200);
  expect((await guess(one, '192.0.2.1', { client_id: 'web' })).status).toBe(401);
});

test('sec-050-ipv6: all addresses of a /64 count as one', async () => {
  for (let index = 0; index < 30; index += 1) await guess(one, `2001:db8:50:1::${index}`);
  expect((await guess(one, '2001:db8:50:1:ffff::1')).status).toBe(429);
  expect((await one.machineToken({}, from('2001:db8:50:2::1'))).status).toBe(200);
});

test('sec-050-processes: another process refuses from the next failure on', async () => {
  expect((await guess(two, '192.0.2.1')).status).toBe(429);
  expect((await two.machineToken({}, from('192.0.2.1'))).status).toBe(429);
  expect((await two.machineToken({}, from('192.0.2.2'))).status).toBe(200);
});

test('sec-050-endpoints: introspection, revocation and PAR count as well, and an unknown client looks like a known one', async () => {
  for (const [path, address] of [
    ['oauth/introspect', '192.0.2.11'],
    ['oauth/revoke', '192.0.2.12'],
    ['oauth/par', '192.0.2.13'],
  ] as const) {
    await guesses(one, 30, address);
    const form = { client_id: 'machine', client_secret: 'wrong', token: 'x' };
    expect([path, (await one.gate.post(path, form, from(address))).status]).toEqual([path, 429]);
  }
  const nobody = { client_id: 'nobody' };
  for (const answer of await guesses(one, 30, '192.0.2.3', nobody)) expect(answer.status).toBe(401);
  expect((await guess(one, '192.0.2.3', nobody)).status).toBe(429);
});

test('sec-050-success: the right secret clears only the failures of its own client and address', async () => {
  await guesses(one, 29, '192.0.2.4');
  expect((await one.machineToken({}, from('192.0.2.4'))).status).toBe(200);
  for (const answer of await guesses(one, 29, '192.0.2.4')) expect(answer.status).toBe(401);
  expect((await one.machineToken({}, from('192.0.2.4'))).status).toBe(200);
});

test('sec-050-without-redis: each process counts for itself, and a good client is served', async () => {
  await redis.cut();
  for (const answer of await guesses(two, 30, '192.0.2.5')) expect(answer.status).toBe(401);
  expect((await guess(two, '192.0.2.5')).status).toBe(429);
  expect((await two.machineToken({}, from('192.0.2.6'))).status).toBe(200);
  await redis.restore();
});

test('sec-063-proxies: a trusted proxy says where a client is, and earlier addresses in its header are ignored', async () => {
  await guesses(one, 31, '198.51.100.1, 192.0.2.7');
  expect((await one.machineToken({}, from('192.0.2.7'))).status).toBe(429);
  expect((await one.machineToken({}, from('203.0.113.9, 192.0.2.7'))).status).toBe(429);
  expect((await one.machineToken({}, from('198.51.100.1'))).status).toBe(200);
});
