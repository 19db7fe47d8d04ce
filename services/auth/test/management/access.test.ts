/** Who may do what at the management API, and what it says in its log: through the `auth0` package, unmodified, and by bare HTTP. */
import { openLog } from '@gatepost/runtime/log';
import { Browser } from '@gatepost/testkit/browser';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { openAudit } from '../../src/audit.ts';
import { api } from '../seeds.ts';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const log = openLogLines();
const { gate, audience, auth0, clientOf, tokenOf, ask, signIn } = stack.use(await openManagement(log));

describe('access to the management API', () => {
  test.each([
    ['no token', 'none'],
    ['another scheme', 'Basic abc'],
    ['rubbish', 'Bearer a.b.c'],
  ])('is refused with %s', async (_, authorization) => {
    expect(await ask('GET', 'clients', undefined, authorization)).toMatchObject({
      status: 401,
      body: { statusCode: 401, error: 'Unauthorized', message: expect.any(String) },
    });
  });

  test('is refused with a token for another API', async () => {
    const { json } = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
      audience: api,
    });
    const token = json.access_token as string;
    const refused = await gate.get('api/v2/clients', { authorization: `Bearer ${token}` });
    expect(refused).toMatchObject({ status: 401, json: { message: 'Bad audience' } });
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", error_description="The token is not for the audience ${audience}"`,
    );
    expect(log.lines.findLast(({ message }) => message === 'a token was refused')).toMatchObject({
      'token.refused': 'wrong_audience',
      'token.kid': expect.any(String),
      'token.aud': api,
      'client.id': 'machine',
    });
    expect(JSON.stringify(log.lines)).not.toContain(token.split('.')[2]);
  });

  test('sec-105-scopes: each operation needs its own scope, and a client without it is told which', async () => {
    const reader = clientOf('reader');
    await all(await reader.clients.list());
    await expect(reader.clients.create({ name: 'x' })).rejects.toEqual(refusal(403, 'insufficient_scope'));
    const token = `Bearer ${await tokenOf('nobody')}`;
    const operations: [string, string][] = [
      ...[
        'clients',
        'client-grants',
        'resource-servers',
        'users',
        'connections',
        'device-credentials',
        'grants',
        'logs',
      ].map((path): [string, string] => ['GET', path]),
      ['GET', 'users-by-email?email=a@b.c'],
      ['GET', 'branding/templates/universal-login'],
      ['GET', 'tenants/settings'],
      ['GET', 'keys/signing'],
      ['PATCH', 'users/auth0%7Calice'],
      ['POST', 'keys/signing/rotate'],
      ['POST', 'registration-tokens'],
      ['DELETE', 'clients/web'],
    ];
    for (const [method, path] of operations)
      expect(await ask(method, path, undefined, token)).toMatchObject({
        status: 403,
        body: { errorCode: 'insufficient_scope' },
      });
  });

  test.each([
    ['POST', 'clients', '{"name":', 400],
    ['POST', 'clients', { name: 'x', secretHashes: ['y'] }, 400],
    ['POST', 'clients', { name: 'x', __proto__: 1, constructor: 2 }, 400],
    ['POST', 'clients', { name: 'nul\0' }, 400],
    ['POST', 'clients', `{"name":"${' '.repeat(600_000)}"}`, 413],
    ['POST', 'clients', [], 400],
    ['PATCH', 'users/auth0%7Calice', { password_hash: 'x' }, 400],
    ['GET', 'clients?page=-1', undefined, 400],
    ['GET', 'clients?per_page=1000', undefined, 400],
    ['GET', 'clients?page=100&per_page=100', undefined, 400],
    ['GET', 'clients?take=10&from=!', undefined, 400],
    ['GET', 'users?q=password:x', undefined, 400],
    ['GET', 'users?sort=password_hash:1', undefined, 400],
    ['GET', 'logs?from=99999999999999999999', undefined, 400],
    ['GET', 'nothing', undefined, 404],
    ['GET', 'clients/nobody-here', undefined, 404],
  ])('%s %s with bad input gets the status that describes the mistake', async (method, path, body, status) => {
    expect(await ask(method, path, body)).toMatchObject({
      status,
      body: { statusCode: status, message: expect.any(String) },
    });
  });
});

