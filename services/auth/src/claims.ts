/** The claims of our tokens: ID token claims by scope, and what an access token carries beyond RFC 9068. */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { applyToAccessToken } from './actions/access-token.ts';
import { outcomeFor } from './actions/outcomes.ts';
import type { OwnMetadata } from './clients/metadata.ts';
import { organizationOf } from './organizations/of-grant.ts';
import type { OrganizationStore } from './organizations/store.ts';
import { openidScopes } from './resources/audience.ts';
import type { ResourceStore } from './resources/store.ts';
import type { TokenDialect } from './resources/token-dialect.ts';
import type { PermissionStore } from './roles/permissions.ts';

export const claims: Configuration['claims'] = {
  openid: ['sub', 'amr', 'org_id', 'org_name'],
  profile: ['name', 'given_name', 'family_name', 'nickname', 'picture', 'updated_at'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
};

/** The access token’s claim with its grant's id, by which userinfo and introspection learn that it was revoked. */
export const grantClaim = 'gid';

type Login = { authTime?: number | undefined; amr?: string[] | undefined };
type Token = {
  kind: string;
  scopes?: Set<string>;
  grantId?: string;
  client?: OwnMetadata;
  clientId?: string;
  accountId?: string;
  scope?: string;
  gty?: string;
  resourceServer?: {
    audience: string;
    scopes: Set<string>;
    jwt?: { dialect?: TokenDialect; enforced?: boolean; tellsLogin?: boolean };
  };
  /** Set where none of the library's artefacts knows it (grants/person.ts). */
  proven?: Login;
};
type JwtParts = {
  issuer: string;
  permissions: Pick<PermissionStore, 'of'>;
  organizations: Pick<OrganizationStore, 'claims'>;
  resources: Pick<ResourceStore, 'find'>;
};
type Jwt = { header?: Record<string, unknown>; payload: Record<string, unknown> };

/**
 * What our JWTs carry beyond RFC 9068: `azp`, `first_party` (which an exchanged token may have lost: grants/token-exchange.ts), and, for
 * a person’s token with the scope `openid`, an `aud` array with the userinfo URL, as at Auth0. The library itself sets a machine’s `sub`
 * to its client_id.
 */
export function makeJwtCustomizer({ issuer, permissions, organizations, resources }: JwtParts) {
  return async (ctx: KoaContextWithOIDC | undefined, token: Token, jwt: Jwt): Promise<void> => {
    const { payload } = jwt;
    const { dialect = 'rfc9068_profile', enforced = false } = token.resourceServer?.jwt ?? {};
    if (dialect.startsWith('access_token')) jwt.header = { typ: 'JWT' };
    const organization = token.kind === 'AccessToken' ? organizationOf(ctx, token.grantId) : undefined;
    const allowed =
      enforced && token.kind === 'AccessToken'
        ? await cutScopes(token, payload, (audience) => permissions.of(token.accountId!, audience, organization))
        : undefined;
    if (dialect.endsWith('_authz')) payload.permissions = permissionsIn(token, allowed);
    payload.azp = payload.client_id;
    payload.first_party = payload.first_party !== false && (token.client?.is_first_party ?? false);
    const outcome = outcomeFor(ctx);
    if (outcome) {
      const api = token.resourceServer && (await resources.find(token.resourceServer.audience));
      applyToAccessToken(outcome, token, payload, api?.isSystem !== false);
    }
    if (token.kind !== 'AccessToken') return;
    if (token.grantId) payload[grantClaim] = token.grantId;
    if (organization) Object.assign(payload, await organizations.claims(organization));
    if (token.resourceServer?.jwt?.tellsLogin) Object.assign(payload, loginClaims(ctx, token));
    if (token.scopes?.has('openid')) payload.aud = [payload.aud, `${baseUrlOf(issuer)}userinfo`];
  };
}

/**
 * Where an API enforces its policies (Auth0's RBAC), a token keeps only the scopes that the person has permission for; asking for more is
 * not refused. `rbac` tells the API that the token's scopes are permissions, not merely requested ones. Every token for an API passes
 * through here, whatever its grant.
 * @returns all the person's permissions at the API
 */
async function cutScopes(
  token: Token,
  payload: Jwt['payload'],
  permissionsAt: (audience: string) => Promise<string[]>,
): Promise<string[]> {
  const { audience, scopes } = token.resourceServer!;
  const allowed = (await permissionsAt(audience)).filter((permission) => scopes.has(permission));
  const kept = [...(token.scopes ?? [])].filter((scope) => openidScopes.includes(scope) || allowed.includes(scope));
  token.scope = kept.join(' '); // the response states this
  payload.scope = token.scope || undefined;
  payload.rbac = true;
  return allowed;
}

/**
 * The claim `permissions`: the granted scopes if they were not cut. For a person it lists all their permissions, requested or not, as at
 * Auth0; a third-party application, or a client that exchanges a token, sees only what was granted to it.
 */
function permissionsIn(token: Token, allowed: string[] | undefined): string[] {
  const isWhole = allowed && token.client?.is_first_party && token.gty !== 'token-exchange';
  return isWhole ? allowed : [...(token.scopes ?? [])].filter((scope) => !openidScopes.includes(scope));
}

/** When and how the person logged in for this token (RFC 9068 section 2.2.1). Empty for an exchanged token. */
function loginClaims(ctx: KoaContextWithOIDC | undefined, { proven }: Token): { auth_time?: number; amr?: string[] } {
  const { AuthorizationCode, DeviceCode, RefreshToken, Session } = (ctx?.oidc.entities ?? {}) as Record<string, object>;
  const session = Session as { authTime(): number | undefined; amr?: string[] } | undefined;
  const { authTime, amr } =
    proven ??
    ((AuthorizationCode ?? DeviceCode ?? RefreshToken) as Login | undefined) ??
    (ctx?.oidc.route === 'token' || !session ? {} : { authTime: session.authTime(), amr: session.amr });
  return { ...(authTime !== undefined && { auth_time: authTime }), ...(amr && { amr }) };
}
