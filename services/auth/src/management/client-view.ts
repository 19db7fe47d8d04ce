/** An application as the API shows it. */
import { hour } from '../clients/lifetimes.ts';
import type { RegisteredClient } from '../clients/store.ts';
import { showInert } from '../settings/inert.ts';
import type { Parts } from './parts.ts';

export function present({ issuer, seal }: Parts, client: RegisteredClient, withKeys: boolean): object {
  const oidc = client.oidcMetadata as Record<string, unknown>;
  const { oidc_logout: logout, grant_types: grantTypes, ...inert } = showInert(client.inert, seal, withKeys);
  return {
    tenant: tenantNameOf(issuer),
    ...inertDefaults,
    ...inert,
    jwt_configuration: {
      ...inertDefaults.jwt_configuration,
      ...(inert.jwt_configuration as object | undefined),
      ...(oidc.id_token_signed_response_alg !== undefined && { alg: oidc.id_token_signed_response_alg }),
    },
    client_id: client.clientId,
    name: client.name,
    description: client.description ?? '',
    ...(client.logoUri !== null && { logo_uri: client.logoUri }),
    app_type: client.appType,
    global: false,
    is_first_party: client.isFirstParty,
    oidc_conformant_claims: client.oidcConformantClaims,
    compliance_level: oidc.compliance_level ?? null,
    mfa_policy: oidc.mfa_policy ?? null,
    ...(oidc.organization_usage !== undefined && { organization_usage: oidc.organization_usage }),
    ...(oidc.organization_require_behavior !== undefined && {
      organization_require_behavior: oidc.organization_require_behavior,
    }),
    callbacks: client.callbacks,
    allowed_logout_urls: client.allowedLogoutUrls,
    web_origins: client.webOrigins,
    allowed_origins: client.allowedOrigins,
    grant_types: grantTypes ?? client.grantTypes,
    ...(client.credentials.length === 0
      ? { token_endpoint_auth_method: client.tokenEndpointAuthMethod }
      : {
          client_authentication_methods: {
            private_key_jwt: { credentials: client.credentials.map(({ id }) => ({ id })) },
          },
        }),
    client_metadata: client.clientMetadata,
    ...(client.refreshToken !== null && { refresh_token: client.refreshToken }),
    ...(withKeys && client.jwks !== null && { jwks: client.jwks }),
    ...(client.resourceServerIdentifier !== null && { resource_server_identifier: client.resourceServerIdentifier }),
    ...presentLogout(oidc, logout as object | undefined),
    require_pushed_authorization_requests: oidc.require_pushed_authorization_requests === true,
    require_proof_of_possession: oidc.dpop_bound_access_tokens === true,
    is_token_endpoint_ip_header_trusted: oidc.is_token_endpoint_ip_header_trusted === true,
    created_at: client.createdAt.toISOString(),
    updated_at: client.updatedAt.toISOString(),
  };
}

/** Keys are shown to callers who may read or replace them (Auth0: `read:client_keys`). */
export function presenter(parts: Parts, scopes: ReadonlySet<string>): (client: RegisteredClient) => object {
  const withKeys = scopes.has('read:client_keys') || scopes.has('update:client_keys');
  return (client) => present(parts, client, withKeys);
}

/** What Auth0 shows for fields of an application that were never set. */
export const inertDefaults = {
  allowed_clients: [],
  cross_origin_authentication: false,
  custom_login_page_on: false,
  jwt_configuration: { alg: 'RS256', lifetime_in_seconds: 10 * hour, secret_encoded: false },
  oidc_conformant: true,
  sso_disabled: false,
};

/** Auth0's tenant name is the first label of its host. */
function tenantNameOf(issuer: string): string {
  return new URL(issuer).hostname.split('.')[0] as string;
}

function presentLogout(oidc: Record<string, unknown>, inert: object | undefined): { oidc_logout?: object } {
  const { backchannel_logout_uri: url, backchannel_logout_initiators: initiators } = oidc;
  const logout = {
    ...(url !== undefined && { backchannel_logout_urls: [url] }),
    ...(initiators !== undefined && { backchannel_logout_initiators: initiators }),
    ...inert,
  };
  return Object.keys(logout).length > 0 ? { oidc_logout: logout } : {};
}

/** Auth0's container for what all applications share, such as a custom login page: tools request it, and it is empty. */
export const globalClient = {
  client_id: 'all-applications',
  name: 'All Applications',
  global: true,
  is_first_party: true,
  custom_login_page_on: false,
};
