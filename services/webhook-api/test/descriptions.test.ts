/**
 * What the descriptions promise, ours at `/openapi.json` and GitHub's own: every route answers every status that is listed for it, and no
 * other, and what it answers, pings and pushes that hold our objects are whole. `call` compares each answer with both descriptions.
 */
import { openPublisher } from '@gatepost/amqp/publisher';
import type { JsonSchema } from '@gatepost/api-docs/json-schema';
import { deadEventsQueue, deadReasonHeader, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../src/http/route.ts';
import { describeApi } from '../src/meta/describe.ts';
import { routes } from '../src/routes.ts';
import { type Api, type Called, call, openApi } from './support/api.ts';
import { describedByGithub, findPayloadProblem, namesIn, namesOfGithub } from './support/github-openapi.ts';
import { type Jobs, openJobs, recordDelivery } from './support/jobs.ts';

const api = describeApi(routes);
let gatepost: Api;
/** Where everybody has used up the hour's requests. */
let spent: Api;
let jobs: Jobs;
let tokens: { admin: string; stranger: string; app: string; unscoped: string };

beforeAll(async () => {
  gatepost = await openApi();
  spent = await openApi({ RATE_LIMIT_PER_HOUR: '1' });
  jobs = await openJobs(gatepost);
  const scope = 'repo admin:org_hook admin:org site_admin';
  tokens = {
    admin: await gatepost.tokens.machine('m2m', scope),
    stranger: await gatepost.tokens.user('auth0|olga', scope),
    app: await gatepost.tokens.app('auth0|alice', scope, 'some-app'),
    unscoped: await gatepost.tokens.machine('m2m', ''),
  };
});
afterAll(async () => {
  await jobs?.[Symbol.asyncDispose]();
  await spent?.[Symbol.asyncDispose]();
  await gatepost?.[Symbol.asyncDispose]();
});

describe('a route', () => {
  /** An organization for each test, in which a route may do what it likes. */
  let place: Record<string, string | number>;
  let count = 0;

  beforeEach(async () => {
    count += 1;
    const org = `org${count}`;
    await gatepost.sql.query(`
      WITH made AS (INSERT INTO accounts (login) VALUES ('${org}') RETURNING id),
           members AS (INSERT INTO memberships SELECT id, unnest(ARRAY['auth0|alice', 'm2m']), 'admin' FROM made),
           approvals AS (INSERT INTO oauth_app_approvals SELECT id, 'approved' FROM made)
      INSERT INTO repositories (account_id, name) SELECT id, 'widgets' FROM made`);
    await gatepost.sql.query(`
      INSERT INTO memberships SELECT id, 'auth0|bob', 'member' FROM accounts WHERE login = '${org}'`);
    place = {
      org,
      owner: org,
      login: org,
      repo: 'widgets',
      subject: 'auth0|bob',
      username: 'm2m',
      ...(await numbersOf(org)),
      client_id: 'approved',
    };
  });

  async function numbersOf(org: string): Promise<typeof place> {
    const { rows } = await gatepost.sql.query(
      'SELECT a.id AS organization_id, r.id AS repository_id FROM accounts a JOIN repositories r ON r.account_id = a.id WHERE a.login = $1',
      [org],
    );
    return rows[0];
  }

  const since = new Date(Date.now() - 60_000).toISOString();

  /** What a body must hold, where something must be in it. */
  const bodyOf = ({ method, path }: AnyRoute): unknown => {
    const bodies: Record<string, unknown> = {
      'post /repos/{owner}/{repo}/hooks': { config: { url: 'https://example.com/made' } },
      'post /orgs/{org}/hooks': { name: 'web', config: { url: 'https://example.com/made' } },
      'post /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/replays': { since },
      'post /orgs/{org}/hooks/{hook_id}/deliveries/replays': { since },
      'post /orgs/{org}/repos': { name: 'made' },
      'post /api/graphql': { query: '{ viewer { login } }' },
      'post /graphql': { query: '{ viewer { login } }' },
      'post /repos/{owner}/{repo}/hooks/{hook_id}/triggers': { event: 'push', payload: {} },
      'post /orgs/{org}/hooks/{hook_id}/triggers': { event: 'push', payload: {} },
      'put /repos/{owner}/{repo}/topics': { names: ['one'] },
      'put /orgs/{org}/oauth-app-policy': { enabled: false },
      'post /admin/organizations': { login: `${place.org}made`, admin: 'm2m' },
      'put /accounts/{login}/throttle': { rate: 5, burst: 10 },
      'post /admin/dead-letters/attempts': { all: true },
      'post /admin/secrets/reseal': {},
    };
    return bodies[`${method} ${path}`];
  };

  const someGuid = '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70';

  /** A body that no route takes. */
  const wrong = {
    name: 1,
    login: 1,
    events: 1,
    active: 1,
    config: 1,
    url: 1,
    role: 1,
    enabled: 1,
    since: 1,
    rate: '',
    burst: '',
    ids: 1,
    after: 'x',
  };

  const ask = (
    { method, path }: AnyRoute,
    token: string | undefined,
    more: { body?: unknown; headers?: Record<string, string>; query?: string; names?: typeof place } = {},
  ): Promise<Called> => {
    const names = { ...place, ...more.names };
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(names[name] ?? 'missing')),
    );
    const needed = path.endsWith('/hooks/{hook_id}/explain') ? `?guid=${someGuid}` : '';
    return call(gatepost, token, method.toUpperCase(), target + (more.query ?? needed), more.body, more.headers);
  };

  async function makeHook({ path }: AnyRoute): Promise<void> {
    if (!path.includes('{hook_id}')) return;
    const root = path.startsWith('/orgs/') ? `/orgs/${place.org}` : `/repos/${place.org}/widgets`;
    const { body } = await call(gatepost, tokens.admin, 'POST', `${root}/hooks`, {
      name: 'web',
      config: { url: 'https://example.com/' },
    });
    place.hook_id = body.id;
    place.delivery_id = await recordDelivery(gatepost.sql, { hookId: body.id });
    if (!path.includes('{replay_id}')) return;
    const { body: replay } = await call(gatepost, tokens.admin, 'POST', `${root}/hooks/${body.id}/deliveries/replays`, {
      since,
    });
    place.replay_id = replay.id;
  }

  async function makeEvent(): Promise<string> {
    const { rows } = await gatepost.sql.query<{ guid: string }>(
      `INSERT INTO events (key, guid, source, event_id, type, occurred_at, hook_ids, delivery_ids)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'urn:test', 'x', 'push', now(), '{}', '{}') RETURNING guid`,
    );
    return rows[0]!.guid;
  }

  /** @returns the letter's id. */
  async function bury(amqpUrl: string, messageId: string, headers: Record<string, string>): Promise<string> {
    await using publisher = await openPublisher({
      url: amqpUrl,
      name: 'test',
      log: openLog('test', 'silent'),
      topology,
    });
    const letter = { exchange: '', routingKey: deadEventsQueue, body: Buffer.from('{}'), messageId };
    await publisher.publish({ ...letter, headers: { ...headers, [deadReasonHeader]: 'not_json' } });
    const { body } = await call(gatepost, tokens.admin, 'GET', '/admin/dead-letters?per_page=100');
    return body.find((one: { message_id: string }) => one.message_id === messageId).id;
  }

  /** Asks in every way that makes a difference, the one that may change something last. */
  async function* askAll(route: AnyRoute): AsyncGenerator<Called> {
    const { access, operation } = route;
    const body = bodyOf(route);
    yield await ask(route, undefined, { body, headers: { authorization: 'Bearer nonsense' } });
    yield await ask(route, tokens.admin, { body, headers: { 'x-github-api-version': '2001-01-01' } });
    if (access.kind !== 'open') {
      yield await ask(route, undefined, { body });
      yield await ask(route, tokens.unscoped, { body, names: { owner: 'nobody', org: 'nobody' } });
    }
    if (access.kind === 'place') {
      yield await ask(route, tokens.stranger, { body });
      await gatepost.sql.query(`UPDATE accounts SET oauth_app_restrictions = true WHERE login = '${place.org}'`);
      yield await ask(route, tokens.app, { body });
    }
    if (operation.body) {
      yield await ask(route, tokens.admin, { body: '{"half":' });
      yield await ask(route, tokens.admin, { body: '{}', headers: { 'content-encoding': 'odd' } });
      yield await ask(route, tokens.admin, { body: wrong });
      yield await ask(route, tokens.admin, { body: { much: 'x'.repeat(1100_000) } });
    }
    if (operation.query)
      yield await ask(route, tokens.admin, {
        query: '?status=odd&cursor=odd&per_page=odd&role=odd&state=odd&dry_run=odd&all=odd&guid=odd&resolution=odd',
      });
    if (operation.streams) yield await ask(route, tokens.admin, { headers: { 'last-event-id': 'odd' } });
    for (const names of misnomers)
      if (Object.keys(names).some((name) => route.path.includes(`{${name}}`)))
        yield await ask(route, tokens.admin, { body, names });
    if (route.path.includes('{delivery_id}/attempts')) {
      await gatepost.sql.query('UPDATE hooks SET active = false WHERE id = $1', [place.hook_id]);
      yield await ask(route, tokens.admin);
      await gatepost.sql.query('UPDATE hooks SET active = true WHERE id = $1', [place.hook_id]);
    }
    if (route.path.endsWith('/socket')) {
      await gatepost.sql.query(`UPDATE hooks SET name = 'cli' WHERE id = $1`, [place.hook_id]);
      yield await ask(route, tokens.admin);
      await gatepost.sql.query(`UPDATE hooks SET name = 'web' WHERE id = $1`, [place.hook_id]);
    }
    if (route.path === '/orgs/{org}/memberships/{subject}' && route.method !== 'get') {
      await gatepost.sql.query(`DELETE FROM memberships WHERE subject = 'auth0|alice'`);
      yield await ask(route, tokens.admin, { body: { role: 'member' }, names: { subject: 'm2m' } });
    }
    if (route.path === '/admin/dead-letters/{letter_id}/attempts')
      yield await ask(route, tokens.admin, { names: { letter_id: await bury(gatepost.amqpUrl, 'no event', {}) } });
    const isAll = route.method === 'delete' && route.path === '/admin/dead-letters';
    const well = await ask(route, tokens.admin, { body, ...(isAll && { query: '?all=true' }) });
    if (Object.keys(operation.answers).some((status) => status.startsWith('2'))) expect(well.status).toBeLessThan(300);
    yield well;
    if (route.method === 'post' && route.path.endsWith('/replays'))
      yield await ask(route, tokens.admin, { body: { since, status: 'all' } });
    if (route.method !== 'get' || !well.headers.has('etag')) return;
    // What tells times, as of a rate limit or of statistics, may change between two requests.
    yield await until('an answer that has not changed', async () => {
      const etag = (await ask(route, tokens.admin)).headers.get('etag')!;
      const again = await ask(route, tokens.admin, { headers: { 'if-none-match': etag } });
      return again.status === 304 && again;
    });
  }

  const misnomers: Record<string, string>[] = [
    { login: 'nobody' },
    { username: 'stranger' },
    { repository_id: 'x' },
    { organization_id: 'x' },
    { subject: 'nobody' },
    { hook_id: 'x' },
    { delivery_id: 'x' },
    { replay_id: 'x' },
    { client_id: 'nobody' },
    { guid: 'x' },
    { letter_id: 'x' },
  ];
  // What takes a store that is away, a hundred requests at once, or a WebSocket, is shown elsewhere.
  const elsewhere = ['101', '429', '503'];

  test.each(routes)('$method $path answers what its description lists, and nothing else', async (route) => {
    const { method, path, operation } = route;
    await makeHook(route);
    if (path.includes('{guid}')) place.guid = await makeEvent();
    if (path.includes('{letter_id}'))
      place.letter_id = await bury(gatepost.amqpUrl, place.org as string, { 'cloudEvents:type': 'push' });
    const seen = new Set<string>();
    for await (const { status } of askAll(route)) seen.add(String(status));
    const target = path.replace(/\{\w+\}/g, 'x');
    if (!operation.uncounted) {
      await call(spent, await spent.tokens.machine('m2m', 'repo'), 'GET', '/meta');
      const scopes = 'repo admin:org_hook admin:org site_admin';
      seen.add(
        String((await call(spent, await spent.tokens.machine('m2m', scopes), method.toUpperCase(), target)).status),
      );
    }
    if (path === '/rate_limit') {
      await using unlimited = await openApi({ RATE_LIMIT_PER_HOUR: '0' });
      seen.add(String((await call(unlimited, undefined, 'GET', path)).status));
    }
    const listed = Object.keys(api.paths[path]![method]!.responses).filter((status) => !elsewhere.includes(status));
    expect([...seen].sort()).toEqual(listed.sort());
  });
});

