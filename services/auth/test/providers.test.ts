/** Providers of other makers: bare oidc-provider, GitHub's form of OAuth 2, Apple's; what a login asks of them, what is kept, and logout. */
import { createServer } from 'node:http';
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import Provider from 'oidc-provider';
import { serveGithub, serveOidc } from './false-provider.ts';
import { freePort, type TestGate } from './gate.ts';
import { claimsFor, type Form, manage, openOurs, openProvider, request, signInAt } from './upstream.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const named = stack.use(await serveOidc());
const github = stack.use(await serveGithub());
const appleKey = await generateKeyPair('ES256', { extractable: true });
const app_secret = await exportPKCS8(appleKey.privateKey);
const bareIssuer = `http://localhost:${await freePort()}`;
let acme!: TestGate;
const ours = { client_id: 'ours', client_secret: 'our-secret' };
const gate = stack.use(
  await openOurs(async (callback) => {
    acme = stack.use(await openProvider(callback));
    openBare(callback);
    const enterprise = {
      authorizationURL: `${github.issuer}/login/oauth/authorize`,
      tokenURL: `${github.issuer}/login/oauth/access_token`,
    };
    return [
      {
        name: 'bare',
        strategy: 'oidc',
        options: { ...ours, issuer: bareIssuer, token_endpoint_auth_method: 'client_secret_basic' },
      },
      {
        name: 'acme',
        strategy: 'oidc',
        options: { ...ours, discovery_url: acme.issuer, federated_connections_access_tokens: { active: true } },
      },
      { name: 'github', strategy: 'github', options: { ...ours, ...enterprise } },
      {
        name: 'plain',
        strategy: 'oauth2',
        display_name: 'Plain',
        options: {
          ...ours,
          ...enterprise,
          userInfoURL: `${github.issuer}/api/v3/user`,
          scope: 'who',
          fieldsMap: { user_id: 'login', nickname: 'login', picture: 'avatar_url' },
          upstream_params: { audience: { value: 'people' }, acr_values: { alias: 'acr_values' } },
        },
      },
      {
        name: 'apple',
        strategy: 'apple',
        options: { client_id: 'ours', team_id: 'TEAM', kid: 'KEY', app_secret, discovery_url: named.issuer },
      },
      {
        name: 'mapped',
        strategy: 'oidc',
        options: {
          ...ours,
          discovery_url: named.issuer,
          set_user_root_attributes: 'on_first_login',
          attribute_map: {
            mapping_mode: 'use_map',
            attributes: {
              name: `${'$'}{context.tokenset.family} ${'$'}{context.tokenset.given}`,
              email: `${'$'}{context.userinfo.mail}`,
            },
          },
        },
      },
    ];
  }),
);

function openBare(callback: string): void {
  const provider = new Provider(bareIssuer, {
    clients: [{ ...ours, redirect_uris: [callback], grant_types: ['authorization_code'] }],
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: 'Eve', email: `${sub}@bare.example`, email_verified: false }),
    }),
  });
  const server = createServer(provider.callback()).listen(Number(new URL(bareIssuer).port));
  stack.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}

/** Leaves for a provider of the test's, which answers this. */
async function signIn(connection: string, answer: Form = {}, more: Form = {}) {
  const browser = new Browser(gate);
  const asked = request({ connection, ...more });
  const { code_verifier: _, ...params } = asked;
  const left = (await browser.authorize(params as Form)).location!;
  named.state.nonce = left.searchParams.get('nonce') ?? '';
  const given = { code: 'c', state: left.searchParams.get('state')!, ...answer };
  return { asked, browser, left, given };
}

