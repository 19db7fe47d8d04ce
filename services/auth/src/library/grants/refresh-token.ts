/**
 * oidc-provider's own grant, with `audience` beside `resource` (RFC 8707 section 2.2), and with Auth0's multi-resource refresh tokens:
 * one sign-in, and a token for each API that the client's policies name (https://auth0.com/docs/secure/tokens/refresh-tokens/multi-resource-refresh-token).
 */
import Provider, {
  type Client,
  errors,
  type Grant,
  type Provider as ProviderType,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import type { OwnMetadata } from '../../clients/metadata.ts';
import { audienceOf, openidScopes, requestedAudience, resourceOf } from '../../resources/audience.ts';
import type { ResourceStore } from '../../resources/store.ts';
import { grantKit as kit, wrapGrant } from '../seam.ts';

/**
 * In the library's refusals of a DPoP proof that is missing, of another key or was used before. They keep its description, as with a code:
 * where ours says that the token is invalid, Auth0's SDKs drop it.
 */
const ofProof = /\b(DPoP|jkt)\b/;

/** The API that a policy of the client lets this request have a token for, and the scopes. */
type Allowed = { resource: string; scopes: string[] };
const allowedBy = new WeakMap<object, Allowed>();

export function registerRefreshToken(provider: ProviderType, resources: ResourceStore): void {
  widenTokens(provider);
  widenGrants(provider);
  wrapGrant(provider, 'refresh_token', [], async (ctx, handle) => {
    const audience = requestedAudience(ctx);
    const params = ctx.oidc.params as { resource?: unknown; scope?: string };
    if (audience !== undefined) params.resource ??= resourceOf(audience);
    // Before the token is consumed: a refused request must not cost it.
    if (params.resource !== undefined) await kit.resolveRequestedResources(provider, ctx);
    const allowed = await byPolicy(ctx.oidc.client as Client & OwnMetadata, params.resource, resources);
    if (allowed) allowedBy.set(ctx, allowed);
    try {
      await handle();
    } catch (error) {
      if (error instanceof errors.InvalidGrant && !ofProof.test(error.error_detail ?? ''))
        error.error_description = 'Unknown or invalid refresh token.';
      throw error;
    }
  });
}

/** As at Auth0, for first-party clients only, and only for APIs that skip consent; our own APIs check for themselves what a person may do. */
async function byPolicy(
  client: Client & OwnMetadata,
  resource: unknown,
  resources: ResourceStore,
): Promise<Allowed | undefined> {
  if (typeof resource !== 'string' || !client.is_first_party) return undefined;
  const api = await resources.find(audienceOf(resource));
  if (!api?.skipConsent && !api?.isSystem) return undefined;
  const policy = client.refresh_token.policies?.find(({ audience }) => audience === api.identifier);
  return policy && { resource, scopes: policy.scope };
}

type Token = { scope?: string; resource?: string | string[] };
type Found = {
  scopes: Set<string>;
  resourceIndicators: Set<string>;
  clientId?: string;
  consumed?: number;
  isExpired: boolean;
};

/** For this request, a token used under a policy is also valid for that API; what is stored does not change. */
function widenTokens(provider: ProviderType): void {
  // The typings have neither its prototype's properties nor what `find` takes.
  const model = provider.RefreshToken as unknown as {
    prototype: object;
    find(...given: unknown[]): Promise<Found | undefined>;
  };
  const { prototype, find } = model;
  const scopesOf = ({ scope }: Token) => scope?.split(' ') ?? [];
  const resourcesOf = ({ resource }: Token) => [resource].flat();
  Object.defineProperties(prototype, {
    resourceIndicators: {
      get(this: Token) {
        return new Set([...resourcesOf(this), ...present((allowed) => [allowed.resource])]);
      },
    },
    // The scopes of one API do not apply to another.
    scopes: {
      get(this: Token) {
        const own = scopesOf(this);
        const kept = ({ resource }: Allowed) =>
          resourcesOf(this).includes(resource) ? own : own.filter((scope) => openidScopes.includes(scope));
        const widened = present((allowed) => [...kept(allowed), ...allowed.scopes]);
        return new Set(widened.length > 0 ? widened : own);
      },
    },
  });
  model.find = async function (...given) {
    const token = await find.apply(this, given);
    const oidc = Provider.ctx?.oidc;
    const params = oidc?.params as { grant_type?: string; resource?: unknown; scope?: string } | undefined;
    if (!token || oidc?.route !== 'token' || params?.grant_type !== 'refresh_token') return token;
    const isGood = token.clientId === oidc.client?.clientId && token.consumed === undefined && !token.isExpired;
    const { resource } = params;
    if (isGood && typeof resource === 'string' && !token.resourceIndicators.has(resource))
      throw new errors.InvalidTarget(`the refresh token is not for ${audienceOf(resource)}`);
    // Auth0's SDKs ask for the scopes of all their APIs at once; only those of this API count.
    if (params.scope && present(({ scopes }) => scopes).length > 0) {
      const known = params.scope.split(' ').filter((scope) => token.scopes.has(scope));
      if (known.length > 0) params.scope = known.join(' ');
    }
    return token;
  };
}

/** The same for its grant. */
function widenGrants(provider: ProviderType): void {
  // As above.
  const model = provider.Grant as unknown as { find(...given: unknown[]): Promise<Grant | undefined> };
  const { find } = model;
  model.find = async function (...given) {
    const grant = (await find.apply(this, given)) as (Grant & { resources?: Record<string, string> }) | undefined;
    const scopes = present((allowed) => allowed.scopes);
    if (grant && scopes.length > 0) {
      grant.resources = { ...grant.resources };
      grant.addResourceScope(present(({ resource }) => [resource])[0]!, [...scopes, ...openidScopes].join(' '));
    }
    return grant;
  };
}

function present(of: (allowed: Allowed) => string[]): string[] {
  const ctx = Provider.ctx as TokenEndpointGrantContext | undefined;
  const allowed = ctx && allowedBy.get(ctx);
  return allowed ? of(allowed) : [];
}
