import { randomUUID } from 'node:crypto';
import { openPublisher, type Publisher } from '@gatepost/amqp/publisher';
import { attributeHeaders } from '@gatepost/contracts/event-headers';
import { deadEventsQueue, deliveriesQueue, eventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, call, openApi } from './support/api.ts';
import { recordDelivery } from './support/jobs.ts';
import { bury } from './support/letters.ts';

let api: Api;
let root: string;
let alice: string;
let publisher: Publisher;

beforeAll(async () => {
  api = await openApi();
  root = await api.tokens.machine('root', 'site_admin');
  alice = await api.tokens.user('auth0|alice', 'admin:org repo admin:org_hook');
  publisher = await openPublisher({ url: api.amqpUrl, name: 'test', log: openLog('test', 'silent'), topology });
});
afterAll(async () => {
  await publisher?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const addHook = async (login = 'acme') => {
  const { rows } = await api.sql.query<{ id: number; account_id: number }>(
    `INSERT INTO hooks (account_id, events, url, content_type, created_by)
     SELECT id, '{push}', 'https://example.com/', 'json', 'test' FROM accounts WHERE login = $1 RETURNING id, account_id`,
    [login],
  );
  return { hookId: rows[0]!.id, accountId: rows[0]!.account_id };
};

const park = async (parked: { accountId: number; hookId: number; reason?: string; due?: string; guid?: string }) => {
  const { accountId, hookId, reason = 'throttle', due = 'infinity', guid = randomUUID() } = parked;
  const job = { guid, hookId, event: 'push', action: null, attempt: 1, occurredAt: '2026-11-22T10:00:00.000Z' };
  const { rows } = await api.sql.query<{ delivery_id: string }>(
    `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
     VALUES (nextval('delivery_ids'), $1, $2, $3, gen_random_uuid(), now(), $4) RETURNING delivery_id`,
    [accountId, reason, due, JSON.stringify({ ...job, throttledAt: '2026-11-22T10:00:01.000Z' })],
  );
  return Number(rows[0]!.delivery_id);
};

test.each([
  ['GET', '/admin/organizations'],
  ['DELETE', '/admin/organizations/acme'],
  ['PUT', '/admin/organizations/acme/pause'],
  ['PUT', '/admin/hooks/1/pause'],
  ['GET', '/admin/status'],
  ['GET', '/admin/events/7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70'],
  ['GET', '/admin/dead-letters'],
  ['DELETE', '/admin/dead-letters?all=true'],
  ['GET', '/accounts/acme/waiting'],
])('only the site’s admin may use %s %s', async (method, path) => {
  expect(await call(api, alice, method, path)).toMatchObject({ status: 404 });
});

describe('a waiting delivery', () => {
  test('is counted by reason and age, for all accounts and for one', async () => {
    const { hookId, accountId } = await addHook();
    const first = await park({ accountId, hookId });
    const retry = await park({ accountId, hookId, reason: 'retry', due: '2030-01-01T00:00:00Z' });
    const status = await call(api, root, 'GET', '/admin/status');
    expect(status).toMatchObject({
      status: 200,
      body: {
        queues: expect.arrayContaining([{ name: deadEventsQueue, messages: 0 }]),
        waiting: [
          { reason: 'limit', deliveries: 1, since: '2026-11-22T10:00:01Z', next_at: null },
          { reason: 'retry', deliveries: 1, next_at: '2030-01-01T00:00:00Z' },
        ],
        organizations: expect.arrayContaining([
          { login: 'acme', reason: 'limit', deliveries: 1, since: '2026-11-22T10:00:01Z' },
        ]),
        paused: { organizations: [], hooks: [] },
      },
    });
    const page = await call(api, root, 'GET', '/accounts/acme/waiting?per_page=1');
    expect(page.body).toMatchObject([{ id: first, reason: 'limit', hook_id: hookId, due_at: null }]);
    const [, next] = /<([^>]+)>; rel="next"/.exec(page.headers.get('link')!)!;
    expect((await call(api, root, 'GET', next!.slice(api.base.length))).body).toMatchObject([
      { id: retry, reason: 'retry', due_at: '2030-01-01T00:00:00Z' },
    ]);
    await api.sql.query('DELETE FROM parked');
  });

  test('is counted in every existing shard of a queue', async () => {
    const further = [`${eventsQueue}.2`, `${deliveriesQueue}.2`, `${deliveriesQueue}.3`];
    const queues = further.map((name) => ({ ...topology.queues[0]!, name }));
    const options = { url: api.amqpUrl, name: 'shards', log: openLog('test', 'silent') };
    await using sharded = await openPublisher({ ...options, topology: { ...topology, queues } });
    for (const routingKey of [further[0]!, further[2]!, further[2]!])
      await sharded.publish({ exchange: '', routingKey, messageId: 'x', headers: {}, body: Buffer.from('{}') });
    await until('each is counted', async () => {
      const { body } = await call(api, root, 'GET', '/admin/status');
      const found = body.queues.map(({ name, messages }: { name: string; messages: number }) => [name, messages]);
      const counts = Object.fromEntries(found);
      return further.map((name) => counts[name]).join() === '1,0,2' && found.length === 6;
    });
  });

  test('is listed page by page in the order of ids, whatever it waits for, and found by its event', async () => {
    const { hookId, accountId } = await addHook();
    const guid = randomUUID();
    const key = randomUUID();
    const hook = { accountId, hookId, guid };
    const soon = '2030-01-01T00:00:00Z';
    const ids = [
      await park(hook),
      await park({ ...hook, reason: 'busy', due: soon }),
      await park({ ...hook, reason: 'retry' }),
      await park({ ...hook, reason: 'retry', due: soon }),
      await park(hook),
      await park(hook),
    ];
    await api.sql.query('UPDATE parked SET published_at = $2 WHERE delivery_id = $1', [ids[4], 'infinity']);
    await api.sql.query('UPDATE parked SET published_at = now() WHERE delivery_id = $1', [ids[5]]);
    const listed: { id: number; reason: string }[] = [];
    for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
      const page = await call(api, root, 'GET', `/accounts/acme/waiting?per_page=4&cursor=${cursor}`);
      listed.push(...page.body);
      cursor = /cursor=(\d+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
    }
    const reasons = ['limit', 'busy', 'limit', 'retry', 'paused', 'handed_over'];
    expect(listed.map(({ id, reason }) => [id, reason])).toEqual(ids.map((id, index) => [id, reasons[index]]));

    // A first attempt is named by its event; a retry and a redelivery name it.
    const redelivery = await park(hook);
    await api.sql.query(`UPDATE parked SET job = replace(job, '}', ',"redelivery":true}') WHERE delivery_id = $1`, [
      redelivery,
    ]);
    await api.sql.query('UPDATE parked SET event_key = $1', [key]);
    const delivered = await recordDelivery(api.sql, { hookId, status: 'OK', statusCode: 204 });
    await api.sql.query(
      `UPDATE events SET guid = $2, key = $3, delivery_ids = $4 WHERE key = (SELECT event_key FROM deliveries WHERE id = $1)`,
      [delivered, guid, key, [ids[0]]],
    );
    const { body } = await call(api, root, 'GET', `/admin/events/${guid}`);
    expect(body.waiting.map(({ id }: { id: number }) => id)).toEqual([ids[0], ids[1], ids[2], ids[3], redelivery]);
    await api.sql.query('DELETE FROM parked');
  });

  test('is shown as paused while its hook or its organization is paused', async () => {
    const [one, two] = [await addHook(), await addHook()];
    for (const hook of [one, one, two]) await park(hook);
    const pausedHook = await call(api, root, 'PUT', `/admin/hooks/${one.hookId}/pause`);
    expect(pausedHook).toMatchObject({ status: 200, body: { paused_at: expect.any(String), deliveries: 2 } });
    expect((await call(api, root, 'PUT', '/admin/organizations/acme/pause')).body).toMatchObject({ deliveries: 1 });
    const { body } = await call(api, root, 'GET', '/admin/status');
    expect(body.waiting).toMatchObject([{ reason: 'paused', deliveries: 3 }]);
    expect(body.paused).toMatchObject({ organizations: [{ login: 'acme' }], hooks: [{ id: one.hookId }] });
    // What rests for its hook goes on resting when the organization is resumed.
    expect((await call(api, root, 'DELETE', '/admin/organizations/acme/pause')).body).toEqual({
      paused_at: null,
      deliveries: 1,
    });
    expect((await call(api, root, 'DELETE', `/admin/hooks/${one.hookId}/pause`)).body).toEqual({
      paused_at: null,
      deliveries: 2,
    });
    expect(await call(api, root, 'PUT', '/admin/hooks/999999/pause')).toMatchObject({ status: 404 });
    expect(await call(api, root, 'PUT', '/admin/organizations/nobody/pause')).toMatchObject({ status: 404 });
    await api.sql.query('DELETE FROM parked');
  });
});

describe('an organization', () => {
  test('is listed, and deleted with everything in it after a dry run that says what that is', async () => {
    expect(await call(api, root, 'POST', '/admin/organizations', { login: 'leaving' })).toMatchObject({ status: 201 });
    const hook = await addHook('leaving');
    await park(hook);
    await recordDelivery(api.sql, { hookId: hook.hookId });
    const listed = await call(api, root, 'GET', '/admin/organizations?per_page=100');
    expect(listed.body.find(({ login }: { login: string }) => login === 'leaving')).toMatchObject({
      hooks: 1,
      members: 1,
      repositories: 0,
      paused_at: null,
    });
    const { headers } = await call(api, root, 'GET', '/admin/organizations?per_page=1&page=999');
    expect(headers.get('link')).toMatch(/&page=(?!1>)\d+>; rel="prev"/);
    const held = { organization: 'leaving', repositories: 0, hooks: 1, members: 1, waiting: 1, deliveries: 1 };
    expect(await call(api, root, 'DELETE', '/admin/organizations/leaving?dry_run=true')).toMatchObject({
      status: 200,
      body: { dry_run: true, ...held },
    });
    expect(await call(api, root, 'DELETE', '/admin/organizations/leaving')).toMatchObject({
      status: 200,
      body: { dry_run: false, ...held },
    });
    expect(await call(api, root, 'DELETE', '/admin/organizations/leaving')).toMatchObject({ status: 404 });
    const { rows } = await api.sql.query(
      `SELECT (SELECT count(*)::integer FROM parked) AS parked, (SELECT array_agg(account_id) FROM erasures) AS erasures`,
    );
    expect(rows).toEqual([{ parked: 0, erasures: [hook.accountId] }]);
  });
});

describe('an event', () => {
  test('is found by its guid in the log, where it waits, and among the dead letters', async () => {
    const { hookId, accountId } = await addHook();
    const id = await recordDelivery(api.sql, { hookId, status: 'Timed out', statusCode: 0 });
    const { rows } = await api.sql.query<{ guid: string; event_key: string }>(
      'SELECT guid, event_key FROM deliveries WHERE id = $1',
      [id],
    );
    const { guid, event_key } = rows[0]!;
    await api.sql.query(
      'UPDATE events SET delivery_ids = ARRAY[$2::bigint], hook_ids = ARRAY[$3::integer] WHERE key = $1',
      [event_key, id, hookId],
    );
    const waiting = await park({ accountId, hookId, reason: 'retry', due: '2030-01-01T00:00:00Z', guid });
    await api.sql.query('UPDATE parked SET event_key = $2 WHERE delivery_id = $1', [waiting, event_key]);
    await bury(publisher, { messageId: guid, reason: 'not_storable' });
    expect(await call(api, root, 'GET', `/admin/events/${guid.toUpperCase()}`)).toMatchObject({
      status: 200,
      body: {
        guid,
        events: [{ organization: 'acme', event: 'push', hooks: [hookId] }],
        deliveries: [{ id, hook_id: hookId, status: 'Timed out', attempt: 1 }],
        waiting: [{ id: waiting, reason: 'retry' }],
        dead_letters: [{ message_id: guid, reason: 'not_storable' }],
      },
    });
    expect(await call(api, root, 'GET', `/admin/events/${randomUUID()}`)).toMatchObject({ status: 404 });
    expect(await call(api, root, 'GET', '/admin/events/odd')).toMatchObject({ status: 404 });
    await api.sql.query('DELETE FROM parked');
    await call(api, root, 'DELETE', '/admin/dead-letters?all=true');
  });
});

describe('an event that waits to be routed', () => {
  const attributes = { source: 'urn:test', type: 'push', subject: 'acme/widgets', time: '2026-11-22T10:00:00Z' };
  const publish = (routingKey: string, headers: Record<string, unknown>, contentType: string, body: unknown) =>
    publisher.publish({
      exchange: '',
      routingKey,
      messageId: 'x',
      headers,
      contentType,
      body: Buffer.from(JSON.stringify(body)),
    });
  const found = (guid: string) => call(api, root, 'GET', `/admin/events/${guid}`);

  test('is found in any shard, however often one looks', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    const second = { ...topology.queues[0]!, name: `${eventsQueue}.2` };
    const options = { url: api.amqpUrl, name: 'shards', log: openLog('test', 'silent') };
    await using _sharded = await openPublisher({ ...options, topology: { ...topology, queues: [second] } });
    await publish(eventsQueue, attributeHeaders({ id: one, ...attributes }), 'application/json', { a: 1 });
    const envelope = { specversion: '1.0', id: two, ...attributes, data: {} };
    await publish(second.name, {}, 'application/cloudevents+json', envelope);
    const shown = { source: 'urn:test', event: 'push', subject: 'acme/widgets' };
    for (let look = 0; look < 2; look += 1) {
      expect(await found(one)).toMatchObject({
        status: 200,
        body: { queued: [{ queue: eventsQueue, id: one, ...shown }] },
      });
      expect(await found(two)).toMatchObject({
        status: 200,
        body: { queued: [{ queue: second.name, id: two, ...shown }] },
      });
    }
    expect(await found(randomUUID())).toMatchObject({ status: 404 });
  });
});
