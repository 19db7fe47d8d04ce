/** Checks of the OpenID Foundation's conformance suite, plan `oidcc-basic-certification-test-plan`, by the suite's names. */
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, describe, expect, test } from '@jest/globals';
import { api } from '../seeds.ts';
import { answerOf, client, openParty } from './party.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const party = stack.use(await openParty());
const { gate, ask, signIn, redeem, tokens, read, userinfo } = party;

test('oidcc-response-type-missing: is answered with an error at the redirect URI, or on a page', async () => {
  const { client_id, callbacks } = client;
  const page = await new Browser(gate).authorize({
    client_id,
    redirect_uri: callbacks[0]!,
    scope: 'openid',
    state: 's',
  });
  expect(answerOf(page)).toMatchObject({ error: 'invalid_request', state: 's' });
});

test('oidcc-ensure-request-without-nonce-succeeds-for-code-flow: and no nonce is made up', async () => {
  expect(await read((await tokens()).id_token)).not.toHaveProperty('nonce');
});

test('oidcc-idtoken-signature: is RS256, with a key that the JWKS contains', async () => {
  const { id_token } = await tokens({ nonce: 'n' });
  expect(await read(id_token)).toMatchObject({
    nonce: 'n',
    sub: 'auth0|alice',
    iat: expect.any(Number),
    exp: expect.any(Number),
  });
  expect(JSON.parse(Buffer.from(id_token.split('.')[0]!, 'base64url').toString())).toMatchObject({
    alg: 'RS256',
    kid: expect.any(String),
  });
});

describe('userinfo', () => {
  test.each([
    ['get', (token: string) => gate.get('userinfo', { authorization: `Bearer ${token}` })],
    ['post-header', (token: string) => gate.post('userinfo', {}, { authorization: `Bearer ${token}` })],
    ['post-body', (token: string) => gate.post('userinfo', { access_token: token })],
  ])('oidcc-userinfo-%s: returns the person’s sub', async (_name, call) => {
    expect(await call((await tokens()).access_token)).toMatchObject({ status: 200, json: { sub: 'auth0|alice' } });
  });

  test('a userinfo request without a token, or with an invalid one, gets a 401 that names the scheme', async () => {
    expect((await gate.get('userinfo')).headers.get('www-authenticate')).toMatch(/^Bearer/);
    const wrong = await userinfo('made-up');
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  const all = {
    profile: ['name', 'nickname', 'updated_at'],
    email: ['email', 'email_verified'],
    phone: ['phone_number', 'phone_number_verified'],
  };
  test.each(Object.entries(all))('oidcc-scope-%s: returns its claims and no others', async (scope, claims) => {
    const { json } = await userinfo((await tokens({ scope: `openid ${scope}` })).access_token);
    for (const claim of claims) expect(json).toHaveProperty(claim);
    for (const claim of Object.values(all).flat()) if (!claims.includes(claim)) expect(json).not.toHaveProperty(claim);
  });

  test('oidcc-scope-all: returns the claims of all scopes together', async () => {
    const { json } = await userinfo((await tokens({ scope: 'openid profile email phone' })).access_token);
    for (const claim of Object.values(all).flat()) expect(json).toHaveProperty(claim);
  });

  test('oidcc-claims-essential: a claim requested by name is returned without its scope', async () => {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } });
    const { json } = await userinfo((await tokens({ claims })).access_token);
    expect(json).toEqual({ sub: 'auth0|alice', name: 'Alice Example' });
  });

  test('a claim requested by name is listed on the consent page where consent is needed', async () => {
    const browser = new Browser(gate);
    const claims = JSON.stringify({ userinfo: { phone_number: null } });
    const page = await browser.logIn(await ask({ client_id: 'third', claims }, browser));
    expect(page.html).toContain('phone number');
    expect(answerOf(await browser.submit(page, { action: 'accept' }))).toHaveProperty('code');
  });
});

test('oidcc-ensure-other-scope-order-succeeds: openid need not come first', async () => {
  const { id_token, access_token } = await tokens({ scope: 'email openid' });
  expect(await read(id_token)).toMatchObject({ sub: 'auth0|alice' });
  expect((await userinfo(access_token)).json).toHaveProperty('email');
});

