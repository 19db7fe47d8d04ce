/**
 * A provider made by hand, that lies in one way or another: OpenID's with `serveOidc`, GitHub's form with `serveGithub`. What it is to
 * answer is set between requests; it notes what it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export type Asked = { path: string; form: URLSearchParams; headers: IncomingMessage['headers'] };

type Reply = { status?: number; body: unknown; headers?: Record<string, string> };
type Handler = (asked: Asked, response: ServerResponse) => Reply | undefined | Promise<Reply | undefined>;

export type FalseProvider = AsyncDisposable & { issuer: string; asked: Asked[] };

/** By path; a handler that returns nothing answers by itself, or never. */
export async function serve(handlers: (issuer: string) => Record<string, Handler>): Promise<FalseProvider> {
  const asked: Asked[] = [];
  let known: Record<string, Handler> = {};
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const path = new URL(request.url!, 'http://x').pathname;
    const one = { path, form: new URLSearchParams(text), headers: request.headers };
    asked.push(one);
    const reply = (await known[path]?.(one, response)) ?? (known[path] ? undefined : { status: 404, body: {} });
    if (!reply) return;
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  known = handlers(issuer);
  return {
    issuer,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What an OpenID provider answers, each part of which a test may falsify. */
export type Lies = {
  metadata?: object;
  claims?: JWTPayload;
  header?: { alg?: string; kid?: string };
  /** In place of the signed ID token. */
  idToken?: (honest: string) => string;
  token?: (asked: Asked, response: ServerResponse, honest: object) => Reply | undefined;
  userinfo?: object;
  discovery?: (response: ServerResponse) => Reply | undefined;
};

const pair = await generateKeyPair('ES256', { extractable: true });
const foreign = await generateKeyPair('ES256', { extractable: true });
const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' };

/** Honest but for its `lies`; `nonce` is that of the request that it is asked for next. */
export async function serveOidc() {
  const state = { lies: {} as Lies, nonce: '', signedBy: pair.privateKey };
  const provider = await serve((issuer) => ({
    '/.well-known/openid-configuration': (_asked, response) =>
      state.lies.discovery
        ? state.lies.discovery(response)
        : {
            body: {
              issuer,
              authorization_endpoint: `${issuer}/authorize`,
              token_endpoint: `${issuer}/token`,
              jwks_uri: `${issuer}/jwks`,
              userinfo_endpoint: `${issuer}/userinfo`,
              response_types_supported: ['code'],
              id_token_signing_alg_values_supported: ['ES256'],
              ...state.lies.metadata,
            },
          },
    '/jwks': () => ({ body: { keys: [jwk] } }),
    '/userinfo': () => ({
      body: { sub: 'mallory', email: 'mallory@example.com', name: 'Mallory', ...state.lies.userinfo },
    }),
    '/token': async (asked, response) => {
      const now = Math.floor(Date.now() / 1000);
      const claims = {
        iss: issuer,
        aud: 'ours',
        sub: 'mallory',
        iat: now,
        exp: now + 60,
        nonce: state.nonce,
        name: 'Mallory',
        email: 'mallory@example.com',
        email_verified: true,
        ...state.lies.claims,
      };
      const honest = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'k', ...state.lies.header })
        .sign(state.signedBy);
      const id_token = state.lies.idToken ? state.lies.idToken(honest) : honest;
      const body = { access_token: 'theirs', token_type: 'Bearer', expires_in: 60, id_token };
      return state.lies.token ? state.lies.token(asked, response, body) : { body };
    },
  }));
  return Object.assign(provider, {
    state,
    foreignKey: foreign.privateKey,
    /** Lies anew; what it said of itself before is no longer remembered once the connection changes. */
    lie(lies: Lies, signedBy = pair.privateKey) {
      Object.assign(state, { lies, signedBy });
      provider.asked.length = 0;
    },
  });
}

/** GitHub's form: status 200 for errors, a person, and their addresses apart. */
export async function serveGithub() {
  const state = {
    person: {
      id: 583231,
      login: 'octocat',
      name: 'The Octocat',
      email: null as string | null,
      avatar_url: 'https://github.com/images/octocat.gif',
    } as object,
    emails: [
      { email: 'old@example.com', primary: false, verified: true },
      { email: 'Octocat@example.com', primary: true, verified: true },
    ] as unknown,
    error: undefined as string | undefined,
  };
  const provider = await serve(() => ({
    '/login/oauth/access_token': () =>
      state.error
        ? { body: { error: state.error, error_description: 'The code passed is incorrect or expired.' } }
        : { body: { access_token: 'gho_theirs', token_type: 'bearer', scope: 'read:user,user:email' } },
    '/api/v3/user': () => ({ body: state.person }),
    '/api/v3/user/emails': () => ({ body: state.emails }),
  }));
  return Object.assign(provider, { state });
}
