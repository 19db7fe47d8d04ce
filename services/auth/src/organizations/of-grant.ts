/**
 * The organization that somebody signed in to belongs to the grant, and so to its code, its refresh tokens and all access tokens: no
 * token of a grant can be for another organization, and none survives the grant.
 */
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';

export type OrganizationGrant = Grant & { organization?: string };

/** The organization of the request's grant. @param grantId of the token being made, which must be that grant's */
export function organizationOf(ctx: KoaContextWithOIDC | undefined, grantId?: string): string | undefined {
  const grant = ctx?.oidc?.entities.Grant as (OrganizationGrant & { jti?: string }) | undefined;
  return grantId === undefined || grant?.jti === grantId ? grant?.organization : undefined;
}