test('a plain OpenID provider signs people in, and its userinfo supplies what the ID token lacks', async () => {
  const browser = new Browser(gate);
  const asked = request({ connection: 'bare' });
  const { code_verifier: _, ...params } = asked;
  const left = (await browser.authorize(params as Form)).location!;
  const there = new Browser({ issuer: `${bareIssuer}/` });
  const login = await there.submit(await there.get(left.href), { login: 'eve', password: 'any' });
  const back = login.location ?? (await there.submit(login)).location!;
  expect(back.searchParams.get('iss')).toBe(bareIssuer);
  const done = await browser.get(back.href);
  expect(await claimsFor(gate, asked, done)).toMatchObject({
    sub: 'oidc|bare|eve',
    name: 'Eve',
    email: 'eve@bare.example',
    email_verified: false,
  });
});

describe('GitHub', () => {
  test('signs in its person with the primary address and its verification, in two round trips', async () => {
    const { asked, browser, left, given } = await signIn('github', {}, { login_hint: 'octocat' });
    expect(Object.fromEntries(left.searchParams)).toMatchObject({
      scope: 'read:user user:email',
      login: 'octocat',
      code_challenge_method: 'S256',
      redirect_uri: gate.callback,
    });
    github.asked.length = 0;
    const done = await browser.get(`${gate.callback}?${new URLSearchParams(given)}`);
    expect(await claimsFor(gate, asked, done)).toMatchObject({
      sub: 'github|583231',
      name: 'The Octocat',
      nickname: 'octocat',
      email: 'octocat@example.com',
      email_verified: true,
      picture: 'https://github.com/images/octocat.gif',
    });
    // The person and their addresses are asked for at the same time.
    expect(github.asked.map(({ path }) => path).sort()).toEqual([
      '/api/v3/user',
      '/api/v3/user/emails',
      '/login/oauth/access_token',
    ]);
    expect(github.asked[0]!.form.get('client_secret')).toBe('our-secret');
    expect(github.asked.at(-1)!.headers.authorization).toBe('Bearer gho_theirs');
    const { body } = await manage(gate, 'GET', 'users/github%7C583231');
    expect(body.identities).toEqual([{ connection: 'github', provider: 'github', user_id: '583231', isSocial: true }]);
  });

  test('leaves an unverified address unverified, and a missing one missing', async () => {
    github.state.emails = [{ email: 'new@example.com', primary: true, verified: false }];
    const first = await signIn('github');
    const done = await first.browser.get(`${gate.callback}?${new URLSearchParams(first.given)}`);
    expect(await claimsFor(gate, first.asked, done)).toMatchObject({ email: 'new@example.com', email_verified: false });
    github.state.emails = { message: 'Not Found' };
    const second = await signIn('github');
    const later = await second.browser.get(`${gate.callback}?${new URLSearchParams(second.given)}`);
    const claims = await claimsFor(gate, second.asked, later);
    expect([claims.sub, claims.email]).toEqual(['github|583231', undefined]);
  });

  test('reports errors with status 200, which are understood', async () => {
    github.state.error = 'bad_verification_code';
    const { browser, given } = await signIn('github');
    const done = await browser.get(`${gate.callback}?${new URLSearchParams(given)}`);
    github.state.error = undefined;
    expect(Object.fromEntries(done.location!.searchParams)).toMatchObject({
      error: 'server_error',
      error_description: expect.stringContaining('GitHub failed: the provider does not accept its own code'),
    });
  });

  test('creates no account where sign-up is closed, while a company’s directory does', async () => {
    await using closed = await openOurs(
      () => [
        {
          name: 'github',
          strategy: 'github',
          options: {
            ...ours,
            authorizationURL: `${github.issuer}/a`,
            tokenURL: `${github.issuer}/login/oauth/access_token`,
          },
        },
        { name: 'company', strategy: 'oidc', options: { ...ours, discovery_url: named.issuer } },
      ],
      { seed: { settings: { allow_signup: false, oidc_conformant_claims: false } } },
    );
    const error = async (connection: string) => {
      const browser = new Browser(closed);
      const left = (await browser.authorize(request({ connection }))).location!;
      named.state.nonce = left.searchParams.get('nonce') ?? '';
      const given = { code: 'c', state: left.searchParams.get('state')! };
      const done = await browser.get(`${closed.callback}?${new URLSearchParams(given)}`);
      return done.location?.searchParams.get('error');
    };
    expect(await error('github')).toBe('access_denied');
    expect(await error('company')).toBeNull();
  });
});

