/** Every route within an account, asked for by those whom it is not for, and by its admins with the numbers of what is elsewhere: nothing is told, and nothing happens. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../src/http/route.ts';
import { routes } from '../../src/routes.ts';
import { type Api, call, openApi } from '../support/api.ts';
import { type Jobs, openJobs, recordDelivery } from '../support/jobs.ts';

type Place = '/repos/acme/widgets' | '/repos/acme/gadgets' | '/orgs/acme' | '/orgs/other';
type Ids = { hook_id: string; delivery_id: string; replay_id: string; guid: string };

const everyScope =
  'admin:org admin:org_hook admin:repo_hook repo delete_repo read:org read:repo_hook write:repo_hook public_repo';
const places: Place[] = ['/repos/acme/widgets', '/repos/acme/gadgets', '/orgs/acme', '/orgs/other'];
const inAccounts = routes.filter(({ access }) => access.kind === 'place');
const ids = {} as Record<Place, Ids>;
let api: Api;
let jobs: Jobs;
let tokens: Record<'alice' | 'bob' | 'olga' | 'nobody' | 'app', string>;

beforeAll(async () => {
  api = await openApi();
  jobs = await openJobs(api);
  tokens = {
    alice: await api.tokens.user('auth0|alice', everyScope),
    bob: await api.tokens.user('auth0|bob', everyScope),
    olga: await api.tokens.user('auth0|olga', everyScope),
    nobody: await api.tokens.user('auth0|nobody', everyScope),
    app: await api.tokens.app('auth0|alice', everyScope, 'an-app'),
  };
  for (const place of places) ids[place] = await fill(place);
});
afterAll(async () => {
  await jobs?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** A hook there, with a delivery and a replay. */
async function fill(place: Place): Promise<Ids> {
  const token = place === '/orgs/other' ? tokens.olga : tokens.alice;
  const config = { url: `https://receiver.example${place}` };
  const hook = await call(api, token, 'POST', `${place}/hooks`, { config, events: ['push'] });
  const own = `${place}/hooks/${hook.body.id}`;
  const { body } = await call(api, token, 'POST', `${own}/triggers`, { event: 'push', payload: {} });
  const { job } = await jobs.next(({ job }) => job.deliveryId === body.id);
  const delivery = await recordDelivery(api.sql, { hookId: job.hookId, job, status: 'Timed out', statusCode: 504 });
  const replay = await call(api, token, 'POST', `${own}/deliveries/replays`, bodies.createReplay());
  expect([hook.status, replay.status]).toEqual([201, 202]);
  return {
    hook_id: String(hook.body.id),
    delivery_id: String(delivery),
    replay_id: String(replay.body.id),
    guid: body.guid,
  };
}

const bodies = { createReplay: () => ({ since: new Date(Date.now() - 60_000).toISOString(), status: 'all' }) };

/** What would be good enough where it is allowed. */
function bodyFor({ method, path }: AnyRoute): unknown {
  if (method === 'get' || method === 'delete') return undefined;
  if (path.endsWith('/triggers')) return { event: 'push', payload: {} };
  if (path.endsWith('/replays')) return bodies.createReplay();
  if (path.endsWith('/hooks')) return { config: { url: 'https://elsewhere.example/' } };
  if (path.endsWith('/config')) return { url: 'https://elsewhere.example/' };
  if (path.endsWith('{hook_id}')) return { active: false };
  if (path.endsWith('/topics')) return { names: [] };
  if (path.endsWith('/repos')) return { name: 'made' };
  if (path.endsWith('{subject}')) return { role: 'member' };
  if (path.endsWith('/oauth-app-policy')) return { restricts_oauth_apps: true };
  return {};
}