test('a body that is not JSON is refused, not ignored with the answer of a change that was made', async () => {
  const authorization = `Bearer ${await tokenOf('manager')}`;
  const send = async (method: string, path: string, body: BodyInit | null, type?: string) => {
    const headers = { authorization, ...(type !== undefined && { 'content-type': type }) };
    const response = await fetch(`${audience}${path}`, { method, headers, body, duplex: 'half' } as RequestInit);
    return { status: response.status, body: await response.json() };
  };
  const alice = 'users/auth0%7Calice';
  const blocked = JSON.stringify({ blocked: true });
  const tries: [string, string, BodyInit, string?][] = [
    ['PATCH', alice, blocked],
    ['PATCH', alice, blocked, 'application/x-yaml'],
    ['PATCH', alice, new TextEncoder().encode(blocked)],
    ['PATCH', alice, new Blob([blocked]).stream()],
    ['POST', 'clients/machine/rotate-secret', JSON.stringify({ revoke_previous: true })],
    ['PATCH', 'tenants/settings', new FormData()],
  ];
  for (const [method, path, body, type] of tries)
    expect([path, await send(method, path, body, type)]).toMatchObject([
      path,
      { status: 415, body: { statusCode: 415, errorCode: 'invalid_body', message: expect.stringContaining('JSON') } },
    ]);
  expect((await ask('GET', alice)).body.blocked).not.toBe(true);
  for (const body of [null, '']) expect((await send('POST', 'clients/web/rotate-secret', body)).status).toBe(200);
});

