/** `organizations/{id}/members`: an organization's members, and their roles within it. */
import { z } from 'zod';
import { namesOf } from '../accounts/present-user.ts';
import type { Prisma } from '../database.ts';
import { gone, operation } from './operation.ts';
import { loadOrganization } from './organizations.ts';
import { checkpointQuery, fieldsQuery, list, ofArray, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { missing } from './problem.ts';
import { checkRolesHeld, ofPrimaryAccounts, presentRole } from './roles.ts';

const membersBody = z.strictObject({ members: z.array(z.string().min(1).max(300)).min(1).max(100) });
const rolesBody = z.strictObject({ roles: z.array(z.string().min(1).max(100)).min(1).max(50) });

const withAccountAndRoles = { account: true, roles: { include: { role: true } } } as const;
type Member = Prisma.OrganizationMemberGetPayload<{ include: typeof withAccountAndRoles }>;

export const listMembers = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery, ...fieldsQuery }),
  async run({ parts, params, query }) {
    const { db } = parts;
    const { id: organizationId } = await loadOrganization(parts, params.id);
    const source: Source<Member> = {
      total: () => db.organizationMember.count({ where: { organizationId, ...ofPrimaryAccounts } }),
      items: ({ skip, take, after }) =>
        db.organizationMember.findMany({
          where: { organizationId, ...ofPrimaryAccounts, ...(after !== undefined && { userId: { gt: after } }) },
          orderBy: { userId: 'asc' },
          include: withAccountAndRoles,
          skip,
          take,
        }),
      key: ({ userId }) => userId,
    };
    // Roles are included only on request (https://auth0.com/docs/api/management/v2/organizations/get-members).
    const withRoles = query.fields?.split(',').some((field) => field.trim() === 'roles') ?? false;
    return list('members', query, source, ({ account, roles }) => ({
      user_id: account.userId,
      name: namesOf(account).name,
      ...(account.email !== null && { email: account.email }),
      ...(account.picture !== null && { picture: account.picture }),
      ...(withRoles && { roles: roles.map(({ role: { id, name } }) => ({ id, name })) }),
    }));
  },
});

export const addMembers = operation({
  body: membersBody,
  async run({ parts, params, body: { members } }) {
    const { id: organizationId } = await loadOrganization(parts, params.id);
    const where = { userId: { in: members }, linkedTo: null };
    const known = await parts.db.account.findMany({ where, select: { userId: true } });
    if (known.length < new Set(members).size) throw missing('user', 'One or more of the users specified do not exist.');
    const data = known.map(({ userId }) => ({ organizationId, userId }));
    await parts.db.organizationMember.createMany({ data, skipDuplicates: true });
    return gone;
  },
});

/** Also removes their roles there, and all grants for the organization (a trigger does). */
export const removeMembers = operation({
  body: membersBody,
  async run({ parts, params, body: { members } }) {
    const { id: organizationId } = await loadOrganization(parts, params.id);
    await parts.db.organizationMember.deleteMany({ where: { organizationId, userId: { in: members } } });
    return gone;
  },
});

export const listRolesOfMember = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery }),
  async run({ parts, params, query }) {
    const { roles } = await loadMember(parts, params);
    const all = roles.map(({ role }) => role);
    return list(
      'roles',
      query,
      ofArray(all, ({ name }) => name),
      presentRole,
    );
  },
});

export const assignRolesToMember = operation({
  body: rolesBody,
  async run({ parts, params, body: { roles }, scopes: held }) {
    const { organizationId, userId } = await loadMember(parts, params);
    const known = await parts.db.role.findMany({ where: { id: { in: roles } }, select: { id: true } });
    if (known.length < new Set(roles).size) throw missing('role', 'One or more of the roles specified do not exist.');
    await checkRolesHeld(parts, roles, held);
    const data = known.map(({ id: roleId }) => ({ organizationId, userId, roleId }));
    await parts.db.organizationMemberRole.createMany({ data, skipDuplicates: true });
    return gone;
  },
});

export const removeRolesFromMember = operation({
  body: rolesBody,
  async run({ parts, params, body: { roles } }) {
    const { organizationId, userId } = await loadMember(parts, params);
    await parts.db.organizationMemberRole.deleteMany({ where: { organizationId, userId, roleId: { in: roles } } });
    return gone;
  },
});

async function loadMember(parts: Parts, { id, user_id: userId = '' }: Record<string, string>): Promise<Member> {
  const { id: organizationId } = await loadOrganization(parts, id);
  const key = { organizationId, userId };
  const found = await parts.db.organizationMember.findUnique({
    where: { organizationId_userId: key },
    include: withAccountAndRoles,
  });
  if (!found) throw missing('organization_member', 'The user is not a member of the organization.');
  return found;
}
