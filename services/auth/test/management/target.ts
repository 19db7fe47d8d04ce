/** The management API as a test finds it: a gate with clients that may do all, only read, or nothing, and the `auth0` package. */
import type { Browser } from '@gatepost/testkit/browser';
import type { LogLines } from '@gatepost/testkit/log-lines';
import { pkce } from '@gatepost/testkit/pkce';
import { expect } from '@jest/globals';
import { ManagementClient } from 'auth0';
import { managementApi } from '../../src/resources/management-api.ts';
import { alice, api, connections, seed, trusted } from '../seeds.ts';
import { openTlsGate } from '../tls-gate.ts';

export const allScopes = managementApi('').scopes.map(({ value }) => value);
export const scopesOf: Record<string, string[]> = {
  manager: allScopes,
  reader: allScopes.filter((scope) => scope.startsWith('read:')),
  editor: ['read:clients', 'update:clients'],
  nobody: [],
};
export const carol = {
  ...alice,
  user_id: 'auth0|carol',
  email: 'carol@example.com',
  phone_number: '+15555550103',
  name: 'Carol',
};
export async function openManagement(log?: LogLines) {
  const gate = await openTlsGate(
    (issuer: string) => ({
      ...seed,
      users: [...seed.users, carol],
      connections,
      clients: [
        ...seed.clients,
        { ...trusted, grant_types: [...trusted.grant_types, 'http://auth0.com/oauth/grant-type/passwordless/otp'] },
        ...Object.entries(scopesOf).map(([client_id, scope]) => ({
          client_id,
          client_secret: `${client_id}-secret`,
          grant_types: ['client_credentials'],
          client_grants: [{ audience: `${issuer}api/v2/`, scope }],
        })),
      ],
    }),
    // A machine with much to do runs actions slowly.
    { ACTIONS_TIMEOUT_MS: '20000' },
    log,
  );
  const { issuer } = gate;
  const audience = `${issuer}api/v2/`;

  const clientOf = (clientId: string) =>
    new ManagementClient({
      domain: gate.domain,
      clientId,
      clientSecret: `${clientId}-secret`,
      maxRetries: 0,
    });
  const auth0 = clientOf('manager');

  async function tokenOf(clientId: string, form: Record<string, string> = {}): Promise<string> {
    const answer = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: `${clientId}-secret`,
      audience,
      ...form,
    });
    return answer.json.access_token as string;
  }

  /** By bare HTTP. */
  async function ask(method: string, path: string, body?: unknown, token?: string) {
    const authorization = token ?? `Bearer ${await tokenOf('manager')}`;
    const response = await fetch(`${audience}${path}`, {
      method,
      headers: { ...(authorization !== 'none' && { authorization }), 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Logs somebody in to the web application and comes back with tokens. */
  async function signIn(browser: Browser, email: string, given: { audience?: string; scope?: string } = {}) {
    const proof = pkce();
    const request = {
      client_id: 'third',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'openid email offline_access',
      audience: api,
      ...proof,
      ...given,
    };
    let page = await browser.logIn(await browser.authorize(request), email);
    if (page.location === undefined) page = await browser.submit(page, { action: 'default' });
    const code = page.location?.searchParams.get('code') ?? '';
    const { json } = await gate.post('oauth/token', {
      grant_type: 'authorization_code',
      client_id: 'third',
      client_secret: 'third-secret',
      code,
      redirect_uri: request.redirect_uri,
      code_verifier: proof.code_verifier,
    });
    const {
      access_token: accessToken,
      refresh_token: refreshToken,
      id_token: idToken,
    } = json as Record<string, string>;
    return { request, accessToken: accessToken!, refreshToken: refreshToken!, idToken: idToken! };
  }

  const refresh = (refreshToken: string) =>
    gate.post('oauth/token', {
      grant_type: 'refresh_token',
      client_id: 'third',
      client_secret: 'third-secret',
      refresh_token: refreshToken,
    });
  const userinfo = (accessToken: string) => gate.get('userinfo', { authorization: `Bearer ${accessToken}` });

  return {
    gate,
    issuer,
    audience,
    auth0,
    clientOf,
    tokenOf,
    ask,
    signIn,
    refresh,
    userinfo,
    [Symbol.asyncDispose]: () => gate[Symbol.asyncDispose](),
  };
}

export const refusal = (status: number, errorCode?: string): unknown =>
  expect.objectContaining({
    statusCode: status,
    ...(errorCode && { body: expect.objectContaining({ statusCode: status, errorCode }) }),
  });

export async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of pages) items.push(item);
  return items;
}
