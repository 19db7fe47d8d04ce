/** Registration without a token, once the tenant opens it (`flags.enable_dynamic_client_registration`): what strangers get, and how much. */
import { openLog } from '@gatepost/runtime/log';
import { Registry } from '@gatepost/runtime/metrics';
import { Browser } from '@gatepost/testkit/browser';
import { redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { makeRate } from '../src/accounts/rate.ts';
import { openDatabase } from '../src/database.ts';
import { startPurge } from '../src/purge.ts';
import { openRedis } from '../src/redis.ts';
import { openGate } from './gate.ts';
import { api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const silent = openLog('test', 'silent');
const seed = (issuer: string) => ({
  ...fullSeed,
  clients: [
    {
      client_id: 'manager',
      client_secret: 'manager-secret',
      grant_types: ['client_credentials'],
      client_grants: [
        {
          audience: `${issuer}api/v2/`,
          scope: [
            'create:client_grants',
            'create:registration_tokens',
            'read:clients',
            'update:clients',
            'update:tenant_settings',
          ],
        },
      ],
    },
  ],
});
const gate = stack.use(await openGate(seed, { TRUSTED_PROXIES: '127.0.0.0/8' }));
const redis = stack.adopt(await openRedis(redisUrl(), 30_000, silent), (opened) => opened.disconnect());
const { db, pool } = stack.use(openDatabase({ url: gate.databaseUrl, isPooled: false }, 30_000, silent));
const redirect_uri = 'https://stranger.example/cb';

type Json = Record<string, unknown>;
async function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${gate.issuer}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Json };
}
const manager = await gate.post('oauth/token', {
  grant_type: 'client_credentials',
  client_id: 'manager',
  client_secret: 'manager-secret',
  audience: `${gate.issuer}api/v2/`,
});
const manage = (method: string, path: string, body?: object) =>
  send(method, `api/v2/${path}`, body, { authorization: `Bearer ${manager.json.access_token}` });
const open = (isOpen: boolean) =>
  manage('PATCH', 'tenants/settings', { flags: { enable_dynamic_client_registration: isOpen } });

/** Each test from an address of its own. */
let addresses = 0;
function newAddress(): string {
  addresses += 1;
  return `198.51.100.${addresses}`;
}
const register = (metadata: object = {}, address = newAddress(), headers: Record<string, string> = {}) =>
  send(
    'POST',
    'oidc/register',
    { redirect_uris: [redirect_uri], client_name: 'Stranger', ...metadata },
    {
      'x-forwarded-for': address,
      ...headers,
    },
  );
async function registered(metadata: object = {}): Promise<string> {
  const { status, json } = await register(metadata);
  expect(status).toBe(201);
  return json.client_id as string;
}
const asking = (client_id: string) => ({ client_id, redirect_uri, response_type: 'code', scope: 'openid' });

test('a registration without a token is refused until the tenant opens registration, and once it closes it again', async () => {
  const refused = { status: 401, json: { error_description: 'no access token provided' } };
  expect(await register()).toMatchObject(refused);
  await open(true);
  expect((await register()).status).toBe(201);
  expect(await register({}, newAddress(), { authorization: 'Bearer made-up' })).toMatchObject({
    status: 401,
    json: { error: 'invalid_token' },
  });
  await open(false);
  expect(await register()).toMatchObject(refused);
  await open(true);
});

