/** Dead letters, as the site's administrators see to them. */
import { browse } from '@gatepost/amqp/browse';
import { openConsumer } from '@gatepost/amqp/consumer';
import { openPublisher } from '@gatepost/amqp/publisher';
import { attributeHeaders } from '@gatepost/contracts/event-headers';
import { deadEventsQueue, eventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { bury } from './support/letters.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const root = await api.tokens.machine('root', 'site_admin');
const publisher = stack.use(
  await openPublisher({ url: api.amqpUrl, name: 'test', log: openLog('test', 'silent'), topology }),
);
const listed = async (query = '') => (await call(api, root, 'GET', `/admin/dead-letters${query}`)).body;
/** For what never comes: on a busy machine everything takes long. */
const patience = { timeoutMs: 60_000, idleMs: 60_000 };
const event = (id: string) =>
  attributeHeaders({ id, source: 'urn:test', type: 'push', subject: 'acme/widgets', time: '2026-11-22T10:00:00Z' });

test('dead letters can be listed and shown any number of times, and each can be dropped or published again unchanged', async () => {
  const before = await publisher.waiting(eventsQueue);
  await bury(publisher, { messageId: 'a', reason: 'not_storable', headers: event('a'), body: '{"a":1}' });
  await bury(publisher, { messageId: 'b', reason: 'not_json' });
  await bury(publisher, { messageId: 'c', reason: 'not_json' });
  for (let look = 0; look < 3; look += 1)
    expect((await listed()).map((letter: { message_id: string }) => letter.message_id)).toEqual(['a', 'b', 'c']);
  const page = await call(api, root, 'GET', '/admin/dead-letters?per_page=1&page=2');
  expect(page.body).toMatchObject([{ message_id: 'b', reason: 'not_json', detail: 'for the test', event: null }]);
  expect(page.headers.get('link')).toContain('rel="last"');
  const [a, b] = await listed();
  expect(a).toMatchObject({ event: 'push', subject: 'acme/widgets', occurred_at: '2026-11-22T10:00:00Z', bytes: 7 });
  expect(await call(api, root, 'GET', `/admin/dead-letters/${a.id}`)).toMatchObject({
    status: 200,
    body: { id: a.id, payload: '{"a":1}', payload_encoding: 'utf-8', headers: { 'cloudEvents:type': 'push' } },
  });
  expect(await call(api, root, 'POST', `/admin/dead-letters/${b.id}/attempts`)).toMatchObject({ status: 422 });
  expect(await call(api, root, 'DELETE', `/admin/dead-letters/${b.id}`)).toMatchObject({ status: 204 });
  expect(await call(api, root, 'POST', `/admin/dead-letters/${a.id}/attempts`)).toMatchObject({ status: 202 });
  for (const method of ['GET', 'DELETE'])
    expect(await call(api, root, method, `/admin/dead-letters/${a.id}`)).toMatchObject({ status: 404 });
  expect(await listed('?reason=not_json')).toMatchObject([{ message_id: 'c' }]);
  await until('the event is back', async () => (await publisher.waiting(eventsQueue)) === before + 1);
  // Not by mistake all of them.
  expect(await call(api, root, 'DELETE', '/admin/dead-letters')).toMatchObject({ status: 422 });
  expect(await call(api, root, 'POST', '/admin/dead-letters/attempts', {})).toMatchObject({ status: 422 });
  expect(await call(api, root, 'POST', '/admin/dead-letters/attempts', { reason: 'not_json' })).toMatchObject({
    status: 200,
    body: { published: 0, left: 1 },
  });
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: 1 });
  expect(await listed()).toEqual([]);
});

test('an event with a header `job` of its own is listed and published again, a refused delivery is not', async () => {
  const before = await publisher.waiting(eventsQueue);
  const headers = { ...event('nightly'), job: '{"guid":5}' };
  await bury(publisher, { messageId: 'event', reason: 'not_storable', headers });
  await bury(publisher, { messageId: 'delivery', reason: 'job_not_authentic', headers });
  const [own, refused] = await listed();
  expect(await call(api, root, 'POST', `/admin/dead-letters/${own.id}/attempts`)).toMatchObject({ status: 202 });
  await until('the event is back', async () => (await publisher.waiting(eventsQueue)) === before + 1);
  expect(await call(api, root, 'POST', `/admin/dead-letters/${refused.id}/attempts`)).toMatchObject({ status: 422 });
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: 1 });
});

test('dead letters are listed by page, event and subject without RabbitMQ counting a delivery, and dropped by id', async () => {
  for (const id of ['p', 'q', 'r']) await bury(publisher, { messageId: id, reason: 'not_json', headers: event(id) });
  await bury(publisher, { messageId: 's', reason: 'not_utf8' });
  const seen: { id: string; message_id: string }[] = [];
  for (let next = `${api.base}/admin/dead-letters?per_page=2`; next !== ''; ) {
    const { body, headers } = await call({ base: '' }, root, 'GET', next);
    seen.push(...body);
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '';
  }
  expect(seen.map(({ message_id }) => message_id)).toEqual(['p', 'q', 'r', 's']);
  expect(await listed('?event=push&subject=acme/widgets')).toHaveLength(3);
  for (const { id } of seen)
    expect(await call(api, root, 'GET', `/admin/dead-letters/${id}`)).toMatchObject({ status: 200 });
  const raised = await browse(
    { url: api.amqpUrl, name: 'test', queue: deadEventsQueue, most: 10, ...patience },
    // What RabbitMQ counts from 4.3 on, and what it counted before.
    ({ headers }) => headers['x-acquired-count'] ?? headers['x-delivery-count'],
    async (picked) => picked.map(({ item }) => item),
  );
  expect(raised).toEqual([1, 1, 1, 1]);
  // A page goes on where it was, also when its last letter is gone.
  const first = await call(api, root, 'GET', '/admin/dead-letters?per_page=2');
  const [p, q] = seen;
  expect((await call(api, root, 'DELETE', `/admin/dead-letters?ids=${q!.id},${'0'.repeat(24)}`)).body).toEqual({
    dropped: 1,
  });
  const rest = await call({ base: '' }, root, 'GET', /<([^>]+)>/.exec(first.headers.get('link')!)![1]!);
  expect(rest.body.map(({ message_id }: { message_id: string }) => message_id)).toEqual(['r', 's']);
  expect(await call(api, root, 'GET', `/admin/dead-letters/${q!.id}`)).toMatchObject({ status: 404 });
  expect(await call(api, root, 'GET', `/admin/dead-letters/${p!.id}`)).toMatchObject({ status: 200 });
  expect(await call(api, root, 'GET', '/admin/dead-letters?cursor=odd')).toMatchObject({ status: 422 });
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: 3 });
});

