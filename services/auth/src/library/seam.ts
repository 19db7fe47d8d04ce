/**
 * The only file that imports what oidc-provider does not export. The version is pinned exactly; test/seam.test.ts fails when an
 * upgrade moves one of the parts that this folder changes, or makes a change needless. Each function says what the public configuration lacks.
 */
import Provider, {
  type Client,
  errors,
  type Grant,
  type KoaContextWithOIDC,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import LRU from 'oidc-provider/lib/helpers/lru.js';
import revoke from 'oidc-provider/lib/helpers/revoke.js';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import { json as readBody } from 'oidc-provider/lib/shared/selective_body.js';
import { secretMatches } from '../clients/secret.ts';
import { isInTheClear } from '../http/loopback.ts';
import { signInAcr } from '../interaction/acr.ts';
import { signerOf } from '../keys/signer.ts';
import type { PrivateJwk } from '../keys/signing-keys.ts';
import { followClientKeys, type RemoteKeys } from './client-keys.ts';

// Meant for custom grants, typed, but outside of semantic versioning.
export * as grantKit from 'oidc-provider/lib/helpers/grants.js';

/** Client properties that only oidc-provider's prototypes have; the typings leave them out. */
type ClientPrototype = {
  clientId: string;
  compareClientSecret(actual: string): boolean;
  grantTypeAllowed(type: string): boolean;
  responseTypeAllowed(type: string): boolean;
  secret_hashes?: string[];
};

/** Applies what every provider of ours needs. Before the first client is loaded. */
export function applySeam(provider: Provider): void {
  keepCompiledClients(provider);
  expectParsedBodies();
  hashClientSecrets(provider);
  refuseGrantsAsUnauthorized(provider);
}

type ClientModel = {
  adapter: { find(id: string): Promise<object | undefined> };
  find(this: Pick<ClientModel, 'adapter'>, id: string): Promise<Client | undefined>;
};

/**
 * The library keeps the clients it has made by the hash of their metadata's JSON, a hundred of them, which is too few for a busy gate;
 * and makes that JSON and its hash with each request. Metadata that are still the same object need neither.
 */
function keepCompiledClients(provider: Provider): void {
  instance(provider).dynamicClients = new LRU({ maxSize: 2_000 });
  const model = provider.Client as unknown as ClientModel;
  const { find } = model;
  const compiled = new WeakMap<object, Client>();
  model.find = async (id) => {
    const metadata = typeof id === 'string' && id !== '' ? await model.adapter.find(id) : undefined;
    if (!metadata) return undefined;
    const known = compiled.get(metadata);
    if (known) return known;
    const client = await find.call({ adapter: { find: async () => metadata } }, id);
    if (client) compiled.set(metadata, client);
    if (client?.jwksUri) followClientKeys((client as unknown as { asymmetricKeyStore: RemoteKeys }).asymmetricKeyStore);
    return client;
  };
}

/**
 * Bodies are read and checked before the library sees them (http/well-formed.ts). It takes them so, but says once in each process,
 * past every log, that this is not recommended: it says so here, to nobody.
 */
function expectParsedBodies(): void {
  const { warn } = console;
  console.warn = () => {};
  const parsed = { is: () => true, req: { readable: false, body: {} }, request: {}, oidc: {} };
  readBody(parsed, async () => {}).catch(() => {}); // it warns before it first waits
  console.warn = warn;
}

/** Secrets are stored as SHA-256, several may be live; the library compares one in the clear. */
function hashClientSecrets(provider: Provider): void {
  const prototype = provider.Client.prototype as unknown as ClientPrototype;
  prototype.compareClientSecret = function (actual) {
    return secretMatches(actual, this.secret_hashes ?? []);
  };
}

/** Told of each secret that a client shows, and whether it is the right one; may throw what becomes the answer. */
export function checkClientSecrets(
  provider: Provider,
  check: (ctx: KoaContextWithOIDC, clientId: string, isRight: boolean) => void,
): void {
  const prototype = provider.Client.prototype as unknown as ClientPrototype;
  const { compareClientSecret } = prototype;
  prototype.compareClientSecret = function (actual) {
    const isRight = compareClientSecret.call(this, actual);
    const ctx = Provider.ctx;
    if (ctx) check(ctx, this.clientId, isRight);
    return isRight;
  };
}

/** RFC 6749 sections 4.1.2.1 and 5.2 call this unauthorized_client; the library says invalid_request. */
function refuseGrantsAsUnauthorized(provider: Provider): void {
  const prototype = provider.Client.prototype as unknown as ClientPrototype;
  const { grantTypeAllowed, responseTypeAllowed } = prototype;
  prototype.responseTypeAllowed = function (type) {
    if (responseTypeAllowed.call(this, type)) return true;
    throw new errors.UnauthorizedClient('requested response_type is not allowed for this client');
  };
  prototype.grantTypeAllowed = function (type) {
    const allowed = grantTypeAllowed.call(this, type);
    const ctx = Provider.ctx;
    if (!allowed && ctx?.oidc?.route === 'token' && ctx.oidc.params?.grant_type === type)
      throw new errors.UnauthorizedClient('requested grant type is not allowed for this client');
    return allowed;
  };
}

/** Puts other signing keys in place while the provider runs, which takes them only when it is made; of each algorithm the first one signs. */
export function replaceSigningKeys(provider: Provider, keys: PrivateJwk[]): void {
  const state = instance(provider);
  state.keystore.clear();
  for (const key of keys) state.keystore.add(signerOf(key));
  state.jwks = { keys: keys.map(publicPart) };
}

/** The published keys, for whoever verifies a token of ours without asking over the network. */
export function publicKeys(provider: Provider): { keys: object[] } {
  return instance(provider).jwks;
}

/**
 * Puts `around` in the place of a grant type's own handler, which it calls, and lets further parameters reach it. Registered anew by
 * the public way, the type would lose that handler.
 */
export function aroundGrant(
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

/** The library keeps its own modes when one of their name is registered. */
export function setResponseMode(
  provider: Provider,
  name: string,
  mode: (ctx: KoaContextWithOIDC, redirectUri: string, response: Record<string, string | number>) => unknown,
): void {
  instance(provider).responseModes.set(name, mode);
}

/** Bare `token`: its handler is there, but the configuration's check refuses the name. */
export function allowBareToken(provider: Provider): void {
  instance(provider).configuration.responseTypes.push('token');
}

/**
 * Applications in development run on http://localhost; the library wants https for implicit ones. A client of ours may have other
 * http addresses for codes (authorization/front-channel.ts sends no token there); one that registers itself may not.
 */
export function allowLocalImplicit(provider: Provider): void {
  type Schema = { redirect_uris: string[]; invalidate(message: string, code?: string): void };
  const { prototype } = (provider.Client as unknown as { Schema: { prototype: Schema } }).Schema;
  const { invalidate } = prototype;
  prototype.invalidate = function (message, code) {
    const registers = Provider.ctx?.oidc?.route === 'registration';
    if (code === 'implicit-force-https' && !(registers && this.redirect_uris.some(isInTheClear))) return;
    if (code !== 'implicit-forbid-localhost') invalidate.call(this, message, code);
  };
}

/** Auth0 puts `sid` into every ID token; the library into those of clients with back-channel logout. */
export function alwaysIncludeSid(provider: Provider): void {
  (provider.Client.prototype as unknown as { includeSid(): boolean }).includeSid = () => true;
}

/** Asked before a response mode is used, which the library allows by the client's list alone; may throw what the error page shows. */
export function checkResponseModes(
  provider: Provider,
  check: (ctx: KoaContextWithOIDC, mode: string, client: Client) => void,
): void {
  const prototype = provider.Client.prototype as unknown as {
    responseModeAllowed(mode: string, type: string, fapi: unknown): boolean;
  };
  const { responseModeAllowed } = prototype;
  prototype.responseModeAllowed = function (mode, type, fapi) {
    const ctx = Provider.ctx;
    if (ctx && mode) check(ctx, mode, this as unknown as Client);
    return responseModeAllowed.call(this, mode, type, fapi);
  };
}

type BoundSession = { accountId?: string; incarnation?: string | undefined; authTime(): number | undefined };

/**
 * Sessions remember which account logged in, not only its id, so that one made later under the same id does not get them. Whoever
 * logs somebody in says it beside `accountId`; a session of which nobody said it is nobody's. And it remembers its acr.
 */
export function bindSessions(provider: Provider): void {
  keepProperty(provider.Session, 'incarnation');
  const prototype = provider.Session.prototype as unknown as BoundSession & {
    loginAccount(details: { incarnation?: string; acr?: string }): void;
  };
  const { loginAccount } = prototype;
  prototype.loginAccount = function (details) {
    loginAccount.call(this, { ...details, acr: details.acr ?? signInAcr });
    // The library hands on of an interaction's result only what it knows.
    const result = Provider.ctx?.oidc?.entities.Interaction?.result as { login?: { incarnation?: string } } | undefined;
    this.incarnation = details.incarnation ?? result?.login?.incarnation;
  };
}

/** When a session's login was, and of which account. */
export function loginOf(session: object): { from: number | undefined; incarnation: string | undefined } {
  const bound = session as BoundSession;
  return { from: bound.authTime(), incarnation: bound.incarnation };
}

/** Lets a model carry a property of ours: the library writes and reads only those it lists. Before the first of its kind. */
export function keepProperty(model: object, property: string): void {
  const { IN_PAYLOAD } = model as { IN_PAYLOAD: string[] };
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, property] });
}

/** The typings know a grant's client by its id alone; with the client itself the grant lives as long as that client's tokens (`ttl`). */
export function makeGrant(
  provider: Provider,
  properties: { accountId: string; client: Client; exp?: number; sources?: object[] },
): Grant {
  return new provider.Grant(properties as ConstructorParameters<typeof Grant>[0]);
}

/** Ends a grant of the request's client, with all that was issued by it, as the library does at a replay; it exports no way. */
export function revokeGrant(ctx: KoaContextWithOIDC, grantId: string): Promise<void> {
  return revoke(ctx, grantId);
}
