/// <reference lib="dom" />
/**
 * auth0-js, unmodified, in Chromium, as its users set it up. It speaks https and nothing else, and the application is another site: what its
 * frames need are cookies with SameSite=None.
 */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { afterAll, expect, test } from '@jest/globals';
import { chromium, type Page } from 'playwright-core';
import { logIn } from './chromium.ts';
import { freePort, linkIn } from './gate.ts';
import { alice, api, apis, connections, spa } from './seeds.ts';
import { openTlsGate } from './tls-gate.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const sdk = readFileSync(
  createRequire(import.meta.url)
    .resolve('auth0-js')
    .replace(/dist.*/, 'dist/auth0.min.js'),
);
const certificates = stack.use(makeCertificates());
const certificate = certificates.selfSigned('localhost');

const appPort = await freePort();
const app = `https://127.0.0.1:${appPort}`;
const client = {
  ...spa,
  callbacks: [`${app}/callback`, `${app}/popup`],
  allowed_logout_urls: [app],
  web_origins: [app],
  allowed_origins: [app],
};
const gate = stack.use(
  await openTlsGate({
    apis,
    connections,
    users: [alice],
    clients: [client, { ...client, client_id: 'stranger', web_origins: [] }],
  }),
);
const options = {
  domain: gate.domain,
  clientID: 'spa',
  audience: api,
  scope: 'openid profile email read:x',
  responseType: 'token id_token',
};
const server = createServer(certificate, (request, response) => {
  if (request.url === '/auth0.js') return void response.setHeader('content-type', 'text/javascript').end(sdk);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const posted = JSON.stringify(Buffer.concat(chunks).toString()).replaceAll('<', '\\u003c');
    const script = `window.posted = ${posted}; window.web = new auth0.WebAuth(${JSON.stringify(options)});
      if (location.pathname === '/popup') web.popup.callback();`;
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>app</title><script src="/auth0.js"></script><script>${script}</script>`);
  });
});
await new Promise<void>((resolve) => server.listen(appPort, '127.0.0.1', resolve));
stack.defer(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
// Somebody who has not turned cookies in frames of other sites off, as private windows and some browsers do: there auth0-js can
// renew only from a page of the gate's own site.
const profile = stack.adopt(await mkdtemp(join(tmpdir(), 'profile-')), (path) => rm(path, { recursive: true }));
await mkdir(join(profile, 'Default'));
const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences));
const context = await chromium.launchPersistentContext(profile, { ...launchOptions, ignoreHTTPSErrors: true });
context.setDefaultTimeout(patienceMs);
stack.defer(() => context.close());

async function open(): Promise<Page> {
  await context.clearCookies();
  const page = await context.newPage();
  await page.goto(app);
  return page;
}

type Answer = { error?: string; code?: string; idTokenPayload?: { sub: string; nonce: string }; accessToken?: string };
type Ask = (options: object, answer: (error: Answer | null, result?: Answer) => void) => void;
declare const web: { checkSession: Ask; parseHash: Ask; authorize(options: object): void; popup: { authorize: Ask } };

/** What `checkSession` answers on this page, and for this client. */
function checkSession(page: Page, more: object = {}): Promise<Answer> {
  return page.evaluate(
    (given) =>
      new Promise<Answer>((resolve) => {
        web.checkSession({ redirectUri: `${location.origin}/callback`, ...given }, (error, result) =>
          resolve((error ?? result)!),
        );
      }),
    { timeout: patienceMs, ...more },
  );
}

test('checkSession renews in a hidden frame of another site, and says login_required where nobody is logged in', async () => {
  const page = await open();
  expect(await checkSession(page)).toMatchObject({ error: 'login_required' });

  await page.evaluate(() => web.authorize({ redirectUri: `${location.origin}/callback` }));
  await logIn(page);
  await page.waitForURL(`${app}/callback#**`);
  const first = await page.evaluate(
    () => new Promise<Answer>((resolve) => web.parseHash({}, (error, result) => resolve((error ?? result)!))),
  );
  expect(first).toMatchObject({ idTokenPayload: { sub: 'auth0|alice' } });

  const renewed = await checkSession(page);
  expect(renewed).toMatchObject({ idTokenPayload: { sub: 'auth0|alice' }, accessToken: expect.any(String) });
  expect(renewed.accessToken).not.toBe(first.accessToken);

  const cookies = await context.cookies(gate.tlsIssuer);
  const session = cookies.find(({ name }) => name === '__Host-session');
  expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: 'None', domain: 'localhost' });
});

