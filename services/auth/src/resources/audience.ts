/**
 * `audience` (Auth0) and `resource` (RFC 8707) both name the API a token is for. This decides which API a request means and which
 * of its scopes the client may have.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { type Client, errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { PermissionStore } from '../roles/permissions.ts';
import type { SettingsStore } from '../settings/store.ts';
import { isMfaApi } from './mfa-api.ts';
import type { Api, ResourceStore } from './store.ts';

export const openidScopes = ['openid', 'profile', 'email', 'phone', 'offline_access'];

// RFC 8707 requires an absolute URI without a fragment, while Auth0 accepts any string: other strings are wrapped in this URI
// internally.
const wrapped = 'urn:gatepost:api:';

export function resourceOf(audience: string): string {
  if (URL.canParse(audience) && !audience.includes('#')) return audience;
  return `${wrapped}${encodeURIComponent(audience.toWellFormed())}`;
}

/** Each API has exactly one such name. Any other spelling, or one that cannot be decoded, is returned unchanged and names no API. */
export function audienceOf(resource: string): string {
  if (!resource.startsWith(wrapped)) return resource;
  try {
    const audience = decodeURIComponent(resource.slice(wrapped.length));
    return resourceOf(audience) === resource ? audience : resource;
  } catch {
    return resource;
  }
}

export type ResourceIndicators = {
  defaultResource(ctx: KoaContextWithOIDC, client: Client, oneOf?: readonly string[]): Promise<string | string[]>;
  getResourceServerInfo(ctx: KoaContextWithOIDC, indicator: string, client: Client): Promise<ResourceServer>;
  useGrantedResource(): Promise<boolean>;
};

export function makeResourceIndicators(options: {
  issuer: string;
  resources: ResourceStore;
  settings: SettingsStore;
  permissions: PermissionStore;
}): ResourceIndicators {
  const { issuer, resources, settings, permissions } = options;
  return {
    async defaultResource(ctx, _client, oneOf) {
      const audience = requestedAudience(ctx);
      if (oneOf) return audience && oneOf.includes(resourceOf(audience)) ? resourceOf(audience) : oneOf[0]!;
      // Auth0's way to ask for an opaque token in spite of a default audience.
      if (audience === `${baseUrlOf(issuer)}userinfo`) return none;
      const wanted = audience ?? (await settings.load()).defaultAudience;
      return wanted ? resourceOf(wanted) : none;
    },

    async getResourceServerInfo(ctx, indicator, client) {
      const audience = requestedAudience(ctx);
      // A token request may repeat the audience of its authorization request, whose API the library takes without a parameter.
      if (audience && indicator !== resourceOf(audience) && !Array.isArray(ctx.oidc.params?.resource))
        throw new errors.InvalidTarget('audience and resource name different APIs');
      const api = await resources.find(audienceOf(indicator));
      if (!api) throw new errors.InvalidTarget(`no such API: ${audienceOf(indicator)}`);
      return resourceServerOf(api, await allowedScopes(ctx, api, client as Client & OwnMetadata, permissions));
    },

    // Otherwise an `openid` token request for an API would get an opaque token.
    useGrantedResource: async () => true,
  };
}

/** The settings by which the library issues a token for this API. */
export function resourceServerOf(api: Api, scopes: string[]): ResourceServer {
  return {
    audience: api.identifier,
    scope: scopes.join(' '),
    accessTokenFormat: 'jwt',
    accessTokenTTL: api.tokenLifetime,
    jwt: {
      sign: { alg: api.signingAlg as 'RS256' },
      dialect: api.tokenDialect,
      enforced: api.enforcePolicies,
      tellsLogin: isMfaApi(api),
    } as ResourceServer['jwt'],
  };
}

// The library takes undefined for "none", although its types do not say so.
const none = undefined as unknown as string;

/** The library drops parameters it does not know from its own grants; the body still has them. */
export function requestedAudience(ctx: KoaContextWithOIDC): string | undefined {
  const audience = ctx.oidc.params?.audience ?? (ctx.oidc.body as Record<string, unknown> | undefined)?.audience;
  if (Array.isArray(audience)) throw new errors.InvalidRequest("'audience' parameter must not be provided twice");
  return typeof audience === 'string' && audience !== '' ? audience : undefined;
}

/**
 * A machine has the scopes of its client grant. A person may consent to any scope of an API, and OpenID's scopes ride along so that
 * the token is good for userinfo; scopes beyond the person's permissions are removed when the token is made (claims.ts).
 */
async function allowedScopes(
  ctx: KoaContextWithOIDC,
  api: Api,
  client: Client & OwnMetadata,
  permissions: PermissionStore,
): Promise<string[]> {
  const byMachine = ctx.oidc.route === 'token' && ctx.oidc.params?.grant_type === 'client_credentials';
  const scopes = byMachine
    ? scopesOfMachine(api, client)
    : [...api.scopes.map((scope) => scope.value), ...openidScopes];
  if (!scopes || (!byMachine && api.isSystem && !(await mayActForUsers(ctx, client, permissions))))
    throw new errors.AccessDenied(`client is not authorized to access ${api.identifier}`);
  return scopes;
}

/** Grants that continue a granted authorization, for which the person was already let in. */
const continuing = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'];

/**
 * Whether the client may get management API tokens for people: only first-party clients, once anybody has a permission there. No other
 * API's token is exchanged for one.
 */
async function mayActForUsers(ctx: KoaContextWithOIDC, client: OwnMetadata, permissions: PermissionStore) {
  const grantType = ctx.oidc.route === 'token' ? String(ctx.oidc.params?.grant_type) : undefined;
  if (!client.is_first_party || grantType === 'urn:ietf:params:oauth:grant-type:token-exchange') return false;
  return (grantType !== undefined && continuing.includes(grantType)) || permissions.openManagement();
}

/** The scopes of the client's grant that the API still has; undefined without a grant. */
export function scopesOfMachine(api: Api, client: OwnMetadata): string[] | undefined {
  const grant = client.client_grants.find(({ audience }) => audience === api.identifier);
  const existing = new Set(api.scopes.map((scope) => scope.value));
  return grant?.scope.filter((scope) => existing.has(scope));
}
