/** `GET /`: where things are. Clients first ask here whether their token is valid; names all that GitHub requires, even where nothing is. */
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';
import { linksBelow, linksSchema, webBase } from '../objects/links.ts';

const page = '{&page,per_page,sort,order}';
const links = {
  current_user_url: '/user',
  authorizations_url: '/authorizations',
  code_search_url: `/search/code?q={query}${page}`,
  commit_search_url: `/search/commits?q={query}${page}`,
  emails_url: '/user/emails',
  emojis_url: '/emojis',
  events_url: '/events',
  feeds_url: '/feeds',
  followers_url: '/user/followers',
  following_url: '/user/following{/target}',
  gists_url: '/gists{/gist_id}',
  issue_search_url: `/search/issues?q={query}${page}`,
  issues_url: '/issues',
  keys_url: '/user/keys',
  label_search_url: '/search/labels?q={query}&repository_id={repository_id}{&page,per_page}',
  notifications_url: '/notifications',
  organization_url: '/orgs/{org}',
  organization_repositories_url: '/orgs/{org}/repos{?type,page,per_page,sort}',
  organization_teams_url: '/orgs/{org}/teams',
  public_gists_url: '/gists/public',
  rate_limit_url: '/rate_limit',
  repository_url: '/repos/{owner}/{repo}',
  repository_search_url: `/search/repositories?q={query}${page}`,
  current_user_repositories_url: '/user/repos{?type,page,per_page,sort}',
  starred_url: '/user/starred{/owner}{/repo}',
  starred_gists_url: '/gists/starred',
  user_url: '/users/{user}',
  user_organizations_url: '/user/orgs',
  user_repositories_url: '/users/{user}/repos{?type,page,per_page,sort}',
  user_search_url: `/search/users?q={query}${page}`,
};

const rootSchema = z
  .object({ ...linksSchema(links), current_user_authorizations_html_url: z.string() })
  .meta({ id: 'Root' });

export const getRoot = openOperation({
  id: 'root',
  summary: 'Get the URLs of the API',
  docs: 'https://docs.github.com/rest/meta/meta#github-api-root',
  answers: { 200: { description: 'URLs, and URL templates (RFC 6570)', schema: rootSchema } },
  run: ({ base }) => ({ status: 200, body: presentRoot(base) }),
});

export function presentRoot(base: string): z.infer<typeof rootSchema> {
  return {
    ...linksBelow(base, links),
    current_user_authorizations_html_url: `${webBase(base)}/settings/connections/applications{/client_id}`,
  };
}
