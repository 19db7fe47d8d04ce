/**
 * Most token requests come from machines in one plain form (or JSON): client_credentials with a secret, for one API. They are
 * answered here, without Koa, at two thirds of the cost. The fast path only ever says yes, and only where the library
 * would: an unusual or invalid request takes the common path, which alone knows how to refuse it. The library still makes the
 * token. test/fast-path.test.ts compares the answers of both paths.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Client, Provider } from 'oidc-provider';
import type { CredentialsExchange } from '../actions/credentials-exchange.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { secretMatches } from '../clients/secret.ts';
import type { ClientThrottle } from '../clients/throttle.ts';
import { addressOf } from '../http/head.ts';
import { readJson } from '../http/json-body.ts';
import type { ReadRequest } from '../http/plain-body.ts';
import { setRoute } from '../http/route.ts';
import { isStorable } from '../http/well-formed.ts';
import { grantedScopes } from '../library/grants/client-credentials.ts';
import { grantKit } from '../library/seam.ts';
import type { TokensIssued } from '../observe.ts';
import { audienceOf, resourceOf, resourceServerOf, scopesOfMachine } from '../resources/audience.ts';
import type { ResourceStore } from '../resources/store.ts';

/** Answers the request, or calls `next`. */
export type FastPath = (request: ReadRequest, response: ServerResponse, next: () => void) => void;

export type FastPathParts = {
  provider: Provider;
  issuer: string;
  resources: ResourceStore;
  clientThrottle: ClientThrottle;
  tokensIssued: TokensIssued;
  credentialsExchange: Pick<CredentialsExchange, 'isBound'>;
};

const formMaxLength = 4_096;

export function makeFastPath(parts: FastPathParts): FastPath {
  return (request, response, next) => {
    const { body } = request;
    if (typeof body !== 'string' || body.length > formMaxLength || !isPlain(request)) {
      next();
      return;
    }
    answerOf(parts, request, body)
      .catch(() => undefined) // anything that fails here also fails on the common path, which answers it
      .then((answer) => {
        if (answer === undefined) {
          next();
          return;
        }
        setRoute(response, 'token');
        response.writeHead(200, [...answerHeaders, 'Content-Length', String(Buffer.byteLength(answer))]);
        response.end(answer);
      });
  };
}

/** Headers that ask for more than a bearer token, or show that a web page sent the request. */
const notPlain = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'];

function isPlain({ url, headers }: IncomingMessage): boolean {
  return url === '/oauth/token' && !notPlain.some((name) => headers[name] !== undefined);
}

// As the library answers requests without an Origin header (shared/cors.js, shared/no_cache.js).
const answerHeaders = Object.entries({
  'Cache-Control': 'no-store',
  Vary: 'Origin',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'DPoP-Nonce,WWW-Authenticate',
  'Content-Type': 'application/json; charset=utf-8',
}).flat();

/** The body of the answer; undefined if the common path must look at the request. */
async function answerOf(parts: FastPathParts, request: IncomingMessage, body: string): Promise<string | undefined> {
  const { provider, issuer, resources, clientThrottle } = parts;
  const form = isJson(request) ? plainJson(body) : plainForm(body);
  if (form?.grant_type !== 'client_credentials') return undefined;
  const credentials = credentialsOf(form, request.headers.authorization);
  const { audience, resource } = form;
  if (!credentials || (audience === undefined) === (resource === undefined)) return undefined;
  if (await parts.credentialsExchange.isBound()) return undefined;

  const client = (await provider.Client.find(credentials.clientId)) as MachineClient | undefined;
  if (!client || !mayPass(client) || !secretMatches(credentials.clientSecret, client.secret_hashes)) return undefined;
  // A network that guessed at the secret is refused even with the right one (clients/throttle.ts).
  const address = addressOf(request);
  if (clientThrottle.closedFor(client.clientId, address) !== undefined) return undefined;
  clientThrottle.succeeded(client.clientId, address);

  if (audience === `${baseUrlOf(issuer)}userinfo`) return undefined;
  const indicator = resource ?? resourceOf(audience!);
  if (URL.parse(indicator)?.href.includes('#') !== false) return undefined;
  const api = await resources.find(audienceOf(indicator));
  const scopes = api && scopesOfMachine(api, client);
  if (!scopes) return undefined;
  const server = resourceServerOf(api, scopes);
  const { granted, refused } = grantedScopes(server, form.scope);
  if (refused.length > 0) return undefined;

  const scope = granted.length > 0 ? granted.join(' ') : undefined;
  const token = new provider.ClientCredentials({ client, scope });
  token.resourceServer = new provider.ResourceServer(indicator, server);
  const accessToken = await token.save();
  parts.tokensIssued(request, 'client_credentials', client.clientId);
  return JSON.stringify(
    grantKit.buildTokenResponse(provider, {
      accessToken,
      expiresIn: token.expiration,
      scope: token.scope,
      tokenType: token.tokenType,
    }),
  );
}

