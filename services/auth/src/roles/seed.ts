/** The roles of a seed file, and who has them. Anything not in the file stays. */
import type { Seed, SeedPermissions } from '@gatepost/contracts/seed';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Prisma } from '../database.ts';
import { newRoleId } from './role-id.ts';

type Writer = Prisma.TransactionClient;

/** @param scopesOf all scopes of each API. @throws Misconfigured naming each assigned role that does not exist */
export async function applyRoles(db: Writer, seed: Seed, scopesOf: Map<string, string[]>): Promise<void> {
  for (const { name, description = null, is_default: isDefault, permissions } of seed.roles) {
    const { id: roleId } = await db.role.upsert({
      where: { name },
      create: { id: newRoleId(), name, description, isDefault },
      update: { description, isDefault },
    });
    for (const { audience, scopes } of fullPermissions(permissions, scopesOf)) {
      await db.rolePermission.deleteMany({ where: { roleId, audience, permission: { notIn: scopes } } });
      const data = scopes.map((permission) => ({ roleId, audience, permission }));
      await db.rolePermission.createMany({ data, skipDuplicates: true });
    }
  }
  const named = seed.users.flatMap((user) => user.roles);
  const roles = named.length === 0 ? [] : await db.role.findMany({ where: { name: { in: named } } });
  const idOf = new Map(roles.map(({ id, name }) => [name, id]));
  const problems = seed.users.flatMap((user, index) =>
    user.roles.flatMap((name, role) => (idOf.has(name) ? [] : [`users[${index}].roles[${role}]: no role ${name}`])),
  );
  if (problems.length > 0) throw new Misconfigured('bad seed file', problems);
  for (const { user_id: userId, roles, permissions } of seed.users) {
    const data = roles.map((name) => ({ userId, roleId: idOf.get(name)! }));
    if (data.length > 0) await db.userRole.createMany({ data, skipDuplicates: true });
    for (const { audience, scopes } of fullPermissions(permissions, scopesOf)) {
      await db.userPermission.deleteMany({ where: { userId, audience, permission: { notIn: scopes } } });
      const data = scopes.map((permission) => ({ userId, audience, permission }));
      await db.userPermission.createMany({ data, skipDuplicates: true });
    }
  }
}

/** Fills in all scopes of the API if none are named. */
function fullPermissions(permissions: SeedPermissions, scopesOf: Map<string, string[]>) {
  return permissions.map(({ audience, scope }) => ({ audience, scopes: scope ?? scopesOf.get(audience)! }));
}
