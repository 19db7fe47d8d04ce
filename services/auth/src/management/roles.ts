/** `roles`: named sets of permissions; the permissions of a role, and who has it. */
import { z } from 'zod';
import { namesOf } from '../accounts/present-user.ts';
import { Prisma } from '../database.ts';
import type { RoleModel } from '../generated/models.ts';
import { newRoleId } from '../roles/role-id.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, list, ofArray, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import {
  checkPermissionsHeld,
  givePermissions,
  namedPermissions,
  permissionKey,
  permissionPresenter,
  permissionsBody,
} from './permissions.ts';
import { conflict, missing } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';
import { shortText } from './shapes.ts';

const shape = z.strictObject({
  name: shortText,
  description: z.string().trim().max(1_000),
  /** Ours, not Auth0's: everybody has the role without being assigned it. */
  is_default: z.boolean(),
});
const createBody = ignoringReadOnly(shape.partial().required({ name: true }), ['id']);
const updateBody = ignoringReadOnly(shape.partial(), ['id']);

export const listRoles = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    name_filter: z.string().max(256).optional(),
    // Auth0's roles owned by an organization do not exist here.
    type: z.enum(['tenant', 'organization']).default('tenant'),
    owner_id: z.string().max(256).optional(),
  }),
  run: ({ parts: { db }, query: { name_filter: filter = '', type, owner_id: _, ...paging } }) => {
    // Prisma compares by ILIKE and leaves its wildcards as they are.
    const contains = filter.replace(/[\\%_]/g, '\\$&');
    const where = type === 'organization' ? { id: { in: [] } } : { name: { contains, mode: 'insensitive' as const } };
    const source: Source<RoleModel> = {
      total: () => db.role.count({ where }),
      items: ({ skip, take, after }) =>
        db.role.findMany({
          where: { AND: [where, after === undefined ? {} : { id: { gt: after } }] },
          // Alphabetical; with a checkpoint, in key order.
          orderBy: paging.from === undefined && paging.take === undefined ? { name: 'asc' } : { id: 'asc' },
          skip,
          take,
        }),
      key: ({ id }) => id,
    };
    return list('roles', paging, source, presentRole);
  },
});

export const createRole = operation({
  body: createBody,
  async run({ parts, body }) {
    const { name, description = null, is_default: isDefault = false } = body;
    const data = { id: newRoleId(), name, description: description || null, isDefault };
    return ok(presentRole(await parts.db.role.create({ data }).catch(refuseName)));
  },
});

export const getRole = operation({
  run: async ({ parts, params }) => ok(presentRole(await loadRole(parts, params.id))),
});

export const updateRole = operation({
  body: updateBody,
  async run({ parts, params, body, scopes: held }) {
    const { id, isDefault } = await loadRole(parts, params.id);
    if (body.is_default !== undefined && body.is_default !== isDefault) await checkRolesHeld(parts, [id], held);
    const data = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.description !== undefined && { description: body.description || null }),
      ...(body.is_default !== undefined && { isDefault: body.is_default }),
    };
    return ok(presentRole(await parts.db.role.update({ where: { id }, data }).catch(refuseName)));
  },
});

export const deleteRole = operation({
  async run({ parts, params, scopes: held }) {
    const { id } = await loadRole(parts, params.id);
    await checkRolesHeld(parts, [id], held);
    await parts.db.role.deleteMany({ where: { id } });
    return ok({});
  },
});

export const listPermissionsOfRole = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery }),
  async run({ parts, params, query }) {
    const { id: roleId } = await loadRole(parts, params.id);
    const permissions = await parts.db.rolePermission.findMany({ where: { roleId } });
    return list('permissions', query, ofArray(permissions, permissionKey), await permissionPresenter(parts));
  },
});

export const addPermissionsToRole = operation({
  body: permissionsBody,
  async run({ parts, params, body, scopes: held }) {
    const { id: roleId } = await loadRole(parts, params.id);
    await givePermissions(parts, body, held, ({ rolePermission }, permissions) => {
      const data = permissions.map((permission) => ({ roleId, ...permission }));
      return rolePermission.createMany({ data, skipDuplicates: true });
    });
    return created({});
  },
});

export const removePermissionsFromRole = operation({
  body: permissionsBody,
  async run({ parts, params, body, scopes: held }) {
    const { id: roleId } = await loadRole(parts, params.id);
    const permissions = await namedPermissions(parts, body);
    await checkPermissionsHeld(parts, permissions, held);
    await parts.db.rolePermission.deleteMany({ where: { roleId, OR: permissions } });
    return gone;
  },
});

export const listUsersOfRole = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery }),
  async run({ parts, params, query }) {
    const { id: roleId } = await loadRole(parts, params.id);
    const { db } = parts;
    const source: Source<Awaited<ReturnType<typeof usersOf>>[number]> = {
      total: () => db.userRole.count({ where: { roleId, ...ofPrimaryAccounts } }),
      items: ({ skip, take, after }) => usersOf(parts, { roleId, skip, take, after }),
      key: ({ userId }) => userId,
    };
    return list('users', query, source, ({ account }) => ({
      user_id: account.userId,
      ...(account.email !== null && { email: account.email }),
      name: namesOf(account).name,
      ...(account.picture !== null && { picture: account.picture }),
    }));
  },
});

export const assignRoleToUsers = operation({
  body: z.strictObject({ users: z.array(z.string().min(1).max(300)).min(1).max(100) }),
  async run({ parts, params, body: { users }, scopes: held }) {
    const { id: roleId } = await loadRole(parts, params.id);
    await checkRolesHeld(parts, [roleId], held);
    const known = await parts.db.account.findMany({
      where: { userId: { in: users }, linkedTo: null },
      select: { userId: true },
    });
    if (known.length < new Set(users).size) throw missing('user', 'One or more of the users specified do not exist.');
    await parts.db.userRole.createMany({ data: known.map(({ userId }) => ({ userId, roleId })), skipDuplicates: true });
    return ok({});
  },
});

/** @throws ManagementProblem 404 */
async function loadRole({ db }: Pick<Parts, 'db'>, id = ''): Promise<RoleModel> {
  const role = await db.role.findUnique({ where: { id } });
  if (!role) throw missing('role', 'The role does not exist.');
  return role;
}

/** Assigning a role, or taking it away, does so with its permissions (permissions.ts). */
export async function checkRolesHeld(parts: Parts, ids: string[], held: ReadonlySet<string>): Promise<void> {
  await checkPermissionsHeld(parts, await parts.db.rolePermission.findMany({ where: { roleId: { in: ids } } }), held);
}

export function presentRole(role: RoleModel): object {
  return {
    id: role.id,
    name: role.name,
    ...(role.description !== null && { description: role.description }),
    ...(role.isDefault && { is_default: true }),
  };
}

/** A linked account is no user of its own; what it has counts again once it is unlinked. */
export const ofPrimaryAccounts = { account: { linkedTo: null } };

function usersOf(
  { db }: Parts,
  { roleId, after, ...window }: { roleId: string; skip: number; take: number; after: string | undefined },
) {
  return db.userRole.findMany({
    where: { roleId, ...ofPrimaryAccounts, ...(after !== undefined && { userId: { gt: after } }) },
    orderBy: { userId: 'asc' },
    include: { account: true },
    ...window,
  });
}

function refuseName(error: unknown): never {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
    throw conflict('role_conflict', 'A role with this name already exists.');
  throw error;
}
