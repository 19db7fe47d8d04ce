/// <reference lib="dom" />
/** Auth0's browser SDKs, unmodified, in Chromium, each as a new user would set it up. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { afterAll, expect, test } from '@jest/globals';
import { chromium, type Page } from 'playwright-core';
import { freePort, openGate } from './gate.ts';
import { alice, api, apis, connections, spa } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const require = createRequire(import.meta.url);
const spaSdk = readFileSync(
  require.resolve('@auth0/auth0-spa-js').replace(/dist.*/, 'dist/auth0-spa-js.production.js'),
);
const auth0Js = readFileSync(require.resolve('auth0-js').replace(/dist.*/, 'dist/auth0.min.js'));

const port = await freePort();
const app = `http://localhost:${port}`;
const client = {
  ...spa,
  callbacks: [app, `${app}/callback`, `${app}/popup`],
  allowed_logout_urls: [app],
  web_origins: [app],
  allowed_origins: [app],
};
const gate = stack.use(
  await openGate({
    apis,
    connections,
    users: [alice],
    clients: [client, { ...client, client_id: 'stranger', web_origins: ['https://elsewhere.example'] }],
  }),
);
const server = createServer((request, response) => {
  if (request.url === '/spa.js') return void response.setHeader('content-type', 'text/javascript').end(spaSdk);
  if (request.url === '/auth0.js') return void response.setHeader('content-type', 'text/javascript').end(auth0Js);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.setHeader('content-type', 'text/html');
    // Both SDKs call themselves `auth0`.
    const sdk = request.url?.startsWith('/callback') ? '/auth0.js' : '/spa.js';
    const posted = JSON.stringify(Buffer.concat(chunks).toString()).replaceAll('<', '\\u003c');
    response.end(
      `<!doctype html><title>app</title><script src="${sdk}"></script><script>window.posted = ${posted}</script>`,
    );
  });
});
await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
stack.defer(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
stack.defer(() => browser.close());

async function open(): Promise<Page> {
  const context = await browser.newContext();
  stack.defer(() => context.close());
  const page = await context.newPage();
  await page.goto(app);
  return page;
}

async function logIn(page: Page): Promise<void> {
  await page.fill('[name=identifier]', 'alice@example.com');
  await page.click('.gp-main');
  await page.fill('[name=password]', 'correct horse battery staple');
  await page.click('.gp-main');
}

const options = (more: object = {}) => ({
  domain: gate.issuer.slice(0, -1),
  clientId: 'spa',
  cacheLocation: 'localstorage',
  authorizationParams: { redirect_uri: app, audience: api, scope: 'openid profile email read:x' },
  ...more,
});
type Spa = Record<string, (...args: unknown[]) => Promise<unknown>>;
declare const auth0: {
  createAuth0Client(options: object): Promise<Spa>;
  WebAuth: new (options: object) => Record<string, (...args: unknown[]) => void>;
};

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
}, 60_000);

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
}, 60_000);

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
}, 60_000);

test('auth0-js: authorize by form post and by redirect', async () => {
  const page = await open();
  const init = {
    domain: gate.issuer.slice(0, -1).replace('http://', ''),
    clientID: 'spa',
    redirectUri: `${app}/callback`,
    responseType: 'token id_token',
    overrides: { __tenant: 'gate', __token_issuer: gate.issuer },
  };
  // auth0-js always says https; our gate is plain http in this test.
  await page.route('https://localhost:*/**', (route) =>
    route.continue({ url: route.request().url().replace('https://', 'http://') }),
  );
  const url = new URL('authorize', gate.issuer);
  url.search = String(
    new URLSearchParams({
      client_id: 'spa',
      redirect_uri: `${app}/callback`,
      response_type: 'token id_token',
      response_mode: 'form_post',
      scope: 'openid',
      nonce: 'n',
      state: 's',
    }),
  );
  await page.goto(url.href);
  await logIn(page);
  await page.waitForURL(`${app}/callback`);
  const posted = new URLSearchParams(await page.evaluate(() => (window as unknown as { posted: string }).posted));
  expect([...posted.keys()].sort()).toEqual([
    'access_token',
    'expires_in',
    'id_token',
    'iss',
    'scope',
    'state',
    'token_type',
  ]);

  url.searchParams.set('response_mode', 'fragment');
  await page.goto(url.href);
  await page.waitForURL(`${app}/callback#**`);
  const parsed = await page.evaluate(
    (given) =>
      new Promise((resolve) => {
        const web = new auth0.WebAuth(given);
        web.parseHash!({ state: 's', nonce: 'n', __enableIdPInitiatedLogin: true }, (error: unknown, result: unknown) =>
          resolve(error ?? result),
        );
      }),
    init,
  );
  expect(parsed).toMatchObject({ accessToken: expect.any(String), state: 's' });
}, 60_000);

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
}, 60_000);
