/**
 * The grant an authorization request starts from: the session's, extended by everything that needs no question because the client
 * is first-party or the person has allowed it before. Whatever is still missing leads to the consent page.
 */
import type { Client, Grant, KoaContextWithOIDC } from 'oidc-provider';
import { grantLifetimeMargin, refreshLifetime } from '../clients/lifetimes.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { makeGrant } from '../library/seam.ts';
import { type AdmissionParts, isMember } from '../organizations/admission.ts';
import type { OrganizationGrant } from '../organizations/of-grant.ts';
import { audienceOf } from '../resources/audience.ts';
import type { ResourceStore } from '../resources/store.ts';
import { needsConfirmation } from './confirmation.ts';
import type { Consent, ConsentStore } from './consents.ts';

type Stores = { resources: ResourceStore; consents: ConsentStore; admission: AdmissionParts };
type StoredGrant = OrganizationGrant & { exp?: number; jti?: string; openid?: unknown; resources?: unknown };

export function makeLoadExistingGrant(stores: Stores) {
  return async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { oidc } = ctx;
    // Somebody about to join has no grant until everything else is proven (organizations/admission.ts).
    if (!(await isMember(stores.admission, ctx))) return undefined;
    const { organization } = oidc.params as { organization?: string };
    const client = oidc.client as Client & OwnMetadata;
    const consented = (oidc.result as { consent?: { grantId?: string } } | undefined)?.consent?.grantId;
    const grantId = consented ?? oidc.session!.grantIdFor(client.clientId);
    let grant = grantId ? ((await oidc.provider.Grant.find(grantId)) as StoredGrant | undefined) : undefined;
    // A grant that would expire before the refresh tokens issued with it is replaced, since the library refuses a token without its
    // grant. So is a grant of another person or organization.
    if (grant && (grant.accountId !== oidc.session!.accountId || isShortLived(grant, client))) grant = undefined;
    if (grant?.organization !== organization) grant = undefined;
    if (consented) return grant;

    const { consent: allowed, claims } = await withoutAsking(ctx, client, stores);
    if (!grant && Object.keys(allowed).length === 0) return undefined;
    const accountId = oidc.session!.accountId!;
    grant ??= makeGrant(oidc.provider, { accountId, client, organization }) as StoredGrant;
    const before = JSON.stringify([grant.openid, grant.resources]);
    addToGrant(grant, allowed);
    if (claims.length > 0) grant.addOIDCClaims(claims);
    if (!grant.jti || before !== JSON.stringify([grant.openid, grant.resources])) await grant.save();
    return grant;
  };
}

/** @param consent scopes by resource; '' for OpenID's */
export function addToGrant(grant: Grant, consent: Consent): void {
  for (const [resource, scopes] of Object.entries(consent)) {
    if (scopes.length === 0) continue;
    if (resource === '') grant.addOIDCScope(scopes.join(' '));
    else grant.addResourceScope(resource, scopes.join(' '));
  }
}

async function withoutAsking(
  ctx: KoaContextWithOIDC,
  client: Client & OwnMetadata,
  stores: { resources: ResourceStore; consents: ConsentStore },
): Promise<{ consent: Consent; claims: string[] }> {
  if (needsConfirmation(ctx)) return { consent: {}, claims: [] };
  const requested = requestedScopes(ctx);
  // Asking for a claim by name raises no other question than asking by scope (OpenID Connect Core 1.0, section 5.5).
  const claims = [...ctx.oidc.requestParamClaims];
  if (client.is_first_party && (await apisSkipConsent(ctx, stores.resources))) return { consent: requested, claims };
  const remembered = await stores.consents.find(ctx.oidc.session!.accountId!, client.clientId);
  const known = Object.entries(requested)
    .map(([resource, scopes]) => [resource, scopes.filter((scope) => remembered[resource]?.includes(scope))] as const)
    .filter(([, scopes]) => scopes.length > 0);
  return { consent: Object.fromEntries(known), claims: [] };
}

/** The requested scopes, by resource. */
function requestedScopes(ctx: KoaContextWithOIDC): Consent {
  const { oidc } = ctx;
  const requested: Consent = { '': [...oidc.requestParamOIDCScopes] };
  for (const [resource, server] of Object.entries(oidc.resourceServers ?? {})) {
    const available = new Set((server as { scope: string }).scope.split(' '));
    requested[resource] = [...oidc.requestParamScopes].filter((scope) => available.has(scope));
  }
  return requested;
}

async function apisSkipConsent(ctx: KoaContextWithOIDC, resources: ResourceStore): Promise<boolean> {
  for (const resource of Object.keys(ctx.oidc.resourceServers ?? {})) {
    const api = await resources.find(audienceOf(resource));
    if (!api?.skipConsent) return false;
  }
  return true;
}

function isShortLived(grant: StoredGrant, client: OwnMetadata): boolean {
  const remaining = (grant.exp ?? 0) - Math.floor(Date.now() / 1000);
  return remaining < refreshLifetime(client).absolute + grantLifetimeMargin / 8;
}
