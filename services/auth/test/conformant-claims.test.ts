/** What a client reads of a person: by the standard, unless it or its tenant is set to Auth0's way. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openGate } from './gate.ts';
import { fullSeed, spa, trusted } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { settings: _, ...seed } = fullSeed;
const gate = stack.use(
  await openGate({
    ...seed,
    clients: [
      ...seed.clients,
      { ...spa, client_id: 'auth0-spa', oidc_conformant_claims: false },
      { ...trusted, client_id: 'auth0-trusted', oidc_conformant_claims: false },
    ],
  }),
);
const scope = 'openid profile email';
const person = { name: 'Alice Example', email: 'alice@example.com', email_verified: true };

/** Signs alice in, and answers with the claims of her ID token and of userinfo. */
async function signIn(client_id: string, params: Record<string, string> = {}) {
  const { code_verifier, ...challenge } = pkce();
  const redirect_uri = spa.callbacks[0]!;
  const base = { client_id, redirect_uri, scope, nonce: 'n' };
  const code = params.response_type ? {} : { response_type: 'code', ...challenge };
  const browser = new Browser(gate);
  const page = await browser.logIn(
    await browser.get(`authorize?${new URLSearchParams({ ...base, ...code, ...params })}`),
  );
  // Single claims are consented to.
  const { location } = page.location ? page : await browser.submit(page, { action: 'default' });
  const { json } = location!.searchParams.has('code')
    ? await gate.post('oauth/token', {
        grant_type: 'authorization_code',
        client_id,
        redirect_uri,
        code_verifier,
        code: location!.searchParams.get('code')!,
      })
    : { json: Object.fromEntries(new URLSearchParams(location!.hash.slice(1))) };
  const idToken = decodeJwt(json.id_token as string);
  if (!json.access_token) return { idToken, userinfo: undefined };
  const userinfo = await gate.get('userinfo', { authorization: `Bearer ${json.access_token}` });
  return { idToken, userinfo: userinfo.json };
}

// What used to fail: Rust's openidconnect refuses a sign-in over an updated_at that is a text.
test('a conformant client gets the claims from userinfo, with updated_at in seconds, and only the identity from the ID token', async () => {
  const { idToken, userinfo } = await signIn('spa');
  expect(userinfo).toMatchObject({ sub: 'auth0|alice', ...person, updated_at: expect.any(Number) });
  expect(Math.abs((userinfo!.updated_at as number) - Date.now() / 1000)).toBeLessThan(86_400);
  expect(idToken.sub).toBe('auth0|alice');
  for (const name of [...Object.keys(person), 'updated_at', 'nickname']) expect(idToken).not.toHaveProperty(name);
});

test('a conformant client gets the claims in an ID token that comes alone, or where the claims parameter asks for them', async () => {
  const alone = await signIn('spa', { response_type: 'id_token' });
  expect(alone.idToken).toMatchObject({ ...person, updated_at: expect.any(Number) });
  const asked = await signIn('spa', { claims: JSON.stringify({ id_token: { email: null } }) });
  expect(asked.idToken.email).toBe('alice@example.com');
  expect(asked.idToken).not.toHaveProperty('name');
});

test('a client set to Auth0’s behaviour finds all claims in the ID token, with updated_at as a text', async () => {
  const { idToken, userinfo } = await signIn('auth0-spa');
  for (const claims of [idToken, userinfo]) expect(claims).toMatchObject({ ...person, updated_at: expect.any(String) });
});

test('the password grant follows the same setting', async () => {
  const tokens = async (client_id: string) => {
    const form = { grant_type: 'password', username: 'alice@example.com', password: 'correct horse battery staple' };
    const { json } = await gate.post('oauth/token', { ...form, client_id, client_secret: 'trusted-secret', scope });
    return decodeJwt(json.id_token as string);
  };
  expect(await tokens('trusted')).not.toHaveProperty('email');
  expect(await tokens('auth0-trusted')).toMatchObject(person);
});

test('a voluntary acr is no condition, and the ID token states the one that was reached', async () => {
  const { json } = await gate.get('.well-known/openid-configuration');
  const multiFactor = 'http://schemas.openid.net/pape/policies/2007/06/multi-factor';
  expect(json.acr_values_supported).toEqual(['1', multiFactor]);
  for (const acr_values of ['1', '1 2', 'urn:mace:incommon:iap:silver'])
    expect((await signIn('spa', { acr_values })).idToken.acr).toBe('1');
  const essential = { id_token: { acr: { essential: true, values: ['urn:higher', '1'] } } };
  expect((await signIn('spa', { claims: JSON.stringify(essential) })).idToken.acr).toBe('1');
  expect((await signIn('spa')).idToken).not.toHaveProperty('acr');
});

// OpenID Connect Core 5.5.1.1, and the error of its extension "unmet_authentication_requirements".
test.each([{ values: ['urn:higher', 'urn:highest'] }, { value: 'urn:higher' }])(
  'an essential acr of %j that cannot be reached is refused before the login page',
  async (wanted) => {
    const page = await new Browser(gate).get(
      `authorize?${new URLSearchParams({
        client_id: 'spa',
        redirect_uri: spa.callbacks[0]!,
        response_type: 'code',
        scope,
        state: 's',
        code_challenge: pkce().code_challenge,
        code_challenge_method: 'S256',
        claims: JSON.stringify({ id_token: { acr: { essential: true, ...wanted } } }),
      })}`,
    );
    expect(Object.fromEntries(page.location!.searchParams)).toMatchObject({
      error: 'unmet_authentication_requirements',
      state: 's',
      iss: gate.issuer,
    });
  },
);

test('the scope address is not offered, and a client that requests it gets the rest', async () => {
  const { json } = await gate.get('.well-known/openid-configuration');
  expect(json.scopes_supported).toEqual(['openid', 'profile', 'email', 'phone', 'offline_access']);
  expect(json.claims_supported).not.toContain('address');
  const { userinfo } = await signIn('spa', { scope: 'openid email address' });
  expect(userinfo).toEqual({ sub: 'auth0|alice', email: 'alice@example.com', email_verified: true });
});

test('the tenant’s setting applies to clients without a setting of their own', async () => {
  await gate.pool.query('UPDATE auth.settings SET oidc_conformant_claims = false');
  // Another process wrote it: heard of at once, or within seconds.
  for (let tries = 0; tries < 50; tries += 1) {
    if ((await signIn('spa')).idToken.email !== undefined) return;
  }
  throw new Error('the setting was not heard of');
});
