/** Signing in elsewhere: a second gate is the provider. */
import { makeSeal } from '@gatepost/runtime/seal';
import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier } from 'openid-client';
import { makeAttempts } from '../src/upstream/attempts.ts';
import { ageSessions } from './aged.ts';
import { codeOf, multiFactor, secretIn } from './authenticator.ts';
import type { TestGate } from './gate.ts';
import { settings } from './seeds.ts';
import { claimsFor, type Form, manage, openOurs, openProvider, request, signInAt } from './upstream.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
let acme!: TestGate;
const gate = stack.use(
  await openOurs(
    async (callback) => {
      acme = stack.use(await openProvider(callback));
      const options = { client_id: 'ours', client_secret: 'our-secret', discovery_url: acme.issuer };
      return [
        { name: 'acme', strategy: 'oidc', display_name: 'Acme <Inc>', options },
        {
          name: 'partner',
          strategy: 'oidc',
          options: { ...options, own_callback: true, domain_aliases: ['partner.example'] },
        },
        {
          name: 'choosing',
          strategy: 'oidc',
          options: { ...options, authParams: { prompt: 'select_account', max_age: '86400' } },
        },
        { name: 'google-oauth2', strategy: 'google-oauth2', options },
        {
          name: 'github',
          strategy: 'github',
          options: {
            ...options,
            discovery_url: undefined,
            authorizationURL: `${acme.issuer}authorize`,
            tokenURL: `${acme.issuer}oauth/token`,
          },
        },
      ];
    },
    { seed: { settings: { ...settings, guardian_factors: ['otp'] } } },
  ),
);

const redis = stack.adopt(new Redis(gate.env.REDIS_URL!), (opened) => void opened.disconnect());

const authorize = (browser: Browser, { code_verifier: _, ...params }: Form) => browser.authorize(params);

