/** Two gates for tests: one whose people sign in at the other, and what a person's browser does between them. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { freePort, openGate, type TestGate } from './gate.ts';
import { managerSeed, managerToken } from './manager.ts';
import { seed, web } from './seeds.ts';

const appCallback = 'https://app.example/cb';
export const loopback = { OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' };

export type Form = Record<string, string>;

/** A gate with these connections to providers, which get its callback. */
export async function openOurs(
  connections: (callback: string) => Promise<object[]> | object[],
  more: { seed?: object; env?: Record<string, string> } = {},
): Promise<TestGate & { callback: string }> {
  const port = await freePort();
  const issuer = `http://localhost:${port}/`;
  const callback = `${issuer}login/callback`;
  const given = await connections(callback);
  const gate = await openGate(
    {
      ...seed,
      clients: [...seed.clients, managerSeed(managerScopes)],
      connections: [...seed.connections, ...given],
      ...more.seed,
    },
    { ...loopback, AUTH_PORT: String(port), ISSUER: issuer, ...more.env },
  );
  return { ...gate, callback };
}

const managerScopes = [
  'read:users',
  'update:users',
  'delete:users',
  'create:users',
  'read:user_idp_tokens',
  'read:connections',
  'create:connections',
  'update:connections',
  'delete:connections',
  'read:logs',
  'read:sessions',
  'update:tenant_settings',
  'update:encryption_keys',
];

/** A gate as somebody else's provider, with us as its client. */
export function openProvider(callback: string, more: object = {}): Promise<TestGate> {
  return openGate({
    ...seed,
    settings: { oidc_conformant_claims: true },
    clients: [
      {
        ...web,
        client_id: 'ours',
        client_secret: 'our-secret',
        callbacks: [callback, `${callback}/partner`],
        allowed_logout_urls: [callback.replace('login/callback', 'v2/logout')],
      },
    ],
    ...more,
  });
}

export const request = (more: Form = {}) => ({
  client_id: 'web',
  redirect_uri: appCallback,
  response_type: 'code',
  scope: 'openid profile email',
  state: 's',
  ...pkce(),
  ...more,
});

/** From the application's request to where it hears the answer, by way of a gate as the provider. */
export async function signInAt(
  provider: { issuer: string },
  browser: Browser,
  asked: Form,
  who = 'alice@example.com',
): Promise<{ left: URL; done: Page; there: Browser }> {
  const { code_verifier: _, ...params } = asked;
  const page = await browser.authorize(params as Form);
  const left = page.location!;
  const there = new Browser(provider);
  const form = await there.get(left.href);
  const back = form.location ?? (await there.logIn(form, who)).location!;
  return { left, done: await browser.get(back.href), there };
}

/** What the application gets for its code. */
export async function claimsFor(gate: TestGate, asked: Form, done: Page): Promise<Record<string, unknown>> {
  const code = done.location?.searchParams.get('code') ?? '';
  const { json } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'web',
    client_secret: 'web-secret',
    code,
    redirect_uri: appCallback,
    code_verifier: asked.code_verifier!,
  });
  return (await gate.get('userinfo', { authorization: `Bearer ${String(json.access_token)}` })).json;
}

/** Asks the management API as the client `manager`. */
export async function manage(gate: TestGate, method: string, path: string, body?: object) {
  const response = await fetch(`${gate.issuer}api/v2/${path}`, {
    method,
    headers: { authorization: `Bearer ${await managerToken(gate)}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : undefined };
}
