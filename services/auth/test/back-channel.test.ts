/** Back-channel logout: the applications of a session hear of its end, from the gate itself. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { freePort, openGate } from './gate.ts';
import { managerSeed, managerToken } from './manager.ts';
import { fullSeed, spa } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const heard: { url: string; token: string }[] = [];
const application = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const token = new URLSearchParams(Buffer.concat(chunks).toString()).get('logout_token') ?? '';
    heard.push({ url: request.url ?? '', token });
    if (request.url !== '/hangs') response.end();
  });
});
await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
stack.defer(async () => {
  application.closeAllConnections();
  await new Promise((resolve) => application.close(resolve));
});
const address = `http://127.0.0.1:${(application.address() as AddressInfo).port}`;
const gate = stack.use(
  await openGate(
    {
      ...fullSeed,
      clients: [
        ...fullSeed.clients,
        { ...spa, client_id: 'told', oidc_logout: { backchannel_logout_urls: [`${address}/seeded`] } },
        {
          ...spa,
          client_id: 'untold',
          oidc_logout: {
            backchannel_logout_urls: [`${address}/unwanted`],
            backchannel_logout_initiators: { mode: 'custom', selected_initiators: ['password-changed'] },
          },
        },
        managerSeed(['update:clients']),
      ],
    },
    { OUTBOUND_ALLOWED_NETWORKS: '127.0.0.1/32' },
  ),
);

async function listenAt(clientId: string, path: string, initiators?: object): Promise<void> {
  const oidc_logout = {
    backchannel_logout_urls: [`${address}${path}`],
    ...(initiators && { backchannel_logout_initiators: initiators }),
  };
  const response = await fetch(`${gate.issuer}api/v2/clients/${clientId}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${await managerToken(gate)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ oidc_logout }),
  });
  const body = (await response.json()) as Record<string, unknown>;
  expect([response.status, body.oidc_logout]).toEqual([200, oidc_logout]);
}
/** A browser that is logged in at two applications, one of which listens, and what that one knows of its session. */
async function loggedIn(): Promise<{ browser: Browser; claims: Record<string, unknown>; id_token_hint: string }> {
  const browser = new Browser(gate);
  const request = { client_id: 'spa', redirect_uri: 'https://app.example/cb', scope: 'openid', nonce: 'n' };
  const page = await browser.logIn(await browser.authorize({ ...request, response_type: 'id_token' }));
  await browser.authorize({ ...request, client_id: 'web', response_type: 'code' });
  const id_token_hint = new URLSearchParams(page.location!.hash.slice(1)).get('id_token')!;
  return { browser, claims: decodeJwt(id_token_hint), id_token_hint };
}

beforeEach(() => {
  heard.length = 0;
});

test.each([
  [
    'oidc/logout',
    async (browser: Browser, hint: string) => {
      await browser.submit(await browser.get(`oidc/logout?id_token_hint=${hint}`));
    },
  ],
  [
    'v2/logout',
    async (browser: Browser) => {
      await browser.get('v2/logout?client_id=spa');
    },
  ],
])(
  'sec-080-back-channel: after %s the application gets a logout token for its own session only',
  async (_path, logOut) => {
    await listenAt('spa', '/logout');
    const { browser, claims, id_token_hint } = await loggedIn();
    await logOut(browser, id_token_hint);
    const { token, url } = await until('the logout token', () => heard[0]);
    expect(url).toBe('/logout');
    const keys = createRemoteJWKSet(new URL('.well-known/jwks.json', gate.issuer));
    const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer: gate.issuer, audience: 'spa' });
    expect(protectedHeader.typ).toBe('logout+jwt');
    expect(payload).toMatchObject({
      sub: 'auth0|alice',
      sid: claims.sid,
      jti: expect.any(String),
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
    expect(payload.nonce).toBeUndefined();
    expect(heard).toHaveLength(1);
  },
);

test('a seed sets an application’s back-channel logout URI and Auth0’s initiators for it', async () => {
  const { browser, id_token_hint } = await loggedIn();
  const request = { redirect_uri: 'https://app.example/cb', scope: 'openid', nonce: 'n', response_type: 'id_token' };
  for (const client_id of ['untold', 'told']) await browser.authorize({ ...request, client_id });
  await browser.submit(await browser.get(`oidc/logout?id_token_hint=${id_token_hint}`));
  const { token } = await until('the logout token', () => heard.find(({ url }) => url === '/seeded'));
  expect(decodeJwt(token).aud).toBe('told');
  // All of them have been told when the page is shown.
  expect(heard.some(({ url }) => url === '/unwanted')).toBe(false);
});

test.each([
  [{ mode: 'custom', selected_initiators: ['password-changed'] }, []],
  [{ mode: 'custom', selected_initiators: ['idp-logout', 'rp-logout'] }, ['/chosen']],
  [{ mode: 'all' }, ['/chosen']],
])('with the initiators %j set by the management API, the logout tokens go to %j', async (initiators, told) => {
  await listenAt('spa', '/chosen', initiators);
  const { browser, id_token_hint } = await loggedIn();
  await browser.submit(await browser.get(`oidc/logout?id_token_hint=${id_token_hint}`));
  expect(heard.map(({ url }) => url)).toEqual(told);
});

test('sec-080-hanging: an application that does not answer delays nobody’s logout', async () => {
  await listenAt('spa', '/hangs');
  const { browser, id_token_hint } = await loggedIn();
  const page = await browser.submit(await browser.get(`oidc/logout?id_token_hint=${id_token_hint}`));
  expect(page.status).toBe(200);
  const asked = { client_id: 'spa', redirect_uri: 'https://app.example/cb', scope: 'openid', nonce: 'n' };
  const silent = await browser.authorize({ ...asked, response_type: 'id_token', prompt: 'none' });
  expect(silent.location!.hash).toContain('login_required');
});

test.each(['http', 'https'])(
  'sec-099-back-channel: with an issuer of %s no logout token is sent to our own network, unless it is listed',
  async (scheme) => {
    await listenAt('spa', '/inside');
    const port = await freePort();
    const at = `localhost:${port}`;
    const { SEED_FILE: _seed, ...env } = gate.env;
    await using _own = await openGate(fullSeed, {
      ...env,
      ISSUER: scheme === 'http' ? `http://${at}/` : 'https://gate.example/',
      AUTH_PORT: String(port),
      OUTBOUND_ALLOWED_NETWORKS: '127.0.0.2/32',
    });
    const browser = new Browser({ issuer: `http://${at}/` });
    const onward = async (page: Page): Promise<Page> =>
      page.location?.host === 'gate.example' ? onward(await browser.get(page.location.pathname)) : page;
    const request = { client_id: 'spa', redirect_uri: 'https://app.example/cb', scope: 'openid', nonce: 'n' };
    const first = await onward(await browser.authorize({ ...request, response_type: 'id_token' }));
    const page = await onward(await browser.logIn(first));
    expect(page.location?.hash).toContain('id_token');
    const hint = new URLSearchParams(page.location!.hash.slice(1)).get('id_token')!;
    const form = (await browser.get(`oidc/logout?id_token_hint=${hint}`)).forms[0]!;
    // It is answered when every application has been told, or could not be.
    const done = await browser.post('oidc/logout/confirm', form.fields);
    expect([done.location?.pathname ?? new URL(done.url).pathname]).toEqual(['/oidc/logout/success']);
    expect(heard).toEqual([]);
  },
);
