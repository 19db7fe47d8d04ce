/**
 * Whether who is signed in may go on in the organization that the request names. A session of somebody who may not leads to the login
 * page; whoever logs in there and may not is sent back to the application with Auth0's error.
 */
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { TokenAccount } from '../accounts/store.ts';
import type { Audit } from '../audit.ts';
import type { OrganizationParts } from './request.ts';
import type { Organization } from './store.ts';

const { Check } = interactionPolicy;

export type AdmissionParts = OrganizationParts & {
  audit: Pick<Audit, 'add'>;
  linkedConnections(userId: string): Promise<string[]>;
};

/** Asked once for each request. */
const asked = new WeakMap<KoaContextWithOIDC, Promise<boolean>>();

/** Whether the request names no organization, or one that its account is in. */
export function isAdmitted(parts: AdmissionParts, ctx: KoaContextWithOIDC): Promise<boolean> {
  const { organization } = ctx.oidc.params as { organization?: string };
  const account = ctx.oidc.account as TokenAccount | undefined;
  if (!organization || !account) return Promise.resolve(true);
  const known = asked.get(ctx) ?? admit(parts, ctx, organization, account);
  asked.set(ctx, known);
  return known;
}

export function admissionCheck(parts: AdmissionParts): InstanceType<typeof Check> {
  return new Check('organization', 'End-User authentication is required', 'login_required', async (ctx) => {
    const { organization, invitation } = ctx.oidc.params as { organization?: string; invitation?: string };
    const hasLoggedIn = (ctx.oidc.result as { login?: unknown } | undefined)?.login !== undefined;
    // Who was invited is shown a page, whoever is signed in.
    if (invitation && !hasLoggedIn && !isResumed(ctx)) return Check.REQUEST_PROMPT;
    if (await isAdmitted(parts, ctx)) return Check.NO_NEED_TO_PROMPT;
    if (!hasLoggedIn) return Check.REQUEST_PROMPT;
    throw new errors.AccessDenied(
      invitation
        ? 'the specified account is not allowed to accept the current invitation'
        : `user ${ctx.oidc.account!.accountId} is not part of the ${organization} organization`,
    );
  });
}

const isResumed = (ctx: KoaContextWithOIDC) => ctx.oidc.route === 'resume' || ctx.oidc.route === 'device_resume';

async function admit(
  parts: AdmissionParts,
  ctx: KoaContextWithOIDC,
  id: string,
  { accountId, connection }: TokenAccount,
): Promise<boolean> {
  const organization = await parts.organizations.find(id);
  if (!organization) return false;
  const by = await connectionOf(parts, organization, accountId, connection);
  if (by === undefined) return false;
  await acceptInvitation(parts, ctx, accountId);
  if (await parts.organizations.isMember(id, accountId)) return true;
  if (by === 'any' || !by.assignMembershipOnLogin) return false;
  if (await parts.organizations.join(id, accountId))
    note(parts, ctx, accountId, { organization: id, by: 'connection' });
  return true;
}

/** By which of the organization's connections the person signs in: one that names none takes people of any. */
export async function connectionOf(
  parts: Pick<AdmissionParts, 'linkedConnections'>,
  { connections }: Organization,
  accountId: string,
  own: string,
): Promise<Organization['connections'][number] | 'any' | undefined> {
  if (connections.length === 0) return 'any';
  const named = (name: string) => connections.find(({ connection }) => connection.name === name);
  const found = named(own);
  if (found) return found;
  for (const linked of await parts.linkedConnections(accountId)) if (named(linked)) return named(linked);
  return undefined;
}

/** Of whoever has just logged in because of it. */
async function acceptInvitation(parts: AdmissionParts, ctx: KoaContextWithOIDC, accountId: string): Promise<void> {
  const { invitation: ticket, organization } = ctx.oidc.params as { invitation?: string; organization?: string };
  if (!ticket || !(ctx.oidc.result as { login?: unknown } | undefined)?.login) return;
  const invitation = await parts.invitations.find(ticket);
  const account = await parts.accounts.find(accountId);
  if (!invitation || !account || invitation.organizationId !== organization) return;
  if (await parts.invitations.accept(invitation, account))
    note(parts, ctx, accountId, { organization, by: 'invitation', invitation: invitation.id });
}

function note(
  { audit }: AdmissionParts,
  ctx: KoaContextWithOIDC,
  userId: string,
  details: Record<string, unknown>,
): void {
  audit.add({ type: 'organization_member_added', clientId: ctx.oidc.client?.clientId, userId, ip: ctx.ip, details });
}
