/** sec-061 to sec-069 and sec-073 to sec-082: logging in and its abuse, sessions, forged requests, pages. */

import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import { openGate } from '../gate.ts';
import { api, fullSeed } from '../seeds.ts';
import { callback, openTarget, password, passwordGrant } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;
const base = {
  client_id: 'spa',
  redirect_uri: callback,
  scope: 'openid',
  nonce: 'n',
  response_type: 'code',
  ...pkce(),
};
type Params = Record<string, string>;
const ask = (params: Params, browser = new Browser(gate)) => browser.authorize({ ...base, ...params });
const claimsOf = (page: Page) => decodeJwt(new URLSearchParams(page.location!.hash.slice(1)).get('id_token')!);
const grant = (form: Params, headers: Params = {}) => passwordGrant(gate, form, headers);

test('sec-061-enumeration: wrong password, unknown and blocked people get the same answer, after about the same work', async () => {
  await gate.pool.query("UPDATE auth.accounts SET blocked = true WHERE user_id = 'auth0|bob'");
  // The processor time of our own: what others do on the machine is not in it.
  const took: Record<string, number[]> = { wrong: [], unknown: [] };
  const timed = async (kind: string, form: Params) => {
    const before = process.cpuUsage();
    const answer = await grant(form, { 'auth0-forwarded-for': `198.51.100.${took[kind]!.length}` });
    const { user, system } = process.cpuUsage(before);
    took[kind]!.push(user + system);
    return answer;
  };
  for (let round = 0; round < 5; round += 1) {
    const wrong = await timed('wrong', { password: 'wrong' });
    const unknown = await timed('unknown', { username: `nobody${round}@example.com`, password: 'wrong' });
    expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text]);
    expect(wrong.json.error).toBe('invalid_grant');
  }
  const blocked = await grant({ username: 'bob@example.com' });
  expect(blocked.json).toEqual((await grant({ password: 'wrong' })).json);
  await gate.pool.query("UPDATE auth.accounts SET blocked = false WHERE user_id = 'auth0|bob'");
  const median = (values: number[]) => values.sort((one, two) => one - two)[2]!;
  // A dummy password is hashed for the unknown: without that they would answer in a tenth of the time.
  expect(median(took.unknown!)).toBeGreaterThan(median(took.wrong!) / 3);
});

test('sec-062-lockout, sec-066-victim: ten failures lock only that login and address, also after a restart', async () => {
  const from = (address: string) => ({ 'auth0-forwarded-for': address });
  for (let index = 0; index < 10; index += 1) await grant({ password: 'wrong' }, from('192.0.2.1'));
  const locked = await grant({}, from('192.0.2.1'));
  expect(locked).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } });
  expect((await grant({}, from('192.0.2.2'))).status).toBe(200);
  const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as {
    DATABASE_URL: string;
    SECRETS_KEY: string;
    REDIS_KEY_PREFIX: string;
  };
  await using restarted = await openTarget({ DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX });
  const form = {
    grant_type: 'password',
    client_id: 'trusted',
    client_secret: 'trusted-secret',
    username: 'alice@example.com',
    password,
  };
  expect((await restarted.gate.post('oauth/token', form, from('192.0.2.1'))).status).toBe(429);
});

test('sec-062-lockout-page: applies to the hosted page too', async () => {
  const browser = new Browser(gate);
  let page = await browser.submit(await ask({}, browser), { identifier: 'carol@example.com' });
  for (let index = 0; index < 10; index += 1) page = await browser.submit(page, { password: `wrong ${index}` });
  expect((await browser.submit(page, { password: 'another' })).status).toBe(429);
});

test('sec-063-forwarded: only an authenticated client can say where its user is, and X-Forwarded-For is not believed', async () => {
  for (let index = 0; index < 11; index += 1)
    await grant({ username: 'dave@example.com', password: 'wrong' }, { 'x-forwarded-for': `203.0.113.${index}` });
  const still = await grant({ username: 'dave@example.com', password: 'wrong' }, { 'x-forwarded-for': '203.0.113.99' });
  expect(still.status).toBe(429);
  const unproven = await grant({ client_secret: 'wrong' }, { 'auth0-forwarded-for': '203.0.113.1' });
  expect(unproven.status).toBe(401);
});

