/** The gate on a Redis with Sentinels and on a Redis Cluster: sign-ins, codes, lockouts and logouts, before and after a failover. */
import { Browser } from '@gatepost/testkit/browser';
import { openRedisCluster, openRedisWithSentinels, type ReplicatedRedis } from '@gatepost/testkit/redis-replicated';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openGate, type TestGate } from './gate.ts';
import { fullSeed } from './seeds.ts';

const redirect_uri = 'https://app.example/cb';
const web = { client_id: 'web', client_secret: 'web-secret' };
const trusted = { client_id: 'trusted', client_secret: 'trusted-secret' };
const signIn = { client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid profile' };
const person = { username: 'alice@example.com', password: 'correct horse battery staple' };

const passwordGrant = (gate: TestGate, form = {}) =>
  gate.post('oauth/token', { grant_type: 'password', ...trusted, ...person, scope: 'openid offline_access', ...form });
const codeOf = ({ location }: { location?: URL }) => location?.searchParams.get('code') ?? '';
const redeem = (gate: TestGate, code: string) =>
  gate.post('oauth/token', { grant_type: 'authorization_code', ...web, code, redirect_uri });
const isSignedIn = async (browser: Browser) => codeOf(await browser.authorize({ ...signIn, prompt: 'none' })) !== '';
const otp = (gate: TestGate, code: string) =>
  gate.post('oauth/token', {
    grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
    client_id: 'native',
    otp: code,
    username: 'alice@example.com',
    realm: 'email',
    scope: 'openid',
  });

/** What leaves something in Redis and looks it up again. */
async function useAll(gate: TestGate, name: string): Promise<Browser> {
  const browser = new Browser(gate);
  const code = codeOf(await browser.logIn(await browser.authorize(signIn)));
  expect((await redeem(gate, code)).status).toBe(200);
  // A replayed code revokes what came of it: all artefacts of one grant.
  expect(await redeem(gate, code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  expect(await isSignedIn(browser)).toBe(true);

  const mails = (await gate.outbox()).length;
  await gate.post('passwordless/start', {
    client_id: 'native',
    connection: 'email',
    email: person.username,
    send: 'code',
  });
  const mail = await until('the mail', async () => (await gate.outbox())[mails]);
  const sent = /\b\d{6}\b/.exec(mail.slice(mail.indexOf('code is')))![0];
  const wrong = sent === '000000' ? '000001' : '000000';
  expect((await otp(gate, wrong)).json.error).toBe('invalid_grant');
  expect((await otp(gate, sent)).status).toBe(200);
  expect((await otp(gate, sent)).json.error).toBe('invalid_grant');

  const username = `${name}@example.com`;
  const refused = [];
  for (let tries = 0; tries < 11; tries += 1) refused.push((await passwordGrant(gate, { username })).status);
  expect([refused[0], refused.at(-1)]).toEqual([400, 429]);

  const other = new Browser(gate);
  await other.logIn(await other.authorize(signIn));
  expect(await isSignedIn(other)).toBe(true);
  await other.get('v2/logout?client_id=web');
  expect(await isSignedIn(other)).toBe(false);
  return browser;
}

/** Uses it all, loses the primary, and uses it all again. */
async function goesOn(open: () => Promise<ReplicatedRedis>): Promise<void> {
  await using redis = await open();
  await using gate = await openGate(fullSeed, { REDIS_URL: redis.url, STORE_TIMEOUT_MS: '10000' });
  const browser = await useAll(gate, 'before');
  const { json } = await passwordGrant(gate);
  await redis.failOver();
  let answer = '';
  const isReady = async () => {
    const response = await fetch(`${gate.opsUrl}/readyz`);
    answer = await response.text();
    return response.status === 200;
  };
  await until('readiness', isReady).catch((error: Error) => {
    throw new Error(`${error.message}: ${answer}`);
  });
  // Each node of a Cluster is found again by itself, and each page is kept by one of them.
  const pages = () => Promise.all(Array.from({ length: 20 }, () => new Browser(gate).authorize(signIn)));
  await until(
    'sign-ins',
    async () =>
      (await passwordGrant(gate)).status === 200 &&
      (await isSignedIn(browser)) &&
      (await pages()).every(({ forms }) => forms.length > 0),
  );
  const refresh = { grant_type: 'refresh_token', ...trusted, refresh_token: json.refresh_token as string };
  expect((await gate.post('oauth/token', refresh)).status).toBe(200);
  await useAll(gate, 'after');
}

test('with Sentinels everything works as with one Redis, and goes on after a failover', () =>
  goesOn(openRedisWithSentinels));

test('with a Redis Cluster everything works as with one Redis, and goes on after a failover', () =>
  goesOn(openRedisCluster));
