/**
 * `organization` and `invitation` of an authorization request, by Auth0's rules
 * (https://auth0.com/docs/manage-users/organizations/configure-organizations/define-organization-behavior). From here on the parameter
 * holds the organization's id.
 */
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { AccountStore } from '../accounts/store.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { InvitationStore } from './invitations.ts';
import { behaviorOf } from './prompts.ts';
import type { OrganizationStore } from './store.ts';

export type OrganizationParts = {
  organizations: OrganizationStore;
  invitations: InvitationStore;
  accounts: Pick<AccountStore, 'find'>;
};

const askedOnPages = ['authorization', 'pushed_authorization_request'];

type Parameters = Record<string, string | undefined>;

/** Validator of the parameter `organization`; also runs when it is absent. */
export async function checkOrganization(
  { organizations }: OrganizationParts,
  ctx: KoaContextWithOIDC,
  asked: string | undefined,
  client: Client,
): Promise<void> {
  const own = client as Client & OwnMetadata;
  const usage = own.organization_usage ?? 'deny';
  if (!asked) {
    // A device flow has no page to ask on.
    const isAsked = behaviorOf(own) !== 'no_prompt' && askedOnPages.includes(ctx.oidc.route);
    if (usage === 'require' && !isAsked)
      throw new errors.InvalidRequest('parameter organization is required for this client');
    return;
  }
  if (usage === 'deny') throw new errors.InvalidRequest('parameter organization is not allowed for this client');
  const found = await organizations.find(asked);
  if (!found) throw new errors.InvalidRequest('parameter organization is invalid');
  (ctx.oidc.params as Parameters).organization = found.id;
}

/** Validator of the parameter `invitation`: the ticket from a mailed link. Its holder is led to sign up. */
export async function checkInvitation(
  { invitations }: OrganizationParts,
  ctx: KoaContextWithOIDC,
  ticket: string | undefined,
  client: Client,
): Promise<void> {
  if (!ticket) return;
  const params = ctx.oidc.params as Parameters;
  const found = await invitations.find(ticket);
  if (!found || found.organizationId !== params.organization || found.clientId !== client.clientId)
    throw new errors.InvalidRequest('the invitation is not valid, or no longer valid');
  params.login_hint = found.invitee;
  if (found.connection) params.connection = found.connection.name;
  if (!(await invitations.hasAccount(found))) params.screen_hint = 'signup';
}
