/** A hook's deliveries as a stream: each that is recorded is sent, whatever its id, and nothing is lost to who comes back. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { afterAll, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { type Events, openEvents } from './support/events.ts';
import { recordDelivery } from './support/jobs.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const token = await api.tokens.user('auth0|alice', 'repo admin:org_hook');

const makeHook = async (place = '/repos/acme/widgets') => {
  const config = { url: `https://example.com/${Math.random()}` };
  const { body } = await call(api, token, 'POST', `${place}/hooks`, { name: 'web', active: false, config });
  return { id: body.id as number, deliveries: `${place}/hooks/${body.id}/deliveries` };
};
/** In the order in which they first came: what is recorded while a stream begins may come twice. */
const idsOf = ({ all }: Events) => [...new Set(all.map(({ id }) => Number(id)))];
const idIs = (id: number) => (event: { id?: string }) => event.id === String(id);
const handOut = async () => Number((await api.sql.query(`SELECT nextval('delivery_ids') AS id`)).rows[0].id);
const recordUnder = (hookId: number, deliveryId: number) =>
  recordDelivery(api.sql, { hookId, job: { deliveryId } as DeliveryJob });

test.each(['/repos/acme/widgets', '/orgs/acme', '/api/v3/repos/acme/widgets'])(
  'a delivery to a hook of %s is streamed as the list shows it',
  async (place) => {
    const hook = await makeHook(place);
    const other = await makeHook(place);
    await using events = await openEvents(api, token, `${hook.deliveries}/stream`);
    expect(events.head.status).toBe(200);
    expect(Object.fromEntries(events.head.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      'cache-control': 'private, no-store, no-transform',
      'access-control-allow-origin': '*',
      'x-ratelimit-used': expect.any(String),
    });
    await recordDelivery(api.sql, { hookId: other.id });
    const id = await recordDelivery(api.sql, { hookId: hook.id, status: 'a\r\nb', statusCode: 500 });
    const sent = await events.next(idIs(id));
    const { body } = await call(api, token, 'GET', hook.deliveries);
    expect(sent).toEqual({ id: String(id), event: 'delivery', data: body[0] });
    expect(idsOf(events)).toEqual([id]);
  },
);

test('a delivery that has waited has an older id than those streamed before it, and is streamed all the same', async () => {
  const hook = await makeHook();
  const waiting = await handOut();
  await using events = await openEvents(api, token, `${hook.deliveries}/stream`);
  const fresh = await recordDelivery(api.sql, { hookId: hook.id });
  await events.next(idIs(fresh));
  await recordUnder(hook.id, waiting);
  await events.next(idIs(waiting));
  expect(idsOf(events)).toEqual([fresh, waiting]);
});

test('an attempt recorded a minute after it began, or in a transaction that ends after a later one, is streamed all the same', async () => {
  const hook = await makeHook();
  await using events = await openEvents(api, token, `${hook.deliveries}/stream`);
  const first = await recordDelivery(api.sql, { hookId: hook.id });
  await events.next(idIs(first));
  const client = await api.sql.connect();
  try {
    await client.query('BEGIN');
    const open = await recordDelivery(client as never, { hookId: hook.id });
    const late = await recordDelivery(client as never, { hookId: hook.id });
    await client.query(`UPDATE deliveries SET delivered_at = delivered_at - interval '1 minute' WHERE id = $1`, [late]);
    const committed = await recordDelivery(api.sql, { hookId: hook.id });
    await events.next(idIs(committed));
    await client.query('COMMIT');
    await events.next(idIs(open));
    await events.next(idIs(late));
  } finally {
    client.release();
  }
  // Now that the stream has begun, each comes once.
  const sent = events.all.map(({ id }) => Number(id)).filter((id) => id !== first);
  expect(sent).toHaveLength(3);
});

