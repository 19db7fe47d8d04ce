/** What the gate does by itself: key rotation, purging, the audit log, its own events. */

import { randomBytes } from 'node:crypto';
import { type NotPublished, openPublisher } from '@gatepost/amqp/publisher';
import { eventsQueue, publishersTopology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { Registry } from '@gatepost/runtime/metrics';
import { makeSeal } from '@gatepost/runtime/seal';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { openCuttable } from '@gatepost/testkit/cut';
import { freshDatabase, freshVhost, management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { openChanges } from '../src/changes.ts';
import { openDatabase } from '../src/database.ts';
import { keepKeysCurrent } from '../src/keys/keep-current.ts';
import { revokeSigningKey, rotateSigningKeys } from '../src/keys/rotate.ts';
import { ensureSigningKeys } from '../src/keys/signing-keys.ts';
import { startPurge } from '../src/purge.ts';
import { openGate } from './gate.ts';
import { api, fullSeed, spaRequest } from './seeds.ts';
import { recordStatements } from './statements.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const vhost = stack.use(await freshVhost());
const name = new URL(vhost.url).pathname.slice(1);
// What the dispatcher declares; the gate's publisher declares the same.
const gate = stack.use(await openGate(fullSeed, { EVENTS_ACCOUNT: 'acme', AMQP_URL: vhost.url }));
const { db, pool } = stack.use(
  openDatabase({ url: gate.databaseUrl, isPooled: false }, 30_000, openLog('test', 'silent')),
);
const machine = {
  grant_type: 'client_credentials',
  client_id: 'machine',
  client_secret: 'machine-secret',
  audience: api,
};
const token = async () => (await gate.post('oauth/token', machine)).json.access_token as string;
const kids = async () =>
  ((await gate.get('.well-known/jwks.json')).json.keys as { kid: string; alg: string }[])
    .filter((key) => key.alg === 'RS256')
    .map((key) => key.kid);

test('sec-094-rotation: a new key is published before it signs, the old one stays for the tokens it signed', async () => {
  const [old] = await kids();
  const seal = makeSeal(Buffer.from(gate.env.SECRETS_KEY!, 'base64'));
  const [made] = await rotateSigningKeys(pool, seal, ['RS256']);
  await until('the new key in the JWKS', async () => (await kids()).includes(made!.kid));
  expect(decodeProtectedHeader(await token()).kid).toBe(old);
  await rotateSigningKeys(pool, seal, ['RS256']); // a second time: it signs at once
  await until('the new key to sign', async () => decodeProtectedHeader(await token()).kid === made!.kid);
  expect(await kids()).toEqual([made!.kid, old]);
});

test('two gates that find the keys too old make one new key for each algorithm, and none signs before it was published for a while', async () => {
  await using own = await freshDatabase('migrated');
  const seal = makeSeal(randomBytes(32));
  await using opened = openDatabase({ url: own.url, isPooled: false }, 30_000, openLog('test', 'silent'));
  await using changes = await openChanges(own.url, opened.pool, openLog('test', 'silent'));
  await ensureSigningKeys(opened.pool, seal);
  await opened.pool.query("UPDATE signing_keys SET signs_from = now() - interval '91 days'");
  const keep = () =>
    keepKeysCurrent({ ...opened, changes, seal, providers: [], rotateAfterDays: 90, log: openLog('test', 'silent') });
  const fresh = () => opened.db.signingKey.findMany({ where: { retiresAt: null } });
  {
    await using _one = keep();
    await using _other = keep();
    await until('the new keys', async () => (await fresh()).every((key) => key.signsFrom > new Date()));
  }
  const keys = await fresh();
  expect(keys.map(({ alg }) => alg).sort()).toEqual(['ES256', 'EdDSA', 'PS256', 'RS256']);
  for (const { signsFrom, createdAt } of keys) expect(signsFrom.getTime() - createdAt.getTime()).toBe(15 * 60_000);
});

test('the audit log records tokens and logins, without secrets', async () => {
  const browser = new Browser(gate);
  const page = await browser.authorize({
    client_id: 'web',
    redirect_uri: 'https://app.example/cb',
    response_type: 'code',
    scope: 'openid',
  });
  await browser.logIn(page, 'alice@example.com', 'wrong password');
  await browser.logIn(page);
  const rows = await until('the rows', async () => {
    const found = await db.logEntry.findMany();
    const types = found.map((row) => row.type);
    return ['seccft', 's', 'fp'].every((type) => types.includes(type)) && found;
  });
  const text = JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  expect(text).not.toMatch(/correct horse|wrong password|machine-secret|eyJ/);
});

test('the audit log records logouts and refused tokens with the error, without the token itself', async () => {
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
  for (const path of ['v2/logout?client_id=web', 'oidc/logout?client_id=web']) {
    const browser = new Browser(gate);
    await browser.logIn(await browser.authorize(request));
    const page = await browser.get(path);
    if (page.forms.length > 0) await browser.submit(page, { logout: 'yes' });
  }
  const web = { client_id: 'web', client_secret: 'web-secret' };
  await gate.post('oauth/token', { ...machine, client_secret: 'a canary of a secret' });
  await gate.post('oauth/token', { ...web, grant_type: 'refresh_token', refresh_token: 'a canary of a token' });
  const code = { grant_type: 'authorization_code', code: 'a canary of a code', redirect_uri: 'https://app.example/cb' };
  await gate.post('oauth/token', { ...web, ...code });
  const rows = await until('the rows', async () => {
    const found = await db.logEntry.findMany({ where: { type: { in: ['slo', 'feccft', 'fertft', 'feacft'] } } });
    return found.length >= 5 && found;
  });
  const told = rows.map(({ type, clientId, userId, details }) => [
    type,
    clientId,
    userId,
    (details as { error?: string }).error,
  ]);
  expect(told).toEqual(
    expect.arrayContaining([
      ['slo', 'web', 'auth0|alice', undefined],
      ['feccft', 'machine', null, 'invalid_client'],
      ['fertft', 'web', null, 'invalid_grant'],
      ['feacft', 'web', null, 'invalid_grant'],
    ]),
  );
  expect(told.filter(([type]) => type === 'slo')).toHaveLength(2);
  expect(JSON.stringify(told)).not.toContain('canary');
});

test('with EVENTS_ACCOUNT audit events are published as CloudEvents', async () => {
  const events = await until('the events', async () => {
    const got = (await management('POST', `/api/queues/${name}/gatepost.events/get`, {
      count: 50,
      ackmode: 'ack_requeue_true',
      encoding: 'auto',
    })) as { routing_key: string; properties: { headers: Record<string, string> }; payload: string }[];
    return ['user_logged_in', 'login_failed'].every((type) => got.some((event) => event.routing_key === type)) && got;
  });
  const login = events.find((event) => event.routing_key === 'user_logged_in')!;
  expect(login.properties.headers).toMatchObject({
    'cloudEvents:specversion': '1.0',
    'cloudEvents:type': 'user_logged_in',
    'cloudEvents:subject': 'acme',
    'cloudEvents:source': gate.issuer,
  });
  expect(JSON.parse(login.payload)).toMatchObject({ user_id: 'auth0|alice', client_id: 'web' });
});

test('a gate that starts without RabbitMQ issues tokens, and hands over its events when RabbitMQ comes', async () => {
  const own = stack.use(await freshVhost());
  const broker = stack.use(await openCuttable(own.url));
  await broker.cut();
  await using lonely = await openGate(fullSeed, { EVENTS_ACCOUNT: 'acme', AMQP_URL: broker.url });
  expect((await fetch(`${lonely.opsUrl}/readyz`)).status).toBe(200);
  expect((await lonely.post('oauth/token', machine)).status).toBe(200);
  const browser = new Browser(lonely);
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
  const done = await browser.logIn(await browser.authorize(request));
  expect(done.location?.searchParams.get('code')).toBeTruthy();
  await broker.restore();
  const queue = `/api/queues/${new URL(own.url).pathname.slice(1)}/gatepost.events/get`;
  await until('the event', async () => {
    const got = (await management('POST', queue, { count: 5, ackmode: 'ack_requeue_true', encoding: 'auto' }).catch(
      () => [], // the queue is not declared yet
    )) as { routing_key: string }[];
    return got.some((event) => event.routing_key === 'user_logged_in');
  });
});

test('an event that RabbitMQ refuses for a while is handed over later', async () => {
  const own = stack.use(await freshVhost());
  const ownName = new URL(own.url).pathname.slice(1);
  await using full = await openGate(fullSeed, { EVENTS_ACCOUNT: 'acme', AMQP_URL: own.url });
  const publisher = stack.use(
    await openPublisher({ url: own.url, name: 'test', log: openLog('test', 'silent'), topology: publishersTopology }),
  );
  const isRefused = () =>
    publisher.publish({ exchange: '', routingKey: eventsQueue, messageId: 'filler', body: Buffer.from('{}') }).then(
      () => false,
      (error: NotPublished) => error.code === 'refused',
    );
  const policy = `/api/policies/${ownName}/full`;
  const definition = { 'max-length': 1, overflow: 'reject-publish' };
  await management('PUT', policy, { pattern: `^${eventsQueue}$`, definition, 'apply-to': 'queues' });
  await until('the queue is full', isRefused);
  const browser = new Browser(full);
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
  const done = await browser.logIn(await browser.authorize(request));
  expect(done.location?.searchParams.get('code')).toBeTruthy();
  expect(await isRefused()).toBe(true);
  await management('DELETE', policy);
  await until('the event', async () => {
    const got = (await management('POST', `/api/queues/${ownName}/${eventsQueue}/get`, {
      count: 50,
      ackmode: 'ack_requeue_true',
      encoding: 'auto',
    })) as { routing_key: string }[];
    return got.some((event) => event.routing_key === 'user_logged_in');
  });
});

// In a database without a gate, whose own purge could take some of them.
test('expired rows are deleted in batches, and live rows stay', async () => {
  await using own = await freshDatabase('migrated');
  await using opened = openDatabase({ url: own.url, isPooled: false }, 30_000, openLog('test', 'silent'));
  const artefacts = opened.db.artefact;
  await opened.pool.query(
    "INSERT INTO artefacts (model, id, payload, expires_at) SELECT 'Old', g::text, '{}', now() - interval '1 hour' FROM generate_series(1, 12000) g",
  );
  await opened.pool.query(
    "INSERT INTO artefacts (model, id, payload, expires_at) VALUES ('New', '1', '{}', now() + interval '1 hour')",
  );
  await opened.pool.query("INSERT INTO organizations (id, name) VALUES ('org_1', 'orchard')");
  await opened.pool.query("INSERT INTO clients (client_id) VALUES ('spa')");
  await opened.pool.query(
    `INSERT INTO organization_invitations (id, organization_id, ticket_hash, client_id, inviter, invitee, expires_at)
     SELECT 'uinv_' || hours, 'org_1', hours, 'spa', 'Alice', 'bob@example.com', now() - make_interval(hours => hours)
       FROM unnest(ARRAY[25, 23, -1]) AS hours`,
  );
  const registry = new Registry();
  await using _purge = startPurge(opened.pool, openLog('test', 'silent'), registry, 50);
  await until('the old rows to go', async () => (await artefacts.count({ where: { model: 'Old' } })) === 0);
  expect(await artefacts.count({ where: { model: 'New' } })).toBe(1);
  // An invitation a day later.
  const invitations = opened.db.organizationInvitation;
  await until('the old invitation to go', async () => (await invitations.count()) < 3);
  expect(await invitations.findMany({ orderBy: { id: 'asc' }, select: { id: true } })).toEqual([
    { id: 'uinv_-1' },
    { id: 'uinv_23' },
  ]);
  expect(await registry.metrics()).toContain('auth_purged_rows_total{table="artefacts"} 12000');
});

// A DELETE of no row would still tell every gate to forget its clients.
test('nothing is deleted where no row is expired', async () => {
  await using own = await freshDatabase('migrated');
  await using opened = openDatabase({ url: own.url, isPooled: false }, 30_000, openLog('test', 'silent'));
  using recorded = recordStatements();
  await using _purge = startPurge(opened.pool, openLog('test', 'silent'), new Registry(), 50);
  await until('three rounds', () => recorded.texts.filter((text) => text.startsWith('SELECT FROM clients')).length > 2);
  expect(recorded.texts.filter((text) => text.startsWith('DELETE'))).toEqual([]);
});

describe('an ID token signs out', () => {
  const ask = (browser: Browser, params: Record<string, string>) => browser.authorize({ ...spaRequest, ...params });
  const idTokenOf = ({ location }: Page) => new URLSearchParams(location!.hash.slice(1)).get('id_token');
  const signedIn = async (client_id = 'spa') => {
    const browser = new Browser(gate);
    return { browser, id_token_hint: idTokenOf(await browser.logIn(await ask(browser, { client_id })))! };
  };
  const logOut = (browser: Browser, id_token_hint: string) =>
    browser.get(`oidc/logout?${new URLSearchParams({ id_token_hint })}`);
  const isSignedIn = async (browser: Browser) => idTokenOf(await ask(browser, { prompt: 'none' })) !== null;
  /** Of RS256, all made earlier by so much; the gate knows it when this is done. */
  const age = async (interval: string) => {
    await pool.query(
      "UPDATE signing_keys SET signs_from = signs_from - $1::interval, retires_at = retires_at - $1::interval WHERE alg = 'RS256'",
      [interval],
    );
    const seal = makeSeal(Buffer.from(gate.env.SECRETS_KEY!, 'base64'));
    const [made] = await rotateSigningKeys(pool, seal, ['RS256']);
    await until('the next key in the JWKS', async () => (await kids()).includes(made!.kid));
  };

  test('for as long as a session may last after its key was replaced, and not after the key was revoked', async () => {
    const [first, second] = [await signedIn(), await signedIn()];
    await age('0'); // makes the next key
    await age('6 days 23 hours'); // which has signed since
    const silent = await ask(first.browser, { prompt: 'none', id_token_hint: first.id_token_hint });
    expect(decodeProtectedHeader(idTokenOf(silent)!).kid).not.toBe(decodeProtectedHeader(first.id_token_hint).kid);
    await first.browser.submit(await logOut(first.browser, first.id_token_hint));
    expect(await isSignedIn(first.browser)).toBe(false);

    const { kid } = decodeProtectedHeader(second.id_token_hint);
    await revokeSigningKey(pool, kid!);
    await until('the key to be gone', async () => !(await kids()).includes(kid!));
    expect((await logOut(second.browser, second.id_token_hint)).status).toBe(400);
    expect(await isSignedIn(second.browser)).toBe(true);
  });

  test('after its client has chosen another algorithm', async () => {
    const { browser, id_token_hint } = await signedIn('tabs');
    await pool.query(
      `UPDATE clients SET oidc_metadata = oidc_metadata || '{"id_token_signed_response_alg": "ES256"}' WHERE client_id = 'tabs'`,
    );
    await until('the other algorithm', async () => {
      const idToken = idTokenOf(await ask(browser, { client_id: 'tabs', prompt: 'none', id_token_hint }));
      return idToken && decodeProtectedHeader(idToken).alg === 'ES256';
    });
    await browser.submit(await logOut(browser, id_token_hint));
    expect(await isSignedIn(browser)).toBe(false);
  });
});
