/** Invitations to an organization: a ticket in a link, which works once, for the owner of the address it was sent to. */
import { randomBytes } from 'node:crypto';
import { inTransaction } from '@gatepost/runtime/transaction';
import { hashId } from '../adapter/hashed.ts';
import type { Database, Pool } from '../database.ts';
import type { AccountModel, OrganizationInvitationModel } from '../generated/models.ts';

export type InvitationStore = {
  /** An invitation that can still be accepted, with the connection that it must be accepted by, if it names one. */
  find(ticket: string): Promise<(OrganizationInvitationModel & { connection: { name: string } | null }) | undefined>;
  /** Whether an account exists that signs in by the invited address. */
  hasAccount(invitation: OrganizationInvitationModel): Promise<boolean>;
  /**
   * Makes the account a member, with the roles and metadata of the invitation, which is thereby spent.
   * @returns false if it is somebody else's address, or the invitation was accepted or withdrawn meanwhile
   */
  accept(invitation: OrganizationInvitationModel, account: AccountModel): Promise<boolean>;
};

/** Auth0's value, for invitations whose template does not say. */
export const invitationTtlSeconds = 604_800;

export const makeInvitationTicket = (): { ticket: string; ticketHash: string } => {
  const ticket = randomBytes(24).toString('base64url');
  return { ticket, ticketHash: hashId(ticket) };
};

export function makeInvitationStore(db: Database, pool: Pool): InvitationStore {
  return {
    find: async (ticket) =>
      (await db.organizationInvitation.findFirst({
        where: { ticketHash: hashId(ticket), expiresAt: { gt: new Date() } },
        include: { connection: { select: { name: true } } },
      })) ?? undefined,
    hasAccount: async ({ invitee }) => (await db.account.count({ where: { email: invitee } })) > 0,
    async accept({ id, organizationId, invitee }, account) {
      if (account.email !== invitee) return false;
      const { userId } = account;
      return inTransaction(pool, async (client) => {
        const { rows } = await client.query<Pick<OrganizationInvitationModel, 'roles'>>(
          `DELETE FROM organization_invitations WHERE id = $1 AND expires_at > now()
           RETURNING roles, app_metadata, user_metadata`,
          [id],
        );
        const [spent] = rows as { roles: string[]; app_metadata: object; user_metadata: object }[];
        if (!spent) return false;
        await client.query(
          'INSERT INTO organization_members (organization_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
          [organizationId, userId],
        );
        await client.query(
          `INSERT INTO organization_member_roles (organization_id, user_id, role_id)
           SELECT $1, $2, id FROM roles WHERE id = ANY ($3) ON CONFLICT DO NOTHING`,
          [organizationId, userId, spent.roles],
        );
        await client.query(
          `UPDATE accounts SET app_metadata = app_metadata || $2::jsonb, user_metadata = user_metadata || $3::jsonb, updated_at = now()
            WHERE user_id = $1 AND ($2::jsonb <> '{}' OR $3::jsonb <> '{}')`,
          [userId, JSON.stringify(spent.app_metadata), JSON.stringify(spent.user_metadata)],
        );
        return true;
      });
    },
  };
}
