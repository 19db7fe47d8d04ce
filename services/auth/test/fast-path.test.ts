/**
 * The fast path that plain machine requests take, beside the common path: a request answers alike on both. A query after the
 * path, which means nothing to either, keeps a request off the fast path.
 */
import { isDeepStrictEqual } from 'node:util';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openGate, type TestGate } from './gate.ts';
import { api, apis } from './seeds.ts';
import { askGate, comparable, grants, machines, plain, secret } from './two-ways.ts';

let gate: TestGate;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  gate = stack.use(await openGate(machines));
});
afterAll(() => stack.disposeAsync());

const ask = (body: string, headers?: Record<string, string>, query?: string, pieces?: string[], asked = gate) =>
  askGate(asked, body, headers, query, pieces);

const ordinary = {
  grant_type: 'client_credentials',
  client_id: 'machine',
  client_secret: 'machine-secret',
  audience: 'urn:es',
};
const { client_id: _id, client_secret: _secret, ...anonymous } = ordinary;
const { audience: _audience, ...nowhere } = ordinary;
const basic = (credentials: string) => ({ authorization: `Basic ${Buffer.from(credentials).toString('base64')}` });
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

describe('the fast path issues the same token as the common path', () => {
  test.each<[what: string, body: string, headers?: Record<string, string>]>([
    ['by an audience', form(ordinary)],
    ['by a resource', form({ ...nowhere, resource: 'urn:es' })],
    ['for an API signed with RS256', form({ ...ordinary, audience: api })],
    ['for an API whose name is no URI', form({ ...ordinary, audience: 'plain name' })],
    ['for one scope of two', form({ ...ordinary, audience: api, scope: 'write:x' })],
    ['for scopes in another order', form({ ...ordinary, audience: api, scope: 'write:x read:x' })],
    ['for a scope named twice', form({ ...ordinary, audience: api, scope: 'read:x read:x' })],
    ['for a client that was granted no scope', form({ ...ordinary, client_id: 'scopeless', audience: api })],
    ['for a third party', form({ ...ordinary, client_id: 'foreign' })],
    ['with a secret full of signs', form({ ...ordinary, client_id: 'signs', client_secret: secret })],
    ['with the secret in the head', form(anonymous), basic('machine:machine-secret')],
    ['with the secret in the form of a client registered for the head', form({ ...ordinary, client_id: 'basic' })],
    ['with its charset named', form(ordinary), { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }],
    ['for somebody who would rather have a page', form(ordinary), { accept: 'text/html' }],
    ['as JSON', JSON.stringify(ordinary), { 'content-type': 'application/json' }],
    [
      'as JSON with a secret full of signs',
      JSON.stringify({ ...ordinary, client_id: 'signs', client_secret: secret }),
      { 'content-type': 'application/json; charset=utf-8' },
    ],
    [
      'as JSON after a byte order mark',
      `\ufeff${JSON.stringify(ordinary)}`,
      { 'content-type': 'application/json;charset=UTF-8' },
    ],
    ['by an SDK', form(ordinary), { 'auth0-client': 'eyJuYW1lIjoiYXV0aDAuanMifQ==' }],
  ])('%s', async (_what, body, headers = {}) => {
    const short = await ask(body, headers);
    const common = await ask(body, headers, '?x');
    expect([short.way, common.way]).toEqual(['short', 'common']);
    expect(short.status).toBe(200);
    expect(comparable(short)).toEqual(comparable(common));
  });
});

const json = { 'content-type': 'application/json' };