test('patterns of the description are valid in Python, Go and Java', () => {
  // openapi-generator's Python client once failed on every repository with a description: `bad escape \P`.
  const patterns = [...JSON.stringify(api).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, text]) =>
    JSON.parse(text!),
  );
  expect(patterns.length).toBeGreaterThan(0);
  expect(patterns.filter((pattern) => /\\[pP]\{|\(\?[!=<]/.test(pattern))).toEqual([]);
});

// A new route of GitHub's is found here once `npx pnpm --filter @gatepost/webhook-api run github-openapi` was run.
describe('what GitHub does not have', () => {
  // Of GitHub too, though its description does not have them.
  const undescribed = ['post /api/graphql', 'post /graphql'];
  const undescribedNames = [
    '.rate.resource',
    ...['core', 'search', 'graphql', 'integration_manifest'].map((name) => `.resources.${name}.resource`),
  ];

  // We take and show everywhere what GitHub has in one of its forms of a repository.
  const repository = namesOfGithub('answers', 'get', '/repos/{owner}/{repo}')!;
  const isKnown = (name: string) => undescribedNames.includes(name) || repository.has(name.replace('[]', ''));

  test.each(routes)('is marked in the description of $method $path', ({ method, path }) => {
    const described = api.paths[path]![method]!;
    const known = describedByGithub(method, path) !== undefined || undescribed.includes(`${method} ${path}`);
    expect(described['x-gatepost']).toBe(known ? undefined : true);
    if (!known) return;

    const schemas = api.components.schemas;
    const marked = (property: JsonSchema) => property['x-gatepost'] === true;
    const content = (part: { content?: Record<string, { schema: JsonSchema }> } | undefined) =>
      part?.content?.['application/json']?.schema;
    const good = Object.keys(described.responses).find((status) => status < '300');
    // What hooks of repositories and of organizations take is the same here.
    const twin = path.replace('/orgs/{org}/hooks', '/repos/{owner}/{repo}/hooks');
    const theirs = { answers: namesOfGithub('answers', method, path), bodies: namesOfGithub('bodies', method, twin) };
    const answer = namesIn(content(described.responses[good ?? '']), schemas, marked);
    const body = namesIn(content(described.requestBody), schemas, marked);
    if (theirs.answers) expect(answer.filter((name) => !theirs.answers!.has(name) && !isKnown(name))).toEqual([]);
    if (theirs.bodies) expect(body.filter((name) => !theirs.bodies!.has(name) && !isKnown(name))).toEqual([]);
  });
});

