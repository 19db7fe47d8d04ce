/** Actions that send somebody elsewhere in the middle of a sign-in, as Auth0’s document “Redirect with Actions” has it; and who tries to get past them. */
import { Browser } from '@gatepost/testkit/browser';
import { redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { decodeJwt, SignJWT } from 'jose';
import { openActionsGate, password } from './actions.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// A machine with much to do starts processes slowly.
const gate = stack.use(await openActionsGate({ ACTIONS_TIMEOUT_MS: '20000' }));
const redis = stack.adopt(new Redis(redisUrl()), (opened) => void opened.disconnect());
const { set, signIn, byPassword, manage, logs } = gate;

const secret = 'a secret that both of them know';
const secrets = { KEY: secret };
const redirect_uri = 'https://app.example/cb';
const request = { client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid offline_access', state: 's' };
const mine = 'https://mine.example/';

/** Asks for terms elsewhere, until they are accepted. */
const terms = {
  body: `
    api.idToken.setCustomClaim('${mine}before', event.user.user_id);
    api.user.setAppMetadata('asked', (event.user.app_metadata.asked ?? 0) + 1);
    if (!api.redirect.canRedirect()) return;
    const session_token = api.redirect.encodeToken({ secret: event.secrets.KEY, expiresInSeconds: 60, payload: { email: event.user.email } });
    api.redirect.sendUserTo('https://terms.example/?page=1', { query: { session_token, next: 'a&state=forged#x', state: 'mine' } });`,
  before: `
    exports.onContinuePostLogin = async (event, api) => {
      const { accepted } = api.redirect.validateToken({ secret: event.secrets.KEY, tokenParameterName: 'answer' });
      if (!accepted) return api.access.deny('The terms were not accepted.');
      api.idToken.setCustomClaim('${mine}continued', [event.request.method, event.user.user_id, event.transaction.protocol]);
    };`,
  secrets,
};
const after = `
  api.user.setAppMetadata('after', (event.user.app_metadata.after ?? 0) + 1);
  api.idToken.setCustomClaim('${mine}after', event.request.query.client_id);`;

const leave = async (browser = new Browser(gate), more: Record<string, string> = {}) => {
  const page = await browser.authorize({ ...request, ...more });
  const { location } = page.location ? page : await browser.logIn(page);
  return { browser, location: location!, state: location!.searchParams.get('state')! };
};
/** Of the interaction that was begun last. */
const pathOf = ({ cookies }: Browser) =>
  [...cookies.values()].map(({ path }) => path).findLast((path) => path.startsWith('/interaction/'))!;
const answerOf = (claims: object, { key = secret, seconds = 60 } = {}) =>
  new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
    .sign(Buffer.from(key));
const back = async (browser: Browser, state: string, answer: string) =>
  browser.get(`continue?${new URLSearchParams({ state, answer })}`);
const tokensOf = async (location: URL | undefined) => {
  const form = { grant_type: 'authorization_code', client_id: 'web', client_secret: 'web-secret', redirect_uri };
  return gate.ask({ ...form, code: location?.searchParams.get('code') ?? '' });
};
const metadata = async () => (await manage('GET', 'users/auth0%7Calice')).body.app_metadata as Record<string, number>;
const fault = (said: string) =>
  until(`${said} in the log`, async () =>
    (await logs('type:actions_execution_failed')).find(({ details }) => String(details.description).includes(said)),
  );

test('an action redirects somebody, and the actions after it wait for their return and run once', async () => {
  await set('post-login', terms, after);
  for (const method of ['GET', 'POST']) {
    const before = await metadata();
    const { browser, location, state } = await leave();
    expect(location.origin).toBe('https://terms.example');
    expect([...location.searchParams.keys()]).toEqual(['page', 'session_token', 'next', 'state']);
    expect(location.searchParams.get('next')).toBe('a&state=forged#x');
    expect(state).not.toBe('mine');
    expect(decodeJwt(location.searchParams.get('session_token')!)).toMatchObject({
      iss: new URL(gate.issuer).hostname,
      sub: 'auth0|alice',
      email: 'alice@example.com',
    });
    expect((await metadata()).after).toBe(before.after);
    const answer = await answerOf({ accepted: true, state });
    const page =
      method === 'GET' ? await back(browser, state, answer) : await browser.post('continue', { state, answer });
    const { id } = await tokensOf(page.location);
    expect(id).toMatchObject({
      [`${mine}before`]: 'auth0|alice',
      [`${mine}continued`]: [method, 'auth0|alice', 'oidc-basic-profile'],
      [`${mine}after`]: 'web',
    });
    expect(await metadata()).toMatchObject({ asked: (before.asked ?? 0) + 1, after: (before.after ?? 0) + 1 });
    // It is over: neither again, nor in the browser of somebody else.
    expect((await back(browser, state, answer)).status).toBe(400);
    expect((await back(new Browser(gate), state, answer)).status).toBe(400);
  }
});

test('what an action decides about somebody who comes back is applied, and a consent page may follow', async () => {
  await set('post-login', terms, after);
  const first = await leave();
  const refused = await back(first.browser, first.state, await answerOf({ accepted: false, state: first.state }));
  expect(Object.fromEntries(refused.location!.searchParams)).toMatchObject({
    error: 'access_denied',
    error_description: 'The terms were not accepted.',
    state: 's',
  });
  const { browser, state } = await leave(undefined, { prompt: 'consent' });
  const page = await back(browser, state, await answerOf({ accepted: true, state }));
  const before = await metadata();
  const { location } = await browser.submit(page, { action: 'allow' });
  expect((await tokensOf(location)).id).toMatchObject({ [`${mine}after`]: 'web' });
  expect(await metadata()).toEqual(before);
});

test('the state of a redirect opens nothing in another browser, and the sign-in it belongs to continues', async () => {
  await set('post-login', terms, after);
  const victim = await leave();
  const attacker = await leave();
  const answer = await answerOf({ accepted: true, state: victim.state });
  for (const browser of [attacker.browser, new Browser(gate)])
    expect((await back(browser, victim.state, answer)).status).toBe(400);
  // Nor does an answer that was posted for one continue another one.
  const crossed = await fetch(`${gate.issuer}continue?${new URLSearchParams({ state: victim.state, answer })}`, {
    redirect: 'manual',
  });
  const name = crossed.headers.get('location')!.split('/').at(-1);
  expect((await attacker.browser.get(`${pathOf(attacker.browser)}/continue/${name}`)).status).toBe(400);
  expect((await tokensOf((await back(victim.browser, victim.state, answer)).location)).status).toBe(200);
});

test('a returned token is not accepted if it has expired, is signed with another secret or algorithm, or belongs to another sign-in', async () => {
  await set('post-login', terms, after);
  const none = (state: string) =>
    `${[{ alg: 'none' }, { accepted: true, state, exp: 9e9 }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
  const cases: [string, (state: string) => Promise<string> | string][] = [
    ['it has expired', (state) => answerOf({ accepted: true, state }, { seconds: -1 })],
    ['its signature is wrong', (state) => answerOf({ accepted: true, state }, { key: 'another one' })],
    ['does not match the /continue state', () => answerOf({ accepted: true, state: 'another' })],
    ['does not match the /continue state', () => answerOf({ accepted: true })],
    ['its signature is wrong', none],
    ['there is none', () => ''],
  ];
  for (const [said, make] of cases) {
    const { browser, state } = await leave();
    const { location } = await back(browser, state, await make(state));
    expect([said, location!.searchParams.get('error')]).toEqual([said, 'access_denied']);
    await fault(said);
  }
});

test('somebody who does not come back is not signed in, neither by skipping the redirect nor after its hour is over', async () => {
  await set('post-login', terms, after);
  const { browser, location, state } = await leave();
  const path = pathOf(browser);
  // A reload leads to the same place.
  expect((await browser.get(path)).location!.href).toBe(location.href);
  for (const step of ['/consent', '/mfa', '/password', '/continue/made-up'])
    expect((await browser.get(`${path}${step}`)).location?.origin ?? 400).not.toBe('https://app.example');
  // The library's own address for what comes after an interaction: the actions begin anew.
  const around = await browser.get(path.replace('/interaction/', '/authorize/'));
  expect(around.location!.origin).toBe('https://terms.example');
  expect((await back(browser, state, await answerOf({ accepted: true, state }))).status).toBe(400);
  const late = await leave(browser);
  const keys = await redis.keys(`${gate.redisPrefix}auth:action-[^e]*`);
  expect(keys.length).toBeGreaterThan(0);
  for (const key of keys) {
    const left = await redis.ttl(key);
    expect(left).toBeGreaterThan(0); // negative: for ever
    expect(left).toBeLessThanOrEqual(3_600);
  }
  await redis.del(...keys);
  expect((await back(browser, late.state, await answerOf({ accepted: true, state: late.state }))).status).toBe(400);
});

test('two tabs of one browser each continue with their own state', async () => {
  await set('post-login', terms, after);
  const first = await leave();
  const second = await leave(first.browser);
  for (const { state } of [second, first]) {
    const { location } = await back(first.browser, state, await answerOf({ accepted: true, state }));
    expect((await tokensOf(location)).status).toBe(200);
  }
});

test('an answer that is sent many times at once continues the sign-in once', async () => {
  await set('post-login', terms, after);
  const before = await metadata();
  const { browser, state } = await leave();
  const answer = await answerOf({ accepted: true, state });
  const pages = await Promise.all(Array.from({ length: 20 }, () => back(browser, state, answer)));
  expect(pages.filter(({ location }) => location?.searchParams.has('code')).length).toBe(1);
  expect((await metadata()).after).toBe((before.after ?? 0) + 1);
});

test('only so much data is kept for one state, however often it is sent', async () => {
  await set('post-login', terms);
  const { state } = await leave();
  const body = new URLSearchParams({ state, answer: 'x'.repeat(50_000) });
  const sent = await Promise.all(
    Array.from({ length: 30 }, () => fetch(`${gate.issuer}continue`, { method: 'POST', body, redirect: 'manual' })),
  );
  expect(sent.filter(({ status }) => status === 303)).toHaveLength(20);
  expect(sent.filter(({ status }) => status === 400)).toHaveLength(10);
});

test('where no browser can be redirected, `canRedirect` is false or the request is refused', async () => {
  await set('post-login', terms, after);
  const { browser, state } = await leave();
  const { json } = await tokensOf((await back(browser, state, await answerOf({ accepted: true, state }))).location);
  const refresh = {
    grant_type: 'refresh_token',
    client_id: 'web',
    client_secret: 'web-secret',
    refresh_token: json.refresh_token!,
  };
  expect((await gate.ask(refresh)).status).toBe(200);
  expect((await byPassword()).status).toBe(200);
  // Silently, in the same browser.
  const silent = await browser.authorize({ ...request, prompt: 'none' });
  expect(silent.location!.searchParams.get('error')).toBe('interaction_required');
  await set('post-login', `api.redirect.sendUserTo('https://terms.example');`, after);
  for (const { status, json: body } of [await byPassword(), await gate.ask(refresh)])
    expect([status, body.error]).toEqual([403, 'interaction_required']);
  await set('post-login');
  expect((await gate.ask(refresh)).status).toBe(200);
});

test.each([
  ['no web address', `api.redirect.sendUserTo('javascript:alert(1)');`, '', 'needs an http or https URL'],
  ['no function for who comes back', `api.redirect.sendUserTo('https://x.example');`, '', 'does not export onContinue'],
])('a redirect with %s keeps people out', async (_what, body, before, said) => {
  await set('post-login', { body, before });
  const page = await new Browser(gate).authorize(request);
  expect(page.status).toBe(200);
  const { browser, location, state } = await leave();
  const last = location.origin === 'https://app.example' ? location : (await back(browser, state, 'x')).location!;
  expect([last.origin, last.searchParams.get('error')]).toEqual(['https://app.example', 'access_denied']);
  await fault(said);
});

test('a device waits for somebody who was redirected while confirming its code', async () => {
  await set('post-login', terms, after);
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  // Asked once each: who asks again has to wait for seconds.
  const confirm = async () => {
    const { json: device } = await gate.post('oauth/device/code', { client_id: 'native', scope: 'openid' });
    const browser = new Browser(gate);
    const page = await browser.submit(await browser.get('activate'), { user_code: String(device.user_code) });
    const { location } = await browser.logIn(await browser.submit(page, { confirm: 'yes' }));
    expect(location!.origin).toBe('https://terms.example');
    const poll = () => gate.ask({ grant_type, client_id: 'native', device_code: String(device.device_code) });
    return { browser, poll, state: location!.searchParams.get('state')! };
  };
  const away = await confirm();
  expect((await away.poll()).json.error).toBe('authorization_pending');

  const { browser, poll, state } = await confirm();
  const answer = await answerOf({ accepted: true, state });
  expect((await back(new Browser(gate), state, answer)).status).toBe(400);
  const done = await back(browser, state, answer);
  expect([done.status, /<h1>(.*?)</.exec(done.html)?.[1]]).toEqual([200, 'Device connected']);
  const { id } = await poll();
  expect(id).toMatchObject({
    [`${mine}continued`]: ['GET', 'auth0|alice', 'oauth2-device-code'],
    [`${mine}after`]: 'native',
  });
});

test('/account opens only after somebody has come back from a redirect', async () => {
  await set('post-login', terms, after);
  const browser = new Browser(gate);
  const page = await browser.logIn(await browser.get('account'), 'alice@example.com', password);
  expect(page.location!.origin).toBe('https://terms.example');
  const early = await browser.get('account');
  expect(early.location?.origin).toBe('https://terms.example');
  const state = early.location!.searchParams.get('state')!;
  const opened = await back(browser, state, await answerOf({ accepted: true, state }));
  expect([opened.status, new URL(opened.url).pathname]).toEqual([200, '/account']);
  await set('post-login');
  expect((await signIn()).status).toBe(200);
});
