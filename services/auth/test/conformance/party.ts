/** A relying party for the checks of OpenID Connect's conformance suite: it asks, redeems and reads as one does. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { type Answer, openGate } from '../gate.ts';
import { alice, apis, bob, connections, third } from '../seeds.ts';

const callback = 'https://app.example/cb';
export const client = {
  client_id: 'party',
  client_secret: 'party-secret',
  is_first_party: true,
  callbacks: [callback],
  allowed_logout_urls: ['https://app.example/bye'],
  grant_types: ['authorization_code', 'implicit', 'refresh_token'],
};
const basic = { ...client, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' };

type Params = Record<string, string>;

export type Party = AsyncDisposable & Awaited<ReturnType<typeof openParts>>;

/** On a gate of its own, whose claims are those of the standard. */
export async function openParty(): Promise<Party> {
  const stack = new AsyncDisposableStack();
  const parts = await openParts(stack);
  return { ...parts, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function openParts(stack: AsyncDisposableStack) {
  const gate = stack.use(await openGate({ apis, connections, users: [alice, bob], clients: [client, basic, third] }));
  const keys = createLocalJWKSet((await gate.get('.well-known/jwks.json')).json as unknown as JSONWebKeySet);
  const request = { client_id: client.client_id, redirect_uri: callback, response_type: 'code', scope: 'openid' };

  const ask = (params: Params = {}, browser = new Browser(gate)) => browser.authorize({ ...request, ...params });
  /** Signs alice in, and answers what came back to the redirect URI. */
  const signIn = async (params: Params = {}, browser = new Browser(gate)) =>
    answerOf(await browser.logIn(await ask(params, browser)));
  const redeem = (code: string, more: Params = {}): Promise<Answer> =>
    gate.post('oauth/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id: client.client_id,
      client_secret: client.client_secret,
      ...more,
    });
  const tokens = async (params: Params = {}, browser = new Browser(gate)) => {
    const { code } = await signIn(params, browser);
    return (await redeem(code!)).json as { access_token: string; id_token: string; refresh_token?: string };
  };
  /** The claims of an ID token whose signature, issuer and audience are right. */
  const read = async (idToken: string) =>
    (await jwtVerify(idToken, keys, { issuer: gate.issuer, audience: client.client_id })).payload;
  const userinfo = (accessToken: string) => gate.get('userinfo', { authorization: `Bearer ${accessToken}` });
  return { gate, ask, signIn, redeem, tokens, read, userinfo };
}

/** The parameters of a response, by query or by fragment. */
export function answerOf(page: Page): Params {
  const { hash = '', search = '' } = page.location ?? {};
  return Object.fromEntries(new URLSearchParams(hash ? hash.slice(1) : search));
}
