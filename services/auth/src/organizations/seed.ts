/** Applies a seed file's organizations and members. Anything not in the file stays; unchanged rows are not written, so nothing is announced again. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Seed, SeedGateOrganization } from '@gatepost/contracts/seed';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Prisma } from '../database.ts';

type Writer = Prisma.TransactionClient;

/** Runs after the seed's users, roles and connections. @throws Misconfigured naming each missing member, role and connection */
export async function applyOrganizations(db: Writer, seed: Seed): Promise<void> {
  const known = await loadReferences(db, seed.gate_organizations);
  const problems = seed.gate_organizations.flatMap((one, index) => {
    const at = `gate_organizations[${index}]`;
    return [
      ...one.connections.flatMap(({ name }, each) =>
        known.connections.has(name) ? [] : [`${at}.connections[${each}].name: no connection ${name}`],
      ),
      ...one.members.flatMap(({ user_id, roles }, each) => [
        ...(known.people.has(user_id) ? [] : [`${at}.members[${each}].user_id: nobody is ${user_id}`]),
        ...roles.flatMap((role, which) =>
          known.roles.has(role) ? [] : [`${at}.members[${each}].roles[${which}]: no role ${role}`],
        ),
      ]),
    ];
  });
  if (problems.length > 0) throw new Misconfigured('bad seed file', problems);
  for (const given of seed.gate_organizations) await applyOrganization(db, given, known);
}

async function loadReferences(db: Writer, given: SeedGateOrganization[]) {
  if (given.length === 0)
    return { people: new Set<string>(), roles: new Map<string, string>(), connections: new Map<string, string>() };
  const userIds = given.flatMap(({ members }) => members.map(({ user_id }) => user_id));
  const [people, roles, connections] = await Promise.all([
    db.account.findMany({ where: { userId: { in: userIds } }, select: { userId: true } }),
    db.role.findMany({ select: { id: true, name: true } }),
    db.connection.findMany({ select: { id: true, name: true } }),
  ]);
  return {
    people: new Set(people.map(({ userId }) => userId)),
    roles: new Map(roles.map(({ id, name }) => [name, id])),
    connections: new Map(connections.map(({ id, name }) => [name, id])),
  };
}

async function applyOrganization(
  db: Writer,
  { name, display_name: displayName = '', metadata, members, connections }: SeedGateOrganization,
  known: Awaited<ReturnType<typeof loadReferences>>,
): Promise<void> {
  const before = await db.organization.findUnique({ where: { name } });
  const { id: organizationId } =
    before ??
    (await db.organization.create({
      data: { id: `org_${randomBytes(8).toString('hex')}`, name, displayName, metadata },
    }));
  const isSame = before?.displayName === displayName && isDeepStrictEqual(before.metadata, metadata);
  if (before && !isSame)
    await db.organization.update({ where: { name }, data: { displayName, metadata, version: { increment: 1 } } });
  for (const { name: connection, ...options } of connections) {
    const connectionId = known.connections.get(connection)!;
    const data = {
      assignMembershipOnLogin: options.assign_membership_on_login,
      showAsButton: options.show_as_button,
      isSignupEnabled: options.is_signup_enabled,
    };
    await db.organizationConnection.upsert({
      where: { organizationId_connectionId: { organizationId, connectionId } },
      create: { organizationId, connectionId, ...data },
      update: data,
    });
  }
  await db.organizationMember.createMany({
    data: members.map(({ user_id: userId }) => ({ organizationId, userId })),
    skipDuplicates: true,
  });
  await db.organizationMemberRole.createMany({
    data: members.flatMap(({ user_id: userId, roles }) =>
      roles.map((role) => ({ organizationId, userId, roleId: known.roles.get(role)! })),
    ),
    skipDuplicates: true,
  });
}
