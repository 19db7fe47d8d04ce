/** A repository, an organization and people as payloads show them, with every property that GitHub's schemas require. */

// biome-ignore lint/suspicious/noExplicitAny: payloads are JSON that is sent on, and changed by whoever asks for it
export type Json = any;

/** Where a sample takes place; `api` and `web` are the roots of its URLs. */
export type Where = { repository: Json; organization: Json | undefined; sender: Json; at: string };

/** A sample's place from the API's data, so that ids and URLs match those of real deliveries. */
export function whereOf(known: Json, organization: Json, person: Json, now: Date): Where {
  const root = known.url.slice(0, -`/repos/${known.full_name}`.length);
  const keep = (object: Json, names: string[]) =>
    Object.fromEntries(names.filter((name) => name in object).map((name) => [name, object[name]]));
  return {
    repository: {
      ...sampleRepository(known.owner.login, known.name, root),
      ...keep(known, Object.keys(sampleRepository('a', 'b', root))),
    },
    organization: keep(organization, organizationNames),
    sender: keep(person, Object.keys(known.owner)),
    at: `${now.toISOString().slice(0, 19)}Z`,
  };
}

/** The properties of an organization shown in payloads. */
const organizationNames = [
  'login',
  'id',
  'node_id',
  'url',
  'repos_url',
  'events_url',
  'hooks_url',
  'issues_url',
  'members_url',
  'public_members_url',
  'avatar_url',
  'description',
];

export const time = '2026-11-22T10:30:00Z';

export function sampleUser(login: string, id: number, api: string, type = 'User'): Json {
  const url = `${api}/users/${login}`;
  const below = (names: string[]) => Object.fromEntries(names.map((name) => [`${name}_url`, `${url}/${name}`]));
  return {
    login,
    id,
    node_id: nodeId(type, id),
    avatar_url: `${api}/avatars/${id}`,
    gravatar_id: '',
    url,
    html_url: `${webOf(api)}/${login}`,
    ...below(['followers', 'subscriptions', 'organizations', 'repos', 'received_events']),
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    events_url: `${url}/events{/privacy}`,
    type,
    site_admin: false,
  };
}

/** The name of each repository URL, without `_url`, and its ending. */
const urls = {
  forks: '/forks',
  keys: '/keys{/key_id}',
  collaborators: '/collaborators{/collaborator}',
  teams: '/teams',
  hooks: '/hooks',
  issue_events: '/issues/events{/number}',
  events: '/events',
  assignees: '/assignees{/user}',
  branches: '/branches{/branch}',
  tags: '/tags',
  blobs: '/git/blobs{/sha}',
  git_tags: '/git/tags{/sha}',
  git_refs: '/git/refs{/sha}',
  trees: '/git/trees{/sha}',
  statuses: '/statuses/{sha}',
  languages: '/languages',
  stargazers: '/stargazers',
  contributors: '/contributors',
  subscribers: '/subscribers',
  subscription: '/subscription',
  commits: '/commits{/sha}',
  git_commits: '/git/commits{/sha}',
  comments: '/comments{/number}',
  issue_comment: '/issues/comments{/number}',
  contents: '/contents/{+path}',
  compare: '/compare/{base}...{head}',
  merges: '/merges',
  archive: '/{archive_format}{/ref}',
  downloads: '/downloads',
  issues: '/issues{/number}',
  pulls: '/pulls{/number}',
  milestones: '/milestones{/number}',
  notifications: '/notifications{?since,all,participating}',
  labels: '/labels{/name}',
  releases: '/releases{/id}',
  deployments: '/deployments',
};

export function sampleRepository(owner: string, name: string, api: string, id = 1): Json {
  const url = `${api}/repos/${owner}/${name}`;
  const html = `${webOf(api)}/${owner}/${name}`;
  return {
    id,
    node_id: nodeId('Repository', id),
    name,
    full_name: `${owner}/${name}`,
    private: true,
    owner: sampleUser(owner, 1, api, 'Organization'),
    html_url: html,
    description: null,
    fork: false,
    url,
    ...Object.fromEntries(Object.entries(urls).map(([key, end]) => [`${key}_url`, url + end])),
    created_at: time,
    updated_at: time,
    pushed_at: time,
    git_url: `git://${new URL(html).host}/${owner}/${name}.git`,
    ssh_url: `git@${new URL(html).host}:${owner}/${name}.git`,
    clone_url: `${html}.git`,
    svn_url: html,
    homepage: null,
    size: 0,
    stargazers_count: 0,
    watchers_count: 0,
    language: 'TypeScript',
    has_issues: true,
    has_projects: false,
    has_downloads: true,
    has_wiki: false,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: false,
    disabled: false,
    open_issues_count: 1,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: 'private',
    forks: 0,
    open_issues: 1,
    watchers: 0,
    default_branch: 'main',
  };
}

export const nodeId = (type: string, id: number): string => btoa(`0${String(type.length)}:${type}${id}`);

/** Pages for people are beside the API, not below it. */
const webOf = (api: string): string => new URL(api).origin;