describe('payloads', () => {
  test.each(['/repos/acme/widgets', '/orgs/acme'])(
    'a ping of %s has everything that the description says',
    async (root) => {
      const config = { url: 'https://example.com/', content_type: 'json', secret: 's' };
      const body = { name: 'web', config, request_headers: { 'X-Own': 'x' } };
      const { body: hook } = await call(gatepost, tokens.admin, 'POST', `/api/v3${root}/hooks`, body);
      await call(gatepost, tokens.admin, 'POST', `/api/v3${root}/hooks/${hook.id}/pings`);
      await jobs.next(() => pings(hook.id).length === 2);
      for (const { payload } of pings(hook.id))
        expect(findPayloadProblem('ping', JSON.stringify(payload))).toBeUndefined();
    },
  );

  const pings = (hookId: number) => jobs.all.filter(({ job }) => job.hookId === hookId && job.event === 'ping');

  test('the push that a test sends has everything the description says if its producer took the objects from the API', async () => {
    const { body: repository } = await call(gatepost, tokens.admin, 'GET', '/repos/acme/gadgets');
    const { body: organization } = await call(gatepost, tokens.admin, 'GET', '/orgs/acme');
    const hooks = '/repos/acme/gadgets/hooks';
    const { body: hook } = await call(gatepost, tokens.admin, 'POST', hooks, {
      config: { url: 'https://example.com/' },
    });
    const nothing = '0'.repeat(40);
    const push = {
      ref: 'refs/heads/main',
      before: nothing,
      after: 'f'.repeat(40),
      created: true,
      deleted: false,
      forced: false,
      base_ref: null,
      compare: `${repository.html_url}/compare/main`,
      commits: [],
      head_commit: null,
      pusher: { name: 'alice' },
      repository,
      organization,
      sender: repository.owner,
    };
    await recordDelivery(gatepost.sql, { hookId: hook.id, payload: JSON.stringify(push) });
    await call(gatepost, tokens.admin, 'POST', `${hooks}/${hook.id}/tests`);
    const { payload } = await jobs.next(({ job }) => job.hookId === hook.id && job.event === 'push');
    expect(payload).toEqual(push);
    expect(findPayloadProblem('push', JSON.stringify(payload))).toBeUndefined();
  });
});