test('pages of dead letters go on behind equal ones, and end', async () => {
  const all = ['same', 'same', 'same', 'other', 'same', 'last'];
  for (const messageId of all) await bury(publisher, { messageId, reason: 'not_json' });
  const seen: string[] = [];
  let next = `${api.base}/admin/dead-letters?per_page=1`;
  while (next !== '' && seen.length <= all.length) {
    const { body, headers } = await call({ base: '' }, root, 'GET', next);
    seen.push(...body.map(({ message_id }: { message_id: string }) => message_id));
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '';
  }
  expect(seen).toEqual(all);
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: all.length });
});

test('dead letters are listed even while another process reads them', async () => {
  await bury(publisher, { messageId: 'held', reason: 'not_json' });
  expect(await listed()).toHaveLength(1);
  const looking = await api.sql.connect();
  await looking.query("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('gatepost dead letters', 0))");
  const asked = await browse(
    { url: api.amqpUrl, name: 'another process', queue: deadEventsQueue, most: 10, ...patience },
    () => true,
    async () => {
      const letters = listed();
      const waits = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      await Promise.race([letters, until('it waits', async () => (await looking.query(waits)).rowCount === 1)]);
      return { letters };
    },
  );
  await looking.query('ROLLBACK');
  looking.release();
  expect(await asked.letters).toHaveLength(1);
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: 1 });
});

test('dead letters that come back as soon as they are published again are published once, also equal ones', async () => {
  const body = `{"text":"${'x'.repeat(17_000_000)}`;
  const ids = ['one', 'two', 'one'];
  for (const messageId of ids)
    await bury(publisher, { messageId, reason: 'not_json', headers: event(messageId), body });
  await using _dispatcher = await openConsumer({
    url: api.amqpUrl,
    name: 'refuses all',
    log: openLog('test', 'silent'),
    topology,
    queue: eventsQueue,
    prefetch: 1,
    onMessage: async ({ messageId, headers, body, ack }) => {
      if (ids.includes(messageId!))
        await bury(publisher, { messageId: messageId!, reason: 'not_json', headers, body: body.toString() });
      ack();
    },
  });
  expect((await call(api, root, 'POST', '/admin/dead-letters/attempts', { reason: 'not_json' })).body).toEqual({
    published: 3,
    left: 0,
  });
  await until('all are back', async () => (await publisher.waiting(deadEventsQueue)) === 3);
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: 3 });
});

test('all dead letters are published again, even if their bodies are too large to be held in memory at once', async () => {
  const before = await publisher.waiting(eventsQueue);
  for (let count = 0; count < 4; count += 1) {
    const body = JSON.stringify({ text: 'x'.repeat(9_000_000) });
    await bury(publisher, {
      messageId: `large-${count}`,
      reason: 'not_storable',
      headers: event(`large-${count}`),
      body,
    });
    await bury(publisher, { messageId: `bad-${count}`, reason: 'not_json' });
  }
  expect((await call(api, root, 'POST', '/admin/dead-letters/attempts', { all: true })).body).toEqual({
    published: 4,
    left: 4,
  });
  await until('the events are back', async () => (await publisher.waiting(eventsQueue)) === before + 4);
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?all=true')).body).toEqual({ dropped: 4 });
});

test('dead letters that were refused because of their producer are published in our name only if they are selected explicitly', async () => {
  const before = await publisher.waiting(eventsQueue);
  const refused = ['producer_unknown', 'producer_not_allowed'];
  for (const reason of refused)
    await bury(publisher, { messageId: reason, reason, headers: event(reason), body: '{}' });
  const publish = async (meant: object) => (await call(api, root, 'POST', '/admin/dead-letters/attempts', meant)).body;
  expect(await publish({ all: true })).toEqual({ published: 0, left: 2 });
  expect(await publish({ reason: 'producer_unknown' })).toEqual({ published: 1, left: 0 });
  const [letter] = await listed();
  expect(await call(api, root, 'POST', `/admin/dead-letters/${letter.id}/attempts`)).toMatchObject({ status: 202 });
  await until('the events are back', async () => (await publisher.waiting(eventsQueue)) === before + 2);
  expect(await listed()).toEqual([]);
});

test('dead letters can be listed by several callers at once', async () => {
  for (const messageId of ['d', 'e']) await bury(publisher, { messageId, reason: 'not_json' });
  for (const letters of await Promise.all([listed(), listed(), listed()])) expect(letters).toHaveLength(2);
  expect((await call(api, root, 'DELETE', '/admin/dead-letters?reason=not_json')).body).toEqual({ dropped: 2 });
});