test('a plain OAuth 2 server is supported with a field map, and constant or passed-on parameters in its address', async () => {
  const { asked, browser, left, given } = await signIn('plain', {}, { acr_values: 'high' });
  expect(Object.fromEntries(left.searchParams)).toMatchObject({ scope: 'who', audience: 'people', acr_values: 'high' });
  const done = await browser.get(`${gate.callback}?${new URLSearchParams(given)}`);
  expect(await claimsFor(gate, asked, done)).toMatchObject({ sub: 'oauth2|plain|octocat', nickname: 'octocat' });
});

test('Apple needs a secret made of a key, posts its answer from its own site, and sends a name only once', async () => {
  const { asked, browser, left, given } = await signIn('apple');
  expect(Object.fromEntries(left.searchParams)).toMatchObject({
    response_mode: 'form_post',
    scope: 'openid name email',
  });
  named.lie({ claims: { sub: '001.abc', email_verified: 'true', name: undefined }, userinfo: { sub: '001.abc' } });
  const user = JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email: 'victim@example.com' });
  const done = await browser.post(
    new URL(gate.callback).pathname,
    { ...given, user },
    { 'sec-fetch-site': 'cross-site' },
  );
  expect(await claimsFor(gate, asked, done)).toMatchObject({
    sub: 'apple|001.abc',
    name: 'Ada Lovelace',
    given_name: 'Ada',
    email: 'mallory@example.com', // what is signed
    email_verified: true,
  });
  const secret = named.asked.find(({ path }) => path === '/token')!.form.get('client_secret')!;
  const { payload, protectedHeader } = await jwtVerify(secret, appleKey.publicKey);
  expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'KEY' });
  expect(payload).toMatchObject({ iss: 'TEAM', sub: 'ours', aud: named.issuer });
});