type MachineClient = Client & OwnMetadata & { scope?: string; clientSecretExpiresAt?: number };

/** Whether the client needs nothing beyond its secret. */
function mayPass(client: MachineClient): boolean {
  return (
    (client.clientAuthMethod === 'client_secret_basic' || client.clientAuthMethod === 'client_secret_post') &&
    client.grantTypeAllowed('client_credentials') &&
    !client.clientSecretExpiresAt &&
    !client.scope &&
    !client.dpopBoundAccessTokens &&
    !client.tlsClientCertificateBoundAccessTokens
  );
}

const parameters = ['grant_type', 'client_id', 'client_secret', 'audience', 'resource', 'scope'] as const;
type PlainForm = Partial<Record<(typeof parameters)[number], string>>;

/** The form, if it has only these parameters, each once, with a value, in ASCII. */
function plainForm(body: string): PlainForm | undefined {
  if (!/^[!-~]+$/.test(body)) return undefined;
  const form: PlainForm = {};
  for (const pair of body.split('&')) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals) as (typeof parameters)[number];
    const value = decoded(pair.slice(equals + 1));
    if (equals === -1 || !parameters.includes(name) || form[name] !== undefined || !value) return undefined;
    form[name] = value;
  }
  if (form.scope !== undefined && !scopeSyntax.test(form.scope)) return undefined;
  return form;
}

const isJson = ({ headers }: IncomingMessage) => headers['content-type']?.toLowerCase().startsWith('application/json');

/** The same for JSON: only these parameters, each a string. @throws if it is not JSON or names a parameter twice */
function plainJson(body: string): PlainForm | undefined {
  const json = readJson(body) as PlainForm;
  const isPlainText = ([name, value]: [string, unknown]) =>
    parameters.includes(name as (typeof parameters)[number]) &&
    typeof value === 'string' &&
    value !== '' &&
    isStorable(value);
  if (Array.isArray(json) || !Object.entries(json).every(isPlainText)) return undefined;
  return json.scope === undefined || scopeSyntax.test(json.scope) ? json : undefined;
}

// RFC 6749 section 3.3.
const scopeSyntax = /^[!#-[\]-~]+( [!#-[\]-~]+)*$/;

function decoded(value: string): string | undefined {
  if (!/[%+]/.test(value)) return value;
  try {
    const text = decodeURIComponent(value.replaceAll('+', ' '));
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined; // the common path reports the error
  }
}

type Credentials = { clientId: string; clientSecret: string };

/**
 * The credentials, from the form or the Authorization header if exactly one of them has any. Those from the header must be
 * unambiguous, without escapes or padding.
 */
function credentialsOf(form: PlainForm, authorization: string | undefined): Credentials | undefined {
  const { client_id: clientId, client_secret: clientSecret } = form;
  if (authorization === undefined) return clientId && clientSecret ? { clientId, clientSecret } : undefined;
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+={0,2})$/.exec(authorization) ?? [];
  if (encoded === undefined || clientId !== undefined || clientSecret !== undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  const [, id, secret] = /^([\w.~-]+):([\w.~-]+)$/.exec(bytes.toString('latin1')) ?? [];
  return id && secret && bytes.toString('base64') === encoded ? { clientId: id, clientSecret: secret } : undefined;
}
