/** The gate that the security checks attack, with every kind of client, and the flows they start from. */

import { Browser, type Page } from '@gatepost/testkit/browser';
import type { LogLines } from '@gatepost/testkit/log-lines';
import { pkce } from '@gatepost/testkit/pkce';
import { exportJWK, generateKeyPair } from 'jose';
import { type Answer, openGate, type TestGate } from '../gate.ts';
import { managerSeed } from '../manager.ts';
import { api, fullSeed, spa, trusted, web } from '../seeds.ts';

export const callback = 'https://app.example/cb';
export const password = 'correct horse battery staple';
export type Tokens = { access_token: string; refresh_token: string; id_token: string; scope: string };
type Form = Record<string, string>;

/** What every authorization request of the front channel's checks begins with. */
export const request = {
  client_id: 'spa',
  redirect_uri: callback,
  scope: 'openid',
  nonce: 'n',
  response_type: 'code',
  ...pkce(),
};

/** Asks for tokens with a password: as `trusted`, with the right one of alice's, unless the form says otherwise. */
export const passwordGrant = (gate: TestGate, form: Form = {}, headers: Form = {}) =>
  gate.post(
    'oauth/token',
    {
      grant_type: 'password',
      client_id: 'trusted',
      client_secret: 'trusted-secret',
      username: 'alice@example.com',
      password,
      ...form,
    },
    headers,
  );

/** Asks for tokens with a code that was mailed. */
export const codeGrant = (gate: TestGate, form: { otp: string; username: string; realm?: string }, headers: Form) =>
  gate.post(
    'oauth/token',
    {
      grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
      client_id: 'native',
      realm: 'email',
      scope: 'openid',
      ...form,
    },
    headers,
  );

/** The parameters of an answer by query or fragment. */
export const answerOf = ({ location }: Page): Form =>
  Object.fromEntries(new URLSearchParams(location?.hash ? location.hash.slice(1) : location?.search));

const pair = await generateKeyPair('RS256', { extractable: true });
const publicJwk = { ...(await exportJWK(pair.publicKey)), alg: 'RS256', use: 'sig', kid: 'k1' };

/** The key of the client `keyed`, whose authentication method is private_key_jwt. */
export const clientKey = { privateKey: pair.privateKey, publicKey: pair.publicKey, publicJwk };

const several = {
  ...web,
  client_id: 'several',
  client_secret: 'several-secret',
  callbacks: [callback, `${callback}2`],
};
const dotted = { ...web, client_id: 'dotted', callbacks: ['https://foo.example.com/cb', 'https://*.wild.example/cb'] };
const keyed = {
  ...web,
  client_id: 'keyed',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['authorization_code', 'client_credentials', 'refresh_token'],
  client_grants: [{ audience: api, scope: ['read:x'] }],
  jwks: { keys: [publicJwk] },
};
/** An application that has no https. */
const plain = { ...spa, client_id: 'plain', callbacks: ['http://plain.example/cb', 'http://localhost:4599/cb'] };
/** Of the first party, but nobody said that it may tell where its people are. */
const unbelieved = {
  ...trusted,
  client_id: 'unbelieved',
  client_secret: 'unbelieved-secret',
  is_token_endpoint_ip_header_trusted: undefined,
};
/** A server that has its people's codes sent, and is trusted to say where they are. */
const backend = {
  ...trusted,
  client_id: 'backend',
  client_secret: 'backend-secret',
  grant_types: ['http://auth0.com/oauth/grant-type/passwordless/otp'],
};
const linkScopes = ['create:registration_tokens', 'create:user_tickets'];
const managerScopes = [
  'create:clients',
  'read:clients',
  'update:clients',
  'delete:clients',
  'create:users',
  'read:users',
  'update:users',
  'delete:users',
];

export type Target = {
  gate: TestGate;
  issuer: string;
  /** The code of a new login (or of the browser's session), with what redeems it. */
  codeFor(
    client_id: string,
    params?: Form,
    browser?: Browser,
  ): Promise<{ code: string; code_verifier: string; redirect_uri: string }>;
  redeem(client_id: string, given: Form, headers?: Form): Promise<Answer>;
  refresh(client_id: string, refresh_token: string, more?: Form): Promise<Answer>;
  userinfo(token: string): Promise<Answer>;
  /** Tokens of a public client, from code to response. */
  login(client_id: string, params?: Form): Promise<Tokens>;
  loggedIn(identifier?: string): Promise<Browser>;
  machineToken(form?: Form, headers?: Form): Promise<Answer>;
};

/** @param env further environment of the gate; @param more further entries of the seed */
export async function openTarget(
  env: Form = {},
  more: { clients?: (issuer: string) => object[]; users?: object[]; log?: LogLines } = {},
): Promise<Target & AsyncDisposable> {
  const gate = await openGate(
    (issuer: string) => ({
      ...fullSeed,
      users: [...fullSeed.users, ...(more.users ?? [])],
      clients: [
        ...fullSeed.clients,
        ...(more.clients?.(issuer) ?? []),
        several,
        plain,
        dotted,
        keyed,
        unbelieved,
        backend,
        managerSeed([...managerScopes, ...linkScopes]),
      ],
    }),
    env,
    more.log,
  );
  const redeem: Target['redeem'] = (client_id, given, headers = {}) =>
    gate.post('oauth/token', { grant_type: 'authorization_code', client_id, ...given }, headers);
  const codeFor: Target['codeFor'] = async (client_id, params = {}, browser = new Browser(gate)) => {
    const { code_verifier, ...challenge } = pkce();
    const request = { client_id, redirect_uri: callback, response_type: 'code', scope: 'openid offline_access' };
    const page = await browser.authorize({ ...request, ...challenge, ...params });
    const done = page.location ? page : await browser.logIn(page);
    return { code: done.location!.searchParams.get('code')!, code_verifier, redirect_uri: callback };
  };
  return {
    gate,
    issuer: gate.issuer,
    codeFor,
    redeem,
    refresh: (client_id, refresh_token, more = {}) =>
      gate.post('oauth/token', { grant_type: 'refresh_token', client_id, refresh_token, ...more }),
    userinfo: (token) => gate.get('userinfo', { authorization: `Bearer ${token}` }),
    async login(client_id, params = {}) {
      const answer = await redeem(client_id, await codeFor(client_id, params));
      if (answer.status !== 200) throw new Error(`no tokens for ${client_id}: ${answer.text}`);
      return answer.json as unknown as Tokens;
    },
    async loggedIn(identifier = 'alice@example.com') {
      const browser = new Browser(gate);
      const request = {
        client_id: 'spa',
        redirect_uri: callback,
        response_type: 'id_token',
        scope: 'openid',
        nonce: 'n',
      };
      await browser.logIn(await browser.authorize(request), identifier);
      return browser;
    },
    machineToken: (form = {}, headers = {}) =>
      gate.post(
        'oauth/token',
        {
          grant_type: 'client_credentials',
          client_id: 'machine',
          client_secret: 'machine-secret',
          audience: api,
          ...form,
        },
        headers,
      ),
    [Symbol.asyncDispose]: () => gate[Symbol.asyncDispose](),
  };
}
