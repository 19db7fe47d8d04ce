/** Public native applications (RFC 8252 8.6): whoever takes a loopback port can call itself one, so a person confirms each time. */

import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openGate, type TestGate } from '../gate.ts';
import { api, native, seed } from '../seeds.ts';

const claimed = 'https://native.example/cb';
const stack = new AsyncDisposableStack();
let gate: TestGate;
beforeAll(async () => {
  const callbacks = [...native.callbacks, claimed];
  const clients = [
    { ...native, callbacks },
    { ...native, callbacks, client_id: 'foreign', is_first_party: false },
    {
      ...native,
      client_id: 'confidential',
      client_secret: 'confidential-secret',
      token_endpoint_auth_method: undefined,
    },
  ];
  gate = stack.use(await openGate({ ...seed, clients: [...seed.clients, ...clients] }));
});
afterAll(() => stack.disposeAsync());

const loopback = 'http://127.0.0.1:51234/callback';
const { code_verifier, ...challenge } = pkce();
const request = {
  client_id: 'native',
  response_type: 'code',
  scope: 'openid offline_access admin:x',
  audience: api,
  ...challenge,
};
/** A browser in which somebody is signed in to another application. */
async function signedIn(): Promise<Browser> {
  const browser = new Browser(gate);
  const params = { ...request, client_id: 'spa', redirect_uri: 'https://app.example/cb' };
  const done = await browser.logIn(await browser.authorize(params));
  expect(code(done)).toBeTruthy();
  return browser;
}
const code = (page: Page) => page.location?.searchParams.get('code');

describe.each([
  ['a loopback port', loopback],
  ['another loopback port', 'http://127.0.0.1:51235/callback'],
  ['a scheme of its own', 'com.example.app:/cb'],
])('a public native application on %s', (_, redirect_uri) => {
  test.each(['native', 'foreign'])('gets no code without a person’s consent, each time: %s', async (client_id) => {
    const browser = await signedIn();
    const silent = await browser.authorize({ ...request, client_id, redirect_uri, prompt: 'none' });
    expect(silent.location!.searchParams.get('error')).toBe('consent_required');
    for (let time = 0; time < 2; time += 1) {
      const page = await browser.authorize({ ...request, client_id, redirect_uri });
      expect(page.location).toBeUndefined();
      expect(page.html).toContain('admin:x');
      const done = await browser.submit(page, { action: 'default' });
      expect(code(done)).toBeTruthy();
      // What was allowed just now is remembered, and opens nothing here.
      const again = await browser.authorize({ ...request, client_id, redirect_uri, prompt: 'none' });
      expect([code(again), again.location!.searchParams.get('error')]).toEqual([null, 'consent_required']);
    }
  });
});

test('asks a person who has just logged in too, and they may refuse', async () => {
  const browser = new Browser(gate);
  const page = await browser.logIn(await browser.authorize({ ...request, redirect_uri: loopback }));
  expect(page.location).toBeUndefined();
  const done = await browser.submit(page, { action: 'deny' });
  expect(done.location!.searchParams.get('error')).toBe('access_denied');
});

test('gets the requested tokens after consent', async () => {
  const browser = await signedIn();
  const page = await browser.authorize({ ...request, redirect_uri: loopback });
  const done = await browser.submit(page, { action: 'default' });
  const tokens = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'native',
    code: code(done)!,
    redirect_uri: loopback,
    code_verifier,
  });
  expect(tokens).toMatchObject({
    status: 200,
    json: { refresh_token: expect.any(String), scope: expect.stringContaining('admin:x') },
  });
});

test('gets nothing by a request without consent', async () => {
  const browser = await signedIn();
  await browser.authorize({ ...request, redirect_uri: loopback, prompt: 'none' });
  await browser.authorize({ ...request, redirect_uri: loopback });
  const silent = await browser.authorize({ ...request, redirect_uri: claimed, scope: 'openid', prompt: 'none' });
  const tokens = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'native',
    code: code(silent)!,
    redirect_uri: claimed,
    code_verifier,
  });
  expect(String(tokens.json.scope)).not.toContain('admin:x');
});

test.each([
  ['on a claimed https address', { redirect_uri: claimed }],
  ['with a secret', { client_id: 'confidential', redirect_uri: loopback }],
])('a first-party native application %s is treated like any other', async (_, more) => {
  const browser = await signedIn();
  expect(code(await browser.authorize({ ...request, ...more, prompt: 'none' }))).toBeTruthy();
});
