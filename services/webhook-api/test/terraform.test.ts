/**
 * What Terraform's provider for GitHub sends, as recorded from its own acceptance tests (`github.com/integrations/terraform-provider-github/v5`
 * v5.45.0, `TestAccGithubRepositoryWebhook`, `TestAccGithubOrganizationWebhook`), and what version 6 has added since: it asks for the owner
 * as a user, and switches vulnerability alerts off in each repository that it makes.
 */
import { afterAll, expect, test } from '@jest/globals';
import { type Called, call, openApi } from './support/api.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const token = await api.tokens.user('auth0|alice', 'repo delete_repo admin:org_hook');

function send(method: string, path: string, body?: unknown, etag?: string): Promise<Called> {
  return call(api, token, method, `/api/v3${path}`, body, {
    accept: 'application/vnd.github.v3+json,application/vnd.github.stone-crop-preview+json',
    'user-agent': 'go-github/v57.0.0',
    'x-github-api-version': '2022-11-28',
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
  });
}

const settings = {
  name: 'test-bop7t',
  description: 'Terraform acceptance tests',
  homepage: '',
  has_issues: false,
  has_projects: false,
  has_wiki: false,
  has_discussions: false,
  is_template: false,
  allow_squash_merge: true,
  allow_merge_commit: true,
  allow_rebase_merge: true,
  allow_update_branch: false,
  allow_auto_merge: false,
  delete_branch_on_merge: false,
  squash_merge_commit_title: 'COMMIT_OR_PR_TITLE',
  squash_merge_commit_message: 'COMMIT_MESSAGES',
  merge_commit_title: 'MERGE_MESSAGE',
  merge_commit_message: 'PR_TITLE',
};
const ignored = { auto_init: false, gitignore_template: '', license_template: '' };
const seen = { private: false, visibility: 'public' };
const changed = { archived: false, has_downloads: false, web_commit_signoff_required: false };
const repo = '/repos/acme/test-bop7t';

const config = { content_type: 'json', insecure_ssl: '1', secret: '', url: 'https://example.com/webhook' };
const shown = { content_type: 'json', insecure_ssl: '1', url: 'https://example.com/webhook' };
const web = { name: 'web', events: ['pull_request'], active: true };

/** Applies a hook below `path`, changes it, and finds no difference after either. */
async function applyHook(path: string, sent: object): Promise<number> {
  const { body: hook } = await send('POST', `${path}/hooks`, { ...web, config: sent });
  const first = await send('GET', `${path}/hooks/${hook.id}`);
  expect(first).toMatchObject({ status: 200, body: { ...web, config: shown } });
  const etag = first.headers.get('etag')!;
  expect(await send('GET', `${path}/hooks/${hook.id}`, undefined, etag)).toMatchObject({ status: 304 });
  const update = { ...web, name: undefined, url: hook.url, config: { ...sent, secret: 'secret' } };
  expect(await send('PATCH', `${path}/hooks/${hook.id}`, update)).toMatchObject({ status: 200 });
  // The provider takes the secret from its state when there is one here at all: without it, there would be a difference for ever.
  expect(await send('GET', `${path}/hooks/${hook.id}`, undefined, etag)).toMatchObject({
    status: 200,
    body: { ...web, config: { ...shown, secret: '********' } },
  });
  expect((await send('GET', `${path}/hooks?per_page=100`)).body).toMatchObject([{ id: hook.id }]);
  return hook.id;
}

test('Terraform creates a repository with its hook, finds no difference afterwards, and destroys both', async () => {
  expect((await send('GET', '/users/acme')).body).toMatchObject({ login: 'acme', type: 'Organization' });
  const { body: organization } = await send('GET', '/orgs/acme');
  expect(organization.id).toEqual(expect.any(Number));
  expect(await send('GET', repo)).toMatchObject({ status: 404 });

  expect(await send('POST', '/orgs/acme/repos', { ...settings, ...ignored, ...seen })).toMatchObject({ status: 201 });
  expect(await send('DELETE', `${repo}/vulnerability-alerts`)).toMatchObject({ status: 204 });
  expect(await send('PATCH', repo, { ...settings, ...ignored, ...changed })).toMatchObject({ status: 200 });
  const read = await send('GET', repo);
  expect(read).toMatchObject({ status: 200, body: { ...settings, ...changed, ...seen, has_pages: false, topics: [] } });
  expect(read.body).toMatchObject({
    full_name: 'acme/test-bop7t',
    id: expect.any(Number),
    node_id: expect.any(String),
  });
  expect(await send('GET', `${repo}/vulnerability-alerts`)).toMatchObject({ status: 404 });
  expect(await send('GET', repo, undefined, read.headers.get('etag')!)).toMatchObject({ status: 304 });

  const hook = await applyHook(repo, config);
  expect(await send('DELETE', `${repo}/hooks/${hook}`)).toMatchObject({ status: 204 });
  expect(await send('DELETE', repo)).toMatchObject({ status: 204 });
  expect(await send('GET', repo)).toMatchObject({ status: 404 });
});

test('Terraform creates a hook of an organization, finds no difference afterwards, and destroys it', async () => {
  // Of an organization's hook it sends a boolean.
  const hook = await applyHook('/orgs/acme', { ...config, insecure_ssl: true });
  expect(await send('DELETE', `/orgs/acme/hooks/${hook}`)).toMatchObject({ status: 204 });
  expect(await send('GET', `/orgs/acme/hooks/${hook}`)).toMatchObject({ status: 404 });
});
