/**
 * Repositories as clients see them (https://docs.github.com/rest/repos/repos): every property that GitHub's schema requires. octocrab, github3.py
 * and githubkit reject a repository that lacks one. We have hooks but no code, so counts of code, forks and issues are zero.
 */
import { z } from 'zod';
import type { Place, Repository, Role } from '../access/place.ts';
import { settingsSchema } from '../accounts/repository-settings.ts';
import { linksBelow, linksSchema, webBase } from './links.ts';
import { nodeId } from './node-id.ts';
import { permissionsOf, permissionsSchema } from './permissions.ts';
import { seconds } from './time.ts';
import { presentUser, userOfAccount, userSchema } from './user.ts';

const links = {
  archive_url: '/{archive_format}{/ref}',
  assignees_url: '/assignees{/user}',
  blobs_url: '/git/blobs{/sha}',
  branches_url: '/branches{/branch}',
  collaborators_url: '/collaborators{/collaborator}',
  comments_url: '/comments{/number}',
  commits_url: '/commits{/sha}',
  compare_url: '/compare/{base}...{head}',
  contents_url: '/contents/{+path}',
  contributors_url: '/contributors',
  deployments_url: '/deployments',
  downloads_url: '/downloads',
  events_url: '/events',
  forks_url: '/forks',
  git_commits_url: '/git/commits{/sha}',
  git_refs_url: '/git/refs{/sha}',
  git_tags_url: '/git/tags{/sha}',
  hooks_url: '/hooks',
  issue_comment_url: '/issues/comments{/number}',
  issue_events_url: '/issues/events{/number}',
  issues_url: '/issues{/number}',
  keys_url: '/keys{/key_id}',
  labels_url: '/labels{/name}',
  languages_url: '/languages',
  merges_url: '/merges',
  milestones_url: '/milestones{/number}',
  notifications_url: '/notifications{?since,all,participating}',
  pulls_url: '/pulls{/number}',
  releases_url: '/releases{/id}',
  stargazers_url: '/stargazers',
  statuses_url: '/statuses/{sha}',
  subscribers_url: '/subscribers',
  subscription_url: '/subscription',
  tags_url: '/tags',
  teams_url: '/teams',
  trees_url: '/git/trees{/sha}',
};

export const repositorySchema = z
  .object({
    ...settingsSchema.shape,
    id: z.int(),
    node_id: z.string(),
    name: z.string(),
    full_name: z.string(),
    private: z.boolean(),
    visibility: z.enum(['public', 'private', 'internal']),
    owner: userSchema,
    url: z.url(),
    html_url: z.url(),
    ...linksSchema(links),
    git_url: z.string(),
    ssh_url: z.string(),
    clone_url: z.string(),
    svn_url: z.string(),
    mirror_url: z.string().nullable(),
    description: z.string().nullable(),
    homepage: z.string().nullable(),
    language: z.string().nullable(),
    license: z.record(z.string(), z.unknown()).nullable(),
    topics: z.array(z.string()),
    default_branch: z.string(),
    fork: z.boolean(),
    is_template: z.boolean(),
    archived: z.boolean(),
    disabled: z.boolean(),
    has_issues: z.boolean(),
    has_projects: z.boolean(),
    has_wiki: z.boolean(),
    has_pages: z.boolean(),
    has_downloads: z.boolean(),
    has_discussions: z.boolean(),
    allow_forking: z.boolean(),
    web_commit_signoff_required: z.boolean(),
    size: z.int(),
    forks: z.int(),
    forks_count: z.int(),
    network_count: z.int(),
    open_issues: z.int(),
    open_issues_count: z.int(),
    stargazers_count: z.int(),
    subscribers_count: z.int(),
    watchers: z.int(),
    watchers_count: z.int(),
    custom_properties: z.record(z.string(), z.unknown()),
    pushed_at: z.iso.datetime(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    permissions: permissionsSchema.optional(),
  })
  .meta({ id: 'Repository' });

/** The values of a repository with none of this. */
const plain = {
  private: true,
  visibility: 'private',
  mirror_url: null,
  description: null,
  homepage: null,
  language: null,
  license: null,
  topics: [],
  default_branch: 'main',
  fork: false,
  is_template: false,
  archived: false,
  disabled: false,
  has_issues: false,
  has_projects: false,
  has_wiki: false,
  has_pages: false,
  has_downloads: false,
  has_discussions: false,
  allow_forking: false,
  web_commit_signoff_required: false,
  size: 0,
  forks: 0,
  forks_count: 0,
  network_count: 0,
  open_issues: 0,
  open_issues_count: 0,
  stargazers_count: 0,
  subscribers_count: 0,
  watchers: 0,
  watchers_count: 0,
  custom_properties: {},
} as const;

/** `role` is the caller's; without it no permissions are shown. */
export function presentRepository(
  account: Place['account'],
  repository: Repository,
  base: string,
  role?: Role,
): z.infer<typeof repositorySchema> {
  const { id, name, createdAt } = repository;
  const fullName = `${account.login}/${name}`;
  const url = `${base}/repos/${fullName}`;
  const page = `${webBase(base)}/${fullName}`;
  const { hostname } = new URL(base);
  const created = seconds(createdAt);
  return {
    id,
    node_id: nodeId('Repository', id),
    name,
    full_name: fullName,
    owner: presentUser(userOfAccount(account), base),
    url,
    html_url: page,
    ...linksBelow(url, links),
    git_url: `git://${hostname}/${fullName}.git`,
    ssh_url: `git@${hostname}:${fullName}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    ...plain,
    topics: [...plain.topics],
    ...repository.settings,
    visibility: repository.visibility,
    private: repository.visibility !== 'public',
    pushed_at: created,
    created_at: created,
    updated_at: seconds(repository.updatedAt),
    ...(role ? { permissions: permissionsOf(role) } : {}),
  };
}
