/** The hosted pages beyond a password: one-time codes, `connection`, classic login, sign-up, a lost password, logout. */

import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { linkIn, openGate } from './gate.ts';
import { fullSeed, spa } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const atOrigin = { ...spa, client_id: 'at-origin', allowed_logout_urls: ['https://origin.example'] };
const gate = stack.use(await openGate({ ...fullSeed, clients: [...fullSeed.clients, atOrigin] }));
const classic = stack.use(await openGate({ ...fullSeed, settings: { identifier_first: false } }));
const redirect_uri = 'https://app.example/cb';
const request = {
  client_id: 'spa',
  redirect_uri,
  scope: 'openid email',
  response_type: 'id_token',
  nonce: 'n',
  state: 's',
};
const claimsOf = (page: Page) => decodeJwt(new URLSearchParams(page.location!.hash.slice(1)).get('id_token')!);

async function messageTo(to: string, seen = 0): Promise<string> {
  return until(`a message to ${to}`, async () => (await gate.outbox()).filter((text) => text.includes(to))[seen]);
}
const codeIn = (message: string) => /code is (\d{6})/.exec(message)![1]!;

describe('one-time codes', () => {
  test('replace the password, with the code from the mail', async () => {
    const browser = new Browser(gate);
    const password = await browser.submit(await browser.authorize(request), { identifier: 'alice@example.com' });
    const code = await browser.submit(password, { action: 'code' });
    expect(code.html).toContain('autocomplete="one-time-code"');
    const done = await browser.submit(code, { code: codeIn(await messageTo('alice@example.com')) });
    expect(claimsOf(done)).toMatchObject({ sub: 'auth0|alice', amr: ['otp'] });
  });

  test('are started directly by `connection`, which does not reuse the session', async () => {
    const browser = new Browser(gate);
    await browser.logIn(await browser.authorize(request));
    expect((await browser.authorize(request)).status).toBe(302);
    const page = await browser.authorize({ ...request, connection: 'sms' });
    expect(page.status).toBe(200);
    const code = await browser.submit(page, { identifier: '+1 555 555 0100' });
    const done = await browser.submit(code, { code: codeIn(await messageTo('+15555550100')) });
    expect(claimsOf(done)).toMatchObject({ sub: 'auth0|alice', amr: ['sms'] });
    const silent = await browser.authorize({ ...request, connection: 'sms', prompt: 'none' });
    expect(silent.location!.hash).toContain('login_required');
  });

  test('are not used for `connection` while identifier-first is off, where one page asks for both', async () => {
    const browser = new Browser(classic);
    const page = await browser.authorize({ ...request, connection: 'email' });
    expect(page.html).toMatch(/name="identifier"[\s\S]*name="password"/);
    expect(claimsOf(await browser.logIn(page)).sub).toBe('auth0|alice');
    expect((await browser.authorize({ ...request, connection: 'email' })).status).toBe(302);
  });

  test('are replaced by a newer code, and spent by three wrong tries', async () => {
    const browser = new Browser(gate);
    const page = await browser.submit(await browser.authorize({ ...request, connection: 'email' }), {
      identifier: 'fresh@example.com',
    });
    const first = codeIn(await messageTo('fresh@example.com'));
    const again = await browser.submit(page, { action: 'resend' });
    const second = codeIn(await messageTo('fresh@example.com', 1));
    if (first !== second) expect((await browser.submit(again, { code: first })).status).toBe(400);
    const done = await browser.submit(again, { code: second });
    expect(claimsOf(done).sub).toMatch(/^email\|/);
  });
});

