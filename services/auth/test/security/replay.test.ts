/** Replay races: what is single use and comes many times at once leaves nothing behind (RFC 6749 4.1.2, RFC 9700 4.14.2). */

import { Browser } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { Answer } from '../gate.ts';
import { api, apiClient } from '../seeds.ts';
import { openTarget, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, codeFor, refresh, userinfo } = target;
const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as Record<string, string>;
const shared = { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, ISSUER: target.issuer } as Record<string, string>;
const second = stack.use(await openTarget(shared));
const elsewhere = `http://localhost:${second.gate.env.AUTH_PORT}/`;

/** The same request so many times at once, at two processes. */
async function atOnce(times: number, form: Record<string, string>): Promise<Answer[]> {
  const there = async (): Promise<Answer> => {
    const response = await fetch(new URL('oauth/token', elsewhere), {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
  };
  return Promise.all(
    Array.from({ length: times }, (_, index) => (index % 2 === 0 ? gate.post('oauth/token', form) : there())),
  );
}

/** The one answer with tokens, if any; all others are refusals. */
function winnerOf(answers: Answer[]): Tokens | undefined {
  const won = answers.filter(({ status }) => status === 200);
  expect(won.length).toBeLessThanOrEqual(1);
  for (const { status, json } of answers)
    if (status !== 200) expect([status, json.error]).toEqual([400, 'invalid_grant']);
  return won[0]?.json as Tokens | undefined;
}

async function expectDead(client_id: string, tokens: Tokens): Promise<void> {
  expect((await userinfo(tokens.access_token)).status).toBe(401);
  const asApi = { client_id: apiClient.client_id, client_secret: apiClient.client_secret };
  const seen = await gate.post('oauth/introspect', { ...asApi, token: tokens.access_token });
  expect(seen.json).toEqual({ active: false });
  expect(await refresh(client_id, tokens.refresh_token)).toMatchObject({
    status: 400,
    json: { error: 'invalid_grant' },
  });
}

test.each([
  ['an opaque access token', {}],
  ['a JWT', { audience: api }],
])('of two hundred concurrent redemptions of one code one gets tokens, and none survives: %s', async (_, more) => {
  const { code_verifier, redirect_uri, code } = await codeFor('spa', more);
  const form = { grant_type: 'authorization_code', client_id: 'spa', code, code_verifier, redirect_uri };
  const tokens = winnerOf(await atOnce(200, form));
  await expectDead('spa', tokens!);
});

test('two concurrent redemptions of one code leave no valid token, round after round', async () => {
  for (let round = 0; round < 8; round += 1) {
    const given = await codeFor('spa', { audience: api });
    const tokens = winnerOf(await atOnce(2, { grant_type: 'authorization_code', client_id: 'spa', ...given }));
    await expectDead('spa', tokens!);
  }
});

test('two hundred concurrent uses of one refresh token revoke its whole family', async () => {
  const first = await target.login('spa', { audience: api });
  const form = { grant_type: 'refresh_token', client_id: 'spa', refresh_token: first.refresh_token };
  const successor = winnerOf(await atOnce(200, form));
  for (const tokens of [first, ...(successor ? [successor] : [])]) await expectDead('spa', tokens);
});

test('within a client’s leeway concurrent refreshes of several tabs keep the family', async () => {
  const first = await target.login('tabs', { audience: api });
  const form = { grant_type: 'refresh_token', client_id: 'tabs', refresh_token: first.refresh_token };
  const answers = await atOnce(20, form);
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  const { access_token, refresh_token } = answers[0]!.json as Tokens;
  expect((await userinfo(access_token)).status).toBe(200);
  expect((await refresh('tabs', refresh_token)).status).toBe(200);
});

test('of many concurrent polls with one confirmed device code at most one gets tokens, and none survives', async () => {
  const scope = 'openid offline_access';
  const { json } = await gate.post('oauth/device/code', { client_id: 'native', scope, audience: api });
  const browser = new Browser(gate);
  const confirm = await browser.submit(await browser.get('activate'), { user_code: String(json.user_code) });
  await browser.logIn(await browser.submit(confirm, { confirm: 'yes' }));
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: 'native',
    device_code: String(json.device_code),
  };
  const tokens = winnerOf(await atOnce(50, form));
  if (tokens) await expectDead('native', tokens);
});