test.each(['page', 'popup'])('oidcc-display-%s: is accepted', async (display) => {
  expect(await signIn({ display })).toHaveProperty('code');
});

test.each([
  ['ui-locales', { ui_locales: 'de se' }],
  ['claims-locales', { claims_locales: 'de se' }],
  ['login-hint', { login_hint: 'alice@example.com' }],
])('oidcc-%s: is accepted', async (_name, params) => {
  expect(await signIn(params)).toHaveProperty('code');
});

describe('sessions', () => {
  /** Three seconds later, by the clock of this process. */
  const later = async <T>(work: () => Promise<T>): Promise<T> => {
    const now = Date.now;
    Date.now = () => now() + 3_000;
    try {
      return await work();
    } finally {
      Date.now = now;
    }
  };

  test('oidcc-prompt-none-logged-in: returns the same person with the same auth_time', async () => {
    const browser = new Browser(gate);
    const first = await read((await tokens({ max_age: '10000' }, browser)).id_token);
    const { code } = answerOf(await ask({ prompt: 'none', max_age: '10000' }, browser));
    const second = await read((await redeem(code!)).json.id_token as string);
    expect(second).toMatchObject({ sub: first.sub, auth_time: first.auth_time });
  });

  test('oidcc-prompt-login: asks again, and auth_time is later', async () => {
    const browser = new Browser(gate);
    const first = await read((await tokens({ max_age: '10000' }, browser)).id_token);
    const second = await later(async () =>
      read((await tokens({ prompt: 'login', max_age: '10000' }, browser)).id_token),
    );
    expect(second.auth_time as number).toBeGreaterThan(first.auth_time as number);
  });

  test('oidcc-max-age-1: asks again when the session is older than that', async () => {
    const browser = new Browser(gate);
    await signIn({}, browser);
    await later(async () => {
      const page = await ask({ max_age: '1' }, browser);
      expect(page.location).toBeUndefined();
      const { code } = answerOf(await browser.logIn(page));
      expect(await read((await redeem(code!)).json.id_token as string)).toHaveProperty('auth_time');
    });
  });

  test('oidcc-id-token-hint: succeeds silently for the signed-in person, and is login_required for anybody else', async () => {
    const browser = new Browser(gate);
    const { id_token } = await tokens({}, browser);
    expect(answerOf(await ask({ prompt: 'none', id_token_hint: id_token }, browser))).toHaveProperty('code');
    const bobs = new Browser(gate);
    await bobs.logIn(await ask({}, bobs), 'bob@example.com');
    expect(answerOf(await ask({ prompt: 'none', id_token_hint: id_token }, bobs))).toMatchObject({
      error: 'login_required',
    });
  });

  test('oidcc-ensure-request-object-is-not-needed: an unsigned request object is refused', async () => {
    const none = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const request = `${none({ alg: 'none' })}.${none({ state: 'inside' })}.`;
    expect(answerOf(await ask({ request, state: 'outside' })).error).toMatch(
      /^(invalid_request_object|request_not_supported)$/,
    );
  });
});

test('oidcc-server-client-secret-post and -basic: each client authenticates with its own method', async () => {
  const { code } = await signIn();
  expect((await redeem(code!)).status).toBe(200);
  const byHeader = await signIn({ client_id: 'basic' });
  const authorization = `Basic ${Buffer.from('basic:party-secret').toString('base64')}`;
  const form = { grant_type: 'authorization_code', code: byHeader.code!, redirect_uri: client.callbacks[0]! };
  expect((await gate.post('oauth/token', form, { authorization })).status).toBe(200);
});

test('oidcc-refresh-token: the new ID token has the same person, session and client', async () => {
  const { id_token, refresh_token } = await tokens({
    scope: 'openid offline_access',
    audience: api,
    max_age: '10000',
    nonce: 'n',
  });
  const before = await read(id_token);
  const { client_id, client_secret } = client;
  const form = { grant_type: 'refresh_token', refresh_token: refresh_token!, client_id, client_secret };
  const after = await read((await gate.post('oauth/token', form)).json.id_token as string);
  expect(after).toMatchObject({ iss: before.iss, sub: before.sub, aud: before.aud, auth_time: before.auth_time });
  expect(after.iat!).toBeGreaterThanOrEqual(before.iat!);
});