test('an application that a stranger registered is a third party’s: people are asked, and it has no API of its own', async () => {
  const clientId = await registered();
  const { json } = await manage('GET', `clients/${clientId}`);
  expect(json).toMatchObject({ name: 'Stranger', is_first_party: false, grant_types: ['authorization_code'] });
  for (const more of [
    { is_first_party: true },
    { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    { grant_types: ['password'] },
  ])
    expect((await register(more)).status).toBe(400);
  const browser = new Browser(gate);
  const consent = await browser.logIn(
    await browser.authorize({ ...asking(clientId), scope: 'openid read:x', audience: api }),
  );
  expect(consent.html).toContain('Stranger');
  const silentAnswer = await browser.authorize({ ...asking(clientId), prompt: 'none' });
  expect(silentAnswer.location?.searchParams.get('error')).toBe('consent_required');
  const management = await browser.authorize({ ...asking(clientId), audience: `${gate.issuer}api/v2/` });
  expect(management.location?.searchParams.get('error')).toBe('access_denied');
});

test('sec-100-many: strangers from one network register 60 applications an hour, and all together 1,000', async () => {
  const statusesFrom = async (address: string, times: number) => {
    const answers = await Promise.all(Array.from({ length: times }, () => register({}, address)));
    return answers.map(({ status }) => status).filter((status) => status !== 201);
  };
  expect(await statusesFrom('2001:db8::1', 40)).toEqual([]);
  expect(await statusesFrom('2001:db8::2', 22)).toEqual([429, 429]);
  expect((await register()).status).toBe(201);

  const rate = makeRate(redis, `${gate.redisPrefix}auth:`);
  const taken = await Promise.all(
    Array.from({ length: 1_000 }, () => rate.take('registrations', 'everywhere', 1_000, 3_600)),
  );
  // Those of this file count, and refused ones do not.
  expect(taken.filter(Boolean).length).toBeLessThan(1_000 - 60);
  expect(await register()).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
  const { json } = await manage('POST', 'registration-tokens', {});
  expect((await register({}, newAddress(), { authorization: `Bearer ${json.token}` })).status).toBe(201);
  await rate.giveBack('registrations', 'everywhere', 1_000, 3_600, true);
});

test('sec-100-size: what a stranger registers has 8 KiB at most', async () => {
  const clients = await db.client.count();
  for (const metadata of [{ client_name: 'x'.repeat(8_192) }, { unknown: 'é'.repeat(4_096) }])
    expect(await register(metadata)).toMatchObject({ status: 400, json: { error: 'invalid_client_metadata' } });
  expect(await db.client.count()).toBe(clients);
  expect((await register({ client_name: 'x'.repeat(6_000) })).status).toBe(201);
});

test('sec-100-unused: an application that a stranger registered is deleted after seven days if nobody has used it', async () => {
  const names = ['unused', 'signed in with', 'changed', 'granted an API'] as const;
  const ids = await Promise.all(names.map((client_name) => registered({ client_name })));
  const [unused, signedInWith, changed, granted] = ids as [string, string, string, string];
  const { json } = await manage('POST', 'registration-tokens', {});
  const vouchedFor = await register({}, newAddress(), { authorization: `Bearer ${json.token}` });
  const browser = new Browser(gate);
  await browser.submit(await browser.logIn(await browser.authorize(asking(signedInWith))), { action: 'default' });
  expect((await manage('PATCH', `clients/${changed}`, { description: 'known to us' })).status).toBe(200);
  const grant = { client_id: granted, audience: api, scope: ['read:x'] };
  expect((await manage('POST', 'client-grants', grant)).status).toBe(201);

  const untilDeletion = async (clientId: string) => (await db.client.findUnique({ where: { clientId } }))?.unusedUntil;
  const days = ((await untilDeletion(unused))!.getTime() - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.9);
  expect(days).toBeLessThanOrEqual(7);
  const kept = [signedInWith, changed, granted, vouchedFor.json.client_id as string];
  for (const clientId of kept) expect(await untilDeletion(clientId)).toBeNull();

  // Eight days later.
  await pool.query("UPDATE clients SET unused_until = unused_until - interval '8 days'");
  await using _purge = startPurge(pool, silent, new Registry(), 50);
  await until('its deletion', async () => (await untilDeletion(unused)) === undefined);
  expect(await db.client.count({ where: { clientId: { in: kept } } })).toBe(kept.length);
  await until('the gate to hear of it', async () => (await browser.authorize(asking(unused))).status === 400);
  expect((await browser.authorize(asking(signedInWith))).location?.searchParams.get('code')).toBeTruthy();
});
