/// <reference lib="dom" />
/**
 * auth0-spa-js, unmodified, in Chromium, as a new user would set it up: by the domain alone, before which it puts https, from a page by https and
 * from one by http; auth0-js is in auth0-js.browser.test.ts.
 */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { afterAll, expect, test } from '@jest/globals';
import { chromium, type Page } from 'playwright-core';
import { codeOf, multiFactor } from './authenticator.ts';
import { logIn } from './chromium.ts';
import { alice, api, apis, connections, settings, spa } from './seeds.ts';
import { openTlsGate } from './tls-gate.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const require = createRequire(import.meta.url);
const spaSdk = readFileSync(
  require.resolve('@auth0/auth0-spa-js').replace(/dist.*/, 'dist/auth0-spa-js.production.js'),
);

const answer: RequestListener = (request, response) => {
  if (request.url === '/spa.js') return void response.setHeader('content-type', 'text/javascript').end(spaSdk);
  response.setHeader('content-type', 'text/html');
  response.end('<!doctype html><title>app</title><script src="/spa.js"></script>');
};
const certificate = stack.use(makeCertificates()).selfSigned('localhost');
const [secure, plain] = [createTlsServer(certificate, answer), createServer(answer)];
for (const server of [secure, plain]) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}
const app = `https://localhost:${(secure.address() as AddressInfo).port}`;
const plainApp = `http://localhost:${(plain.address() as AddressInfo).port}`;
const pages = [app, plainApp];
const client = { ...spa, callbacks: pages, allowed_logout_urls: pages, web_origins: pages, allowed_origins: pages };
const gate = stack.use(
  await openTlsGate({
    settings: { ...settings, guardian_factors: ['otp'] },
    apis,
    connections,
    users: [alice],
    clients: [client, { ...client, client_id: 'stranger', web_origins: ['https://elsewhere.example'] }],
  }),
);
const browser = await chromium.launch(launchOptions);
stack.defer(() => browser.close());

async function open(url = app): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(patienceMs);
  stack.defer(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

const options = (more: object = {}) => ({
  domain: gate.domain,
  clientId: 'spa',
  cacheLocation: 'localstorage',
  authorizationParams: { redirect_uri: app, audience: api, scope: 'openid profile email read:x' },
  ...more,
});
type Spa = Record<string, (...args: unknown[]) => Promise<unknown>>;
declare const auth0: { createAuth0Client(options: object): Promise<Spa> };

test('auth0-spa-js: redirect login, silent renewal by web_message, and logout', async () => {
  const page = await open();
  await page
    .evaluate(async (given) => (await auth0.createAuth0Client(given)).loginWithRedirect!(), options())
    .catch(() => {});
  await logIn(page);
  await page.waitForURL(`${app}/?code=**`);
  const [user, token, renewed] = await page.evaluate(async (given) => {
    const sdk = await auth0.createAuth0Client(given);
    await sdk.handleRedirectCallback!();
    const first = await sdk.getTokenSilently!();
    return [await sdk.getUser!(), first, await sdk.getTokenSilently!({ cacheMode: 'off' })];
  }, options());
  expect(user).toMatchObject({ sub: 'auth0|alice', name: 'Alice Example', email: 'alice@example.com' });
  expect(renewed).not.toBe(token);
  await page
    .evaluate(async (given) => {
      const sdk = await auth0.createAuth0Client(given);
      await sdk.logout!({ logoutParams: { returnTo: location.origin } });
    }, options())
    .catch(() => {});
  await page.waitForURL(`${app}/`);
  const error = await page.evaluate(async (given) => {
    const sdk = await auth0.createAuth0Client(given);
    return sdk.getTokenSilently!({ cacheMode: 'off' }).catch((problem: { error: string }) => problem.error);
  }, options());
  expect(error).toBe('login_required');
});

// From a page by http the gate's frames are of another site, whose cookies browsers may keep back: there refresh tokens renew.
test.each([
  ['https', app],
  ['http', plainApp],
])('auth0-spa-js: refresh tokens rotate for a page over %s', async (_, from) => {
  const page = await open(from);
  const authorizationParams = { ...options().authorizationParams, redirect_uri: from };
  const given = options({ useRefreshTokens: true, authorizationParams });
  await page
    .evaluate(async (init) => (await auth0.createAuth0Client(init)).loginWithRedirect!(), given)
    .catch(() => {});
  await logIn(page);
  await page.waitForURL(`${from}/?code=**`);
  const tokens = await page.evaluate(async (init) => {
    const sdk = await auth0.createAuth0Client(init);
    await sdk.handleRedirectCallback!();
    const refreshTokens = () =>
      Object.values(localStorage)
        .join()
        .match(/"refresh_token":"([^"]+)"/)?.[1];
    const before = refreshTokens();
    await sdk.getTokenSilently!({ cacheMode: 'off' });
    return [before, refreshTokens()];
  }, given);
  expect(tokens[0]).toBeDefined();
  expect(tokens[1]).not.toBe(tokens[0]);
});

test('auth0-spa-js: popup login', async () => {
  const page = await open();
  const popup = page.context().waitForEvent('page');
  const login = page.evaluate(async (given) => {
    const sdk = await auth0.createAuth0Client(given);
    await sdk.loginWithPopup!();
    return sdk.getUser!();
  }, options());
  await logIn(await popup);
  expect(await login).toMatchObject({ sub: 'auth0|alice' });
});

test('auth0-spa-js: nothing is posted to an origin of another client', async () => {
  const page = await open();
  const outcome = await page.evaluate(
    ([issuer, target]) =>
      new Promise((resolve) => {
        window.addEventListener('message', (event) => resolve(event.data));
        const frame = document.createElement('iframe');
        frame.src = `${issuer}authorize?${new URLSearchParams({ client_id: 'stranger', redirect_uri: target!, response_type: 'token', response_mode: 'web_message', prompt: 'none', state: 's' })}`;
        document.body.append(frame);
        setTimeout(() => resolve('nothing'), 1_500);
      }),
    [gate.tlsIssuer, app],
  );
  expect(outcome).toBe('nothing');
});

// The last one: from here on alice has a second factor.
test('auth0-spa-js: step-up asks a session only for the second factor, and tokens say that it was used', async () => {
  const page = await open();
  const given = options();
  const opened = page.context().waitForEvent('page');
  const signedIn = page.evaluate(async (init) => (await auth0.createAuth0Client(init)).loginWithPopup!(), given);
  await logIn(await opened);
  await signedIn;
  const asked = page.context().waitForEvent('page');
  const stepUp = page.evaluate(
    async ([init, acr_values]) => {
      const sdk = await auth0.createAuth0Client(init as object);
      await sdk.loginWithPopup!({ authorizationParams: { acr_values } });
      return sdk.getIdTokenClaims!();
    },
    [given, multiFactor] as const,
  );
  const popup = await asked;
  const secret = (await popup.locator('.gp-key code').textContent())!.replaceAll(' ', '');
  await popup.fill('[name=code]', codeOf(secret, -1));
  await popup.click('.gp-main');
  await popup.locator('.gp-codes').waitFor();
  await popup.click('.gp-main');
  expect(await stepUp).toMatchObject({ acr: multiFactor, amr: expect.arrayContaining(['mfa']) });
});
