/** `organizations`: groups of people who sign in together, their connections, and their names. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Prisma } from '../database.ts';
import type { OrganizationModel } from '../generated/models.ts';
import { httpUri } from '../http/http-uri.ts';
import { merge } from '../merge-metadata.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, list, ofArray, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { conflict, missing } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';
import { loadUser } from './users.ts';

const colour = z.string().regex(/^#[0-9A-Fa-f]{6}$/, 'Not a colour such as #0059d6');
const connectionOptions = {
  assign_membership_on_login: z.boolean(),
  show_as_button: z.boolean(),
  is_signup_enabled: z.boolean(),
  // Fields of the newer path, with the only values possible here.
  is_enabled: z.literal(true),
  organization_access_level: z.literal('none'),
};
const shape = z.strictObject({
  // As at Auth0, a name must not look like an organization's id.
  name: z.string().regex(/^(?!org_)[a-z0-9][a-z0-9_-]{0,49}$/, 'Not a name: use lower-case letters, digits, - and _'),
  display_name: z.string().trim().min(1).max(255),
  branding: z
    .strictObject({
      logo_url: httpUri.nullable(),
      colors: z.strictObject({ primary: colour, page_background: colour }).partial().nullable(),
    })
    .partial(),
  metadata: z
    .record(z.string().min(1).max(255), z.string().max(255).nullable())
    .refine((metadata) => Object.keys(metadata).length <= 25, 'More than 25 properties'),
  // Other Auth0 fields, each accepted with the only value it can have here.
  token_quota: z.null(),
  third_party_client_access: z.literal('allow'),
  is_app_entitlement_active: z.literal(false),
});
const createBody = ignoringReadOnly(
  shape
    .extend({
      enabled_connections: z
        .array(
          z
            .strictObject({ connection_id: z.string().max(256), ...connectionOptions })
            .partial()
            .required({ connection_id: true }),
        )
        .max(10)
        .refine(
          (enabled) => new Set(enabled.map(({ connection_id: id }) => id)).size === enabled.length,
          'A connection is given twice',
        ),
    })
    .partial()
    .required({ name: true }),
  ['id'],
);
const updateBody = ignoringReadOnly(shape.partial(), ['id']);

export const listOrganizations = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery, sort: z.string().max(50).optional() }),
  run: ({ parts: { db }, query: { sort: _, ...paging } }) => {
    const source: Source<OrganizationModel> = {
      total: () => db.organization.count(),
      items: ({ skip, take, after }) =>
        db.organization.findMany({
          where: after === undefined ? {} : { id: { gt: after } },
          orderBy: paging.from === undefined && paging.take === undefined ? { name: 'asc' } : { id: 'asc' },
          skip,
          take,
        }),
      key: ({ id }) => id,
    };
    return list('organizations', paging, source, presentOrganization);
  },
});

export const createOrganization = operation({
  body: createBody,
  async run({ parts, body }) {
    const { enabled_connections: connections = [], ...rest } = body;
    for (const { connection_id: id } of connections) await loadConnection(parts, id);
    const organization = await parts.db.organization
      .create({
        data: {
          ...columns(rest),
          id: `org_${randomBytes(8).toString('hex')}`,
          name: body.name,
          connections: { create: connections.map((one) => ({ connectionId: one.connection_id, ...optionsOf(one) })) },
        },
        include: { connections: true },
      })
      .catch(refuseName);
    parts.organizations.clear();
    return created({
      ...presentOrganization(organization),
      ...(connections.length > 0 && { enabled_connections: connections }),
    });
  },
});

export const getOrganization = operation({
  run: async ({ parts, params }) => ok(presentOrganization(await loadOrganization(parts, params.id))),
});

export const getOrganizationByName = operation({
  async run({ parts: { db }, params }) {
    const found = await db.organization.findUnique({ where: { name: params.name ?? '' } });
    if (!found) throw noOrganization();
    return ok(presentOrganization(found));
  },
});

export const updateOrganization = operation({
  body: updateBody,
  async run({ parts, params, body }) {
    const { id } = await loadOrganization(parts, params.id);
    const data = { ...columns(body), version: { increment: 1 } };
    const after = await parts.db.organization.update({ where: { id }, data }).catch(refuseName);
    parts.organizations.clear();
    return ok(presentOrganization(after));
  },
});

export const deleteOrganization = operation({
  async run({ parts, params }) {
    const { id = '' } = params;
    await parts.db.organization.deleteMany({ where: { id } });
    parts.organizations.clear();
    return gone;
  },
});

export const listOrganizationsOfUser = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery }),
  async run({ parts, params, query }) {
    const { userId } = await loadUser(parts, params.id);
    const all = await parts.db.organization.findMany({ where: { members: { some: { userId } } } });
    return list(
      'organizations',
      query,
      ofArray(all, ({ name }) => name),
      presentOrganization,
    );
  },
});

/** @param name of the list in an answer that is not a bare array */
const listConnections = (name: string) =>
  operation({
    query: z.strictObject({ ...pageQuery, ...checkpointQuery, is_enabled: z.enum(['true', 'false']).optional() }),
    async run({ parts, params, query: { is_enabled: isEnabled = 'true', ...paging } }) {
      const { id } = await loadOrganization(parts, params.id);
      // A connection that an organization has is enabled there.
      const where = { organizationId: id, ...(isEnabled === 'false' && { connectionId: { in: [] } }) };
      const all = await parts.db.organizationConnection.findMany({ where, include: { connection: true } });
      return list(
        name,
        paging,
        ofArray(all, ({ connectionId }) => connectionId),
        presentConnection,
      );
    },
  });

