/**
 * The FAPI 2.0 Security Profile (https://openid.net/specs/fapi-security-profile-2_0-final.html) for clients whose `compliance_level`
 * names it. This file holds only what does not already apply to all clients. Clause by clause: docs/reference/fapi.md.
 */
import { type Client, type ClientMetadata, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { isInTheClear } from '../http/loopback.ts';
import type { OwnMetadata } from './metadata.ts';
import type { RegisteredClient } from './store.ts';

/**
 * Auth0's names: how the client authenticates (`pkj`: private_key_jwt), and what its tokens are bound to. Auth0's levels with mutual
 * TLS are refused, since this server does not support it; the one with DPoP is ours.
 */
export const complianceLevels = ['none', 'fapi2_sp_pkj_dpop'] as const;
export type ComplianceLevel = (typeof complianceLevels)[number];

/** 5.4.1 */
const algs = ['PS256', 'ES256', 'EdDSA', 'Ed25519'];
const defaultAlg = 'PS256';
const algFields = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'authorization_signed_response_alg',
  'request_object_signing_alg',
  'token_endpoint_auth_signing_alg',
];
/** No others: the profile issues tokens for codes requested with PAR, and to machines. */
const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'];
/** 5.3.2.1, 13: how far in the future a JWT may have been issued. */
const skewSeconds = 60;

type WithComplianceLevel = { compliance_level?: unknown };

export function isFapi(client: object | undefined): boolean {
  return String((client as WithComplianceLevel | undefined)?.compliance_level).startsWith('fapi2_sp_');
}

/** The client metadata that the profile imposes. */
export function fapiMetadata(client: RegisteredClient): Partial<ClientMetadata> {
  const oidc = client.oidcMetadata as Record<string, string | undefined>;
  return {
    require_pushed_authorization_requests: true,
    dpop_bound_access_tokens: true,
    id_token_signed_response_alg: (oidc.id_token_signed_response_alg ?? defaultAlg) as 'PS256',
    authorization_signed_response_alg: (oidc.authorization_signed_response_alg ?? defaultAlg) as 'PS256',
    grant_types: client.grantTypes.filter((type) => grantTypes.includes(type)),
    response_types: client.grantTypes.includes('authorization_code') && client.callbacks.length > 0 ? ['code'] : [],
  };
}

/** Why a client cannot have its compliance level. */
export function fapiProblem(
  client: Pick<RegisteredClient, 'tokenEndpointAuthMethod' | 'callbacks' | 'appType'> & { oidcMetadata: unknown },
): string | undefined {
  const oidc = client.oidcMetadata as Record<string, string | undefined>;
  if (!isFapi(oidc)) return undefined;
  if (client.tokenEndpointAuthMethod !== 'private_key_jwt')
    return `compliance_level ${oidc.compliance_level} wants token_endpoint_auth_method private_key_jwt`;
  const clear = client.callbacks.find(
    (uri) => isInTheClear(uri) || (client.appType !== 'native' && /^http:/i.test(uri)),
  );
  if (clear !== undefined) return `compliance_level ${oidc.compliance_level} wants https: not ${clear}`;
  const field = algFields.find((name) => oidc[name] !== undefined && !algs.includes(oidc[name]));
  return field && `compliance_level ${oidc.compliance_level} wants ${field} to be one of ${algs.join(', ')}`;
}

/** Checks a FAPI client's assertion, beyond the library's own checks. */
export function checkFapiAssertion(
  ctx: KoaContextWithOIDC,
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
  client: Client,
): void {
  if (!isFapi(client)) return;
  if (claims.aud !== ctx.oidc.issuer)
    throw new errors.InvalidClientAuth('audience (aud) must equal the issuer identifier url');
  const problem = jwtProblem(claims, header);
  if (problem) throw new errors.InvalidClientAuth(problem);
}

/** Checks a FAPI client's signed request. */
export function checkRequestObject(
  ctx: KoaContextWithOIDC,
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
): void {
  // A pushed request is the library's own by now, and was checked when it came.
  if (!isFapi(ctx.oidc.client as Client & OwnMetadata) || ctx.oidc.entities.PushedAuthorizationRequest) return;
  const { nbf, exp } = claims as { nbf?: number; exp?: number };
  const problem =
    jwtProblem(claims, header) ??
    (nbf === undefined || exp === undefined || exp - nbf <= 0 || exp - nbf > 3_600
      ? 'exp and nbf are mandatory, at most an hour apart'
      : undefined);
  if (problem) throw new errors.InvalidRequestObject(problem);
}

function jwtProblem({ iat }: Record<string, unknown>, { alg }: Record<string, unknown>): string | undefined {
  if (!algs.includes(String(alg))) return `alg must be one of ${algs.join(', ')}`;
  return Number(iat ?? 0) > Date.now() / 1000 + skewSeconds ? 'iat is in the future' : undefined;
}
