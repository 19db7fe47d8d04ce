/** Text that no store can keep: NUL, and half a surrogate pair, which is no Unicode. Refused as the sender's mistake, at every door. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { managerToken } from '../manager.ts';
import { callback, clientKey, openTarget, password } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;
const texts = ['nul\0', 'high \ud800', '\udc00 low'];
const manager = await managerToken(gate);
const initial = await ask('api/v2/registration-tokens', { ttl_sec: 60 }, manager);
const registration = (initial.json as { token: string }).token;

async function ask(path: string, body: unknown, token?: unknown) {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(new URL(path, issuer), { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, json: (await response.json().catch(() => ({}))) as Record<string, unknown> };
}

const connection = 'Username-Password-Authentication';
const signup = { client_id: 'spa', connection, email: 'new@example.com', password };
const bodies: [string, string, (text: string) => object, string?][] = [
  ['a name', 'dbconnections/signup', (text) => ({ ...signup, name: text })],
  ['a password', 'dbconnections/signup', (text) => ({ ...signup, password: password + text })],
  ['metadata', 'dbconnections/signup', (text) => ({ ...signup, user_metadata: { a: [{ b: text }] } })],
  ['the name of metadata', 'dbconnections/signup', (text) => ({ ...signup, user_metadata: { [text]: 1 } })],
  ['an address', 'dbconnections/change_password', (text) => ({ ...signup, email: `${text}@example.com` })],
  [
    'parameters of a link',
    'passwordless/start',
    (text) => ({
      client_id: 'web',
      connection: 'email',
      send: 'link',
      email: 'a@b.example',
      authParams: { state: text },
    }),
  ],
  ['a scope', 'oauth/token', (text) => ({ grant_type: 'client_credentials', client_id: 'machine', scope: text })],
  ['a client', 'oauth/token', (text) => ({ grant_type: 'client_credentials', client_id: text })],
  [
    'a state',
    'oauth/par',
    (text) => ({ client_id: 'spa', response_type: 'code', redirect_uri: callback, state: text }),
  ],
  ['a token', 'oauth/revoke', (text) => ({ client_id: 'spa', token: text })],
  ['a name', 'oidc/register', (text) => ({ redirect_uris: [callback], client_name: text }), 'registration'],
  ['metadata', 'api/v2/users', (text) => ({ connection, email: 'x@y.example', user_metadata: { a: text } }), 'manager'],
  ['a name', 'api/v2/clients', (text) => ({ name: text }), 'manager'],
];

describe.each(texts)('the text %j, which cannot be stored,', (text) => {
  test.each(bodies)('gets a 400 as %s of %s', async (...[_what, path, body, whose]) => {
    const bearer = whose && { manager, registration }[whose];
    expect((await ask(path, body(text), bearer)).status).toBe(400);
  });

  test('makes an unknown client in an Authorization header', async () => {
    for (const id of [encodeURIComponent(text.toWellFormed()), text.toWellFormed()]) {
      const headers = { authorization: `Basic ${Buffer.from(`${id}:secret`).toString('base64')}` };
      const answer = await gate.post('oauth/token', { grant_type: 'client_credentials' }, headers);
      expect([400, 401]).toContain(answer.status);
      expect(answer.json.error).toMatch(/^invalid_(client|request)$/);
    }
  });

  test('makes an unknown client in an assertion', async () => {
    const now = Math.floor(Date.now() / 1000);
    const assertion = await new SignJWT({ iss: text, sub: text, aud: issuer, iat: now, exp: now + 60, jti: text })
      .setProtectedHeader({ alg: 'RS256', kid: text })
      .sign(clientKey.privateKey);
    const answer = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    });
    expect([400, 401]).toContain(answer.status);
  });

  test('makes an invalid request as a requested claim', async () => {
    const start = { client_id: 'spa', redirect_uri: callback, response_type: 'code', scope: 'openid offline_access' };
    const browser = await target.loggedIn();
    for (const claims of [{ id_token: { [text]: null } }, { userinfo: { email: { value: text } } }]) {
      const page = await browser.authorize({ ...start, ...pkce(), claims: JSON.stringify(claims) });
      expect(page.location?.searchParams.get('error')).toBe('invalid_request');
    }
  });

  test.each(['nonce', 'state', 'scope', 'login_hint', 'ui_locales', 'resource', 'acr_values'])(
    'makes an invalid request object as its %s',
    async (name) => {
      const now = Math.floor(Date.now() / 1000);
      const given = {
        client_id: 'keyed',
        response_type: 'code',
        redirect_uri: callback,
        scope: 'openid offline_access',
      };
      const object = await new SignJWT({
        iss: 'keyed',
        aud: issuer,
        iat: now,
        exp: now + 60,
        ...given,
        ...pkce(),
        [name]: name === 'scope' ? `openid offline_access ${text}` : text,
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .sign(clientKey.privateKey);
      const browser = await target.loggedIn();
      const page = await browser.authorize({ client_id: 'keyed', request: object, redirect_uri: callback });
      const error = page.location?.searchParams.get('error') ?? page.status;
      expect(['invalid_request_object', 'invalid_request', 400]).toContain(error);
    },
  );
});

describe('a form in another charset than UTF-8', () => {
  const asked = { client_id: 'spa', response_type: 'code', redirect_uri: callback, scope: 'openid', ...pkce() };
  const post = async (path: string, fields: Record<string, string>) => {
    // Not escaped: an escaped surrogate is no valid UTF-8, whatever the form's charset.
    const form = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-16le' };
    const body = Buffer.from(form.join('&'), 'utf16le');
    return (await fetch(new URL(path, issuer), { method: 'POST', headers, body, redirect: 'manual' })).status;
  };

  test.each(['authorize', 'oauth/par', 'oauth/token', 'oauth/revoke', 'oidc/logout', 'passwordless/start', 'activate'])(
    'gets a 400 at %s if it holds half a surrogate pair',
    async (path) => {
      for (const half of ['\ud800', '\udc00', '\ud800abc'])
        expect(await post(path, { ...asked, state: half })).toBe(400);
    },
  );

  test('is read otherwise', async () => {
    expect(await post('oauth/par', { ...asked, state: 'whole \u{1f511}' })).toBe(201);
  });
});

test('texts that cannot be stored have created nothing', async () => {
  const browser = new Browser(gate);
  const page = await browser.authorize({ client_id: 'spa', redirect_uri: callback, response_type: 'code', ...pkce() });
  expect(page.status).toBe(200);
  expect((await gate.get('api/v2/users?q=email:new@example.com', { authorization: `Bearer ${manager}` })).json).toEqual(
    [],
  );
});
