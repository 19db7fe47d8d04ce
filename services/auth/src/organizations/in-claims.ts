import type { Account, KoaContextWithOIDC } from 'oidc-provider';
import { organizationOf } from './of-grant.ts';
import type { OrganizationStore } from './store.ts';

/** The account, with claims naming the organization (`org_id`, `org_name`) if one was signed in to. */
export function withOrganization<A extends Account>(
  ctx: KoaContextWithOIDC,
  account: A,
  organizations: Pick<OrganizationStore, 'claims'>,
): A {
  const { claims } = account;
  return {
    ...account,
    async claims(...asked: Parameters<Account['claims']>) {
      const organization = organizationOf(ctx);
      const own = await claims.apply(account, asked);
      return organization ? { ...own, ...(await organizations.claims(organization)) } : own;
    },
  };
}
