/**
 * JWT access tokens are not stored, so the provider cannot find them. Here they are found by verifying them: userinfo,
 * introspection and revocation then work as for opaque tokens, including the rules for DPoP and clients.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Redis } from 'ioredis';
import { createLocalJWKSet, type JWTPayload } from 'jose';
import Provider, { type Provider as ProviderType } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { isTokenLookup, knownForMs } from '../../adapter/known-grants.ts';
import { makeCache } from '../../cache.ts';
import { grantClaim } from '../../claims.ts';
import { verifyAccessToken } from '../../resources/token-dialect.ts';
import { changeAnswers } from '../middleware.ts';
import { publicKeys } from '../seam.ts';
import { structuredToken } from './spelling.ts';

/** What three of the library's models have in common here; the typings give each its own constructor and `find`. */
type Model = {
  find(value: string, options?: object): Promise<unknown>;
  new (payload: object): Record<string, unknown>;
};

/** How many tokens a process remembers; the oldest is dropped first. */
const rememberedMax = 5_000;

export type RevokedTokens = {
  add(jti: string, exp: number): Promise<void>;
  has(jti: string): Promise<boolean>;
  /** May be up to two seconds behind revocations by another process; our own are known at once. */
  hadLately(jti: string): Promise<boolean>;
};

/** Individually revoked JWTs, until they expire. */
export function makeRevokedTokens(redis: Redis, prefix: string): RevokedTokens {
  const key = (jti: string) => `${prefix}revoked:${hashId(jti)}`;
  const has = async (jti: string) => (await redis.exists(key(jti))) === 1;
  const lately = makeCache({ load: has, max: rememberedMax, maxAgeMs: knownForMs });
  return {
    async add(jti, exp) {
      try {
        await redis.set(key(jti), '1', 'EXAT', exp);
      } finally {
        lately.forget(jti);
      }
    },
    has,
    hadLately: lately.get,
  };
}

/** Makes the provider’s token models find JWTs. @param issuers all of ours: a token from one is valid at each */
export function findStructuredTokens(provider: ProviderType, issuers: string[], revoked: RevokedTokens): void {
  const verify = makeVerifier(provider, issuers);
  nameOwnIssuerAndSubject(provider);
  // The library's `find` accepts more than its typings say.
  const [ofPeople, ofMachines, refreshTokens] = [
    provider.AccessToken,
    provider.ClientCredentials,
    provider.RefreshToken,
  ] as unknown as [Model, Model, Model];
  for (const model of [ofPeople, ofMachines]) {
    const { find } = model;
    model.find = async function (value, options) {
      const token = typeof value === 'string' ? structuredToken(value) : undefined;
      if (token === undefined) return find.call(this, value, options);
      const payload = await verify(token);
      const ofPerson = payload?.[grantClaim] !== undefined;
      if (!payload || ofPerson !== (model === ofPeople)) return undefined;
      const jti = payload.jti!;
      if (await (isTokenLookup() ? revoked.hadLately(jti) : revoked.has(jti))) return undefined;
      return instantiate(this, payload, issuers, revoked);
    };
  }
  // Introspection asks each model; PostgreSQL need not be asked about a token that can only be a JWT.
  const { find } = refreshTokens;
  refreshTokens.find = async function (value, options) {
    const isJwt = typeof value === 'string' && structuredToken(value) !== undefined;
    return isJwt ? undefined : find.call(this, value, options);
  };
}

/**
 * Remembers verified tokens by their hashes for as long as the keys stay the same. Whether a token has expired, was revoked or has
 * lost its grant is checked each time.
 * @returns the claims of a live access token of ours, or undefined
 */
export function makeVerifier(
  provider: ProviderType,
  issuers: string[],
): (token: string) => Promise<JWTPayload | undefined> {
  let known: { keys: object[] } | undefined;
  let keySet: ReturnType<typeof createLocalJWKSet>;
  let verified: Map<string, Promise<JWTPayload | undefined>>;
  const verify = async (token: string): Promise<JWTPayload | undefined> => {
    try {
      return (await verifyAccessToken(token, keySet, { issuer: issuers })).payload;
    } catch {
      return undefined; // whatever is wrong with it, it is not one of our tokens
    }
  };
  return async (token) => {
    const keys = publicKeys(provider);
    if (known !== keys) {
      known = keys;
      keySet = createLocalJWKSet(keys);
      verified = new Map();
    }
    const remembered = verified;
    const hash = hashId(token);
    let verifying = remembered.get(hash);
    if (!verifying) {
      verifying = verify(token);
      remembered.set(hash, verifying);
      if (remembered.size > rememberedMax) remembered.delete(remembered.keys().next().value!);
    }
    const payload = await verifying;
    if (payload && payload.exp! > Date.now() / 1_000) return payload;
    remembered.delete(hash);
    return undefined;
  };
}

/**
 * Introspection states the issuer and the subject of the token (RFC 7662 section 2.2). The library states the issuer that was asked, and no
 * subject of a machine, which mod_auth_openidc needs.
 */
function nameOwnIssuerAndSubject(provider: ProviderType): void {
  changeAnswers(provider, 'introspection', (ctx) => {
    const { AccessToken, ClientCredentials } = ctx.oidc.entities as Record<string, object | undefined>;
    const issuer = issuerOf.get(AccessToken ?? ClientCredentials ?? ctx);
    const answer = ctx.body as { active?: boolean; iss?: string; sub?: string; client_id?: string };
    if (!answer.active) return undefined;
    if (issuer !== undefined) answer.iss = issuer;
    if (ClientCredentials && answer.client_id !== undefined) answer.sub ??= answer.client_id;
    return undefined;
  });
}

/** Of the tokens found here, where there are several. */
const issuerOf = new WeakMap<object, string>();

function instantiate(Token: Model, payload: JWTPayload, issuers: string[], revoked: RevokedTokens) {
  const audience = [payload.aud!].flat();
  const cnf = payload.cnf as { jkt?: string; 'x5t#S256'?: string } | undefined;
  const grantId = payload[grantClaim];
  const forUserinfo =
    Provider.ctx?.oidc?.route === 'userinfo' &&
    issuers.some((issuer) => audience.includes(`${baseUrlOf(issuer)}userinfo`));
  const token = new Token({
    jti: payload.jti,
    iat: payload.iat,
    exp: payload.exp,
    clientId: payload.client_id,
    scope: payload.scope,
    // The library’s userinfo expects a token without any audience; ours lists userinfo among others.
    aud: forUserinfo ? undefined : audience.length === 1 ? audience[0] : audience,
    ...(grantId ? { grantId, accountId: payload.sub } : {}),
    ...(cnf?.jkt ? { jkt: cnf.jkt } : {}),
    ...(cnf?.['x5t#S256'] ? { 'x5t#S256': cnf['x5t#S256'] } : {}),
    ...extraOf(payload),
  });
  const revoke = () => revoked.add(payload.jti!, payload.exp!);
  token.destroy = revoke; // not assigned as it is written: see docs/decisions/0005-libraries.md
  if (issuers.length > 1) issuerOf.set(token, payload.iss!);
  return token;
}

/** Recorded when the token was exchanged (grants/token-exchange.ts). */
function extraOf({ act, first_party }: JWTPayload): { extra?: object } {
  const extra = { ...(act ? { act } : {}), ...(first_party === false ? { first_party } : {}) };
  return Object.keys(extra).length > 0 ? { extra } : {};
}