describe('the fast path leaves to the common path', () => {
  const refused = [400, 401, 403];
  test.each<[what: string, statuses: number[], body: string, headers?: Record<string, string>]>([
    ['a wrong secret', refused, form({ ...ordinary, client_secret: 'wrong' })],
    ['an empty secret', refused, form({ ...ordinary, client_secret: '' })],
    ['no secret', refused, form({ ...anonymous, client_id: 'machine' })],
    ['an unknown client', refused, form({ ...ordinary, client_id: 'nobody' })],
    ['a public client with a secret', refused, form({ ...ordinary, client_id: 'public' })],
    ['a public client', refused, form({ ...anonymous, client_id: 'public' })],
    ['a client that may not use the grant', refused, form({ ...ordinary, client_id: 'web' })],
    ['a client without a grant for the API', refused, form({ ...ordinary, client_id: 'grantless' })],
    ['an API that the client has no grant for', refused, form({ ...ordinary, audience: 'urn:ps' })],
    ['an unknown API', refused, form({ ...ordinary, audience: 'urn:nowhere' })],
    ['a resource that is no URI', refused, form({ ...nowhere, resource: 'plain name' })],
    ['a resource with a fragment', refused, form({ ...nowhere, resource: 'urn:es#a' })],
    ['audience and resource that differ', refused, form({ ...ordinary, resource: api })],
    ['audience and resource that are the same', [200], form({ ...ordinary, resource: 'urn:es' })],
    ['two resources', refused, `${form({ ...nowhere, resource: 'urn:es' })}&resource=${encodeURIComponent(api)}`],
    ['no audience', [403], form(nowhere)],
    ['the audience that means an opaque token', [200], form({ ...nowhere, audience: 'USERINFO' })],
    ['a scope that was not granted', refused, form({ ...ordinary, scope: 'read:x admin:x' })],
    ['a scope with two spaces', refused, form({ ...ordinary, scope: 'read:x  write:x' })],
    ['a scope with a quote', refused, form({ ...ordinary, scope: 'read:"x' })],
    ['a parameter twice', refused, `${form(ordinary)}&scope=read%3Ax&scope=read%3Ax`],
    ['a client_id twice', refused, `${form(ordinary)}&client_id=machine`],
    ['an unknown parameter', [200], form({ ...ordinary, colour: 'green' })],
    ['an empty parameter', [200], `${form(ordinary)}&scope=`],
    ['another grant', refused, form({ ...ordinary, grant_type: 'refresh_token' })],
    ['an unknown grant', refused, form({ ...ordinary, grant_type: 'magic' })],
    ['no grant', refused, form({ client_id: 'machine', client_secret: 'machine-secret' })],
    ['a broken escape', refused, `${form(ordinary)}&scope=%zz`],
    ['a NUL', refused, `${form(ordinary)}&scope=%00`],
    ['bytes that are no UTF-8', refused, `${form(ordinary)}&scope=%ff`],
    ['a client_id in another script', refused, form({ ...ordinary, client_id: 'maschine-ü' })],
    ['secrets in both places', refused, form(ordinary), basic('machine:machine-secret')],
    [
      'a client_id in both places',
      [200],
      form({ ...anonymous, client_id: 'machine' }),
      basic('machine:machine-secret'),
    ],
    ['two client_ids', refused, form({ ...anonymous, client_id: 'basic' }), basic('machine:machine-secret')],
    ['a wrong secret in the head', refused, form(anonymous), basic('machine:wrong')],
    ['an escaped secret in the head', [200], form(anonymous), basic(`signs:${encodeURIComponent(secret)}`)],
    ['a head without a colon', refused, form(anonymous), basic('machine')],
    ['a head in another case', [200], form(anonymous), { authorization: 'bAsIc bWFjaGluZTptYWNoaW5lLXNlY3JldA==' }],
    ['a bearer token in the head', refused, form(anonymous), { authorization: 'Bearer machine' }],
    ['a page of nobody', refused, form(ordinary), { origin: 'https://evil.example' }],
    ['a DPoP proof that is none', refused, form(ordinary), { dpop: 'proof' }],
    ['another type of body', refused, form(ordinary), { 'content-type': 'text/plain' }],
    [
      'JSON that names something twice',
      refused,
      `{"scope":"read:x",${JSON.stringify({ ...ordinary, scope: 'read:x' }).slice(1)}`,
      json,
    ],
    ['JSON with a list', refused, JSON.stringify({ ...ordinary, scope: ['read:x'] }), json],
    ['JSON with a list of resources', [200], JSON.stringify({ ...nowhere, resource: ['urn:es'] }), json],
    ['JSON with an object', refused, JSON.stringify({ ...ordinary, scope: { a: 1 } }), json],
    ['JSON with a number', refused, JSON.stringify({ ...ordinary, scope: 1 }), json],
    ['JSON with a null', [200], JSON.stringify({ ...ordinary, scope: null }), json],
    ['JSON with half a character', refused, `{"scope":"\\ud800",${JSON.stringify(ordinary).slice(1)}`, json],
    ['a JSON text', refused, '"client_credentials"', json],
    ['a JSON list', refused, '[]', json],
    ['JSON that ends early', refused, JSON.stringify(ordinary).slice(0, -1), json],
    ['JSON said to be a form', refused, JSON.stringify(ordinary)],
    [
      'a body that is longer than any',
      refused,
      form({ ...ordinary, colour: 'x'.repeat(5_000) }).replace(/secret=[^&]+/, ''),
    ],
    ['no body', refused, ''],
  ])('%s', async (_what, statuses, body, headers = {}) => {
    const text = body.replace('USERINFO', encodeURIComponent(`${gate.issuer}userinfo`));
    const direct = await ask(text, headers);
    const common = await ask(text, headers, '?x');
    expect([direct.way, common.way]).toEqual(['common', 'common']);
    expect(statuses).toContain(direct.status);
    expect(comparable(direct)).toEqual(comparable(common));
  });
});

