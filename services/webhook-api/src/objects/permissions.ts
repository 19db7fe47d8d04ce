/** What the caller, or a collaborator, may do in an organization or repository, in GitHub's words. */
import { z } from 'zod';
import type { Role } from '../access/place.ts';

export const permissionsSchema = z
  .object({ admin: z.boolean(), maintain: z.boolean(), push: z.boolean(), triage: z.boolean(), pull: z.boolean() })
  .meta({ id: 'Permissions', description: "The caller's, or those of the collaborator" });

/** No `role`: not a member. */
export function permissionsOf(role: Role | undefined): z.infer<typeof permissionsSchema> {
  const admin = role === 'admin';
  return { admin, maintain: admin, push: admin, triage: admin, pull: role !== undefined };
}