test('an attempt that took as long as DELIVERY_TIMEOUT_MS allows is streamed, also to a client that reconnects', async () => {
  await using slow = await openApi({ DELIVERY_TIMEOUT_MS: '600000' });
  const own = await slow.tokens.user('auth0|alice', 'repo');
  const config = { url: 'https://example.com/' };
  const { body } = await call(slow, own, 'POST', '/repos/acme/widgets/hooks', { active: false, config });
  const stream = `/repos/acme/widgets/hooks/${body.id}/deliveries/stream`;
  await using events = await openEvents(slow, own, stream);
  const first = await recordDelivery(slow.sql, { hookId: body.id });
  await events.next(idIs(first));
  const client = await slow.sql.connect();
  await client.query('BEGIN');
  const late = await recordDelivery(client as never, { hookId: body.id });
  await client.query(`UPDATE deliveries SET delivered_at = delivered_at - interval '10 minutes' WHERE id = $1`, [late]);
  await client.query('COMMIT');
  client.release();
  await events.next(idIs(late));
  await using again = await openEvents(slow, own, stream, { 'last-event-id': String(first) });
  await again.next(idIs(late));
});

test('a client that reconnects gets everything after its last event, in order, and perhaps some from before', async () => {
  const hook = await makeHook();
  const ids: number[] = [];
  for (let index = 0; index < 250; index += 1) ids.push(await recordDelivery(api.sql, { hookId: hook.id }));
  const at = "(now() - interval '1 hour' + (d.id - $2) * interval '1 second')";
  await api.sql.query(
    `UPDATE deliveries d SET delivered_at = ${at}, delivered_on = (${at} AT TIME ZONE 'UTC')::date WHERE hook_id = $1`,
    [hook.id, ids[0]],
  );
  const last = ids[130]!;
  await using events = await openEvents(api, token, `${hook.deliveries}/stream`, { 'last-event-id': String(last) });
  await events.next(idIs(ids[249]!));
  const sent = events.all.map(({ id }) => Number(id));
  expect(sent).toEqual([...sent].sort((a, b) => a - b));
  // Those that may have been recorded later than it: of the two minutes before.
  expect(sent).toEqual(ids.slice(ids.indexOf(sent[0]!)));
  expect(ids.indexOf(sent[0]!)).toBeGreaterThan(0);
  expect(ids.indexOf(sent[0]!)).toBeLessThan(130);
  const fresh = await recordDelivery(api.sql, { hookId: hook.id });
  await events.next(idIs(fresh));
});

test('a client whose last event is no longer stored is told to read the list', async () => {
  const hook = await makeHook();
  await using events = await openEvents(api, token, `${hook.deliveries}/stream`, { 'last-event-id': '999999999' });
  expect(await events.next(({ event }) => event === 'gap')).toEqual({ event: 'gap', data: { reason: 'unknown' } });
  const id = await recordDelivery(api.sql, { hookId: hook.id });
  await events.next(idIs(id));
});

test('no delivery is missed by a client that reads the list once the stream has begun', async () => {
  const hook = await makeHook();
  let isDone = false;
  const recorded: number[] = [];
  const recording = (async () => {
    while (!isDone) recorded.push(await recordDelivery(api.sql, { hookId: hook.id }));
  })();
  try {
    await using events = await openEvents(api, token, `${hook.deliveries}/stream`);
    const { body } = await call(api, token, 'GET', `${hook.deliveries}?per_page=100`);
    isDone = true;
    await recording;
    if (recorded.length > 0) await events.next(idIs(recorded.at(-1)!));
    const known = new Set([...body, ...events.all.map(({ data }) => data)].map(({ id }) => id));
    expect([...known].sort((a, b) => a - b)).toEqual(recorded);
  } finally {
    isDone = true;
    await recording;
  }
});

test('HEAD describes a stream without opening one, and a stopping process says so in its streams', async () => {
  const own = await openApi();
  const ownToken = await own.tokens.user('auth0|alice', 'repo');
  const config = { url: 'https://example.com/' };
  const { body } = await call(own, ownToken, 'POST', '/repos/acme/widgets/hooks', { active: false, config });
  const stream = `/repos/acme/widgets/hooks/${body.id}/deliveries/stream`;
  const metrics = async () => (await fetch(`${own.opsBase}/metrics`)).text();
  const headers = { authorization: `Bearer ${ownToken}` };
  const head = await fetch(own.base + stream, { method: 'HEAD', headers });
  expect(await head.text()).toBe('');
  expect(head.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(await metrics()).toContain('webhook_api_delivery_streams 0');
  await using events = await openEvents(own, ownToken, stream);
  expect(await metrics()).toContain('webhook_api_delivery_streams 1');
  await own[Symbol.asyncDispose]();
  await events.next(({ event }) => event === 'end'); // written, and perhaps not read yet
  expect(events.all).toEqual([{ event: 'end', data: { reason: 'restarts' } }]);
});