describe('sign-up', () => {
  test('creates an account and logs it in, and refuses a taken address in words that reveal nothing', async () => {
    const browser = new Browser(gate);
    const first = await browser.authorize(request);
    const form = await browser.get(`${new URL(first.url).pathname}/signup`);
    expect((await browser.submit(form, { email: 'carol@example.com', password: 'short' })).status).toBe(400);
    expect((await browser.submit(form, { email: 'carol@example.com', password: 'password123' })).status).toBe(400);
    const done = await browser.submit(form, { email: 'Carol@example.com', password: 'four unrelated words here' });
    expect(claimsOf(done)).toMatchObject({ email: 'carol@example.com', email_verified: false });
    const api = await gate.post('dbconnections/signup', {
      client_id: 'spa',
      connection: 'Username-Password-Authentication',
      email: 'carol@example.com',
      password: 'four unrelated words here',
    });
    expect(api).toMatchObject({ status: 400, json: { code: 'invalid_signup' } });
  });

  test('dbconnections/signup answers in Auth0’s shape, with a limit of 30 a minute', async () => {
    const signups = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        gate.post('dbconnections/signup', {
          client_id: 'spa',
          connection: 'Username-Password-Authentication',
          email: `u${index}@example.com`,
          password: 'four unrelated words here',
          given_name: 'Uma',
          family_name: 'Example',
          nickname: 'uu',
          picture: 'https://example.com/u.png',
        }),
      ),
    );
    expect(signups.map((answer) => answer.status)).toEqual(Array(30).fill(200));
    expect(signups[0]!.json).toMatchObject({
      _id: expect.any(String),
      email: 'u0@example.com',
      email_verified: false,
      given_name: 'Uma',
      family_name: 'Example',
      nickname: 'uu',
      picture: 'https://example.com/u.png',
    });
  });

  test('dbconnections/signup says which rule a short password breaks, in Auth0’s shape', async () => {
    const api = await gate.post('dbconnections/signup', {
      client_id: 'spa',
      connection: 'Username-Password-Authentication',
      email: 'dora@example.com',
      password: 'short',
    });
    expect(api).toMatchObject({
      status: 400,
      json: {
        name: 'PasswordStrengthError',
        code: 'invalid_password',
        description: {
          rules: [{ code: 'lengthAtLeast', message: 'At least %d characters in length', format: [8], verified: false }],
          verified: false,
        },
        policy: '* At least 8 characters in length',
        error_description: 'Password is too weak',
        statusCode: 400,
      },
    });
  });
});

test('a mailed link sets a new password once, and ends sessions and tokens', async () => {
  const browser = new Browser(gate);
  await browser.logIn(await browser.authorize(request), 'bob@example.com');
  const known = await gate.post('dbconnections/change_password', {
    client_id: 'spa',
    connection: 'Username-Password-Authentication',
    email: 'bob@example.com',
  });
  const unknown = await gate.post('dbconnections/change_password', {
    client_id: 'spa',
    connection: 'Username-Password-Authentication',
    email: 'nobody@example.com',
  });
  expect([known.status, unknown.text]).toEqual([200, known.text]);
  const link = linkIn(await gate.mailTo('bob@example.com'));
  const form = await new Browser(gate).get(link);
  expect(form.html).toContain('bob@example.com');
  const done = await new Browser(gate).submit(form, { password: 'another set of words' });
  expect(done.status).toBe(200);
  expect((await new Browser(gate).get(link)).status).toBe(400);
  await until('the mail of it', async () =>
    (await gate.outbox()).some((text) => text.includes('bob@example.com') && text.includes('password was changed')),
  );
  // The session that was open is over.
  expect((await browser.authorize({ ...request, prompt: 'none' })).location!.hash).toContain('login_required');
  const again = new Browser(gate);
  expect((await again.logIn(await again.authorize(request), 'bob@example.com', 'another set of words')).status).toBe(
    302,
  );
});

