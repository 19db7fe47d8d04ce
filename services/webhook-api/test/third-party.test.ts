/** Somebody else's application on a user's behalf: the gate's login and consent in a browser, then GitHub's own client. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { openReceiver } from '@gatepost/testkit/receiver';
import { openSystem, type System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Octokit } from '@octokit/rest';
import { checkedFetch } from './support/conformance.ts';

const stack = new AsyncDisposableStack();
const callback = 'http://localhost:4599/callback';
const widgets = { owner: 'acme', repo: 'widgets' };
let system: System;

beforeAll(async () => {
  // With the demo's seed. A busy machine is not to be taken for an unavailable store.
  system = stack.use(await openSystem({ env: { STORE_TIMEOUT_MS: '30000' } }));
});
afterAll(() => stack.disposeAsync());

/** Signs alice in at the demo's third-party client, which asks for `scope`. @returns her token, and what she was asked. */
async function signIn(scope: string): Promise<{ token: string; consent: string }> {
  const browser = new Browser(system);
  const { code_verifier, ...challenge } = pkce();
  const asked = await browser.authorize({
    response_type: 'code',
    client_id: 'demo-web',
    redirect_uri: callback,
    audience: system.audience,
    scope,
    state: 'abc',
    ...challenge,
  });
  const consent = await browser.logIn(asked);
  expect(consent.status).toBe(200);
  const done = await browser.submit(consent, { action: 'accept' });
  expect(done.location?.searchParams.get('state')).toBe('abc');
  const response = await fetch(`${system.issuer}oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'demo-web',
      client_secret: 'demo-web-secret',
      redirect_uri: callback,
      code: done.location?.searchParams.get('code') ?? '',
      code_verifier,
    }),
  });
  const { access_token } = (await response.json()) as { access_token: string };
  return { token: access_token, consent: consent.html };
}

const octokit = (auth: string) =>
  new Octokit({ auth, baseUrl: `${system.apiUrl}/api/v3`, log: silent, request: { fetch: checkedFetch } }).rest;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a user who consented works with her hooks through Octokit, and the organization’s policy reaches the application', async () => {
  await using receiver = await openReceiver();
  const { token, consent } = await signIn('repo admin:org_hook');
  expect(consent).toContain('Full control of repositories and their hooks');
  const app = octokit(token);
  const { data: hook, headers } = await app.repos.createWebhook({
    ...widgets,
    config: { url: receiver.url, content_type: 'json', secret: 's' },
  });
  expect(headers['x-oauth-scopes']).toBe('admin:org_hook, repo');
  await until('the ping', () => receiver.received.find((request) => request.headers['x-github-event'] === 'ping'));
  const pings = await until('the ping in the log', async () => {
    const { data } = await app.repos.listWebhookDeliveries({ ...widgets, hook_id: hook.id });
    return data.length > 0 && data;
  });
  expect(pings[0]).toMatchObject({ event: 'ping', status: 'OK' });

  // Of the organization's hooks it sees its own, and not the machine's.
  const machine = octokit(await system.token());
  const config = { url: receiver.url, content_type: 'json' };
  const { data: theirs } = await machine.orgs.createWebhook({ org: 'acme', name: 'web', config });
  const { data: own } = await app.orgs.createWebhook({
    org: 'acme',
    name: 'web',
    config: { ...config, secret: 'own' },
  });
  const listed = async (client: typeof app) =>
    (await client.orgs.listWebhooks({ org: 'acme' })).data.map(({ id }) => id);
  expect(await listed(app)).toEqual([own.id]);
  expect(await listed(machine)).toEqual([theirs.id]);

  const policy = (enabled: boolean) =>
    checkedFetch(`${system.apiUrl}/orgs/acme/oauth-app-policy`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
      body: JSON.stringify({ enabled }),
    });
  const operator = await system.token();
  expect((await policy(true)).status).toBe(200);
  await expect(app.repos.getWebhook({ ...widgets, hook_id: hook.id })).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('OAuth App access restrictions'),
  });
  const { data: disabled } = await machine.repos.getWebhook({ ...widgets, hook_id: hook.id });
  expect(disabled).toMatchObject({ active: false, disabled_reason: 'oauth_app_restricted' });
  expect((await policy(false)).status).toBe(200);
  expect((await app.repos.getWebhook({ ...widgets, hook_id: hook.id })).data).toMatchObject({ active: true });
});

test('a scope that the user did not grant gives no access', async () => {
  const { token } = await signIn('read:repo_hook');
  const app = octokit(token);
  expect((await app.repos.listWebhooks(widgets)).status).toBe(200);
  await expect(app.repos.createWebhook({ ...widgets, config: { url: 'https://example.com/' } })).rejects.toMatchObject({
    status: 404,
  });
});
