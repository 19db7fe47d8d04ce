/** `organizations/{id}/invitations`: a link that makes somebody a member. It is shown only when it is made: only its hash is stored. */
import { randomBytes } from 'node:crypto';
import { emailAddress } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';
import type { RegisteredClient } from '../clients/store.ts';
import type { Prisma } from '../database.ts';
import type { OrganizationInvitationModel, OrganizationModel } from '../generated/models.ts';
import { merge } from '../merge-metadata.ts';
import { connectionOf } from '../organizations/admission.ts';
import { invitationTtlSeconds, makeInvitationTicket } from '../organizations/invitations.ts';
import { created, gone, ok, operation } from './operation.ts';
import { loadOrganization } from './organizations.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, missing, tryAgain } from './problem.ts';
import { checkRolesHeld } from './roles.ts';

/** Auth0's value. */
const ttlMax = 2_592_000;
const metadata = z.record(z.string().max(255), z.unknown());

export const createInvitation = operation({
  body: z.strictObject({
    inviter: z.strictObject({ name: z.string().trim().min(1).max(300) }),
    invitee: z.strictObject({ email: emailAddress }),
    client_id: z.string().max(256),
    connection_id: z.string().max(256).optional(),
    app_metadata: metadata.optional(),
    user_metadata: metadata.optional(),
    ttl_sec: z.int().min(0).max(ttlMax).optional(),
    roles: z.array(z.string().max(100)).max(50).optional(),
    send_invitation_email: z.boolean().default(true),
  }),
  async run({ parts, params, body, scopes: held }) {
    const organization = await loadOrganization(parts, params.id);
    const client = await clientOf(parts, body.client_id);
    const roles = [...new Set(body.roles ?? [])];
    if ((await parts.db.role.count({ where: { id: { in: roles } } })) < roles.length)
      throw missing('role', 'One or more of the roles specified do not exist.');
    await checkRolesHeld(parts, roles, held);
    const connection = (await parts.connections.list()).find(({ id }) => id === body.connection_id);
    if (body.connection_id !== undefined && !connection) throw missing('connection', 'The connection does not exist.');
    if (connection && !(await isEnabledFor(parts, organization, connection.name)))
      throw badBody('the connection is not enabled for the organization');
    const { ticket, ticketHash } = makeInvitationTicket();
    const url = await invitationUrl(parts, { client, organization, ticket });
    const rules = await parts.letters.linkRules('user_invitation', client.clientId);
    const ttlSeconds = body.ttl_sec || rules.ttlSeconds || invitationTtlSeconds;
    const invitation = await parts.db.organizationInvitation.create({
      data: {
        id: `uinv_${randomBytes(8).toString('hex')}`,
        organizationId: organization.id,
        ticketHash,
        clientId: client.clientId,
        connectionId: connection?.id ?? null,
        inviter: body.inviter.name,
        invitee: body.invitee.email.toLowerCase(),
        roles,
        appMetadata: merge({}, body.app_metadata) as Prisma.InputJsonObject,
        userMetadata: merge({}, body.user_metadata) as Prisma.InputJsonObject,
        expiresAt: new Date(Date.now() + ttlSeconds * 1000),
      },
    });
    const letter = {
      email: invitation.invitee,
      clientId: client.clientId,
      connection: connection?.name ?? '',
      organization,
      inviter: invitation.inviter,
      url,
      ttlSeconds,
    };
    if (body.send_invitation_email && (await parts.sendInvitation(letter)) === 'busy') {
      // Nobody would have its link.
      await parts.db.organizationInvitation.deleteMany({ where: { id: invitation.id } });
      throw tryAgain();
    }
    return created({ ...present(invitation), invitation_url: url, ticket_id: ticket });
  },
});

export const listInvitations = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery, ...fieldsQuery, sort: z.string().max(50).optional() }),
  async run({ parts: { db, ...parts }, params, query: { sort: _, ...query } }) {
    const { id: organizationId } = await loadOrganization({ ...parts, db }, params.id);
    const where = { organizationId, expiresAt: { gt: new Date() } };
    const source: Source<OrganizationInvitationModel> = {
      total: () => db.organizationInvitation.count({ where }),
      items: ({ skip, take, after }) =>
        db.organizationInvitation.findMany({
          where: { ...where, ...(after !== undefined && { id: { gt: after } }) },
          orderBy: query.from === undefined && query.take === undefined ? { createdAt: 'desc' } : { id: 'asc' },
          skip,
          take,
        }),
      key: ({ id }) => id,
    };
    return list('invitations', query, source, present);
  },
});

export const getInvitation = operation({
  query: z.strictObject(fieldsQuery),
  async run({ parts, params, query }) {
    const found = await parts.db.organizationInvitation.findFirst({ where: which(params) });
    if (!found) throw missing('organization_invitation', 'The invitation does not exist.');
    return ok(chooseFields(present(found), query));
  },
});

export const deleteInvitation = operation({
  async run({ parts, params }) {
    await parts.db.organizationInvitation.deleteMany({ where: which(params) });
    return gone;
  },
});

const which = ({ id = '', invitation_id = '' }: Record<string, string>) => ({ id: invitation_id, organizationId: id });

async function clientOf({ clients }: Parts, clientId: string): Promise<RegisteredClient> {
  const client = await clients.find(clientId);
  if (!client) throw missing('client', 'The client does not exist.');
  const { organization_usage: usage } = client.oidcMetadata as { organization_usage?: string };
  if (usage !== 'allow' && usage !== 'require')
    throw badBody('the client does not let people sign in to organizations');
  return client;
}

async function isEnabledFor({ db }: Parts, organization: OrganizationModel, name: string): Promise<boolean> {
  const where = { organizationId: organization.id };
  const connections = await db.organizationConnection.findMany({ where, include: { connection: true } });
  return connectionOf({ ...organization, connections }, name) !== undefined;
}

/** The application begins the sign-in, since it holds the state against which the answer is checked. */
async function invitationUrl(
  { settings }: Parts,
  { client, organization, ticket }: { client: RegisteredClient; organization: OrganizationModel; ticket: string },
): Promise<string> {
  const own = (client.inert as { initiate_login_uri?: string }).initiate_login_uri;
  const login = own ?? ((await settings.load()).inert as { default_redirection_uri?: string }).default_redirection_uri;
  if (!login || !URL.canParse(login))
    throw badBody(
      'A default login route is required to generate the invitation url: set initiate_login_uri of the application, or default_redirection_uri of the tenant',
    );
  const url = new URL(login);
  url.searchParams.set('invitation', ticket);
  url.searchParams.set('organization', organization.id);
  url.searchParams.set('organization_name', organization.name);
  return url.href;
}

function present(invitation: OrganizationInvitationModel): object {
  return {
    id: invitation.id,
    organization_id: invitation.organizationId,
    inviter: { name: invitation.inviter },
    invitee: { email: invitation.invitee },
    client_id: invitation.clientId,
    ...(invitation.connectionId !== null && { connection_id: invitation.connectionId }),
    roles: invitation.roles,
    app_metadata: invitation.appMetadata,
    user_metadata: invitation.userMetadata,
    created_at: invitation.createdAt.toISOString(),
    expires_at: invitation.expiresAt.toISOString(),
  };
}