/** Asks for a route at a place, with the numbers of what is at another. @returns a status, and what was asked where it is not the one expected */
async function ask(route: AnyRoute, { at, of }: { at: Place; of: Ids }, token: string): Promise<[number, string]> {
  const named = { ...of, subject: 'auth0%7Cbob', username: 'auth0%7Cbob', client_id: 'an-app' } as Record<
    string,
    string
  >;
  const root = route.path.startsWith('/orgs/') ? '/orgs/{org}' : '/repos/{owner}/{repo}';
  const path = route.path.replace(root, at).replaceAll(/\{(\w+)\}/g, (_, name: string) => named[name]!);
  const body = bodyFor(route);
  const query = path.endsWith('/explain') ? `?guid=${of.guid}` : '';
  const response = await fetch(api.base + path + query, {
    method: route.method.toUpperCase(),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'user-agent': 'matrix' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await response.body?.cancel();
  return [response.status, `${route.method} ${path}`];
}

const isOf = (place: Place, { path }: AnyRoute) => path.startsWith(place.startsWith('/orgs/') ? '/orgs/' : '/repos/');

/** Asks each of these routes at a repository and at an organization, with their own numbers. */
async function askEach(routes: AnyRoute[], token: string): Promise<[number, string][]> {
  const answers: [number, string][] = [];
  for (const at of ['/repos/acme/widgets', '/orgs/acme'] as const)
    for (const route of routes.filter((one) => isOf(at, one)))
      answers.push(await ask(route, { at, of: ids[at] }, token));
  return answers;
}

/** All that a request could have changed. */
async function everything(): Promise<unknown> {
  const texts = ['hooks', 'memberships', 'repositories', 'accounts', 'parked', 'replays', 'oauth_app_approvals'];
  const all = texts.map((table) => api.sql.query(`SELECT * FROM ${table} t ORDER BY t::text`));
  return (await Promise.all(all)).map(({ rows }) => rows);
}

async function expectNothing(asked: () => Promise<[number, string][]>, statuses: readonly number[]): Promise<void> {
  const before = await everything();
  const wrong = (await asked()).filter(([status]) => !statuses.includes(status));
  expect(wrong).toEqual([]);
  expect(await everything()).toEqual(before);
}

// Or all that follows would mean nothing.
test('an admin of the organization is answered on every route', async () => {
  const reads = inAccounts.filter(({ method, path }) => method === 'get' && !/\/(stream|socket)$/.test(path));
  const statuses = (await askEach(reads, tokens.alice)).map(([status]) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(statuses.length * 0.9);
});

test.each(['olga', 'nobody'] as const)('a user who is not a member (%s) gets 404 everywhere', async (who) => {
  await expectNothing(async () => {
    const answers = await askEach(inAccounts, tokens[who]);
    expect(answers.length).toBeGreaterThan(50);
    return answers;
  }, [404]);
});

test('a member may do nothing that is for admins, with any scopes', async () => {
  const forAdmins = inAccounts.filter(({ access }) => access.kind === 'place' && access.role === 'admin');
  await expectNothing(() => askEach(forAdmins, tokens.bob), [403, 404]);
});

test('an admin cannot reach hooks, deliveries or replays of another repository, organization or hook by their numbers', async () => {
  const numbered = inAccounts.filter(({ path }) => path.includes('{hook_id}'));
  await expectNothing(async () => {
    const answers: [number, string][] = [];
    for (const at of ['/repos/acme/widgets', '/orgs/acme'] as const)
      for (const route of numbered.filter((one) => isOf(at, one)))
        for (const elsewhere of places.filter((place) => place !== at)) {
          answers.push(await ask(route, { at, of: ids[elsewhere] }, tokens.alice));
          // The hook is its own, what is below it is another's.
          const of = { ...ids[elsewhere], hook_id: ids[at].hook_id };
          if (/\{(delivery|replay)_id\}/.test(route.path)) answers.push(await ask(route, { at, of }, tokens.alice));
        }
    return answers;
  }, [404]);
});

test('an application that the organization has not approved can do nothing for its admin, nor approve itself', async () => {
  const policy = '/orgs/acme/oauth-app-policy';
  await api.sql.query("UPDATE accounts SET oauth_app_restrictions = true WHERE login = 'acme'");
  expect((await call(api, tokens.alice, 'GET', policy)).status).toBe(200);
  await expectNothing(() => askEach(inAccounts, tokens.app), [403, 404]);
  await api.sql.query("UPDATE accounts SET oauth_app_restrictions = false WHERE login = 'acme'");
});

test('a token without the scope of a route is refused, whoever has it', async () => {
  await expectNothing(async () => {
    const answers: [number, string][] = [];
    for (const at of ['/repos/acme/widgets', '/orgs/acme'] as const)
      for (const route of inAccounts.filter((one) => isOf(at, one))) {
        const { scopes } = route.access as { scopes: readonly string[] };
        if (scopes.length === 0) continue;
        const others = everyScope.split(' ').filter((scope) => !scopes.includes(scope));
        const token = await api.tokens.user('auth0|alice', others.join(' '));
        answers.push(await ask(route, { at, of: ids[at] }, token));
      }
    return answers;
  }, [403, 404]);
});