/** Auth0 lists them under two paths; its newer tools use the second. */
export const listEnabledConnections = listConnections('enabled_connections');
export const listConnectionsOfOrganization = listConnections('connections');

export const addConnectionToOrganization = operation({
  body: z
    .strictObject({ connection_id: z.string().max(256), ...connectionOptions })
    .partial()
    .required({ connection_id: true }),
  async run({ parts, params, body }) {
    const { id: organizationId } = await loadOrganization(parts, params.id);
    const { connection_id: connectionId } = body;
    await loadConnection(parts, connectionId);
    const key = { organizationId, connectionId };
    if (await parts.db.organizationConnection.findUnique({ where: { organizationId_connectionId: key } }))
      throw conflict('connection_conflict', 'The connection is already enabled for the organization.');
    const made = await parts.db.organizationConnection.create({
      data: { ...key, ...optionsOf(body) },
      include: { connection: true },
    });
    parts.organizations.clear();
    return created(presentConnection(made));
  },
});

export const getConnectionOfOrganization = operation({
  run: async ({ parts, params }) => ok(presentConnection(await loadEnabled(parts, params))),
});

export const updateConnectionOfOrganization = operation({
  body: z.strictObject(connectionOptions).partial(),
  async run({ parts, params, body }) {
    const { organizationId, connectionId } = await loadEnabled(parts, params);
    const changed = await parts.db.organizationConnection.update({
      where: { organizationId_connectionId: { organizationId, connectionId } },
      data: optionsOf(body),
      include: { connection: true },
    });
    parts.organizations.clear();
    return ok(presentConnection(changed));
  },
});

export const removeConnectionFromOrganization = operation({
  async run({ parts, params }) {
    const { id = '', connection_id: connectionId = '' } = params;
    await parts.db.$transaction(async ({ organization, organizationConnection }) => {
      const { count } = await organizationConnection.deleteMany({ where: { organizationId: id, connectionId } });
      // Whoever removes the last one opens the organization to all connections; whoever deletes a connection does not.
      if (count > 0) await organization.updateMany({ where: { id }, data: { lostConnection: false } });
    });
    parts.organizations.clear();
    return gone;
  },
});

/** @throws ManagementProblem 404 */
export async function loadOrganization({ db }: Pick<Parts, 'db'>, id = ''): Promise<OrganizationModel> {
  const found = await db.organization.findUnique({ where: { id } });
  if (!found) throw noOrganization();
  return found;
}

const noOrganization = () => missing('organization', 'No organization found by that id or name');

async function loadConnection({ connections }: Parts, id: string): Promise<void> {
  const all = await connections.list();
  if (!all.some((connection) => connection.id === id)) throw missing('connection', 'The connection does not exist.');
}

async function loadEnabled({ db }: Parts, { id = '', connection_id: connectionId = '' }: Record<string, string>) {
  const found = await db.organizationConnection.findUnique({
    where: { organizationId_connectionId: { organizationId: id, connectionId } },
    include: { connection: true },
  });
  if (!found) throw missing('connection', 'The connection is not enabled for the organization.');
  return found;
}

/** The columns that the body sets; metadata as a whole, as at Auth0. */
function columns(body: z.infer<typeof updateBody>) {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.display_name !== undefined && { displayName: body.display_name }),
    ...(body.branding !== undefined && { branding: merge({}, body.branding) as Prisma.InputJsonObject }),
    ...(body.metadata !== undefined && { metadata: merge({}, body.metadata) as Prisma.InputJsonObject }),
  };
}

type Options = 'assign_membership_on_login' | 'show_as_button' | 'is_signup_enabled';

function optionsOf(given: Partial<Record<Options, boolean | undefined>>) {
  return {
    ...(given.assign_membership_on_login !== undefined && {
      assignMembershipOnLogin: given.assign_membership_on_login,
    }),
    ...(given.show_as_button !== undefined && { showAsButton: given.show_as_button }),
    ...(given.is_signup_enabled !== undefined && { isSignupEnabled: given.is_signup_enabled }),
  };
}

type Enabled = Awaited<ReturnType<typeof loadEnabled>>;

function presentConnection(enabled: Enabled): object {
  return {
    connection_id: enabled.connectionId,
    assign_membership_on_login: enabled.assignMembershipOnLogin,
    show_as_button: enabled.showAsButton,
    is_signup_enabled: enabled.isSignupEnabled,
    connection: { name: enabled.connection.name, strategy: enabled.connection.strategy },
  };
}

function presentOrganization(organization: OrganizationModel): object {
  const { branding, metadata } = organization;
  return {
    id: organization.id,
    name: organization.name,
    display_name: organization.displayName || organization.name,
    ...(isFilled(branding) && { branding }),
    ...(isFilled(metadata) && { metadata }),
  };
}

const isFilled = (value: Prisma.JsonValue) => Object.keys(value as object).length > 0;

function refuseName(error: unknown): never {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
    throw conflict('organization_conflict', 'An organization with this name already exists.');
  throw error;
}
