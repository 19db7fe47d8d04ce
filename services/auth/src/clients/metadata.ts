/** Our client record as the OpenID client metadata that oidc-provider works with, and back. */
import type { ClientMetadata } from 'oidc-provider';
import type { MfaPolicy } from '../factors/types.ts';
import { type ComplianceLevel, fapiMetadata, isFapi } from './fapi.ts';
import type { RegisteredClient } from './store.ts';

/** In seconds, under Auth0’s names; missing values take the gate’s default. */
export type RefreshTokenPolicy = {
  rotation_type?: 'rotating' | 'non-rotating';
  expiration_type?: 'expiring' | 'non-expiring';
  token_lifetime?: number;
  idle_token_lifetime?: number;
  /** These two take precedence over the numbers. */
  infinite_token_lifetime?: boolean;
  infinite_idle_token_lifetime?: boolean;
  leeway?: number;
  /** The other APIs it may get tokens for (library/grants/refresh-token.ts). */
  policies?: { audience: string; scope: string[] }[] | null;
};

/** Our properties beyond OpenID’s registration metadata; oidc-provider passes them through unchanged. */
export type OwnMetadata = {
  app_type: string;
  is_first_party: boolean;
  /** False: a stranger registered it (open-registration.ts), and no administrator has changed it since. */
  is_vouched_for: boolean;
  /** Null: the tenant’s setting applies. */
  oidc_conformant_claims: boolean | null;
  compliance_level: ComplianceLevel | null;
  /** When its users are asked for a second factor; null: the tenant's policy. */
  mfa_policy: MfaPolicy | null;
  secret_hashes: string[];
  web_origins: string[];
  allowed_origins: string[];
  allowed_logout_urls: string[];
  refresh_token: RefreshTokenPolicy;
  resource_server_identifier: string | null;
  client_grants: { audience: string; scope: string[] }[];
  client_metadata: Record<string, unknown>;
  /** Whether it may state a person’s network address (`auth0-forwarded-for`); Auth0’s "Trust Token Endpoint IP Header". */
  is_token_endpoint_ip_header_trusted: boolean;
  /** Whether people sign in to it within an organization; null is Auth0's default, `deny`. */
  organization_usage: 'deny' | 'allow' | 'require' | null;
  /** What happens when one is required and the request names none; null is Auth0's default, `no_prompt`. */
  organization_require_behavior: 'no_prompt' | 'pre_login_prompt' | 'post_login_prompt' | null;
  /** `initiate_login_uri` as an administrator wrote it: under that name the library would refuse a client whose address is not https. */
  login_uri: string | null;
};

export const ownMetadataNames: (keyof OwnMetadata)[] = [
  'app_type',
  'is_first_party',
  'is_vouched_for',
  'oidc_conformant_claims',
  'compliance_level',
  'mfa_policy',
  'secret_hashes',
  'web_origins',
  'allowed_origins',
  'allowed_logout_urls',
  'refresh_token',
  'resource_server_identifier',
  'client_grants',
  'client_metadata',
  'is_token_endpoint_ip_header_trusted',
  'organization_usage',
  'organization_require_behavior',
  'login_uri',
];

/** Grant types that need a redirect URI. */
const redirecting = ['authorization_code', 'implicit'];

export function clientMetadata(client: RegisteredClient): ClientMetadata & OwnMetadata {
  const oidc = client.oidcMetadata as Partial<OwnMetadata>;
  const jwks = keysOf(client);
  const hasCallbacks = client.callbacks.length > 0;
  return {
    ...oidc,
    ...(!receivesLogoutTokens(oidc) && { backchannel_logout_uri: undefined }),
    client_id: client.clientId,
    client_name: client.name || client.clientId,
    ...(client.logoUri ? { logo_uri: client.logoUri } : {}),
    // oidc-provider requires a secret wherever the method needs one; it compares through `secret_hashes` instead.
    ...(client.secretHashes.length > 0 ? { client_secret: client.secretHashes[0]! } : {}),
    application_type: client.appType === 'native' ? 'native' : 'web',
    token_endpoint_auth_method: client.tokenEndpointAuthMethod as NonNullable<
      ClientMetadata['token_endpoint_auth_method']
    >,
    redirect_uris: client.callbacks,
    post_logout_redirect_uris: client.allowedLogoutUrls,
    grant_types: client.grantTypes.filter((type) => hasCallbacks || !redirecting.includes(type)),
    response_types: hasCallbacks ? responseTypes(client.grantTypes) : [],
    ...(jwks ? { jwks } : {}),
    ...(isFapi(oidc) ? fapiMetadata(client) : {}),
    app_type: client.appType,
    is_first_party: client.isFirstParty,
    is_vouched_for: client.isVouchedFor,
    oidc_conformant_claims: client.oidcConformantClaims,
    compliance_level: oidc.compliance_level ?? null,
    mfa_policy: oidc.mfa_policy ?? null,
    secret_hashes: client.secretHashes,
    web_origins: client.webOrigins,
    allowed_origins: client.allowedOrigins,
    allowed_logout_urls: client.allowedLogoutUrls,
    refresh_token: (client.refreshToken ?? {}) as RefreshTokenPolicy,
    resource_server_identifier: client.resourceServerIdentifier,
    client_grants: client.grants.map(({ audience, scope }) => ({ audience, scope })),
    client_metadata: client.clientMetadata as Record<string, unknown>,
    is_token_endpoint_ip_header_trusted: oidc.is_token_endpoint_ip_header_trusted === true,
    organization_usage: oidc.organization_usage ?? null,
    organization_require_behavior: oidc.organization_require_behavior ?? null,
    login_uri: (client.inert as { initiate_login_uri?: string }).initiate_login_uri ?? null,
  };
}

/**
 * Auth0’s `backchannel_logout_initiators`. Only `rp-logout` exists here, a logout at `oidc/logout` or `v2/logout`; it is on by
 * default.
 */
function receivesLogoutTokens(oidc: object): boolean {
  const { backchannel_logout_initiators: chosen } = oidc as {
    backchannel_logout_initiators?: { mode?: string; selected_initiators?: string[] };
  };
  return chosen?.mode !== 'custom' || (chosen.selected_initiators?.includes('rp-logout') ?? true);
}

/** The keys it signs with: its unexpired credentials, or its `jwks` if it has none. */
function keysOf({ credentials, jwks }: RegisteredClient): NonNullable<ClientMetadata['jwks']> | undefined {
  if (credentials.length === 0) return (jwks ?? undefined) as NonNullable<ClientMetadata['jwks']> | undefined;
  const live = credentials.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > Date.now());
  // They were checked as JWKs before they were stored.
  return { keys: live.map(({ jwk }) => jwk) } as unknown as NonNullable<ClientMetadata['jwks']>;
}

/** The response types that follow from the grant types. */
function responseTypes(grantTypes: string[]): NonNullable<ClientMetadata['response_types']> {
  const code = grantTypes.includes('authorization_code');
  const implicit = grantTypes.includes('implicit');
  return [
    ...(code ? ['code'] : []),
    ...(implicit ? ['token', 'id_token', 'id_token token'] : []),
    ...(code && implicit ? ['code id_token', 'code token', 'code id_token token'] : []),
  ] as NonNullable<ClientMetadata['response_types']>;
}
