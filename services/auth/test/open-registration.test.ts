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
import { managerSeed, openManager } from './manager.ts';
import { api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const silent = openLog('test', 'silent');
const seed = {
  ...fullSeed,
  clients: [
    managerSeed([
      'create:client_grants',
      'create:registration_tokens',
      'read:clients',
      'update:clients',
      'update:tenant_settings',
    ]),
  ],
};
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
const manage = await openManager(gate);
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
  expect(silentAnswer.html).toContain('consent_required');
  const management = await browser.authorize({ ...asking(clientId), audience: `${gate.issuer}api/v2/` });
  expect(management.html).toContain('access_denied');
});

test('an application in a browser registers itself, signs somebody in and reads its tokens', async () => {
  const origin = 'https://assistant.example';
  const preflight = await fetch(`${gate.issuer}oidc/register`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
  });
  expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('content-type');
  const ask = (metadata: object) =>
    fetch(`${gate.issuer}oidc/register`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json', 'x-forwarded-for': newAddress() },
      body: JSON.stringify(metadata),
    });
  const refused = await ask({ redirect_uris: [`${origin}/cb#x`] });
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([400, '*']);
  const made = await ask({ redirect_uris: [`${origin}/cb`], token_endpoint_auth_method: 'none' });
  expect([made.status, made.headers.get('access-control-allow-origin')]).toEqual([201, '*']);
  const { client_id } = (await made.json()) as { client_id: string };
  const token = await gate.post('oauth/token', { grant_type: 'authorization_code', client_id, code: 'x' }, { origin });
  expect(token.headers.get('access-control-allow-origin')).toBe(origin);
});

test.each<[string, string[], number, string | undefined]>([
  ['with a scheme of its own', ['editor://sign-in/callback'], 201, 'native'],
  [
    'with one beside https and loopback addresses',
    ['editor://cb', 'https://editor.example/cb', 'http://127.0.0.1/cb'],
    201,
    'native',
  ],
  [
    'with one beside an address that crosses a network in the clear',
    ['editor://cb', 'http://editor.example/cb'],
    400,
    undefined,
  ],
  ['with a script', ['javascript:alert(1)'], 400, undefined],
  ['with addresses of the web', ['https://editor.example/cb'], 201, 'web'],
])('a registration %s that does not say what kind of application it is', async (_what, redirect_uris, status, type) => {
  const answer = await register({ redirect_uris, token_endpoint_auth_method: 'none' });
  expect([answer.status, answer.json.application_type]).toEqual([status, type]);
});

test.each([
  [
    'codes that cross a network in the clear',
    { redirect_uris: ['http://stranger.example/cb'] },
    'invalid_redirect_uri',
  ],
  ['a signature that needs a further key', { id_token_signed_response_alg: 'ES256' }, 'invalid_client_metadata'],
])('sec-100-wishes: a stranger’s registration with %s is refused', async (_what, metadata, error) => {
  const answer = await register(metadata);
  expect([answer.status, answer.json.error]).toEqual([400, error]);
});

test('sec-100-keys: the applications of strangers are not read when the JWKS is', async () => {
  await registered();
  const { rows } = await pool.query("SELECT FROM clients WHERE client_signing_algs(oidc_metadata) <> '{}'");
  expect(rows).toHaveLength(0);
});

test('sec-100-mails: mails of an application that a stranger registered have nothing of its words, until an administrator changes it', async () => {
  const client_name = 'You have won, see https://evil.example/win';
  const clientId = await registered({ client_name, logo_uri: 'https://evil.example/pixel.png' });
  const mailed = async () => {
    const before = (await gate.outbox()).length;
    const { email } = fullSeed.users[0]!;
    await gate.post('dbconnections/change_password', {
      client_id: clientId,
      email,
      connection: 'Username-Password-Authentication',
    });
    return until('the mail', async () => (await gate.outbox())[before]);
  };
  const first = await mailed();
  expect(first).toContain('Gatepost');
  expect(first).not.toMatch(/You have won|evil\.example/);
  await manage('PATCH', `clients/${clientId}`, { description: 'known to us' });
  await until('the gate to hear of it', async () => (await mailed()).includes('You have won'));
});

test('sec-014-strangers: a link to the gate leads nobody straight to an address of a stranger', async () => {
  const page = 'https://stranger.example/out';
  const loopback = 'http://127.0.0.1:5555/cb';
  const clientId = await registered({ redirect_uris: [redirect_uri, loopback], post_logout_redirect_uris: [page] });
  const wrong = { ...asking(clientId), response_type: 'made_up' };
  const logout = () => gate.get(`v2/logout?${new URLSearchParams({ client_id: clientId, returnTo: page })}`);
  for (const request of [wrong, { ...asking(clientId), prompt: 'none' }]) {
    const shown = await new Browser(gate).authorize(request);
    expect([shown.status, shown.location]).toEqual([400, undefined]);
  }
  const own = await new Browser(gate).authorize({ ...wrong, redirect_uri: loopback });
  expect(own.location?.origin).toBe('http://127.0.0.1:5555');
  const left = await logout();
  expect([left.status, left.headers.get('location')]).toEqual([200, null]);
  expect(left.text).toContain(`href="${page}"`);
  // A person who takes part sees the application’s host, and is sent on.
  const browser = new Browser(gate);
  const consent = await browser.logIn(await browser.authorize(asking(clientId)));
  const denied = await browser.submit(consent, { action: 'deny' });
  expect(denied.location?.searchParams.get('error')).toBe('access_denied');

  await manage('PATCH', `clients/${clientId}`, { description: 'known to us' });
  await until('the gate to hear of it', async () => (await logout()).headers.get('location') === page);
  expect((await new Browser(gate).authorize(wrong)).location?.origin).toBe('https://stranger.example');
});

test('an application that the seed file names, or by which somebody is invited, is kept', async () => {
  const [seeded, invitedBy] = [await registered(), await registered()];
  await using _again = await openGate(
    { ...fullSeed, clients: [{ client_id: seeded, name: 'Ours', callbacks: [redirect_uri] }] },
    { DATABASE_URL: gate.databaseUrl, SECRETS_KEY: gate.env.SECRETS_KEY! },
  );
  await db.organization.create({ data: { id: 'org_acme', name: 'acme' } });
  const expiresAt = new Date(Date.now() + 60_000);
  await db.organizationInvitation.create({
    data: {
      id: 'uinv_1',
      organizationId: 'org_acme',
      ticketHash: 'x',
      clientId: invitedBy,
      inviter: 'Alice',
      invitee: 'guest@example.com',
      expiresAt,
    },
  });
  const rows = await db.client.findMany({
    where: { clientId: { in: [seeded, invitedBy] } },
    orderBy: { isVouchedFor: 'asc' },
  });
  expect(rows.map(({ unusedUntil, isVouchedFor }) => [unusedUntil, isVouchedFor])).toEqual([
    [null, false],
    [null, true],
  ]);
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