describe('sign-in at a provider', () => {
  test('a provider named by the application signs people in, and supplies their profile', async () => {
    const browser = new Browser(gate);
    const asked = request({ connection: 'acme', login_hint: 'alice@example.com' });
    const { left, done } = await signInAt(acme, browser, asked);
    expect(Object.fromEntries(left.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'ours',
      redirect_uri: gate.callback,
      scope: 'openid profile email',
      login_hint: 'alice@example.com',
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(done.location?.href).toContain('https://app.example/cb?code=');
    expect(await claimsFor(gate, asked, done)).toMatchObject({
      sub: 'oidc|acme|auth0|alice',
      email: 'alice@example.com',
      email_verified: true,
      name: 'Alice Example',
      nickname: 'alice',
    });
    const { body } = await manage(gate, 'GET', `users/${encodeURIComponent('oidc|acme|auth0|alice')}`);
    expect(body.identities).toEqual([
      { connection: 'acme', provider: 'oidc', user_id: 'acme|auth0|alice', isSocial: false },
    ]);
    expect(body).toMatchObject({ logins_count: expect.any(Number), email: 'alice@example.com' });
  });

  test('a provider has a button on the sign-in page, which leads there', async () => {
    const browser = new Browser(gate);
    const page = await browser.authorize(request());
    expect(page.html).toContain('Continue with Acme &lt;Inc&gt;');
    expect(page.html).not.toContain('Continue with partner'); // found by the address
    const path = /href="(\/interaction\/[\w-]+\/connection\/acme)"/.exec(page.html)![1]!;
    expect((await browser.get(path)).location?.origin).toBe(new URL(acme.issuer).origin);
  });

  test('somebody who has read the sign-in page for nine minutes has ten more at the provider, and time for what comes after it', async () => {
    const browser = new Browser(gate);
    const page = await browser.authorize(request());
    const [path, uid] = /\/interaction\/([\w-]+)\/connection\/acme(?=")/.exec(page.html)!;
    const key = `${gate.redisPrefix}auth:Interaction:${uid}`;
    const payload = JSON.parse((await redis.hget(key, 'payload'))!);
    await redis.hset(key, 'payload', JSON.stringify({ ...payload, iat: payload.iat - 540, exp: payload.exp - 540 }));
    await redis.expire(key, 60);
    const url = new URL(path, gate.issuer);
    const left = await fetch(url, { headers: { cookie: browser.cookieHeader(url) }, redirect: 'manual' });
    expect(await redis.ttl(key)).toBeGreaterThan(590);
    const cookies = left.headers.getSetCookie().filter((line) => /^_(interaction|resume)=/.test(line));
    const lifetimes = cookies.map((line) => Date.parse(/expires=([^;]+)/i.exec(line)![1]!) - Date.now());
    expect(lifetimes).toEqual([expect.any(Number), expect.any(Number)]);
    for (const lifetime of lifetimes) expect(lifetime).toBeGreaterThan(590_000);
    const there = new Browser(acme);
    const back = await there.logIn(await there.get(left.headers.get('location')!));
    const returned = new URL(`interaction/${uid}/callback${back.location!.search}`, gate.issuer);
    await fetch(returned, { headers: { cookie: browser.cookieHeader(returned) }, redirect: 'manual' });
    expect(await redis.ttl(key)).toBeGreaterThan(3_500);
  });

  test('a provider is not asked again while the session from it lasts', async () => {
    const browser = new Browser(gate);
    await signInAt(acme, browser, request({ connection: 'acme' }));
    const again = await browser.authorize(request({ connection: 'acme', prompt: 'none' }));
    expect(again.location?.searchParams.get('code')).toEqual(expect.any(String));
    // Another one is.
    const other = await browser.authorize(request({ connection: 'partner', prompt: 'none' }));
    expect(other.location?.searchParams.get('error')).toBe('login_required');
  });

  test('the provider for the domain of a typed address is asked instead of a password, and told the address', async () => {
    const browser = new Browser(gate);
    const page = await browser.authorize(request());
    const left = await browser.submit(page, { identifier: 'Bob@Partner.example' });
    expect(left.location?.searchParams.get('login_hint')).toBe('Bob@Partner.example');
    expect(left.location?.searchParams.get('redirect_uri')).toBe(`${gate.callback}/partner`);
  });

  test('a provider updates a person’s profile with its new claims', async () => {
    const asked = request({ connection: 'partner' });
    const { done } = await signInAt(acme, new Browser(gate), asked, 'bob@example.com');
    const before = await claimsFor(gate, asked, done);
    expect(before).toMatchObject({ sub: 'oidc|partner|auth0|bob', name: 'Bob' });
    await renamed('Robert');
    const again = request({ connection: 'partner' });
    const { done: later } = await signInAt(acme, new Browser(gate), again, 'bob@example.com');
    expect(await claimsFor(gate, again, later)).toMatchObject({ sub: before.sub, name: 'Robert' });
  });

  test('a sign-in that a person cancels at the provider returns an error to the application, and the log names it', async () => {
    const browser = new Browser(gate);
    const { location: left } = await browser.authorize(request({ connection: 'acme' }));
    const answer = { error: 'access_denied', state: left!.searchParams.get('state')!, iss: acme.issuer };
    const done = await browser.get(`${gate.callback}?${new URLSearchParams(answer)}`);
    expect(Object.fromEntries(done.location!.searchParams)).toMatchObject({
      error: 'access_denied',
      error_description: expect.stringContaining(
        'Sign-in with Acme <Inc> failed: the provider did not let the person in',
      ),
      state: 's',
    });
    const [entry] = await until('the log', async () => {
      const { body } = await manage(gate, 'GET', 'logs?q=type:f');
      return body.length > 0 ? body : undefined;
    });
    expect(entry).toMatchObject({
      client_id: 'web',
      details: {
        connection: 'acme',
        strategy: 'oidc',
        error: 'access_denied',
        reason: 'refused_there',
        advice: expect.any(String),
      },
    });
  });
});

describe('a session that began at a provider', () => {
  const stepUp = { connection: 'acme', acr_values: multiFactor };

  test('sets up a first factor only after a new login there, once it is an hour old', async () => {
    const browser = new Browser(gate);
    const { there } = await signInAt(acme, browser, request({ connection: 'acme' }));
    await ageSessions(gate, 'oidc|acme|auth0|alice', 3_600);
    const left = (await authorize(browser, request(stepUp))).location!;
    expect(left.searchParams.get('prompt')).toBe('login');
    // Its own session is not enough for the provider.
    const asked = await there.get(left.href);
    expect(asked.html).toContain('name="identifier"');
    const back = await browser.get((await there.logIn(asked)).location!.href);
    expect(back.html).toContain('Set up your authenticator app');
  });

  test('needs a new login there too if the account changes while a first factor is set up', async () => {
    const browser = new Browser(gate);
    await signInAt(acme, browser, request({ connection: 'acme' }));
    const page = await authorize(browser, request(stepUp));
    await gate.pool.query(
      `UPDATE auth.accounts SET email = 'new@example.com', updated_at = now() WHERE user_id = 'oidc|acme|auth0|alice'`,
    );
    const { location } = await browser.submit(page, { code: codeOf(secretIn(page)) });
    expect(location?.searchParams.get('prompt')).toBe('login');
  });
});

test.each<[string, Form, Form]>([
  ['are sent where the request needs none', {}, { prompt: 'select_account', max_age: '86400' }],
  ['give way to a new login', { prompt: 'login' }, { prompt: 'login', max_age: '86400' }],
  ['give way to the age of the login', { max_age: '60' }, { prompt: 'select_account', max_age: '60' }],
])('a connection’s own prompt and max_age %s', async (_, more, sent) => {
  const { location } = await authorize(new Browser(gate), request({ connection: 'choosing', ...more }));
  expect(Object.fromEntries(location!.searchParams)).toMatchObject(sent);
});

describe('another account at a provider', () => {
  test('can be used by whoever is asked for consent in the name of the first one', async () => {
    const browser = new Browser(gate);
    const asked = request({ client_id: 'third', connection: 'acme', login_hint: 'alice@example.com' });
    const { done: consent, there } = await signInAt(acme, browser, asked);
    const left = (await browser.submit(consent, { action: 'other' })).location!;
    expect([left.searchParams.get('prompt'), left.searchParams.get('login_hint')]).toEqual(['login', null]);
    // The provider asks too before one person's session becomes another's.
    const leaving = await there.logIn(await there.get(left.href), 'bob@example.com');
    const back = leaving.location ?? (await there.submit(leaving)).location!;
    const bobs = await browser.submit(await browser.get(back.href));
    expect(bobs.html).toContain('bob@example.com');
    const done = await browser.submit(bobs, { action: 'default' });
    expect(done.location?.searchParams.get('code')).toBeTruthy();
  });

  test.each([
    ['acme', 'select_account', 'login'],
    ['google-oauth2', 'select_account', 'select_account'],
    ['github', 'select_account', 'select_account'],
    ['acme', 'consent', null],
  ])('is offered by %s for prompt=%s', async (connection, prompt, passedOn) => {
    const { location } = await authorize(new Browser(gate), request({ connection, prompt }));
    expect(location?.searchParams.get('prompt')).toBe(passedOn);
  });
});

describe('an identity of a provider', () => {
  const path = 'users/auth0%7Cbob/identities';
  const theirs = { provider: 'oidc', user_id: 'acme|auth0|alice' };

  test('is linked to an account only on request, then signs in to it, and can be unlinked', async () => {
    const signIn = async () => {
      const asked = request({ connection: 'acme' });
      const { done } = await signInAt(acme, new Browser(gate), asked);
      return (await claimsFor(gate, asked, done)).sub;
    };
    expect(await signIn()).toBe('oidc|acme|auth0|alice');
    const linked = await manage(gate, 'POST', path, theirs);
    expect(linked).toMatchObject({
      status: 201,
      body: [
        { provider: 'auth0', user_id: 'bob' },
        { ...theirs, isSocial: false },
      ],
    });
    expect(await signIn()).toBe('auth0|bob');
    const unlinked = await manage(gate, 'DELETE', `${path}/oidc/${encodeURIComponent(theirs.user_id)}`);
    expect(unlinked).toMatchObject({ status: 200, body: [{ provider: 'auth0' }] });
    expect(await signIn()).toBe('oidc|acme|auth0|alice');
  });

  test('can be linked by a person who signs in on both sides in the same browser', async () => {
    const browser = new Browser(gate);
    const asked = request();
    const { code_verifier: _, ...params } = asked;
    await browser.logIn(await browser.authorize(params as Record<string, string>), 'bob@example.com');
    const { body } = await manage(gate, 'GET', 'users/auth0%7Cbob/sessions');
    const whose = { accountId: 'auth0|bob', sessionUid: body.sessions[0].id, returnTo: '/account' };
    // As a page of ours begins it.
    const seal = makeSeal(Buffer.from(gate.env.SECRETS_KEY!, 'base64'));
    const attempts = makeAttempts(redis, `${gate.redisPrefix}auth:`, seal);
    const begin = async () => {
      const verifier = randomPKCECodeVerifier();
      const nonce = randomNonce();
      const attempt = { connection: 'acme', redirectUri: gate.callback, nonce, verifier };
      const state = await attempts.begin({ for: { kind: 'link', ...whose }, ...attempt });
      const code_challenge = await calculatePKCECodeChallenge(verifier);
      const sent = {
        client_id: 'ours',
        redirect_uri: gate.callback,
        response_type: 'code',
        scope: 'openid',
        state,
        nonce,
      };
      const there = new Browser(acme);
      const page = await there.authorize({ ...sent, code_challenge, code_challenge_method: 'S256' });
      return (await there.logIn(page)).location!.href;
    };
    const foreign = await new Browser(gate).get(await begin());
    expect([foreign.status, foreign.location]).toEqual([400, undefined]);
    const back = await begin();
    expect((await browser.get(back)).url).toBe(`${gate.issuer}account?linked=acme`);
    expect((await browser.get(back)).status).toBe(400);
    const { body: bob } = await manage(gate, 'GET', 'users/auth0%7Cbob');
    expect(bob.identities).toMatchObject([{ provider: 'auth0' }, theirs]);
    await manage(gate, 'DELETE', `${path}/oidc/${encodeURIComponent(theirs.user_id)}`);
  });

  test('is deleted with its account, and makes a new account when the person returns', async () => {
    const { body: before } = await manage(gate, 'GET', 'users/oidc%7Cacme%7Cauth0%7Calice');
    await manage(gate, 'DELETE', 'users/oidc%7Cacme%7Cauth0%7Calice');
    await signInAt(acme, new Browser(gate), request({ connection: 'acme' }));
    const { body: after } = await manage(gate, 'GET', 'users/oidc%7Cacme%7Cauth0%7Calice');
    expect(after.created_at).not.toBe(before.created_at);
  });

  test('can be created by its provider only', async () => {
    const made = await manage(gate, 'POST', 'users', { connection: 'acme', email: 'x@example.com', user_id: 'x' });
    expect(made).toMatchObject({ status: 400, body: { message: expect.stringContaining('when they sign in there') } });
  });
});

async function renamed(name: string): Promise<void> {
  await acme.pool.query(`UPDATE auth.accounts SET name = $1, updated_at = now() WHERE user_id = 'auth0|bob'`, [name]);
}