test('sec-063-claimed: auth0-forwarded-for counts only as a valid address from a trusted client, and otherwise gives no separate limit', async () => {
  const guess = (username: string, address: string, client_id = 'trusted') =>
    grant(
      { username, password: 'wrong', client_id, client_secret: `${client_id}-secret` },
      { 'auth0-forwarded-for': address },
    );
  // It was believed of every confidential client, and whatever it said.
  for (let index = 0; index < 10; index += 1) await guess('claimed1@example.com', `192.0.2.${index}`, 'unbelieved');
  expect((await guess('claimed1@example.com', '192.0.2.99', 'unbelieved')).status).toBe(429);
  const unreadable = ['x', '192.0.2.7, 192.0.2.8', '192.0.2.7:80', '[2001:db8::7]', '1', '0x7f.1', 'for=192.0.2.7'];
  for (let index = 0; index < 10; index += 1)
    await guess('claimed2@example.com', unreadable[index] ?? `nonsense ${index}`);
  expect((await guess('claimed2@example.com', 'another')).status).toBe(429);
  // One address, spelled in two ways.
  for (let index = 0; index < 10; index += 1)
    await guess('claimed3@example.com', index % 2 === 0 ? '192.0.2.77' : '::ffff:192.0.2.77');
  expect((await guess('claimed3@example.com', '192.0.2.77')).status).toBe(429);
  expect((await guess('claimed3@example.com', '192.0.2.78')).status).toBe(400);
});

test('sec-065-ropc: is refused to clients without the grant, to third parties and without the secret', async () => {
  expect((await grant({ client_id: 'untrusted' })).json.error).toBe('unauthorized_client');
  expect((await grant({ client_id: 'web', client_secret: 'web-secret' })).json.error).toBe('unauthorized_client');
  expect((await grant({ client_id: 'spa', client_secret: '' })).json.error).toBe('unauthorized_client');
});

