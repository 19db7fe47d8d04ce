/** Which scopes open which routes (docs/reference/webhooks-api.md#scopes-and-roles). One of those listed is enough. */

/** Opens the same as `repo`, in public repositories only. */
export const publicScope = 'public_repo';

const manage = ['admin:repo_hook', 'repo', publicScope];
const write = [...manage, 'write:repo_hook'];
const read = [...write, 'read:repo_hook'];

/** Repository hooks: read and ping; create and change; delete. */
export const repositoryHooks = { read, write, manage } as const;

/** Organization hooks: everything. */
export const organizationHooks = ['admin:org_hook'];

/** Hooks of an organization and of all its repositories: each scope opens its part. */
export const allRepositoriesHooks = read.filter((scope) => scope !== publicScope);
export const allHooks = [...allRepositoriesHooks, ...organizationHooks];

/** The organization's members, repositories and policies. */
export const organization = ['admin:org', 'site_admin'];
export const organizationRepositories = [...organization, 'repo'];

/** Which of the organization's deliveries are waiting. */
export const deliveryStatus = [...organization, ...organizationHooks];

/** A repository itself: changing it; deleting it. */
export const repository = [...organizationRepositories, publicScope];
export const repositoryDeletion = [...organization, 'delete_repo'];

/** The members of an organization. */
export const members = [...organization, 'read:org'];

/** What a member may do in a repository. */
export const collaborators = [...members, 'repo', publicScope];

/** The installation: accounts and their limits. */
export const site = ['site_admin'];

/** Whatever the token's scopes are. */
export const any: string[] = [];

/** Whether `accepted` is satisfied only where the repository is public. */
export const isForPublicOnly = (held: readonly string[], accepted: readonly string[]): boolean =>
  !sufficient(
    held,
    accepted.filter((scope) => scope !== publicScope),
  );

/** Whether one of `held` is in `accepted`; an empty `accepted` means that none is needed. */
export function sufficient(held: readonly string[], accepted: readonly string[]): boolean {
  return accepted.length === 0 || accepted.some((scope) => held.includes(scope));
}
