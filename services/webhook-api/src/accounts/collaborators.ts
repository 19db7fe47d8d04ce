/** `GET /repos/{owner}/{repo}/collaborators/{username}/permission`: the collaborators are the organization's members. */
import { z } from 'zod';
import type { Role } from '../access/place.ts';
import { placeOperation } from '../http/operation.ts';
import { permissionsOf, permissionsSchema } from '../objects/permissions.ts';
import { presentUser, userOfSubject, userSchema } from '../objects/user.ts';
import { findRole } from './memberships.ts';
import { identifierIn } from './name.ts';

const permission = z.enum(['admin', 'read', 'none']);

const permissionSchema = z
  .object({
    permission,
    role_name: permission,
    user: userSchema.extend({ role_name: permission, permissions: permissionsSchema }).meta({ id: 'Collaborator' }),
  })
  .meta({ id: 'CollaboratorPermission' });

export const getCollaboratorPermission = placeOperation({
  id: 'get-collaborator-permission-level',
  summary: 'Get what a person or a machine may do in a repository',
  docs: 'https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user',
  answers: {
    200: {
      description: '`admin` or, for any other member, `read`; `none` for everybody else',
      schema: permissionSchema,
    },
  },
  async run({ parts: { reads }, place, params, base }) {
    const subject = identifierIn(params, 'username');
    return {
      status: 200,
      body: presentPermission(subject, await findRole(reads, place.account.id, subject), base),
    };
  },
});

/** No `role`: not a member. */
export function presentPermission(
  subject: string,
  role: Role | undefined,
  base: string,
): z.infer<typeof permissionSchema> {
  const permission = role === 'member' ? 'read' : (role ?? 'none');
  const user = presentUser(userOfSubject(subject), base);
  return {
    permission,
    role_name: permission,
    user: { ...user, role_name: permission, permissions: permissionsOf(role) },
  };
}
