/** `users/{id}/roles` and `…/permissions`: what a person may do, by roles and directly. Changes apply to their next token. */
import { z } from 'zod';
import { created, gone, operation } from './operation.ts';
import { checkpointQuery, list, ofArray, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import {
  checkPermissionsHeld,
  givePermissions,
  namedPermissions,
  type Permission,
  permissionKey,
  permissionPresenter,
  permissionsBody,
} from './permissions.ts';
import { missing } from './problem.ts';
import { checkRolesHeld, presentRole } from './roles.ts';
import { loadUser } from './users.ts';

const paging = z.strictObject({ ...pageQuery, ...checkpointQuery });
const rolesBody = z.strictObject({ roles: z.array(z.string().min(1).max(100)).min(1).max(100) });

/** Only assigned roles; a role that everybody has is not listed. */
export const listRolesOfUser = operation({
  query: paging,
  async run({ parts, params, query }) {
    const { userId } = await loadUser(parts, params.id);
    const roles = await parts.db.role.findMany({ where: { users: { some: { userId } } } });
    return list(
      'roles',
      query,
      ofArray(roles, ({ name }) => name),
      presentRole,
    );
  },
});

export const assignRolesToUser = operation({
  body: rolesBody,
  async run({ parts, params, body: { roles }, scopes: held }) {
    const { userId } = await loadUser(parts, params.id);
    const known = await parts.db.role.findMany({ where: { id: { in: roles } }, select: { id: true } });
    if (known.length < new Set(roles).size) throw missing('role', 'One or more of the roles specified do not exist.');
    await checkRolesHeld(parts, roles, held);
    await parts.db.userRole.createMany({
      data: known.map(({ id: roleId }) => ({ userId, roleId })),
      skipDuplicates: true,
    });
    return gone;
  },
});

export const removeRolesFromUser = operation({
  body: rolesBody,
  async run({ parts, params, body: { roles }, scopes: held }) {
    const { userId } = await loadUser(parts, params.id);
    await checkRolesHeld(parts, roles, held);
    await parts.db.userRole.deleteMany({ where: { userId, roleId: { in: roles } } });
    return gone;
  },
});

type Source = { source_id: string; source_name: string; source_type: 'DIRECT' | 'ROLE' };

export const listPermissionsOfUser = operation({
  query: paging,
  async run({ parts, params, query }) {
    const { userId } = await loadUser(parts, params.id);
    const present = await permissionPresenter(parts);
    const all = ofArray(await permissionsOf(parts, userId), permissionKey);
    return list('permissions', query, all, ({ sources, ...permission }) => ({ ...present(permission), sources }));
  },
});

export const addPermissionsToUser = operation({
  body: permissionsBody,
  async run({ parts, params, body, scopes: held }) {
    const { userId } = await loadUser(parts, params.id);
    await givePermissions(parts, body, held, ({ userPermission }, permissions) => {
      const data = permissions.map((permission) => ({ userId, ...permission }));
      return userPermission.createMany({ data, skipDuplicates: true });
    });
    return created({});
  },
});

export const removePermissionsFromUser = operation({
  body: permissionsBody,
  async run({ parts, params, body, scopes: held }) {
    const { userId } = await loadUser(parts, params.id);
    const permissions = await namedPermissions(parts, body);
    await checkPermissionsHeld(parts, permissions, held);
    await parts.db.userPermission.deleteMany({ where: { userId, OR: permissions } });
    return gone;
  },
});

/** Each with its sources: given to the person directly, or through their roles. */
async function permissionsOf({ db }: Parts, userId: string): Promise<(Permission & { sources: Source[] })[]> {
  const own = await db.userPermission.findMany({ where: { userId } });
  const ofRoles = await db.rolePermission.findMany({
    where: { role: { OR: [{ users: { some: { userId } } }, { isDefault: true }] } },
    include: { role: true },
    orderBy: { role: { name: 'asc' } },
  });
  const all = new Map<string, Permission & { sources: Source[] }>();
  const add = ({ audience, permission }: Permission, source: Source) => {
    const key = permissionKey({ audience, permission });
    const known = all.get(key) ?? { audience, permission, sources: [] };
    known.sources.push(source);
    all.set(key, known);
  };
  for (const permission of own) add(permission, { source_id: '', source_name: '', source_type: 'DIRECT' });
  for (const { role, ...permission } of ofRoles)
    add(permission, { source_id: role.id, source_name: role.name, source_type: 'ROLE' });
  return [...all.values()];
}
