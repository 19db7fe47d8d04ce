/// <reference lib="dom" />
/** auth0-spa-js, unmodified, in Chromium, as a new user would set it up; auth0-js is in auth0-js.browser.test.ts. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { afterAll, expect, test } from '@jest/globals';
import { chromium, type Page } from 'playwright-core';
import { logIn } from './chromium.ts';
import { freePort, openGate } from './gate.ts';
import { alice, api, apis, connections, settings, spa } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const require = createRequire(import.meta.url);
const spaSdk = readFileSync(
  require.resolve('@auth0/auth0-spa-js').replace(/dist.*/, 'dist/auth0-spa-js.production.js'),
);

const port = await freePort();
const app = `http://localhost:${port}`;
const client = {
  ...spa,
  callbacks: [app],
  allowed_logout_urls: [app],
  web_origins: [app],
  allowed_origins: [app],
};
const gate = stack.use(
  await openGate({
    settings,
    apis,
    connections,
    users: [alice],
    clients: [client, { ...client, client_id: 'stranger', web_origins: ['https://elsewhere.example'] }],
  }),
);
const server = createServer((request, response) => {
  if (request.url === '/spa.js') return void response.setHeader('content-type', 'text/javascript').end(spaSdk);
  response.setHeader('content-type', 'text/html');
  response.end('<!doctype html><title>app</title><script src="/spa.js"></script>');
});
await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
stack.defer(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
const browser = await chromium.launch(launchOptions);
stack.defer(() => browser.close());

async function open(): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(patienceMs);
  stack.defer(() => context.close());
  const page = await context.newPage();
  await page.goto(app);
  return page;
}

const options = (more: object = {}) => ({
  domain: gate.issuer.slice(0, -1),
  clientId: 'spa',
  cacheLocation: 'localstorage',
  authorizationParams: { redirect_uri: app, audience: api, scope: 'openid profile email read:x' },
  ...more,
});
type Spa = Record<string, (...args: unknown[]) => Promise<unknown>>;
declare const auth0: { createAuth0Client(options: object): Promise<Spa> };

test('auth0-spa-js: redirect login, silent renewal through web_message, logout', async () => {
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

test('auth0-spa-js: refresh tokens rotate', async () => {
  const page = await open();
  const given = options({ useRefreshTokens: true });
  await page
    .evaluate(async (init) => (await auth0.createAuth0Client(init)).loginWithRedirect!(), given)
    .catch(() => {});
  await logIn(page);
  await page.waitForURL(`${app}/?code=**`);
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

test('web_message: another origin’s client gets nothing posted', async () => {
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
    [gate.issuer, app],
  );
  expect(outcome).toBe('nothing');
});
