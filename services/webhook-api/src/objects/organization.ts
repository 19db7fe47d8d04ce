/** Organizations as clients see them (https://docs.github.com/rest/orgs/orgs): every property that GitHub's schema requires. */
import { z } from 'zod';
import type { Place, Role } from '../access/place.ts';
import { ours } from '../http/operation.ts';
import { linksBelow, linksSchema, webBase } from './links.ts';
import { nodeId } from './node-id.ts';
import { permissionsOf, permissionsSchema } from './permissions.ts';
import { seconds } from './time.ts';
import { avatarOf } from './user.ts';

const links = {
  repos_url: '/repos',
  events_url: '/events',
  hooks_url: '/hooks',
  issues_url: '/issues',
  members_url: '/members{/member}',
  public_members_url: '/public_members{/member}',
};

/** GitHub's "simple organization", as used in memberships and events. */
export const simpleOrganizationSchema = z
  .object({
    login: z.string(),
    id: z.int(),
    node_id: z.string(),
    url: z.url(),
    ...linksSchema(links),
    avatar_url: z.url(),
    description: z.string().nullable(),
  })
  .meta({ id: 'SimpleOrganization' });

export const organizationSchema = simpleOrganizationSchema
  .extend({
    html_url: z.url(),
    type: z.literal('Organization'),
    has_organization_projects: z.boolean(),
    has_repository_projects: z.boolean(),
    public_repos: z.int(),
    public_gists: z.int(),
    followers: z.int(),
    following: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    archived_at: z.iso.datetime().nullable(),
    permissions: permissionsSchema.optional().meta(ours),
  })
  .meta({ id: 'Organization' });

export function presentSimpleOrganization(
  { login, id }: Pick<Place['account'], 'login' | 'id'>,
  base: string,
): z.infer<typeof simpleOrganizationSchema> {
  const url = `${base}/orgs/${login}`;
  return {
    login,
    id,
    node_id: nodeId('Organization', id),
    url,
    ...linksBelow(url, links),
    avatar_url: avatarOf(id, base),
    description: null,
  };
}

/** `role` is the caller's; without it no permissions are shown. */
export function presentOrganization(
  account: Place['account'],
  base: string,
  role?: Role,
): z.infer<typeof organizationSchema> {
  const { login, createdAt } = account;
  return {
    ...presentSimpleOrganization(account, base),
    html_url: `${webBase(base)}/${login}`,
    type: 'Organization',
    has_organization_projects: false,
    has_repository_projects: false,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: seconds(createdAt),
    updated_at: seconds(createdAt),
    archived_at: null,
    ...(role ? { permissions: permissionsOf(role) } : {}),
  };
}
