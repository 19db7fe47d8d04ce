/** Actions that ask for a second factor, and those that end sessions and refresh tokens. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { TOTP } from 'otpauth';
import { openActionsGate, password } from './actions.ts';
import { openGate } from './gate.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// A machine with much to do starts processes slowly.
const gate = stack.use(await openActionsGate({ ACTIONS_TIMEOUT_MS: '20000' }));
const { set, signIn, byPassword, byExchange, manage, logs } = gate;

describe('a second factor requested by an action', () => {
  test('is asked for on a page or with `mfa_required`, and nobody gets past it where no factor is switched on', async () => {
    await set(
      'post-login',
      `if (!event.authentication.methods.find(({ name }) => name === 'mfa')) api.multifactor.enable('any', { allowRememberBrowser: false });`,
    );
    expect((await signIn()).error.get('error')).toBe('access_denied');
    await manage('PUT', 'guardian/factors/otp', { enabled: true });
    const browser = new Browser(gate);
    await browser.logIn(
      await browser.authorize({
        client_id: 'web',
        redirect_uri: 'https://app.example/cb',
        response_type: 'code',
        scope: 'openid',
      }),
    );
    const page = await browser.authorize({
      client_id: 'web',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'openid',
    });
    expect(page.url).toContain('/mfa');
    expect((await byPassword()).json).toMatchObject({ error: 'mfa_required', mfa_token: expect.any(String) });
    // Nobody is there who could be asked.
    await set('post-login');
    const { json } = await signIn();
    await set('post-login', `api.multifactor.enable('any');`);
    const exchanged = await byExchange(json.access_token!);
    expect([exchanged.status, exchanged.json.error]).toEqual([403, 'mfa_required']);
    expect(exchanged.json).not.toHaveProperty('mfa_token');
    await manage('PUT', 'guardian/factors/otp', { enabled: false });
  });

  test('is skipped in a remembered browser only if the action allows it, though no policy asks for one', async () => {
    const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
    const request = {
      client_id: 'web',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'openid',
    };
    const codeOf = ({ location }: Page) => location?.searchParams.get('code');
    await manage('PATCH', 'tenants/settings', { mfa_policy: 'never' });
    await manage('PUT', 'guardian/factors/otp', { enabled: true });
    const path = 'users/auth0%7Calice/authentication-methods';
    const { body: method } = await manage('POST', path, { type: 'totp', totp_secret: secret });
    await set('post-login', `api.multifactor.enable('any', { allowRememberBrowser: true });`);
    const browser = new Browser(gate);
    const logIn = async () => {
      for (const key of browser.cookies.keys()) if (key.startsWith('_session')) browser.cookies.delete(key);
      return browser.logIn(await browser.authorize(request));
    };
    const asked = await logIn();
    expect(asked.url).toContain('/mfa');
    const proven = await browser.submit(asked, { code: new TOTP({ secret }).generate(), remember: 'yes' });
    expect(codeOf(proven)).toEqual(expect.any(String));
    expect(codeOf(await logIn())).toEqual(expect.any(String));
    expect(codeOf(await browser.authorize({ ...request, prompt: 'none' }))).toEqual(expect.any(String));
    const other = new Browser(gate);
    expect((await other.logIn(await other.authorize(request))).url).toContain('/mfa');
    await set('post-login', `api.multifactor.enable('any', { allowRememberBrowser: false });`);
    expect((await logIn()).url).toContain('/mfa');
    await manage('DELETE', `${path}/${encodeURIComponent(method.id)}`);
    await manage('PUT', 'guardian/factors/otp', { enabled: false });
    await manage('PATCH', 'tenants/settings', { mfa_policy: 'enrolled' });
  });

  test('is asked for at a refresh, proven by the MFA API, and gains nothing beyond the refresh token', async () => {
    const client = { client_id: 'stepping', client_secret: 'stepping-secret' };
    await manage('PUT', 'guardian/factors/otp', { enabled: true });
    await set('post-login');
    const tokens = (await signIn({ ...client, scope: 'openid offline_access read:x' })).json;
    const refresh = { grant_type: 'refresh_token', ...client, refresh_token: tokens.refresh_token! };
    await set('post-login', `api.multifactor.enable('any');`);
    // Nobody sets one up by a refresh token.
    const none = await gate.ask(refresh);
    expect([none.status, none.json.error, none.json.mfa_token]).toEqual([403, 'mfa_required', undefined]);

    const { body: method } = await manage('POST', 'users/auth0%7Calice/authentication-methods', {
      type: 'totp',
      totp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    });
    const codeOf = (step: number) =>
      new TOTP({ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }).generate({ timestamp: Date.now() + step * 30_000 });
    const verify = (mfa_token: string, step: number) =>
      gate.ask({ grant_type: 'http://auth0.com/oauth/grant-type/mfa-otp', ...client, mfa_token, otp: codeOf(step) });
    const asked = await gate.ask(refresh);
    expect(asked).toMatchObject({
      status: 403,
      json: {
        error: 'mfa_required',
        mfa_token: expect.any(String),
        mfa_requirements: { challenge: [{ type: 'otp' }] },
      },
    });
    const proven = await verify(asked.json.mfa_token!, 0);
    expect(proven).toMatchObject({
      status: 200,
      scope: 'openid offline_access read:x',
      access: { aud: expect.anything() },
    });
    expect(proven.id.amr).toEqual(['pwd', 'otp', 'mfa']);
    // It opens nothing else: whoever changes factors has a fresh login.
    const mfa = { authorization: `Bearer ${asked.json.mfa_token}` };
    expect((await gate.get('mfa/authenticators', mfa)).status).toBe(401);
    expect((await gate.post('mfa/associate', { authenticator_types: 'otp' }, mfa)).status).toBe(401);
    // Once; the tokens that came of it are refreshed without being asked again, the former refresh token is not.
    expect((await verify(asked.json.mfa_token!, 1)).status).toBe(400);
    const next = { ...refresh, refresh_token: proven.json.refresh_token! };
    expect((await gate.ask(next)).status).toBe(200);
    const narrow = await gate.ask({ ...refresh, scope: 'openid read:x' });
    expect(narrow.status).toBe(403);

    // What was taken away meanwhile does not come back.
    await gate.post('oauth/revoke', { ...client, token: tokens.refresh_token! });
    expect((await verify(narrow.json.mfa_token!, 1)).json).toMatchObject({ error: 'invalid_grant' });
    await set('post-login');
    await manage('DELETE', `users/auth0%7Calice/authentication-methods/${encodeURIComponent(method.id)}`);
    await manage('PUT', 'guardian/factors/otp', { enabled: false });
  });
});

describe('a session', () => {
  const client = { client_id: 'web', client_secret: 'web-secret' };
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };

  test('is described to actions with its times and its device, as is a refresh token without a session', async () => {
    await set(
      'post-login',
      `api.accessToken.setCustomClaim('session', event.session ?? null);
       api.accessToken.setCustomClaim('refresh_token', event.refresh_token ?? null);`,
    );
    const { access, json } = await signIn();
    const time = expect.stringMatching(/^\d{4}-/);
    expect(access).toMatchObject({
      session: {
        id: expect.any(String),
        created_at: time,
        authenticated_at: time,
        expires_at: time,
        idle_expires_at: time,
        device: { last_ip: expect.any(String), initial_ip: expect.any(String) },
      },
      refresh_token: null,
    });
    const refreshed = await gate.ask({ grant_type: 'refresh_token', ...client, refresh_token: json.refresh_token! });
    expect(refreshed.access).toMatchObject({
      session: null,
      refresh_token: { client_id: 'web', user_id: 'auth0|alice', created_at: time },
    });
    expect(JSON.stringify(refreshed.access)).not.toContain(json.refresh_token);
  });

  test('tells actions and administrators the first factor of its sign-in, and that a second one followed', async () => {
    await set(
      'post-login',
      `const names = ({ methods }) => methods.map(({ name }) => name);
       api.idToken.setCustomClaim('methods', [event.authentication, event.session?.authentication].map((each) => each && names(each)));`,
    );
    await manage('PUT', 'guardian/factors/otp', { enabled: true });
    const { body: method } = await manage('POST', 'users/auth0%7Calice/authentication-methods', {
      type: 'totp',
      totp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    });
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize(request));
    await browser.submit(page, { code: new TOTP({ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }).generate() });
    expect((await signIn({}, browser)).id.methods).toEqual([
      ['pwd', 'mfa'],
      ['pwd', 'mfa'],
    ]);
    await manage('DELETE', `users/auth0%7Calice/authentication-methods/${encodeURIComponent(method.id)}`);
    await manage('PUT', 'guardian/factors/otp', { enabled: false });

    // Alice's number, which opens her account in the database.
    const number = '+15555550100';
    await gate.post('passwordless/start', { client_id: 'native', connection: 'sms', phone_number: number });
    const message = await until('the message', async () =>
      (await gate.outbox()).find((text) => text.startsWith(`${number}\n`)),
    );
    const { id, json } = await gate.ask({
      grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
      client_id: 'native',
      username: number,
      otp: /code is (\d{6})/.exec(message)![1]!,
      realm: 'sms',
      scope: 'openid offline_access',
    });
    expect(id).toMatchObject({ sub: 'auth0|alice', amr: ['sms'], methods: [['sms'], null] });
    const refresh = { grant_type: 'refresh_token', client_id: 'native', refresh_token: json.refresh_token! };
    expect((await gate.ask(refresh)).id.methods).toEqual([['sms'], null]);
  });

  test('and a grant tell actions how many sign-ins there were, with the one that is going on', async () => {
    await set('post-login', `api.idToken.setCustomClaim('count', event.stats.logins_count);`);
    const countOf = ({ id }: { id: Record<string, unknown> }) => id.count;
    const asBob = async (browser = new Browser(gate)) => {
      await browser.logIn(await browser.authorize(request), 'bob@example.com');
      return countOf(await signIn({}, browser));
    };
    expect([await asBob(), await asBob(), await asBob()]).toEqual([1, 2, 3]);
    const granted = await byPassword({ username: 'bob@example.com', password, scope: 'openid offline_access' });
    expect(countOf(granted)).toBe(4);
    const refresh = { grant_type: 'refresh_token', client_id: 'trusted', client_secret: 'trusted-secret' };
    expect(countOf(await gate.ask({ ...refresh, refresh_token: granted.json.refresh_token! }))).toBe(4);

    // A process of the gate that checks the password is not always the one that runs the actions.
    const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as Record<string, string>;
    const shared = { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, ISSUER: gate.issuer } as Record<string, string>;
    await using other = await openGate({}, shared);
    const there = new Browser({ issuer: `http://localhost:${other.env.AUTH_PORT}/` });
    const { location } = await there.logIn(await there.authorize(request), 'bob@example.com');
    const here = new Browser(gate);
    for (const [name, cookie] of there.cookies) here.cookies.set(name, cookie);
    const { searchParams } = (await here.get(location!.href)).location!;
    const form = { grant_type: 'authorization_code', redirect_uri: request.redirect_uri };
    expect(countOf(await gate.ask({ ...form, ...client, code: searchParams.get('code')! }))).toBe(5);
  });

  test('is ended by an action, with or without the refresh tokens of its applications', async () => {
    for (const preserve of [true, false]) {
      await set('post-login');
      const browser = new Browser(gate);
      const { json } = await signIn({}, browser);
      await set(
        'post-login',
        `if (!event.session) return;
         api.user.setAppMetadata('stolen', { preserved: ${preserve} });
         api.session.revoke('A stolen session', { preserveRefreshTokens: ${preserve} });`,
      );
      const { location } = await browser.authorize(request);
      expect(Object.fromEntries(location!.searchParams)).toMatchObject({
        error: 'access_denied',
        error_description: 'A stolen session',
      });
      expect((await gate.manage('GET', 'users/auth0%7Calice')).body.app_metadata.stolen).toEqual({
        preserved: preserve,
      });
      // The page of a login, and no session that could be refused.
      expect((await browser.authorize(request)).location).toBeUndefined();
      const refresh = { grant_type: 'refresh_token', ...client, refresh_token: json.refresh_token! };
      expect((await gate.ask(refresh)).status).toBe(preserve ? 200 : 400);
    }
    await until('the log', async () => (await logs('type:session_revoked')).length === 2);
    await set('post-login');
  });

  test('ends when an action says so, together with a refresh token that the action revokes', async () => {
    await set('post-login', `api.session.setExpiresAt(Date.now() + 600_000);`);
    const browser = new Browser(gate);
    const { json, status } = await signIn({}, browser);
    expect(status).toBe(200);
    await set('post-login', `api.refreshToken.revoke('It was stolen');`);
    const refresh = { grant_type: 'refresh_token', ...client, refresh_token: json.refresh_token! };
    expect((await gate.ask(refresh)).json).toMatchObject({
      error: 'access_denied',
      error_description: 'It was stolen',
    });
    await set('post-login');
    expect((await gate.ask(refresh)).status).toBe(400);
    const isSignedIn = async () => (await browser.authorize(request)).location !== undefined;
    expect(await isSignedIn()).toBe(true);
    // Ten minutes later, by the clock of this process: a shorter life might end before the sign-in does.
    const now = Date.now;
    Date.now = () => now() + 600_000;
    try {
      expect(await isSignedIn()).toBe(false);
    } finally {
      Date.now = now;
    }
  });

  test('that was logged out of stays ended, even if a silent renewal was in progress', async () => {
    await set('post-login', {
      before: 'let release;',
      body: `const { login_hint: hint } = event.request.query;
             if (hint === 'hold') await new Promise((resolve) => { release = resolve; });
             if (hint === 'is it held') api.access.deny(release ? 'held' : 'not yet');
             if (hint === 'release') { release(); release = undefined; }`,
    });
    const silent = { ...request, prompt: 'none' };
    const other = new Browser(gate);
    await other.logIn(await other.authorize(request));
    for (const path of ['v2/logout?client_id=web', 'oidc/logout?client_id=web']) {
      const browser = new Browser(gate);
      await browser.logIn(await browser.authorize(request));
      const copy = new Browser(gate);
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
      const held = browser.authorize({ ...silent, login_hint: 'hold' });
      await until('the renewal to be held', async () => {
        const { location } = await other.authorize({ ...silent, login_hint: 'is it held' });
        return location?.searchParams.get('error_description') === 'held';
      });
      const page = await browser.get(path);
      if (page.forms.length > 0) await browser.submit(page, { logout: 'yes' });
      await other.authorize({ ...silent, login_hint: 'release' });
      await held;
      for (const each of [browser, copy])
        expect((await each.authorize(silent)).location?.searchParams.get('error')).toBe('login_required');
    }
    await set('post-login');
  });
});
