/** Organizations and repositories as clients see them: GitHub's fields where we have what they tell. */
import { z } from 'zod';
import type { Place, Role } from '../access/place.ts';

const permissionsSchema = z
  .object({ admin: z.boolean(), maintain: z.boolean(), push: z.boolean(), triage: z.boolean(), pull: z.boolean() })
  .meta({ id: 'Permissions', description: "The caller's" });

const ownerSchema = z
  .object({ login: z.string(), id: z.int(), type: z.literal('Organization'), url: z.url() })
  .meta({ id: 'Owner' });

export const organizationSchema = ownerSchema
  .extend({
    repos_url: z.url(),
    hooks_url: z.url(),
    created_at: z.iso.datetime(),
    permissions: permissionsSchema.optional(),
  })
  .meta({ id: 'Organization' });

export const repositorySchema = z
  .object({
    id: z.int(),
    name: z.string(),
    full_name: z.string(),
    private: z.literal(true),
    owner: ownerSchema,
    url: z.url(),
    hooks_url: z.url(),
    created_at: z.iso.datetime(),
    permissions: permissionsSchema.optional(),
  })
  .meta({ id: 'Repository' });

type Account = Place['account'];
type Repository = NonNullable<Place['repository']>;

/** `role` is the caller's; without it nothing is said of permissions. */
export function presentOrganization(account: Account, base: string, role?: Role): z.infer<typeof organizationSchema> {
  const url = `${base}/orgs/${account.login}`;
  return {
    ...presentOwner(account, base),
    repos_url: `${url}/repos`,
    hooks_url: `${url}/hooks`,
    created_at: seconds(account.createdAt),
    ...(role ? { permissions: permissionsOf(role) } : {}),
  };
}

export function presentRepository(
  account: Account,
  repository: Repository,
  base: string,
  role?: Role,
): z.infer<typeof repositorySchema> {
  const url = `${base}/repos/${account.login}/${repository.name}`;
  return {
    id: repository.id,
    name: repository.name,
    full_name: `${account.login}/${repository.name}`,
    private: true,
    owner: presentOwner(account, base),
    url,
    hooks_url: `${url}/hooks`,
    created_at: seconds(repository.createdAt),
    ...(role ? { permissions: permissionsOf(role) } : {}),
  };
}

/** GitHub's times have no fraction of a second. */
export const seconds = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

function presentOwner(account: Account, base: string): z.infer<typeof ownerSchema> {
  return { login: account.login, id: account.id, type: 'Organization', url: `${base}/orgs/${account.login}` };
}

function permissionsOf(role: Role): z.infer<typeof permissionsSchema> {
  const admin = role === 'admin';
  return { admin, maintain: admin, push: admin, triage: admin, pull: true };
}