test('no operation fails on nonsense in its path, query or body', async () => {
  const token = `Bearer ${await tokenOf('manager')}`;
  const nonsense: unknown[] = [
    null,
    [],
    'text',
    7,
    { a: 1 },
    { name: {} },
    { scope: [null] },
    { scopes: [{ value: 'a b' }] },
    { name: 'x', client_metadata: { a: '\ud800' } },
    { connection: 'email', email: 'a@b.example', user_metadata: { a: { b: '\udfff' } } },
    `{"connection":"x","user_metadata":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    [{ client_id: 'web', status: 'x' }],
    { credential_type: 'public_key', pem: '-----BEGIN CERTIFICATE-----' },
    { jwt_configuration: { scopes: { a: { b: [] } } }, addons: { samlp: null }, session_lifetime: 1e300 },
    { ttl_sec: 1e308, token_lifetime: -1, default_audience: 'x'.repeat(5_000), template: '{{' },
    { identifier: '\u{1F600}'.repeat(500), token_lifetime: 1e9 },
  ];
  const paths = [
    ...['clients', 'client-grants', 'resource-servers', 'users', 'connections', 'device-credentials', 'grants', 'logs'],
    ...[
      'keys/signing',
      'users-by-email',
      'tenants/settings',
      'branding/templates/universal-login',
      'registration-tokens',
      'connections/con_sms/clients',
      'clients/third/credentials',
      'attack-protection/captcha',
      'prompts/login/custom-text/en',
      'guardian/factors/sms',
      'rules',
    ],
  ];
  const ids = [
    '',
    '/none',
    '/%F0%9F%98%80',
    `/${'x'.repeat(3_000)}`,
    "/'%20OR%201=1--",
    '/__proto__',
    '/-1',
    '/9999999999999999999',
  ];
  const queries = [
    '',
    '?page=0&page=1',
    '?fields=__proto__,constructor&include_fields=false',
    '?q=%22&sort=a&from=x&take=0',
    '?user_id[]=x',
  ];
  const failed: string[] = [];
  for (const path of paths)
    for (const id of ids) {
      const asks = [
        ...(id === '' || id === '/none' ? queries : ['']).map(
          (query) => ['GET', `${path}${id}${query}`, undefined] as const,
        ),
        ...(id === '' ? nonsense.map((body) => ['POST', path, body] as const) : []),
        ...(id === '/none' || (id === '' && path.includes('/'))
          ? nonsense.map((body) => ['PATCH', `${path}${id}`, body] as const)
          : []),
        ...(id === '' && path.includes('/') ? nonsense.map((body) => ['PUT', path, body] as const) : []),
      ];
      for (const [method, target, body] of asks) {
        const { status } = await ask(method, target, body, token);
        if (status >= 500)
          failed.push(`${status} ${method} ${target.slice(0, 80)} ${JSON.stringify(body)?.slice(0, 80)}`);
      }
    }
  expect(failed).toEqual([]);
});

test('the log lists events with who caused them, newest first, and continues from a checkpoint', async () => {
  await auth0.connections.create({ name: 'Logged', strategy: 'auth0' });
  const entry = await until('the entry', async () =>
    (await auth0.logs.list({ search: 'type:sapi AND client_id:manager' })).data.find(
      ({ details }) => (details as { operation?: string }).operation === 'POST api/v2/connections',
    ),
  );
  expect(entry).toMatchObject({
    type: 'sapi',
    client_id: 'manager',
    description: 'API Operation',
    ip: expect.any(String),
  });
  expect(await auth0.logs.get(entry.log_id as string)).toMatchObject({ log_id: entry.log_id });
  const find = async (q: string) => (await ask('GET', `logs?q=${encodeURIComponent(q)}`)).body;
  const id = entry.log_id as string;
  expect(await find(`log_id:${id}`)).toEqual([entry]);
  expect(await find(`description:"API Operation" AND log_id:${id}`)).toEqual([entry]);
  expect(await find(`description:"Success Login" AND log_id:${id}`)).toEqual([]);
  // Auth0's fields that no entry has, and a word without a field, which is in none of these.
  for (const q of ['user_name:alice', 'client_name:manager', 'connection:Logged', '"API Operation"', id])
    expect([q, await find(q)]).toEqual([q, []]);
  expect(await find('details:x')).toMatchObject({ errorCode: 'invalid_query_string' });
  const { body } = await ask('GET', `logs?take=100`);
  expect(body[0].log_id < body[1].log_id).toBe(true);
  const { body: after } = await ask('GET', `logs?from=${body[0].log_id}&take=1`);
  expect(after[0].log_id).toBe(body[1].log_id);
  expect(JSON.stringify(body)).not.toMatch(/manager-secret|Bearer|eyJ/);
});

test('a collector that reads on from a checkpoint misses no entry that another gate is writing meanwhile', async () => {
  const token = `Bearer ${await tokenOf('manager')}`;
  const newest = await ask('GET', 'logs?per_page=1', undefined, token);
  let from = newest.body[0].log_id as string;
  const seen: string[] = [];
  const collect = async () => {
    const { body } = await ask('GET', `logs?from=${from}&take=100`, undefined, token);
    for (const { log_id, client_id, details } of body) {
      from = log_id;
      seen.push(client_id === 'elsewhere' ? client_id : details.operation);
    }
    return seen;
  };
  const here = 'POST api/v2/roles';
  const other = await gate.pool.connect();
  try {
    const { rows } = await other.query('SELECT pg_backend_pid() AS pid');
    await other.query('BEGIN');
    {
      await using audit = openAudit(other as unknown as pg.Pool, openLog('test', 'silent'));
      audit.add({ type: 'sapi', clientId: 'elsewhere' });
    }
    await ask('POST', 'roles', { name: 'Collected' }, token);
    await until('this gate to write, or to wait', async () => {
      const { rowCount } = await gate.pool.query(
        'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))',
        [rows[0].pid],
      );
      return rowCount || (await collect()).includes(here);
    });
    await other.query('COMMIT');
  } finally {
    other.release(true);
  }
  await until('the entry of this gate', async () => (await collect()).includes(here));
  expect(seen.filter((one) => one === 'elsewhere' || one === here)).toEqual(['elsewhere', here]);
});

test('the log has the address of who signs up, is refused a taken address, allows access and revokes a token', async () => {
  const { refreshToken } = await signIn(new Browser(gate), 'carol@example.com');
  await gate.post('oauth/revoke', { token: refreshToken, client_id: 'third', client_secret: 'third-secret' });
  const newcomer = {
    client_id: 'web',
    connection: 'Username-Password-Authentication',
    password: 'correct horse 9 staple',
  };
  for (const email of ['wendy@example.com', 'Carol@example.com'])
    await gate.post('dbconnections/signup', { ...newcomer, email });
  const entries = await until('the entries', async () => {
    const found = [];
    for (const type of ['consent_granted', 'srrt', 'ss', 'fs']) {
      const { body } = await ask('GET', `logs?q=type:${type}&take=100`);
      found.push(body.at(-1));
    }
    return found.every(Boolean) && found;
  });
  expect(entries).toMatchObject([
    { user_id: 'auth0|carol', client_id: 'third', ip: '127.0.0.1' },
    { client_id: 'third', ip: '127.0.0.1' },
    { user_id: expect.stringMatching(/^auth0\|/), client_id: 'web', ip: '127.0.0.1' },
    { client_id: 'web', ip: '127.0.0.1', details: { reason: 'user_exists' } },
  ]);
});

test('sec-104-management: only pages of the token’s own client may read answers, and never with credentials', async () => {
  const origin = 'https://console.example';
  await auth0.clients.update('manager', { web_origins: [origin] });
  const authorization = `Bearer ${await tokenOf('manager')}`;
  const allowed = async (from: string, init: RequestInit = { headers: { authorization, origin: from } }) => {
    const { headers } = await fetch(`${audience}clients?take=1`, init);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toMatch(/origin/i);
    return headers.get('access-control-allow-origin');
  };
  // What is remembered of a caller's client is forgotten with the notification of the change.
  await until('the new origin', async () => (await allowed(origin)) === origin);
  expect(await allowed('https://elsewhere.example')).toBeNull();
  expect(await allowed('null')).toBeNull();
  const asked = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };
  const preflight = await fetch(`${audience}clients/manager`, { method: 'OPTIONS', headers: asked });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
  expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
});

test('the log has one entry for each write, naming what was written', async () => {
  const { client_id: made } = await auth0.clients.create({ name: 'Once' });
  await auth0.clients.update(made!, { name: 'Twice' });
  await auth0.clients.rotateSecret(made!);
  await auth0.clients.delete(made!);
  const entries = await until('the entries', async () => {
    const { body } = await ask('GET', 'logs?per_page=100&search=type:sapi');
    const found = (body as { details: { operation: string; target?: string } }[]).filter(
      ({ details }) => details.target === made,
    );
    return found.length >= 4 && found;
  });
  expect(entries.map(({ details }) => details.operation)).toEqual([
    'DELETE api/v2/clients/:id',
    'POST api/v2/clients/:id/rotate-secret',
    'PATCH api/v2/clients/:id',
    'POST api/v2/clients',
  ]);
});

test.each(['clients/%ff', 'clients/%', 'users/a%00b', 'clients?page=%ff', 'clients?take=10&from=%00'])(
  'a malformed address is refused in the management API’s own format: %s',
  async (path) => {
    const { status, body } = await ask('GET', path);
    expect(status).toBe(400);
    expect(body).toEqual({
      statusCode: 400,
      error: 'Bad Request',
      message: expect.any(String),
      errorCode: 'invalid_uri',
    });
  },
);