describe('logout', () => {
  const loggedIn = async () => {
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize(request));
    const id_token_hint = new URLSearchParams(page.location!.hash.slice(1)).get('id_token')!;
    return { browser, id_token_hint };
  };
  const isLoggedIn = async (browser: Browser) =>
    !(await browser.authorize({ ...request, prompt: 'none' })).location!.hash.includes('login_required');

  test('v2/logout ends the session and redirects to a registered address only', async () => {
    const { browser } = await loggedIn();
    const foreign = await browser.get(
      `v2/logout?client_id=spa&returnTo=${encodeURIComponent('https://evil.example/')}`,
    );
    expect(foreign.status).toBe(400);
    expect(foreign.location).toBeUndefined();
    expect(await isLoggedIn(browser)).toBe(true);
    const done = await browser.get(`v2/logout?client_id=spa&returnTo=${encodeURIComponent('https://app.example/bye')}`);
    expect([done.status, done.location?.href]).toEqual([302, 'https://app.example/bye']);
    expect(await isLoggedIn(browser)).toBe(false);
  });

  test('v2/logout takes an origin with and without its slash', async () => {
    const browser = new Browser(gate);
    for (const returnTo of ['https://origin.example', 'https://origin.example/']) {
      const done = await browser.get(`v2/logout?${new URLSearchParams({ client_id: 'at-origin', returnTo })}`);
      expect([done.status, done.location?.href]).toEqual([302, 'https://origin.example/']);
    }
    for (const returnTo of [
      'https://origin.example//',
      'https://origin.example?x',
      'https://origin.example@evil.example',
    ]) {
      const page = await browser.get(`v2/logout?${new URLSearchParams({ client_id: 'at-origin', returnTo })}`);
      expect([page.status, page.location]).toEqual([400, undefined]);
    }
  });

  test.each(['//evil.example', 'https://app.example/bye/', '/\\evil.example', 'https://app.example/bye#x'])(
    'sec-014-open-redirect: returnTo %s is refused',
    async (returnTo) => {
      const page = await new Browser(gate).get(`v2/logout?${new URLSearchParams({ client_id: 'spa', returnTo })}`);
      expect([page.status, page.location]).toEqual([400, undefined]);
    },
  );

  test('sec-079-logout-confirmation: happens at once with the session’s ID token, and without it only after confirmation', async () => {
    const { browser, id_token_hint } = await loggedIn();
    const asked = await browser.get('oidc/logout?client_id=spa');
    expect(asked.html).toContain('logout');
    expect(await isLoggedIn(browser)).toBe(true);
    const params = new URLSearchParams({
      id_token_hint,
      post_logout_redirect_uri: 'https://app.example/bye',
      state: 'x',
    });
    const auto = await browser.get(`oidc/logout?${params}`);
    const done = await browser.submit(auto);
    expect(done.location?.href).toBe('https://app.example/bye?state=x');
    expect(await isLoggedIn(browser)).toBe(false);
  });
});

test('by POST does the same as by GET', async () => {
  const browser = new Browser(gate);
  const page = await browser.logIn(await browser.authorize(request));
  const id_token_hint = new URLSearchParams(page.location!.hash.slice(1)).get('id_token')!;
  const post_logout_redirect_uri = 'https://app.example/bye';
  const auto = await browser.post('oidc/logout', { id_token_hint, post_logout_redirect_uri, state: 'x' });
  expect((await browser.submit(auto)).location?.href).toBe(`${post_logout_redirect_uri}?state=x`);
  const silent = await browser.authorize({ ...request, prompt: 'none' });
  expect(silent.location!.hash).toContain('login_required');
  const refused = await browser.post('oidc/logout', {
    client_id: 'spa',
    post_logout_redirect_uri: 'https://evil.example/',
  });
  expect([refused.status, refused.location]).toEqual([400, undefined]);
});

test('a blocked account loses its session, its refresh tokens and userinfo at once', async () => {
  const browser = new Browser(gate);
  const { code_verifier, ...challenge } = pkce();
  const page = await browser.logIn(
    await browser.authorize({ ...request, response_type: 'code', scope: 'openid offline_access', ...challenge }),
  );
  const code = page.location!.searchParams.get('code')!;
  const { json } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'spa',
    code,
    redirect_uri,
    code_verifier,
  });
  await gate.pool.query("UPDATE auth.accounts SET blocked = true WHERE user_id = 'auth0|alice'");
  const silent = await browser.authorize({ ...request, prompt: 'none' });
  expect(silent.location!.hash).toContain('login_required');
  expect((await gate.get('userinfo', { authorization: `Bearer ${json.access_token}` })).status).toBe(401);
  const refreshed = await gate.post('oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'spa',
    refresh_token: json.refresh_token as string,
  });
  expect(refreshed.json.error).toBe('invalid_grant');
  await gate.pool.query("UPDATE auth.accounts SET blocked = false WHERE user_id = 'auth0|alice'");
});