describe('one-time codes', () => {
  const start = (email: string) =>
    gate.post('passwordless/start', { client_id: 'native', connection: 'email', send: 'code', email });
  const otp = (code: string, username: string) =>
    gate.post('oauth/token', {
      grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
      client_id: 'native',
      otp: code,
      username,
      realm: 'email',
      scope: 'openid',
    });
  const codeTo = async (email: string) => {
    const mail = await until('the mail', async () => (await gate.outbox()).findLast((text) => text.includes(email)));
    return /code is (\d{6})/.exec(mail)![1]!;
  };

  test('sec-067-otp: have six digits, and of eight parallel uses of the right code one logs in', async () => {
    await start('eve@example.com');
    const code = await codeTo('eve@example.com');
    const answers = await Promise.all(Array.from({ length: 8 }, () => otp(code, 'eve@example.com')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('sec-067-otp-guesses: parallel guesses spend the code', async () => {
    await start('frank@example.com');
    const code = await codeTo('frank@example.com');
    const guesses = Array.from({ length: 8 }, (_, index) =>
      String((Number(code) + index + 1) % 1_000_000).padStart(6, '0'),
    );
    await Promise.all(guesses.map((guess) => otp(guess, 'frank@example.com')));
    expect((await otp(code, 'frank@example.com')).json.error).toBe('invalid_grant');
  });

  test('sec-069-start: known and unknown addresses get the same answer', async () => {
    const known = await start('alice@example.com');
    const unknown = await start('stranger@example.com');
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text.replace('alice', 'stranger')]);
  });

  test.each([
    'a@b.example\r\nBcc: victim@example.com',
    'a@b.example,victim@example.com',
    '<a@b.example>',
    'a@b.example\0',
  ])('sec-106-header-injection: %j is not accepted as an address', async (email) => {
    expect((await start(email)).status).toBe(400);
    expect((await gate.outbox()).join('')).not.toContain('victim@example.com');
  });
});

describe('sessions', () => {
  test('sec-073-fixation: a session id from before the login is not the session after it', async () => {
    const browser = new Browser(gate);
    browser.cookies.set('_session /', { value: 'attackers-choice', path: '/' });
    await browser.logIn(await ask({}, browser));
    const first = browser.cookies.get('_session /')!.value;
    expect(first).not.toBe('attackers-choice');
    await browser.logIn(await ask({ prompt: 'login' }, browser));
    expect(browser.cookies.get('_session /')!.value).not.toBe(first);
    const thief = new Browser(gate);
    for (const [key, cookie] of browser.cookies) thief.cookies.set(key, cookie);
    thief.cookies.set('_session /', { value: first, path: '/' });
    expect((await ask({ prompt: 'none' }, thief)).location!.search).toContain('login_required');
  });

  test('sec-073-logout: a session that was logged out does not work again', async () => {
    const browser = await target.loggedIn();
    const kept = new Map(browser.cookies);
    await browser.get('v2/logout?client_id=spa');
    for (const [key, cookie] of kept) browser.cookies.set(key, cookie);
    expect((await ask({ prompt: 'none' }, browser)).location!.search).toContain('login_required');
  });

  test('sec-074-cookies: HttpOnly, signed, without a domain; Lax under http, None and Secure under https', async () => {
    const flagsOf = async (url: string) => {
      const response = await fetch(`${url}authorize?${new URLSearchParams(base)}`, { redirect: 'manual' });
      return response.headers.getSetCookie();
    };
    const plain = await flagsOf(issuer);
    expect(plain.length).toBeGreaterThan(0);
    for (const cookie of plain) expect(cookie).toMatch(/; httponly/i);
    for (const cookie of plain) expect(cookie).not.toMatch(/domain=/i);
    expect(plain.some((cookie) => /^\w+\.sig=/.test(cookie))).toBe(true);
    const browser = await target.loggedIn();
    browser.cookies.set('_session.sig /', { value: 'forged', path: '/' });
    expect((await ask({ prompt: 'none' }, browser)).location!.search).toContain('login_required');

    const secure = stack.use(await openGate(fullSeed, { ISSUER: 'https://gate.example/' }));
    const local = `http://localhost:${secure.env.AUTH_PORT}/`;
    const prefixed = await flagsOf(local);
    const names = prefixed.map((cookie) => cookie.split('=', 1)[0]);
    expect(names).toEqual(expect.arrayContaining(['__Host-application', '__Secure-interaction', '__Secure-resume']));
    for (const cookie of prefixed) expect(cookie).toMatch(/^__(Host|Secure)-.*; secure/i);
    for (const cookie of prefixed.filter((one) => one.startsWith('__Host-'))) expect(cookie).toMatch(/; path=\/(;|$)/i);
    const discovery = (await (await fetch(`${local}.well-known/openid-configuration`)).json()) as Params;
    expect(discovery.token_endpoint).toBe('https://gate.example/oauth/token');
  });

  test('sec-075-csrf: a login form without its token, or with another interaction’s, is refused', async () => {
    const [one, two] = [new Browser(gate), new Browser(gate)];
    const [page, other] = [await ask({}, one), await ask({}, two)];
    const own = { identifier: 'alice@example.com' };
    expect((await one.submit(page, { ...own, csrf: '' })).status).toBe(403);
    expect((await one.submit(page, { ...own, csrf: other.forms[0]!.fields.csrf! })).status).toBe(403);
  });

  test('sec-075-consent-csrf: nobody can consent for another person with a form of their own', async () => {
    const browser = new Browser(gate);
    const page = await browser.logIn(await ask({ client_id: 'third', audience: api, scope: 'openid read:x' }, browser));
    expect(page.html).toContain('Third');
    expect((await browser.submit(page, { csrf: 'x', action: 'default' })).status).toBe(403);
  });

  test('sec-076-interaction: another person’s address offers to start again, and no login', async () => {
    const page = await ask({});
    const stranger = new Browser(gate);
    const shown = await stranger.get(page.url);
    expect([shown.status, shown.html.includes('name="identifier"')]).toEqual([400, false]);
    const posted = await stranger.submit(page, { identifier: 'alice@example.com' });
    expect(posted.status).toBe(400);
  });

  test('sec-078-consent: is remembered for client, API and scopes together, and asked for by prompt=consent', async () => {
    const browser = new Browser(gate);
    const request = { client_id: 'third', audience: api, scope: 'openid read:x' };
    const allowed = await browser.submit(await browser.logIn(await ask(request, browser)), { action: 'default' });
    expect(allowed.location!.search).toContain('code=');
    expect((await ask(request, browser)).status).toBe(302);
    expect((await ask({ ...request, scope: 'openid read:x write:x' }, browser)).status).toBe(200);
    expect((await ask({ ...request, prompt: 'consent' }, browser)).status).toBe(200);
  });

  test('sec-079-logout: a forged ID token hint is refused, and another person’s asks first', async () => {
    const browser = await target.loggedIn();
    const bob = await target.loggedIn('bob@example.com');
    const hintOf = async (who: Browser) =>
      new URLSearchParams((await ask({ response_type: 'id_token' }, who)).location!.hash.slice(1)).get('id_token')!;
    const { privateKey } = await generateKeyPair('RS256');
    const forged = await new SignJWT(decodeJwt(await hintOf(browser)))
      .setProtectedHeader({ alg: 'RS256' })
      .sign(privateKey);
    const refused = await browser.get(`oidc/logout?id_token_hint=${forged}`);
    expect(refused.status).toBe(400);
    const others = await browser.get(`oidc/logout?id_token_hint=${await hintOf(bob)}`);
    expect(others.html).toContain('action');
    expect((await browser.post('oidc/logout/confirm', { logout: 'yes', xsrf: 'guess' })).status).toBe(400);
    expect((await ask({ prompt: 'none' }, browser)).location!.search).toContain('code=');
  });

  test('sec-081-double-submit: a form that was sent before leads back to the application, never to a 500', async () => {
    const browser = new Browser(gate);
    const page = await browser.submit(await ask({}, browser), { identifier: 'alice@example.com' });
    expect((await browser.submit(page, { password })).status).toBe(302);
    const again = await browser.submit(page, { password });
    expect([302, 400]).toContain(again.status);
    const back = await browser.get(page.url);
    expect(back.status).toBeLessThan(500);
    const tabs = await Promise.all([ask({}, browser), ask({ prompt: 'login' }, browser)]);
    expect(tabs.map(({ status }) => status)).toEqual([302, 200]);
    expect(claimsOf(await ask({ response_type: 'id_token' }, browser)).sub).toBe('auth0|alice');
  });
});