test('a token request whose body arrives in pieces is answered as one that arrives at once', async () => {
  const body = form(ordinary);
  const answer = await ask(body, { 'content-length': String(body.length) }, '', [body.slice(0, 20), body.slice(20)]);
  expect(answer).toMatchObject({ status: 200, way: 'short' });
});

test('a token request without Content-Length is answered', async () => {
  const answer = await ask(form(ordinary), { 'transfer-encoding': 'chunked' });
  expect(answer).toMatchObject({ status: 200, way: 'common' });
});

test('both paths are counted and logged alike', async () => {
  const counted = async () => {
    const text = await (await fetch(`${gate.opsUrl}/metrics`)).text();
    const value = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
    return {
      tokens: value(/^auth_tokens_issued_total\{grant_type="client_credentials"\} (\d+)$/m),
      requests: value(/^http_request_duration_seconds_count\{method="POST",route="token",status="200"\} (\d+)$/m),
    };
  };
  const client = { ...ordinary, client_id: 'counted' };
  const before = await counted();
  const answers = [await ask(form(client)), await ask(form(client), {}, '?x')];
  expect(answers.map(({ way }) => way)).toEqual(['short', 'common']);
  const { tokens, requests } = before;
  const after = { tokens: tokens + 2, requests: requests + 2 };
  await until('both are counted', async () => isDeepStrictEqual(await counted(), after));

  const rows = await until('both are in the audit log', async () => {
    const found = await gate.pool.query(
      "SELECT type, client_id, user_id, ip, details FROM auth.logs WHERE client_id = 'counted'",
    );
    return found.rows.length >= 2 && found.rows;
  });
  const [shortly, commonly] = rows.slice(-2);
  expect(shortly).toEqual({ type: 'seccft', client_id: 'counted', user_id: null, ip: '127.0.0.1', details: {} });
  expect(commonly).toEqual(shortly);
});

test('access that an administrator takes away is gone on the fast path too', async () => {
  const managed = { ...plain, client_id: 'managed', client_secret: 'managed-secret' };
  await using other = await openGate((issuer: string) => ({
    apis,
    clients: [
      { ...managed, client_grants: grants },
      {
        ...plain,
        client_id: 'admin',
        client_grants: [{ audience: `${issuer}api/v2/`, scope: ['read:client_grants', 'delete:client_grants'] }],
      },
    ],
  }));
  const asked = form({ ...ordinary, client_id: 'managed', client_secret: 'managed-secret' });
  expect(await ask(asked, {}, '', undefined, other)).toMatchObject({ status: 200, way: 'short' });
  const admin = form({ ...ordinary, client_id: 'admin', audience: `${other.issuer}api/v2/` });
  const token = String((await ask(admin, {}, '', undefined, other)).json.access_token);
  const headers = { authorization: `Bearer ${token}` };
  const url = `${other.issuer}api/v2/client-grants`;
  const found = await fetch(`${url}?client_id=managed&audience=urn:es`, { headers });
  const [grant] = (await found.json()) as { id: string }[];
  expect((await fetch(`${url}/${grant!.id}`, { method: 'DELETE', headers })).status).toBe(204);
  expect(await ask(asked, {}, '', undefined, other)).toMatchObject({
    status: 400,
    way: 'common',
    json: { error: 'access_denied' },
  });
});