test('a person keeps the name that Apple sent at their first sign-in, and gets a later one', async () => {
  const signInAgain = async (user?: object) => {
    const { asked, browser, given } = await signIn('apple');
    named.lie({ claims: { sub: '002.def', name: undefined }, userinfo: { sub: '002.def', name: undefined } });
    const sent = { ...given, ...(user && { user: JSON.stringify(user) }) };
    const done = await browser.post(new URL(gate.callback).pathname, sent, { 'sec-fetch-site': 'cross-site' });
    return claimsFor(gate, asked, done);
  };
  const ada = { name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace' };
  expect(await signInAgain({ name: { firstName: 'Ada', lastName: 'Lovelace' } })).toMatchObject(ada);
  expect(await signInAgain()).toMatchObject(ada);
  expect(await signInAgain({ name: { firstName: 'Ada', lastName: 'King' } })).toMatchObject({
    name: 'Ada King',
    given_name: 'Ada',
    family_name: 'King',
  });
});

test('claims are stored where the connection’s map says, for the first sign-in only if it is set so', async () => {
  const first = await signIn('mapped');
  named.lie({ claims: { sub: 'm', family: 'Doe', given: 'Jo' }, userinfo: { sub: 'm', mail: 'Jo@Example.com' } });
  const done = await first.browser.get(`${gate.callback}?${new URLSearchParams(first.given)}`);
  // The address that the token calls proven is another one.
  expect(await claimsFor(gate, first.asked, done)).toMatchObject({
    name: 'Doe Jo',
    email: 'jo@example.com',
    email_verified: false,
  });
  const second = await signIn('mapped');
  named.lie({ claims: { sub: 'm', family: 'Smith', given: 'Jo' }, userinfo: { sub: 'm', mail: 'jo@example.com' } });
  const later = await second.browser.get(`${gate.callback}?${new URLSearchParams(second.given)}`);
  expect(await claimsFor(gate, second.asked, later)).toMatchObject({ name: 'Doe Jo' });
});

test('a login at a known provider makes at most two requests, and fetches no metadata or keys', async () => {
  for (const claims of [{}, { name: undefined }]) {
    const { browser, given } = await signIn('apple');
    named.lie({ claims });
    await browser.get(`${gate.callback}?${new URLSearchParams(given)}`);
    expect(named.asked.map(({ path }) => path)).toEqual(
      Object.hasOwn(claims, 'name') ? ['/token', '/userinfo'] : ['/token'],
    );
  }
});

describe('after a sign-in at another gate', () => {
  test('the provider’s tokens are stored sealed if the connection wants it, for those who may read them', async () => {
    await signInAt(acme, new Browser(gate), request({ connection: 'acme' }));
    const { body } = await manage(gate, 'GET', 'users/oidc%7Cacme%7Cauth0%7Calice');
    const [identity] = body.identities;
    expect(identity).toMatchObject({ provider: 'oidc', access_token: expect.any(String) });
    const there = await acme.get('userinfo', { authorization: `Bearer ${identity.access_token}` });
    expect(there.json.sub).toBe('auth0|alice');
    const { rows } = await gate.pool.query('SELECT sealed FROM auth.upstream_tokens');
    expect(rows).toHaveLength(1);
    expect(rows[0].sealed.toString('latin1')).not.toContain(identity.access_token);
    // Whoever may not does not see them.
    const list = await manage(gate, 'GET', 'users?q=user_id:"oidc|acme|auth0|alice"');
    expect(list.body[0].identities[0]).not.toHaveProperty('access_token');
    await manage(gate, 'POST', 'keys/encryption/rekey');
    expect((await manage(gate, 'GET', 'users/oidc%7Cacme%7Cauth0%7Calice')).body.identities[0]).toEqual(identity);
  });

  test.each(['v2/logout', 'oidc/logout'])('a federated logout ends both sessions: %s', async (path) => {
    const browser = new Browser(gate);
    const { there } = await signInAt(acme, browser, request({ connection: 'acme' }));
    const bye = 'https://app.example/bye';
    let page = await browser.get(
      path === 'v2/logout'
        ? `v2/logout?federated&client_id=web&returnTo=${bye}`
        : `oidc/logout?federated&client_id=web&post_logout_redirect_uri=${bye}`,
    );
    if (path === 'oidc/logout') page = await browser.submit(page, { logout: 'yes' });
    expect(page.location?.href).toContain(`${acme.issuer}oidc/logout?`);
    const hint = decodeJwt(page.location!.searchParams.get('id_token_hint')!);
    expect(hint).toMatchObject({ aud: 'ours', sub: 'auth0|alice' });
    let away = await there.get(page.location!.href);
    if (!away.location) away = await there.submit(away);
    expect(away.location?.href).toContain(`${gate.issuer}v2/logout?state=`);
    const done = await browser.get(away.location!.href);
    expect(done.location?.href).toBe(bye);
    // Over, here and there; and the way back is open once.
    for (const [at, who] of [
      [browser, request({ prompt: 'none' })],
      [there, { ...request({ prompt: 'none' }), client_id: 'ours', redirect_uri: gate.callback }],
    ] as const)
      expect((await at.authorize(who)).location?.searchParams.get('error')).toBe('login_required');
    expect((await browser.get(away.location!.href)).location).toBeUndefined();
  });

  test('a plain logout ends only the session here', async () => {
    const browser = new Browser(gate);
    await signInAt(acme, browser, request({ connection: 'acme' }));
    const page = await browser.get('v2/logout?client_id=web&returnTo=https://app.example/bye');
    expect(page.location?.href).toBe('https://app.example/bye');
  });
});