test('checkSession gets no answer when the client’s allowed web origins lack the page', async () => {
  const page = await open();
  expect(await checkSession(page, { clientID: 'stranger', timeout: 1_500 })).toMatchObject({ error: 'timeout' });
});

test('popup.authorize logs in in a window of its own, whose callback page hands over the tokens and closes', async () => {
  const page = await open();
  const opened = context.waitForEvent('page');
  const answer = page.evaluate(
    () =>
      new Promise<Answer>((resolve) => {
        web.popup.authorize({ redirectUri: `${location.origin}/popup` }, (error, result) =>
          resolve((error ?? result)!),
        );
      }),
  );
  const popup = await opened;
  const closed = popup.waitForEvent('close');
  await logIn(popup);
  expect(await answer).toMatchObject({ idTokenPayload: { sub: 'auth0|alice' }, accessToken: expect.any(String) });
  await closed;
});

test('popup.authorize receives the error when there are no tokens', async () => {
  const page = await open();
  const opened = context.waitForEvent('page');
  const answer = page.evaluate(
    () =>
      new Promise<Answer>((resolve) => {
        web.popup.authorize({ redirectUri: `${location.origin}/popup`, prompt: 'none' }, (error, result) =>
          resolve((error ?? result)!),
        );
      }),
  );
  await opened;
  expect(await answer).toMatchObject({ code: 'login_required' });
});

test('no image or frame of another site signs anybody in, whatever its address contains', async () => {
  // The attacker's own sign-in by a link, up to the address that would end it.
  const authParams = { response_type: 'id_token', redirect_uri: `${app}/callback`, scope: 'openid', nonce: 'n' };
  const asked = { client_id: 'spa', connection: 'email', email: 'alice@example.com', send: 'link', authParams };
  const body = JSON.stringify(asked);
  const headers = { 'content-type': 'application/json' };
  const ticketed = async () => {
    const { length } = await gate.mails(asked.email);
    await fetch(`${gate.tlsIssuer}passwordless/start`, { method: 'POST', headers, body });
    const link = linkIn(await gate.mailTo(asked.email, length));
    const form = await fetch(link.replace(gate.issuer, gate.tlsIssuer));
    const cookie = form.headers.getSetCookie()[0]!.split(';')[0]!;
    const html = await form.text();
    const [ticket, csrf] = ['ticket', 'csrf'].map(
      (name) => new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1],
    );
    const done = await fetch(`${gate.tlsIssuer}passwordless/link`, {
      method: 'POST',
      headers: { cookie },
      body: new URLSearchParams({ ticket: ticket!, csrf: csrf! }),
      redirect: 'manual',
    });
    return new URL(done.headers.get('location')!, gate.tlsIssuer).href;
  };
  const page = await open();
  for (const element of ['img', 'iframe'])
    await page.evaluate(
      ([name, address]) =>
        new Promise((resolve) => {
          const picture = document.createElement(name as 'img');
          picture.onload = picture.onerror = resolve;
          picture.src = address!;
          document.body.append(picture);
        }),
      [element, await ticketed()],
    );
  expect(await checkSession(page)).toMatchObject({ error: 'login_required' });
});

test('authorize with response_mode=form_post arrives as a form', async () => {
  const page = await open();
  await page.evaluate(() =>
    web.authorize({ redirectUri: `${location.origin}/callback`, responseMode: 'form_post', state: 's', nonce: 'n' }),
  );
  await logIn(page);
  await page.waitForURL(`${app}/callback`);
  const posted = new URLSearchParams(await page.evaluate(() => (window as unknown as { posted: string }).posted));
  expect([...posted.keys()].sort()).toEqual([
    ...['access_token', 'expires_in', 'id_token', 'iss', 'scope', 'state', 'token_type'],
  ]);
});
