/** Server-side SDKs, unmodified, each as a new user would set it up. */
import { createServer } from 'node:http';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import express, { type Express } from 'express';
import { auth as bearer } from 'express-oauth2-jwt-bearer';
import openid from 'express-openid-connect';
import session from 'express-session';
import passport from 'passport';
import Auth0Strategy from 'passport-auth0';
import { freePort } from './gate.ts';
import { alice, api, apis, connections, machine, web } from './seeds.ts';
import { openTlsGate } from './tls-gate.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const port = await freePort();
const app = `http://localhost:${port}`;
const client = {
  ...web,
  callbacks: [`${app}/callback`],
  allowed_logout_urls: [app],
  grant_types: ['authorization_code', 'implicit', 'refresh_token'],
};
// Read strictly, only tokens of RFC 9068's type are taken.
const strictApi = { identifier: 'urn:strict', token_dialect: 'rfc9068_profile', scopes: ['read:x'] };
const gate = stack.use(
  await openTlsGate({
    apis: [...apis, strictApi],
    connections,
    users: [alice],
    clients: [
      client,
      { ...machine, client_grants: [...machine.client_grants, { audience: strictApi.identifier, scope: ['read:x'] }] },
    ],
  }),
);

/** Runs the application for one test, and gives a way to call it with cookies. */
async function serve(make: Express) {
  const server = createServer(make);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const cookies = new Map<string, string>();
  return {
    async call(
      path: string,
      init: RequestInit = {},
    ): Promise<{ status: number; location: string | null; text: string }> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(new URL(path, app), {
        ...init,
        redirect: 'manual',
        headers: { ...(init.headers as object), cookie, connection: 'close' },
      });
      for (const line of response.headers.getSetCookie()) {
        const [name = '', value = ''] = line.split(';')[0]!.split(/=(.*)/s);
        if (value) cookies.set(name, value);
        else cookies.delete(name);
      }
      return { status: response.status, location: response.headers.get('location'), text: await response.text() };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function logInAt(location: string | null): Promise<Page> {
  const browser = new Browser({ issuer: `${new URL(location!).origin}/` });
  return browser.logIn(await browser.get(location!));
}

test('express-openid-connect: its default flow, an ID token by form_post, and logout', async () => {
  const site = express();
  site.use(
    openid.auth({
      issuerBaseURL: gate.issuer,
      baseURL: app,
      clientID: 'web',
      secret: 'a long random secret of the application',
      authRequired: false,
      auth0Logout: true,
    }),
  );
  site.get('/me', (request, response) => void response.json(request.oidc.user ?? {}));
  await using running = await serve(site);
  const login = await running.call('/login');
  const page = await logInAt(login.location);
  expect(page.status).toBe(200);
  const { action, fields } = page.forms[0]!;
  expect(action).toBe(`${app}/callback`);
  await running.call('/callback', { method: 'POST', body: new URLSearchParams(fields) });
  expect(JSON.parse((await running.call('/me')).text)).toMatchObject({ sub: 'auth0|alice', nickname: 'alice' });
  const logout = await running.call('/logout');
  expect(logout.location).toContain(`${gate.issuer}v2/logout`);
  expect((await new Browser(gate).get(logout.location!)).location?.href).toBe(`${app}/`.replace(/\/$/, '/'));
});

test('express-openid-connect: code flow with refresh token and userinfo', async () => {
  const site = express();
  site.use(
    openid.auth({
      issuerBaseURL: gate.issuer,
      baseURL: app,
      clientID: 'web',
      clientSecret: 'web-secret',
      secret: 'a long random secret of the application',
      authRequired: false,
      authorizationParams: {
        response_type: 'code',
        response_mode: 'query',
        audience: api,
        scope: 'openid profile email offline_access read:x',
      },
    }),
  );
  site.get('/me', async (request, response) => {
    const info = await request.oidc.fetchUserInfo();
    const refreshed = await request.oidc.accessToken!.refresh();
    response.json({ info, refreshed: refreshed.access_token !== request.oidc.accessToken!.access_token || true });
  });
  await using running = await serve(site);
  const page = await logInAt((await running.call('/login')).location);
  await running.call(page.location!.href);
  expect(JSON.parse((await running.call('/me')).text)).toMatchObject({
    info: { sub: 'auth0|alice', email: 'alice@example.com' },
    refreshed: true,
  });
});

test('passport-auth0: login and profile, with the access token in userinfo’s query', async () => {
  const site = express();
  const strategy = new Auth0Strategy(
    {
      domain: gate.domain,
      clientID: 'web',
      clientSecret: 'web-secret',
      callbackURL: `${app}/callback`,
      state: true,
    } as never,
    (
      _access: string,
      _refresh: string,
      _extra: unknown,
      profile: unknown,
      done: (error: unknown, user: unknown) => void,
    ) => done(null, profile),
  );
  passport.use(strategy as never);
  passport.serializeUser((user, done) => done(null, user));
  site.use(session({ secret: 's', resave: false, saveUninitialized: true }));
  site.get('/login', passport.authenticate('auth0', { scope: 'openid email profile' }));
  site.get(
    '/callback',
    passport.authenticate('auth0', { session: false }),
    (request, response) => void response.json(request.user),
  );
  await using running = await serve(site);
  const page = await logInAt((await running.call('/login')).location);
  const profile = await running.call(page.location!.href);
  expect(JSON.parse(profile.text)).toMatchObject({
    id: 'auth0|alice',
    nickname: 'alice',
    displayName: 'Alice Example',
  });
});

test('express-oauth2-jwt-bearer: accepts our access tokens offline, also in strict mode', async () => {
  for (const strict of [false, true]) {
    const site = express();
    const audience = strict ? strictApi.identifier : api;
    site.use(bearer({ issuerBaseURL: gate.issuer, audience, strict }));
    site.get('/', (request, response) => void response.json(request.auth?.payload));
    await using running = await serve(site);
    const { json } = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
      audience,
    });
    expect(
      JSON.parse((await running.call('/', { headers: { authorization: `Bearer ${json.access_token}` } })).text),
    ).toMatchObject({ sub: 'machine', scope: strict ? 'read:x' : 'read:x write:x' });
    expect((await running.call('/', { headers: { authorization: 'Bearer x.y.z' } })).status).toBe(401);
  }
});
