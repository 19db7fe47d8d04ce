/**
 * Whether the signed-in person may continue in the organization that the request names. A session of somebody who may not leads to the
 * login page; somebody who logs in there and may not is sent back to the application with Auth0's error.
 */
import { errors, type Grant, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { TokenAccount } from '../accounts/store.ts';
import type { Audit } from '../audit.ts';
import { connectionOfSession } from '../library/sessions.ts';
import type { OrganizationParts } from './request.ts';
import type { Organization } from './store.ts';

const { Check, Prompt } = interactionPolicy;

export type AdmissionParts = OrganizationParts & {
  audit: Pick<Audit, 'add'>;
};

/**
 * `newcomer`: becomes a member by an invitation or by the connection, once nothing else refuses the sign-in; with the roles gained by
 * that.
 */
type Admission =
  | { kind: 'member' | 'stranger' }
  | { kind: 'newcomer'; roles: string[]; by: Record<string, string>; join(): Promise<boolean> };

/** Determined once per request. */
const asked = new WeakMap<KoaContextWithOIDC, Promise<Admission>>();

/** The account's standing in the organization that the request names; `member` if it names none. */
function admissionOf(parts: AdmissionParts, ctx: KoaContextWithOIDC): Promise<Admission> {
  const { organization } = ctx.oidc.params as { organization?: string };
  const account = ctx.oidc.account as TokenAccount | undefined;
  if (!organization || !account) return Promise.resolve({ kind: 'member' });
  const known = asked.get(ctx) ?? admit(parts, ctx, organization, account);
  asked.set(ctx, known);
  return known;
}

/** Whether the request names no organization, or one that its account is already in. */
export async function isMember(parts: AdmissionParts, ctx: KoaContextWithOIDC): Promise<boolean> {
  return (await admissionOf(parts, ctx)).kind === 'member';
}

/** Roles within the organization that this sign-in brings if it is admitted. */
export async function rolesAfterJoining(ctx: KoaContextWithOIDC): Promise<string[]> {
  const admission = await asked.get(ctx);
  return admission?.kind === 'newcomer' ? admission.roles : [];
}

export function admissionCheck(parts: AdmissionParts): InstanceType<typeof Check> {
  return new Check('organization', 'End-User authentication is required', 'login_required', async (ctx) => {
    const { invitation } = ctx.oidc.params as { invitation?: string };
    const hasLoggedIn = (ctx.oidc.result as { login?: unknown } | undefined)?.login !== undefined;
    // An invited person is shown a page, even if somebody is signed in.
    if (invitation && !hasLoggedIn && !isResumed(ctx)) return Check.REQUEST_PROMPT;
    if ((await admissionOf(parts, ctx)).kind !== 'stranger') return Check.NO_NEED_TO_PROMPT;
    if (!hasLoggedIn) return Check.REQUEST_PROMPT;
    throw refused(ctx);
  });
}

/**
 * Makes a newcomer a member once nothing but consent is missing: somebody whom an action refuses, or who lacks a second factor, has not
 * joined anything. No page is shown for it.
 */
export function joinPrompt(
  parts: AdmissionParts,
  loadGrant: (ctx: KoaContextWithOIDC) => Promise<Grant | undefined>,
): InstanceType<typeof Prompt> {
  const check = new Check('membership', 'membership is required', 'access_denied', async (ctx) => {
    const admission = await admissionOf(parts, ctx);
    if (admission.kind !== 'newcomer') return Check.NO_NEED_TO_PROMPT;
    const { accountId } = ctx.oidc.account!;
    const { organization } = ctx.oidc.params as { organization: string };
    if (await admission.join()) note(parts, ctx, accountId, { organization, ...admission.by });
    else if (!(await parts.organizations.isMember(organization, accountId))) throw refused(ctx);
    asked.set(ctx, Promise.resolve({ kind: 'member' }));
    // Only a member has a grant for the organization: there was none to load before (authorization/existing-grant.ts).
    const grant = await loadGrant(ctx);
    if (grant) useGrant(ctx, grant);
    return Check.NO_NEED_TO_PROMPT;
  });
  return new Prompt({ name: 'membership', requestable: false }, check);
}

/** As the library does with a grant that it loads. */
function useGrant({ oidc }: KoaContextWithOIDC, grant: Grant): void {
  const { clientId } = oidc.client!;
  oidc.session!.ensureClientContainer(clientId);
  oidc.session!.grantIdFor(clientId, grant.jti);
  oidc.entity('Grant', grant);
}

function refused({ oidc }: KoaContextWithOIDC): Error {
  const { organization, invitation } = oidc.params as { organization?: string; invitation?: string };
  return new errors.AccessDenied(
    invitation
      ? 'the specified account is not allowed to accept the current invitation'
      : `user ${oidc.account!.accountId} is not part of the ${organization} organization`,
  );
}

const isResumed = (ctx: KoaContextWithOIDC) => ctx.oidc.route === 'resume' || ctx.oidc.route === 'device_resume';

async function admit(
  parts: AdmissionParts,
  ctx: KoaContextWithOIDC,
  id: string,
  { accountId, connection }: TokenAccount,
): Promise<Admission> {
  const { organizations } = parts;
  const organization = await organizations.find(id);
  const signedInBy = connectionOfSession(ctx.oidc.session!) ?? connection;
  const by = organization && connectionOf(organization, signedInBy);
  if (by === undefined) return { kind: 'stranger' };
  const invited = await invitedBy(parts, ctx, { accountId, signedInBy });
  if (invited) return invited;
  if (await organizations.isMember(id, accountId)) return { kind: 'member' };
  if (by === 'any' || !by.assignMembershipOnLogin) return { kind: 'stranger' };
  return { kind: 'newcomer', roles: [], by: { by: 'connection' }, join: () => organizations.join(id, accountId) };
}

/**
 * The organization's connection by which the person has signed in; an organization that names none accepts any, unless those
 * that it named were deleted. Somebody who came by another connection signs in again, even if a linked identity is of the right one: what
 * they proved this time is not what the organization requires.
 */
export function connectionOf(
  { connections, lostConnection }: Organization,
  signedInBy: string,
): Organization['connections'][number] | 'any' | undefined {
  if (connections.length === 0) return lostConnection ? undefined : 'any';
  return connections.find(({ connection }) => connection.name === signedInBy);
}

/** The invitation of somebody who has just logged in because of it. */
async function invitedBy(
  { invitations, accounts }: AdmissionParts,
  ctx: KoaContextWithOIDC,
  { accountId, signedInBy }: { accountId: string; signedInBy: string },
): Promise<Admission | undefined> {
  const { invitation: ticket, organization } = ctx.oidc.params as { invitation?: string; organization?: string };
  if (!ticket || !(ctx.oidc.result as { login?: unknown } | undefined)?.login) return undefined;
  const [invitation, account] = await Promise.all([invitations.find(ticket), accounts.find(accountId)]);
  if (!invitation || !account || invitation.organizationId !== organization) return undefined;
  if (invitation.invitee !== account.email) return undefined;
  if (invitation.connection && invitation.connection.name !== signedInBy) return { kind: 'stranger' };
  return {
    kind: 'newcomer',
    roles: invitation.roles,
    by: { by: 'invitation', invitation: invitation.id },
    join: () => invitations.accept(invitation, account),
  };
}

function note(
  { audit }: AdmissionParts,
  ctx: KoaContextWithOIDC,
  userId: string,
  details: Record<string, unknown>,
): void {
  audit.add({ type: 'organization_member_added', clientId: ctx.oidc.client?.clientId, userId, ip: ctx.ip, details });
}
