/** JSON nested deeper than anything of ours: refused before anybody walks it, where walking it exhausted the stack. */
import { afterAll, expect, test } from '@jest/globals';
import { managerToken } from '../manager.ts';
import { callback, openTarget } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;

const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const bearer = { authorization: `Bearer ${await managerToken(gate)}` };
const registration = await fetch(`${issuer}api/v2/registration-tokens`, {
  method: 'POST',
  headers: { ...bearer, 'content-type': 'application/json' },
  body: '{}',
});
const initial = { authorization: `Bearer ${((await registration.json()) as { token: string }).token}` };

test.each([
  ['oauth/token', {}],
  ['oauth/revoke', {}],
  ['oauth/introspect', {}],
  ['oauth/par', {}],
  ['oauth/device/code', {}],
  ['oidc/register', initial],
  ['passwordless/start', {}],
  ['passwordless/verify', {}],
  ['dbconnections/signup', {}],
  ['dbconnections/change_password', {}],
  ['api/v2/clients', bearer],
  ['api/v2/users', bearer],
  ['api/v2/registration-tokens', bearer],
])('%s answers deeply nested JSON with 400, never 5xx', async (path, headers) => {
  const known =
    '"client_id":"web","client_secret":"web-secret","redirect_uris":["https://x.example/cb"],"connection":"email"';
  for (const deep of [lists(5_000), objects(5_000), lists(25_000)])
    for (const body of [
      deep,
      `{${known},"a":${deep}}`,
      `{${known},"jwks":{"keys":[${deep}]}}`,
      `{${known},"user_metadata":${deep}}`,
      `{${known},"authParams":${deep}}`,
    ]) {
      const answer = await fetch(issuer + path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: body.slice(0, 56_000),
      });
      expect([path, answer.status, body.slice(0, 30)]).toEqual([path, 400, body.slice(0, 30)]);
    }
});

const jwt = (header: string, payload: string) =>
  [header, payload, 'signature'].map((part) => Buffer.from(part).toString('base64url')).join('.');
const plausible = (sub: string) =>
  `"iss":"${sub}","sub":"${sub}","client_id":"${sub}","aud":"${issuer}","exp":9999999999,"jti":"j"`;
const tokens = [
  ...['keyed', 'web', 'native'].map((sub) =>
    jwt('{"alg":"RS256"}', `{${plausible(sub)},"scope":"openid","a":${lists(5_500)}}`),
  ),
  jwt('{"alg":"RS256"}', lists(5_500)),
  jwt('{"alg":"RS256"}', `{"a":${lists(5_500)}}`),
  jwt(`{"alg":"RS256","a":${lists(5_400)}}`, '{}'),
  jwt('{"alg":"RS256"}', objects(1_900)),
];

test.each([
  ['authorize', 'request', { client_id: 'keyed', redirect_uri: callback, response_type: 'code', scope: 'openid' }],
  ['authorize', 'id_token_hint', { client_id: 'spa', redirect_uri: callback, response_type: 'code', scope: 'openid' }],
  ['authorize', 'claims', { client_id: 'web', redirect_uri: callback, response_type: 'code', scope: 'openid' }],
  ['oauth/par', 'request', { client_id: 'web', client_secret: 'web-secret' }],
  ['oauth/device/code', 'request', { client_id: 'native' }],
  ['oidc/logout', 'id_token_hint', {}],
  ['oauth/token', 'client_assertion', { grant_type: 'client_credentials', client_id: 'keyed' }],
  [
    'oauth/token',
    'subject_token',
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: 'api',
      client_secret: 'api-secret',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    },
  ],
  ['oauth/revoke', 'token', { client_id: 'web', client_secret: 'web-secret' }],
  ['oauth/introspect', 'token', { client_id: 'web', client_secret: 'web-secret' }],
])('%s survives a JWT of deeply nested JSON as %s', async (path, name, form) => {
  for (const token of name === 'claims' ? [lists(900), objects(300)] : tokens) {
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const sent = { ...form, client_assertion_type: type, [name]: token };
    const answer = await gate.post(path, sent as never, { accept: 'application/json' });
    const headers = { 'content-type': 'application/json' };
    const asJson = await fetch(issuer + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(sent),
      redirect: 'manual',
    });
    expect([path, name, asJson.status < 500]).toEqual([path, name, true]);
    expect([path, name, answer.status < 500]).toEqual([path, name, true]);
    const { error } = Object.fromEntries(new URL(answer.headers.get('location') ?? issuer, issuer).searchParams);
    expect(error ?? '').not.toBe('server_error');
  }
});

test('deeply nested JSON in an access token or a DPoP proof in a header is survived', async () => {
  for (const token of tokens) {
    const asked = [
      await gate.get('userinfo', { authorization: `Bearer ${token}` }),
      await gate.get('userinfo', { authorization: `DPoP ${token}`, dpop: token }),
      await gate.get('api/v2/clients', { authorization: `Bearer ${token}` }),
      await gate.post(
        'oauth/token',
        { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' },
        { dpop: token.slice(0, 12_000) },
      ),
    ];
    for (const { status } of asked) expect(status).toBeLessThan(500);
  }
});
