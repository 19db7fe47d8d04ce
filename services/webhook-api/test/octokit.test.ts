/** @octokit/rest, unmodified, against the whole system, with tokens of the real gate. */
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Octokit } from '@octokit/rest';
import { verify } from '@octokit/webhooks-methods';
import { request as oldRequest } from 'octokit-request-9';
import pg from 'pg';
import { checkedFetch } from './support/conformance.ts';
import { openGitHub, place, problem, silent } from './support/octokit.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const github = stack.use(await openGitHub());
const { system, baseUrl, clients, as, octokit, tokenOf, adminToken, create, received, publishPush, delivered } = github;
beforeEach(() => github.begin());

describe('@octokit/rest', () => {
  test('1: creates a hook, which is pinged', async () => {
    const { status, data, headers } = await create('one');
    expect(status).toBe(201);
    expect(data).toMatchObject({
      name: 'web',
      events: ['push'],
      active: true,
      config: { secret: '********', insecure_ssl: '0', content_type: 'json' },
      last_response: { status: 'unused' },
    });
    expect(headers.location).toBe(data.url);
    const ping = await received('one', 'ping');
    expect(await verify('s', ping.body.toString('utf8'), ping.headers['x-hub-signature-256']!)).toBe(true);
    expect(JSON.parse(ping.body.toString('utf8'))).toMatchObject({
      hook_id: data.id,
      hook: { config: { secret: '********' } },
    });
    const used = await until('the last response', async () => {
      const hook = await as('t-admin').repos.getWebhook({ ...place, hook_id: data.id });
      return hook.data.last_response.code === 200 && hook.data.last_response;
    });
    expect(used).toEqual({ code: 200, status: 'active', message: 'OK' });
  });

  test('sends the user name and password of the URL with pings, events and redeliveries', async () => {
    const url = `${github.receiver.url}/locked`.replace('://', '://us%40er:p:w@');
    const { data } = await create('locked', {}, { url });
    expect(data.config.url).toBe(`${github.receiver.url}/locked`.replace('://', '://********:********@'));
    await publishPush();
    const { id: delivery_id } = await delivered(data.id, 'push');
    await as('t-admin').repos.redeliverWebhookDelivery({ ...place, hook_id: data.id, delivery_id });
    const all = await until('ping, push and redelivery', () => {
      const found = github.receiver.received.filter(({ path }) => path === '/locked');
      return found.length === 3 && found;
    });
    const basic = `Basic ${Buffer.from('us@er:p:w').toString('base64')}`;
    expect(all.map(({ headers }) => headers.authorization)).toEqual([basic, basic, basic]);
    const { data: shown } = await as('t-admin').repos.getWebhookDelivery({ ...place, hook_id: data.id, delivery_id });
    expect(shown.request.headers).toMatchObject({ Authorization: '********' });
    expect(JSON.stringify(shown)).not.toMatch(/us(@|%40)er|p:w/);
    expect(shown.url).toBe(`${github.receiver.url}/locked`);
  });

  test('gets the first ping even if the notification of the new hook is late', async () => {
    // The dispatcher knows the account's hooks, and hears nothing of this one before its ping comes.
    await create('known');
    await received('known', 'ping');
    await using database = new AsyncDisposableStack();
    const client = database.adopt(new pg.Client({ connectionString: system.databaseUrl }), (opened) => opened.end());
    await client.connect();
    await client.query('ALTER TABLE webhooks.hooks DISABLE TRIGGER hooks_changed');
    database.defer(() => client.query('ALTER TABLE webhooks.hooks ENABLE TRIGGER hooks_changed').then(() => {}));
    await create('unheard');
    await received('unheard', 'ping');
  });

  test('2 and 3: is told of a duplicate, and may have the same config for other events', async () => {
    await create('two');
    const { status, message, data } = await problem(create('two'));
    expect(status).toBe(422);
    expect(data.message).toBe('Validation Failed');
    expect(data.errors[0].message).toBe('Hook already exists on this repository');
    expect(message).toMatch(/^Validation Failed: \{/);
    expect((await create('two', { events: ['issues'] })).status).toBe(201);
  });

  test('4: is told of the limit of 20', async () => {
    for (let index = 0; index < 20; index += 1) await create(`${index}`, { active: false });
    const { status, data } = await problem(create('20'));
    expect(status).toBe(422);
    expect(data.errors).toEqual([
      {
        resource: 'Hook',
        code: 'custom',
        field: 'events',
        message: 'Cannot have more than 20 webhooks',
        value: 'push',
      },
    ]);
  });

  test('5 and 6: replaces a config with one route and merges it with the other', async () => {
    const { data: hook } = await create('five');
    const hook_id = hook.id;
    const merged = await as('t-admin').repos.updateWebhookConfigForRepo({ ...place, hook_id, content_type: 'json' });
    expect(merged.data.secret).toBe('********');
    await publishPush();
    expect((await received('five', 'push')).headers).toHaveProperty('x-hub-signature');

    const { data } = await as('t-admin').repos.updateWebhook({
      ...place,
      hook_id,
      config: { url: `${github.receiver.url}/replaced` },
    });
    expect(data.config).not.toHaveProperty('secret');
    expect(data.config.content_type).toBe('form');
    const unsigned = await until('an unsigned push', async () => {
      await publishPush();
      return github.receiver.received.find(
        ({ path, headers }) => path === '/replaced' && headers['x-github-event'] === 'push',
      );
    });
    expect(unsigned.headers).not.toHaveProperty('x-hub-signature');
    expect(unsigned.headers).not.toHaveProperty('x-hub-signature-256');
  });

  test('7: adds and removes events', async () => {
    const { data: hook } = await create('seven');
    const update = async (more: object) =>
      (await as('t-admin').repos.updateWebhook({ ...place, hook_id: hook.id, ...more })).data.events;
    expect(await update({ add_events: ['issues'] })).toEqual(['push', 'issues']);
    expect(await update({ remove_events: ['push'] })).toEqual(['issues']);
    expect(await update({ events: ['*'] })).toEqual(['*']);
  });

  test('8: pages through hooks', async () => {
    for (let index = 0; index < 5; index += 1) await create(`${index}`, { active: false });
    let requests = 0;
    const hooks = await clients
      .get('t-admin')!
      .paginate(as('t-admin').repos.listWebhooks, { ...place, per_page: 2 }, (page) => {
        requests += 1;
        return page.data;
      });
    expect({ hooks: hooks.length, requests }).toEqual({ hooks: 5, requests: 3 });
  });

  test('9, 10 and 11: pages through deliveries, filters them, and reads one', async () => {
    github.receiver.behave(({ headers }) =>
      headers['x-github-event'] === 'push' ? { status: 500, body: 'no' } : { body: 'yes' },
    );
    const { data: hook } = await create('nine');
    const hook_id = hook.id;
    await delivered(hook_id, 'ping');
    await publishPush({ ref: 'refs/heads/main', text: 'ünï' });
    const failed = await delivered(hook_id, 'push');
    const links: string[] = [];
    const all = await clients
      .get('t-admin')!
      .paginate(as('t-admin').repos.listWebhookDeliveries, { ...place, hook_id, per_page: 1 }, (page) => {
        links.push(page.headers.link ?? '');
        return page.data;
      });
    expect(all.map(({ event }) => event)).toEqual(['push', 'ping']);
    expect(links.join()).not.toMatch(/rel="(first|last)"|[?&]page=/);
    expect(links[0]).toMatch(/cursor=v1_\d+>; rel="next"$/);
    const failures = await as('t-admin').repos.listWebhookDeliveries({ ...place, hook_id, status: 'failure' });
    expect(failures.data).toMatchObject([{ id: failed.id, status: 'Invalid HTTP response', status_code: 500 }]);

    const { data } = await as('t-admin').repos.getWebhookDelivery({ ...place, hook_id, delivery_id: failed.id });
    const headers = Object.fromEntries(
      Object.entries(data.request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect(headers['x-hub-signature-256']).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect(data.request.payload).toEqual({ ref: 'refs/heads/main', text: 'ünï' });
    expect(data.response.payload).toBe('no');
    expect(Object.values(data.response.headers ?? {}).every((value) => typeof value === 'string')).toBe(true);
  });

  test('12: delivers once more, with the same guid', async () => {
    const { data: hook } = await create('twelve');
    const hook_id = hook.id;
    await publishPush();
    const first = await delivered(hook_id, 'push');
    const answer = await as('t-admin').repos.redeliverWebhookDelivery({ ...place, hook_id, delivery_id: first.id });
    expect([answer.status, answer.data]).toEqual([202, {}]);
    const again = await until('the redelivery', async () => {
      const { data } = await as('t-admin').repos.listWebhookDeliveries({ ...place, hook_id });
      return data.find(({ redelivery }) => redelivery);
    });
    expect(again.guid).toBe(first.guid);
    expect(again.id).toBeGreaterThan(first.id);
    const pushes = github.receiver.received.filter(({ headers }) => headers['x-github-event'] === 'push');
    expect(pushes.map(({ headers }) => headers['x-github-delivery'])).toEqual([first.guid, first.guid]);
  });

  test('13: pings, and tests a hook that takes pushes', async () => {
    const { data: hook } = await create('thirteen');
    await received('thirteen', 'ping');
    await publishPush({ after: 'latest' });
    await received('thirteen', 'push');
    const { data: other } = await create('issues', { events: ['issues'] });
    await received('issues', 'ping');
    const count = () => github.receiver.received.length;
    const before = count();
    expect((await as('t-admin').repos.pingWebhook({ ...place, hook_id: hook.id })).status).toBe(204);
    expect((await as('t-admin').repos.testPushWebhook({ ...place, hook_id: other.id })).status).toBe(204);
    expect((await as('t-admin').repos.testPushWebhook({ ...place, hook_id: hook.id })).status).toBe(204);
    await until('a ping and a test', () => count() === before + 2);
    const test = github.receiver.received.filter(({ headers }) => headers['x-github-event'] === 'push').at(-1);
    expect(JSON.parse(test!.body.toString())).toEqual({ after: 'latest' });
    expect(github.receiver.received.filter(({ path }) => path === '/issues')).toHaveLength(1);
  });

  test('14: deletes a hook, which is then not found', async () => {
    const { data: hook } = await create('fourteen');
    expect((await as('t-admin').repos.deleteWebhook({ ...place, hook_id: hook.id })).status).toBe(204);
    const { status, data, message } = await problem(as('t-admin').repos.getWebhook({ ...place, hook_id: hook.id }));
    expect([status, data.message]).toEqual([404, 'Not Found']);
    expect(message).toMatch(/^Not Found - http.*\/docs#operation\/repos\/get-webhook$/);
  });

  test('15: gets 404 for what its scopes do not allow', async () => {
    const { data: hook } = await create('fifteen');
    const hook_id = hook.id;
    const refused = await problem(as('t-none').repos.getWebhook({ ...place, hook_id }));
    expect(refused.status).toBe(404);
    expect(refused.headers['x-accepted-oauth-scopes']).toContain('admin:repo_hook');
    expect(refused.headers['x-oauth-scopes']).toBe('admin:org');
    const config = { url: `${github.receiver.url}/no` };
    expect((await problem(as('t-read').repos.createWebhook({ ...place, config }))).status).toBe(404);
    expect((await as('t-read').repos.getWebhook({ ...place, hook_id })).status).toBe(200);
    expect((await as('t-write').repos.updateWebhook({ ...place, hook_id, active: false })).status).toBe(200);
    expect((await problem(as('t-write').repos.deleteWebhook({ ...place, hook_id }))).status).toBe(404);
  });

  test('16: creates, pings, lists, changes and deletes hooks of an organization', async () => {
    const { orgs } = as('t-org');
    const config = { url: `${github.receiver.url}/org`, content_type: 'json', secret: 's' };
    const { status, data: hook } = await orgs.createWebhook({ org: 'o', name: 'web', config });
    expect(status).toBe(201);
    expect(hook).not.toHaveProperty('test_url');
    expect(hook).not.toHaveProperty('last_response');
    const hook_id = hook.id;
    const duplicate = await problem(orgs.createWebhook({ org: 'o', name: 'web', config }));
    expect(duplicate.data.errors[0].message).toBe('Hook already exists on this organization');
    await received('org', 'ping');
    await publishPush();
    const push = await received('org', 'push');
    expect(push.headers['x-github-hook-installation-target-type']).toBe('organization');
    expect((await orgs.listWebhooks({ org: 'o' })).data.map(({ id }) => id)).toEqual([hook_id]);
    expect((await orgs.getWebhookConfigForOrg({ org: 'o', hook_id })).data.secret).toBe('********');
    expect((await orgs.updateWebhookConfigForOrg({ org: 'o', hook_id, content_type: 'form' })).data.content_type).toBe(
      'form',
    );
    expect((await orgs.updateWebhook({ org: 'o', hook_id, events: ['issues'] })).data.events).toEqual(['issues']);
    expect((await orgs.pingWebhook({ org: 'o', hook_id })).status).toBe(204);
    const [delivery] = await until('the log', async () => {
      const { data } = await orgs.listWebhookDeliveries({ org: 'o', hook_id });
      return data.length >= 2 && data;
    });
    expect((await orgs.getWebhookDelivery({ org: 'o', hook_id, delivery_id: delivery!.id })).data.guid).toBe(
      delivery!.guid,
    );
    expect((await orgs.redeliverWebhookDelivery({ org: 'o', hook_id, delivery_id: delivery!.id })).status).toBe(202);
    expect((await orgs.deleteWebhook({ org: 'o', hook_id })).status).toBe(204);
    expect((await problem(as('t-admin').orgs.listWebhooks({ org: 'o' }))).status).toBe(404);
  });

  test('17: reads the addresses that deliveries come from', async () => {
    expect(
      (await new Octokit({ baseUrl, log: silent, request: { fetch: checkedFetch } }).rest.meta.get()).data.hooks,
    ).toEqual(['127.0.0.1/32']);
    expect((await as('t-admin').meta.getAllVersions()).data).toContain('2022-11-28');
  });

  test('18: keeps ids whole in clients that cannot read large ones', async () => {
    const { data: hook } = await create('eighteen');
    const first = await delivered(hook.id, 'ping');
    const { data } = await oldRequest('GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries', {
      baseUrl,
      headers: { authorization: `token ${await adminToken()}` },
      ...place,
      hook_id: hook.id,
    });
    expect(data[0]!.id).toBe(Number(first.id));
    expect(Number.isSafeInteger(data[0]!.id)).toBe(true);
  });

  test('a user through a first-party client sees what other users see', async () => {
    const alice = octokit(
      await tokenOf({
        grant_type: 'password',
        client_id: 't-trusted',
        client_secret: 't-trusted-secret',
        username: 'alice@example.com',
        password: 'correct horse battery staple',
        scope: 'admin:org_hook',
      }),
    );
    const { data: hook } = await as('t-org').orgs.createWebhook({
      org: 'o',
      name: 'web',
      config: { url: `${github.receiver.url}/alice` },
    });
    expect((await alice.rest.orgs.getWebhook({ org: 'o', hook_id: hook.id })).data.id).toBe(hook.id);
    await alice.rest.orgs.deleteWebhook({ org: 'o', hook_id: hook.id });
  });
});

describe('the OAuth app policy', () => {
  test('stops deliveries to a restricted application’s hook, and lets them go on when it is approved', async () => {
    const { data: hook } = await create('app');
    await create('control');
    await received('app', 'ping');
    await using database = new AsyncDisposableStack();
    const client = database.adopt(new pg.Client({ connectionString: system.databaseUrl }), (opened) => opened.end());
    await client.connect();
    // As if an application had made it on somebody's behalf.
    await client.query("UPDATE webhooks.hooks SET created_by_app = 'an-app' WHERE id = $1", [hook.id]);
    const set = (method: string, path: string, body?: Record<string, unknown>) =>
      clients.get('t-org')!.request(`${method} /orgs/o/${path}`, body);
    const pushTo = async (after: string) => {
      await publishPush({ after });
      const pushed = (name: string) =>
        github.receiver.received.some(({ path, body }) => path === `/${name}` && body.toString().includes(after));
      await until('the control', () => pushed('control'));
      return pushed;
    };
    await set('PUT', 'oauth-app-policy', { enabled: true });
    expect((await as('t-admin').repos.getWebhook({ ...place, hook_id: hook.id })).data).toMatchObject({
      active: false,
      disabled_reason: 'oauth_app_restricted',
    });
    let sent = 0;
    const next = (what: string) => pushTo(`${what}-${sent++}-`);
    const whileRestricted = await until('a push that the restricted one does not get', async () => {
      const pushed = await next('restricted');
      return pushed('app') ? undefined : pushed;
    });
    await set('PUT', 'oauth-app-approvals/an-app');
    await until('an approved push', async () => (await next('approved'))('app'));
    expect(whileRestricted('app')).toBe(false);
    await set('PUT', 'oauth-app-policy', { enabled: false });
  });
});
