/** Which scopes open which routes (docs/reference/webhooks-api.md#scopes-and-roles). One of the listed is enough. */

const manage = ['admin:repo_hook', 'repo'];
const write = [...manage, 'write:repo_hook'];
const read = [...write, 'read:repo_hook'];

/** Repository hooks: read and ping; create and change; delete. */
export const repositoryHooks = { read, write, manage } as const;

/** Organization hooks: all of it. */
export const organizationHooks = ['admin:org_hook'];

/** The organization's members, repositories and policies. */
export const organization = ['admin:org', 'site_admin'];
export const organizationRepositories = [...organization, 'repo'];

/** The installation: accounts and their limits. */
export const site = ['site_admin'];

/** Whatever the token's scopes are. */
export const any: string[] = [];

/** Whether one of `held` is among `accepted`; nothing accepted means that none is needed. */
export function sufficient(held: readonly string[], accepted: readonly string[]): boolean {
  return accepted.length === 0 || accepted.some((scope) => held.includes(scope));
}
