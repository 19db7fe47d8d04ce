/** What each kind of person may do: the site's administrator, an organization's admin, a member. What one may not is 404, as if it were not there. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, audience, call, openApi } from '../support/api.ts';

const scope = 'repo admin:repo_hook admin:org_hook admin:org read:org';

let api: Api;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  api = await openApi();
  // The gate says `rbac` where it has cut the scopes to what the person may.
  const person = (sub: string, more: object, claims: object = { rbac: true }) =>
    api.issuer.sign({
      aud: audience,
      sub,
      client_id: 'console',
      azp: 'console',
      scope,
      first_party: true,
      ...claims,
      ...more,
    });
  const all = { scope: `${scope} site_admin` };
  tokens.site = await person('auth0|root', all);
  tokens.admin = await person('auth0|alice', {});
  tokens.member = await person('auth0|bob', {});
  tokens.nobody = await person('auth0|nobody', {});
  tokens.asked = await person('auth0|nobody', all, {});
  tokens.claimed = await person('auth0|nobody', { permissions: ['site_admin'], roles: ['site_admin'] });
  tokens.odd = await person('auth0|nobody', { ...all, rbac: 'true' });
  tokens.app = await person('auth0|root', { ...all, client_id: 'other-app', azp: 'other-app', first_party: false });
});
afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
});

const hook = { name: 'web', config: { url: 'https://example.com/hook', content_type: 'json' } };

// biome-ignore format: a table
const table: [method: string, path: string, body: object | undefined, site: number, admin: number, member: number][] = [
  ['GET',  '/admin/organizations',            undefined, 200, 404, 404],
  ['GET',  '/admin/status',                   undefined, 200, 404, 404],
  ['GET',  '/admin/dead-letters',             undefined, 200, 404, 404],
  ['GET',  '/accounts/acme/waiting',          undefined, 200, 404, 404],
  ['GET',  '/accounts/acme/throttle',         undefined, 200, 404, 404],
  ['GET',  '/orgs/acme',                      undefined, 200, 200, 200],
  ['GET',  '/orgs/other',                     undefined, 200, 404, 404],
  ['GET',  '/orgs/acme/hooks',                undefined, 200, 200, 404],
  ['POST', '/orgs/acme/hooks',                hook,      201, 422, 404],
  ['GET',  '/orgs/other/hooks',               undefined, 200, 404, 404],
  ['GET',  '/repos/acme/widgets',             undefined, 200, 200, 200],
  ['GET',  '/repos/acme/widgets/hooks',       undefined, 200, 200, 404],
  ['GET',  '/orgs/acme/members',              undefined, 200, 200, 200],
  ['GET',  '/orgs/acme/delivery-status',      undefined, 200, 200, 404],
  ['PUT',  '/orgs/acme/memberships/auth0%7Cx', { role: 'member' }, 200, 200, 404],
];

test.each(table)(
  '%s %s: the site’s administrator, an organization’s admin, a member',
  async (method, path, body, ...expected) => {
    const statuses = [];
    for (const kind of ['site', 'admin', 'member'])
      statuses.push((await call(api, tokens[kind], method, path, body)).status);
    expect(statuses).toEqual(expected);
  },
);

describe('the site’s administrator is nobody', () => {
  test.each([
    ['who only asked for the scope, where the gate does not use permissions', 'asked'],
    ['for whom some other claim says so', 'claimed'],
    ['for whom the claim has another form than the gate’s', 'odd'],
    ['who uses a third-party application', 'app'],
    ['who lacks the scope', 'nobody'],
  ])('%s', async (_, kind) => {
    for (const path of ['/admin/organizations', '/orgs/acme', '/orgs/acme/hooks', '/repos/acme/widgets/hooks'])
      expect([path, (await call(api, tokens[kind], 'GET', path)).status]).toEqual([path, 404]);
    const user = await call(api, tokens[kind], 'GET', '/user');
    expect(user.body.site_admin).toBe(false);
    expect(user.headers.get('x-oauth-scopes')).not.toContain('site_admin');
  });
});

test('the site’s administrator is told so, and is not a member of any organization because of it', async () => {
  expect((await call(api, tokens.site, 'GET', '/user')).body).toMatchObject({ login: 'auth0|root', site_admin: true });
  expect((await call(api, tokens.site, 'GET', '/user/memberships/orgs')).body).toEqual([]);
  const { body: members } = await call(api, tokens.admin, 'GET', '/orgs/acme/members');
  expect(members.map(({ login }: { login: string }) => login)).not.toContain('auth0|root');
});
