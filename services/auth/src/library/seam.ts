/**
 * The only file that imports what oidc-provider does not export. Its version is pinned exactly; test/seam.test.ts fails when an
 * upgrade moves a part that this folder changes, or makes a change unnecessary. Each function says what the public configuration
 * lacks. Five things are patched (patches/), beside some that only cost time: a warning, logged once and outside our log, about bodies that
 * http/well-formed.ts reads first; a malformed Authorization header is a failed client authentication (RFC 6749 section 5.2); a refresh
 * token is rotated last, since Redis may go away before the access token is stored there; a device code is used up after its grant was
 * read, since PostgreSQL may be away; and a fault of ours is no answer to a device, whose code can be entered again.
 */
import type { IncomingMessage } from 'node:http';
import { decodeProtectedHeader } from 'jose';
import Provider, {
  type Client,
  errors,
  type Grant,
  type KoaContextWithOIDC,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';
import LRU from 'oidc-provider/lib/helpers/lru.js';
import revoke from 'oidc-provider/lib/helpers/revoke.js';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import { secretMatches } from '../clients/secret.ts';
import { isInTheClear } from '../http/loopback.ts';
import { signerOf } from '../keys/signer.ts';
import { type PrivateJwk, signingAlgs } from '../keys/signing-keys.ts';
import { followClientKeys, type RemoteKeys } from './client-keys.ts';

// Typed and meant for custom grants, but not covered by semantic versioning.
export * as grantKit from 'oidc-provider/lib/helpers/grants.js';

/** Client properties that only oidc-provider’s prototypes have; missing in the typings. */
type ClientPrototype = {
  clientId: string;
  compareClientSecret(actual: string): boolean;
  grantTypeAllowed(type: string): boolean;
  responseTypeAllowed(type: string): boolean;
  responseModeAllowed(mode: string, type: string, fapi: unknown): boolean;
  includeSid(): boolean;
  secret_hashes?: string[];
};

/** With the members that the typings leave out, and our own. */
const clientPrototype = (provider: Provider) => provider.Client.prototype as unknown as ClientPrototype;

/** Applies the changes that each of our providers needs. Call it before the first client is loaded. */
export function applySeam(provider: Provider): void {
  keepCompiledClients(provider);
  hashClientSecrets(provider);
  refuseGrantsAsUnauthorized(provider);
}

/** What `find` reads from its own model; missing in the typings. */
type ClientModel = {
  adapter: { find(id: string): Promise<object | undefined> };
  find(this: Pick<ClientModel, 'adapter'>, id: string): Promise<Client | undefined>;
};

/**
 * The library caches compiled clients by a hash of their metadata’s JSON. It keeps a hundred, too few for a busy gate, and computes
 * JSON and hash on every request. Neither is needed while the metadata is the same object.
 */
function keepCompiledClients(provider: Provider): void {
  instance(provider).dynamicClients = new LRU({ maxSize: 2_000 });
  const model = provider.Client as unknown as ClientModel; // its `find` is typed without the adapter
  const { find } = model;
  const compiled = new WeakMap<object, Client>();
  model.find = async (id) => {
    const metadata = typeof id === 'string' && id !== '' ? await model.adapter.find(id) : undefined;
    if (!metadata) return undefined;
    const known = compiled.get(metadata);
    if (known) return known;
    const client = await find.call({ adapter: { find: async () => metadata } }, id);
    if (client) compiled.set(metadata, client);
    // Also missing in the typings.
    if (client?.jwksUri) followClientKeys((client as unknown as { asymmetricKeyStore: RemoteKeys }).asymmetricKeyStore);
    return client;
  };
}

/** Secrets are stored as SHA-256 and several may be live; the library compares a single one in plain text. */
function hashClientSecrets(provider: Provider): void {
  const prototype = clientPrototype(provider);
  prototype.compareClientSecret = function (actual) {
    return secretMatches(actual, this.secret_hashes ?? []);
  };
}

/** Called with each presented client secret and whether it is right; may throw the error to answer with. */
export function checkClientSecrets(
  provider: Provider,
  check: (ctx: KoaContextWithOIDC, clientId: string, isRight: boolean) => void,
): void {
  const prototype = clientPrototype(provider);
  const { compareClientSecret } = prototype;
  prototype.compareClientSecret = function (actual) {
    const isRight = compareClientSecret.call(this, actual);
    const ctx = Provider.ctx;
    if (ctx) check(ctx, this.clientId, isRight);
    return isRight;
  };
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** RFC 6749 sections 4.1.2.1 and 5.2 call this unauthorized_client; the library says invalid_request. */
function refuseGrantsAsUnauthorized(provider: Provider): void {
  const prototype = clientPrototype(provider);
  const { grantTypeAllowed, responseTypeAllowed } = prototype;
  prototype.responseTypeAllowed = function (type) {
    if (responseTypeAllowed.call(this, type)) return true;
    throw new errors.UnauthorizedClient('requested response_type is not allowed for this client');
  };
  prototype.grantTypeAllowed = function (type) {
    const allowed = grantTypeAllowed.call(this, type);
    const ctx = Provider.ctx;
    const isAsked =
      (ctx?.oidc?.route === 'token' && ctx.oidc.params?.grant_type === type) ||
      (ctx?.oidc?.route === 'device_authorization' && type === deviceGrant);
    if (!allowed && isAsked) throw new errors.UnauthorizedClient('requested grant type is not allowed for this client');
    return allowed;
  };
}

/** Replaces the signing keys of a running provider, which otherwise takes them only at creation. The first key of each algorithm signs. */
export function replaceSigningKeys(provider: Provider, keys: PrivateJwk[]): void {
  const state = instance(provider);
  state.keystore.clear();
  for (const key of keys) state.keystore.add(signerOf(key));
  state.jwks = { keys: keys.map(publicPart) };
}

/** The library takes one secret for the nonces of DPoP; here those of all are right. It goes on making them with its own. */
export function acceptDpopNonces(provider: Provider, secrets: readonly Buffer[]): void {
  const all = secrets.map((secret) => new ServerChallenge(secret, 'DPoP'));
  instance(provider).DPoPNonces.checkChallenge = (nonce) => all.some((one) => one.checkChallenge(nonce));
}

/** The published keys, for verifying our own tokens without a network request. */
export function publicKeys(provider: Provider): { keys: object[] } {
  return instance(provider).jwks;
}

/**
 * Wraps a grant type’s own handler with `around`, which calls it, and lets further parameters through. Registering the type anew
 * through the public API would lose that handler.
 */
export function wrapGrant(
  provider: Provider,
  grantType: string,
  parameters: string[],
  around: (ctx: TokenEndpointGrantContext, handle: () => Promise<void>) => Promise<void>,
): void {
  const { grantTypeHandlers, grantTypeParams } = instance(provider);
  const handler = grantTypeHandlers.get(grantType);
  if (!handler) throw new Error(`oidc-provider has no grant type ${grantType}`);
  const known = [...(grantTypeParams.get(grantType) ?? [])];
  provider.registerGrantType(
    grantType,
    (ctx) => around(ctx, () => handler(ctx)),
    [...known, ...parameters],
    ['resource'],
  );
}

function publicPart({ d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...rest }: PrivateJwk): object {
  return rest;
}

/** The library keeps its own mode if one of that name is already registered. */
export function setResponseMode(
  provider: Provider,
  name: string,
  mode: (ctx: KoaContextWithOIDC, redirectUri: string, response: Record<string, string | number>) => unknown,
): void {
  instance(provider).responseModes.set(name, mode);
}

/** Changes what is sent, in each of the modes that are registered by now; the library lets nobody see what goes into a JWT (JARM). */
export function changeResponses(
  provider: Provider,
  change: (response: Record<string, string | number>) => Record<string, string | number>,
): void {
  const { responseModes } = instance(provider);
  for (const [name, mode] of responseModes)
    responseModes.set(name, (ctx, redirectUri, response) => mode(ctx, redirectUri, change(response)));
}

/** Bare `token`: the library has a handler, but the check of its configuration rejects the name. */
export function allowBareToken(provider: Provider): void {
  instance(provider).configuration.responseTypes.push('token');
}

/**
 * Applications in development run on http://localhost, but the library requires https for implicit ones. Our own clients may have
 * other http redirect URIs for codes (authorization/front-channel.ts sends no token there); self-registered ones may not.
 */
export function allowLocalImplicit(provider: Provider): void {
  // Checks a client's metadata; missing in the typings.
  type Schema = { redirect_uris: string[]; invalidate(message: string, code?: string): void };
  const { prototype } = (provider.Client as unknown as { Schema: { prototype: Schema } }).Schema;
  const { invalidate } = prototype;
  prototype.invalidate = function (message, code) {
    const registers = Provider.ctx?.oidc?.route === 'registration';
    if (code === 'implicit-force-https' && !(registers && this.redirect_uris.some(isInTheClear))) return;
    if (code !== 'implicit-forbid-localhost') invalidate.call(this, message, code);
  };
}

/** Whether a registration needs an initial access token is one setting for all; `isOpen` names the requests that need none. */
export function registerWithoutToken(provider: Provider, isOpen: (request: IncomingMessage) => boolean): void {
  const get = () => Provider.ctx === undefined || !isOpen(Provider.ctx.req);
  Object.defineProperty(instance(provider).features.registration, 'initialAccessToken', { get });
}

/**
 * Scopes in a client's metadata restrict what it may ask for of OpenID's; the library refuses others, although any client may ask for
 * an API's scopes. They are left out instead (RFC 7591 section 2).
 */
export function keepKnownScopes(provider: Provider, known: readonly string[]): void {
  // Checks a client's metadata; missing in the typings.
  type Schema = { scope?: string | undefined; scopes(): void };
  const { prototype } = (provider.Client as unknown as { Schema: { prototype: Schema } }).Schema;
  const { scopes } = prototype;
  prototype.scopes = function () {
    const kept = this.scope?.split(' ').filter((scope) => known.includes(scope));
    this.scope = kept?.join(' ') || undefined;
    scopes.call(this);
  };
}

/**
 * `id_token_hint` may be older than its client's choice of an algorithm, which the library requires of it: that of the hint itself counts,
 * among those for which we have keys.
 */
export function acceptHintsOfAllAlgs(provider: Provider): void {
  // Missing in the typings.
  type ClientOfHint = { clientId: string; idTokenSignedResponseAlg: string };
  const model = provider.IdToken as unknown as { validate(jwt: string, client: ClientOfHint): Promise<unknown> };
  const { validate } = model;
  model.validate = async (jwt, client) => {
    const { alg } = decodeProtectedHeader(jwt);
    const own = signingAlgs.find((one) => one === alg);
    return validate(jwt, own ? { clientId: client.clientId, idTokenSignedResponseAlg: own } : client);
  };
}

/** Auth0 puts `sid` into every ID token; the library does so only for clients with back-channel logout. */
export function alwaysIncludeSid(provider: Provider): void {
  clientPrototype(provider).includeSid = () => true;
}

/** Called before a response mode is used, which the library checks only against the client’s list. May throw the error for the error page. */
export function checkResponseModes(
  provider: Provider,
  check: (ctx: KoaContextWithOIDC, mode: string, client: Client) => void,
): void {
  const prototype = clientPrototype(provider);
  const { responseModeAllowed } = prototype;
  prototype.responseModeAllowed = function (mode, type, fapi) {
    const ctx = Provider.ctx;
    if (ctx && mode) check(ctx, mode, this as unknown as Client); // the prototype of clients
    return responseModeAllowed.call(this, mode, type, fapi);
  };
}

/** Lets a model carry a property of ours: the library stores only those that it lists. Call it before the model's first instance. */
export function keepProperty(model: object, property: string): void {
  const { IN_PAYLOAD } = model as { IN_PAYLOAD: string[] };
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, property] });
}

/** The typings know a grant’s client only by id; with the client object the grant lives as long as that client’s tokens (`ttl`). */
export function makeGrant(
  provider: Provider,
  properties: {
    accountId: string;
    client: Client;
    exp?: number;
    sources?: object[];
    organization?: string | undefined;
  },
): Grant {
  return new provider.Grant(properties as ConstructorParameters<typeof Grant>[0]);
}

/**
 * Revokes a grant of the request’s client and all that was issued with it, as the library does at a replay; it exports no function
 * for that.
 */
export function revokeGrant(ctx: KoaContextWithOIDC, grantId: string): Promise<void> {
  return revoke(ctx, grantId);
}
