/** Replays, as the dispatchers carry them out (docs/reference/delivery.md#replays). */
import { inTransaction } from '@gatepost/runtime/transaction';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { resumeDeliveries } from '@gatepost/webhook-db/paused';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;
let dispatcher: Dispatcher;
let hookId: number;

const env = { RETRY_SCHEDULE_SECONDS: '', THROTTLE_RATE: '100000', THROTTLE_BURST: '100000' };

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  await world.addAccount('acme', ['widgets', 'gadgets']);
  await world.addAccount('slow', ['r']);
  await world.pool.query("UPDATE accounts SET throttle_rate = 20, throttle_burst = 40 WHERE login = 'slow'");
  dispatcher = await world.start(env);
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await world.pool.query('DELETE FROM hooks');
  hookId = await world.addHook('acme', { url: receiver.url, repository: 'widgets' });
  receiver.behave({});
  receiver.received.length = 0;
});

type Asked = { since?: Date; until?: Date; status?: string; events?: string[]; hook?: number };

async function replay({ since, until: end, status = 'failure', events, hook = hookId }: Asked = {}): Promise<string> {
  const { rows } = await world.pool.query(
    `WITH r AS (
       INSERT INTO replays (hook_id, account_id, asked, asked_by, since, until, status, events)
       SELECT id, account_id, '{}', 'test', $2, coalesce($3, now()), $4, $5 FROM hooks WHERE id = $1 RETURNING id
     ) INSERT INTO replay_outcomes (replay_id) SELECT id FROM r RETURNING replay_id`,
    [hook, since ?? new Date(Date.now() - 3_600_000), end, status, events],
  );
  return rows[0].replay_id;
}
const look = async (id: string) => {
  const { rows } = await world.pool.query(
    `SELECT state, stopped_because, counted, handed, done, failed FROM replays r JOIN replay_outcomes o ON o.replay_id = r.id WHERE id = $1`,
    [id],
  );
  return rows[0];
};
const ended = (id: string) =>
  until('the replay has ended', async () => {
    const row = await look(id);
    return row.state !== 'counting' && row.state !== 'running' && row;
  });
const guidsOf = (requests = receiver.received) => requests.map(({ headers }) => headers['x-github-delivery']!);
/** Publishes so many events, and waits until each has an outcome. Answers their guids. */
async function deliver(count: number, event: Parameters<World['publish']>[0] = {}): Promise<string[]> {
  const guids = await Promise.all(Array.from({ length: count }, () => world.publish(event)));
  await Promise.all(guids.map((guid) => world.deliveries(guid)));
  return guids;
}
/** Writes deliveries into the log that failed, without any having been made. */
async function fillLog(count: number): Promise<void> {
  await world.pool.query(
    `WITH e AS (
       INSERT INTO events (key, guid, source, event_id, type, account_id, repository_id, occurred_at, payload, hook_ids, delivery_ids, sequences, routed_at)
       SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', n, 'push', h.account_id, h.repository_id, now(), '{}', ARRAY[h.id],
              ARRAY[nextval('delivery_ids')], ARRAY[n], now() FROM hooks h, generate_series(1, $2::int) n WHERE h.id = $1 RETURNING *
     ) INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event, attempt,
                               sequence, redelivery, status, status_code, duration_ms, timings, url, request_headers)
       SELECT delivery_ids[1], received_on, now(), $1, account_id, repository_id, guid, key, received_on, type, 1, sequences[1], false,
              'Timed out', 504, 1, '{}', 'http://127.0.0.2/', '{}' FROM e`,
    [hookId, count],
  );
}

test('a replay of failures sends what was never delivered, with the same guid and number; a replay of everything sends each event once', async () => {
  const good = await deliver(2);
  receiver.behave({ status: 500 });
  const failed = await deliver(3);
  const healed = failed.pop()!;
  await world.pool.query(
    `INSERT INTO deliveries SELECT (jsonb_populate_record(d, jsonb_build_object('id', nextval('delivery_ids'), 'redelivery', true, 'status_code', 200))).*
       FROM deliveries d WHERE guid = $1`,
    [healed],
  );
  receiver.behave(({ headers }) => ({ status: headers['x-github-delivery'] === failed[0] ? 500 : 200 }));
  receiver.received.length = 0;

  expect(await ended(await replay())).toEqual({
    state: 'done',
    stopped_because: null,
    counted: 2,
    handed: 2,
    done: 2,
    failed: 1,
  });
  expect(guidsOf()).toEqual(failed);
  expect(receiver.received.map(({ headers }) => headers['x-gatepost-sequence'])).toEqual(['3', '4']);
  const [first, again] = await world.deliveries(failed[1]!, 2);
  expect(again).toMatchObject({ redelivery: true, attempt: 1, status_code: 200 });
  expect(Number(again!.id)).toBeGreaterThan(Number(first!.id));

  // Asked for once more, only what still fails goes out.
  receiver.received.length = 0;
  expect(await ended(await replay())).toMatchObject({ counted: 1, done: 1, failed: 1 });
  expect(guidsOf()).toEqual([failed[0]]);

  receiver.received.length = 0;
  expect(await ended(await replay({ status: 'all' }))).toMatchObject({ counted: 5, done: 5, failed: 1 });
  expect(guidsOf().sort()).toEqual([...good, ...failed, healed].sort());
});

test('a replay of failures sends again what was answered by a redirect, and counts such an answer as a failure', async () => {
  receiver.behave({ status: 301 });
  const moved = await deliver(2);
  receiver.behave(({ headers }) => ({ status: headers['x-github-delivery'] === moved[0] ? 302 : 200 }));
  receiver.received.length = 0;
  expect(await ended(await replay())).toMatchObject({ counted: 2, done: 2, failed: 1 });
  expect(await ended(await replay())).toMatchObject({ counted: 1, done: 1, failed: 1 });
  expect(guidsOf().sort()).toEqual([...moved, moved[0]].sort());
});

test('a replay keeps to the time window and event types that were asked for, and sends no ping', async () => {
  const [early] = await deliver(1);
  const from = new Date();
  const [push] = await deliver(1, { type: 'push' });
  await deliver(1, { type: 'issues' });
  const to = new Date();
  await deliver(1, { type: 'push' });
  await world.pool.query("UPDATE deliveries SET event = 'ping' WHERE guid = $1", [early]);
  receiver.received.length = 0;
  await ended(await replay({ since: from, until: to, status: 'all', events: ['push'] }));
  expect(guidsOf()).toEqual([push]);
  receiver.received.length = 0;
  expect(await ended(await replay({ until: from, status: 'all' }))).toMatchObject({
    state: 'done',
    counted: 0,
    done: 0,
  });
  expect(guidsOf()).toEqual([]);
});

test('a replay of missed events sends those that match the hook and made no delivery, numbered in the hook’s sequence', async () => {
  const from = new Date();
  await world.addHook('acme', { url: `${receiver.url}/others`, events: ['push'] });
  await world.pool.query('UPDATE hooks SET active = false WHERE id = $1', [hookId]);
  // One after the other: events that are stored together have the same time, and no order in a replay.
  const store = async (event: Parameters<typeof world.publish>[0]) => {
    const guid = await world.publish(event);
    await until('it is stored', async () => {
      return (await world.pool.query('SELECT FROM events WHERE guid = $1', [guid])).rowCount === 1;
    });
    return guid;
  };
  const push = await store({ type: 'push' });
  const issue = await store({ type: 'issues' });
  await store({ type: 'release' });
  await store({ type: 'issues', subject: 'acme/gadgets' });
  const late = await world.addHook('acme', {
    url: `${receiver.url}/late`,
    repository: 'widgets',
    events: ['push', 'issues'],
  });
  await deliver(1, { type: 'issues' });
  const missed = async () => {
    receiver.received.length = 0;
    await ended(await replay({ since: from, status: 'missed', hook: late }));
    return receiver.received.map(({ path, headers }) => [
      path,
      headers['x-github-delivery'],
      headers['x-gatepost-sequence'],
    ]);
  };
  receiver.behave({ status: 500 });
  const sent = [
    ['/late', push, '2'],
    ['/late', issue, '3'],
  ];
  expect(await missed()).toEqual(sent);
  receiver.behave({});
  expect(await missed()).toEqual(sent); // it has failed, and keeps its number
  expect(await missed()).toEqual([]);
});

test('a replay of missed events sends deliveries that were cancelled while the hook was inactive, under their numbers, once nobody else will', async () => {
  const from = new Date();
  await world.pool.query('UPDATE hooks SET paused_at = now() WHERE id = $1', [hookId]);
  const cancelled: string[] = [];
  const parked = async () => (await world.pool.query('SELECT FROM parked')).rowCount!;
  for (let count = 1; count <= 2; count += 1) {
    cancelled.push(await world.publish({ type: 'push' }));
    await until('it is parked', async () => (await parked()) === count);
  }
  await world.pool.query('UPDATE hooks SET active = false WHERE id = $1', [hookId]);
  await inTransaction(world.pool, async (client) => {
    const { rows } = await client.query('UPDATE hooks SET paused_at = NULL WHERE id = $1 RETURNING account_id', [
      hookId,
    ]);
    await resumeDeliveries(client, rows[0].account_id, 100);
  });
  await until('they are cancelled', async () => (await parked()) === 0);
  await world.pool.query('UPDATE hooks SET active = true WHERE id = $1', [hookId]);
  const delivered = await deliver(1, { type: 'push' });
  receiver.received.length = 0;
  const missed = () => replay({ since: from, status: 'missed' });

  // They may still be sent again as lost.
  expect(await ended(await missed())).toMatchObject({ counted: 0, handed: 0 });
  await world.pool.query(
    'INSERT INTO sweeps (id, swept_until) VALUES (1, now()) ON CONFLICT (id) DO UPDATE SET swept_until = excluded.swept_until',
  );
  expect(await ended(await missed())).toMatchObject({ counted: 2, done: 2, failed: 0 });
  expect(guidsOf()).toEqual(cancelled);
  expect(receiver.received.map(({ headers }) => headers['x-gatepost-sequence'])).toEqual(['1', '2']);
  expect((await world.deliveries(delivered[0]!)).map(({ redelivery }) => redelivery)).toEqual([false]);
  expect(await ended(await missed())).toMatchObject({ counted: 0 });
});

test('a replay looks through a long log in many steps', async () => {
  await fillLog(4_500);
  const id = await replay({ events: ['issues'] });

  expect(await ended(id)).toMatchObject({ state: 'done', counted: 0, handed: 0 });
});

test('a replay whose dispatcher is killed goes on where it was, and loses nothing', async () => {
  receiver.behave({ delayMs: 20 });
  await fillLog(400);
  const other = await world.start(env);
  const id = await replay();
  await until('some are made', () => receiver.received.length > 60);
  await dispatcher.stop('SIGKILL');
  await other.stop('SIGKILL');
  const before = await look(id);
  expect(before.handed).toBeLessThan(400);
  // Longer than a busy machine takes for those in hand, which would be made twice as well.
  dispatcher = await world.start({ ...env, RESCUE_AFTER_SECONDS: '40' });
  expect(await ended(id)).toMatchObject({ state: 'done', counted: 400, done: 400, failed: 0 });
  const { rows } = await world.pool.query(
    'SELECT count(*)::int AS all, count(DISTINCT guid)::int AS guids FROM deliveries WHERE hook_id = $1 AND redelivery',
    [hookId],
  );
  expect(rows).toEqual([{ all: 400, guids: 400 }]);
  expect(new Set(guidsOf()).size).toBe(400);
  expect(receiver.received.length).toBeLessThan(600); // what was in flight is made twice, no more
});

test('a replay ends when it is stopped, and when its hook is switched off', async () => {
  receiver.behave({ delayMs: 50 });
  await fillLog(500);
  const stopped = await replay();
  await until('some are made', () => receiver.received.length > 20);
  await world.pool.query(
    "UPDATE replays SET state = 'stopped', stopped_because = 'asked', ended_at = now() WHERE id = $1",
    [stopped],
  );
  await until('nothing of it waits', async () => {
    const { rowCount } = await world.pool.query('SELECT FROM parked WHERE replay_id = $1', [stopped]);
    return rowCount === 0;
  });
  const after = await look(stopped);
  expect(after.handed).toBeLessThan(500);
  expect(after.done).toBeLessThanOrEqual(after.handed);

  const off = await replay();
  await until('some are made', async () => (await look(off)).done > 10);
  await world.pool.query('UPDATE hooks SET active = false WHERE id = $1', [hookId]);
  expect(await ended(off)).toMatchObject({ state: 'stopped', stopped_because: 'hook_inactive' });
});

test('a stopped replay of missed events still sends those that have a sequence number, so that no gap is left', async () => {
  const from = new Date();
  await deliver(40);
  const late = await world.addHook('acme', { url: `${receiver.url}/late`, repository: 'widgets' });
  receiver.behave({ delayMs: 300 });
  receiver.received.length = 0;
  const id = await replay({ since: from, status: 'missed', hook: late });
  await until('more are handed over than are made', async () => (await look(id)).handed > 20);
  await world.pool.query(
    "UPDATE replays SET state = 'stopped', stopped_because = 'asked', ended_at = now() WHERE id = $1",
    [id],
  );
  const { handed } = await until('nothing of it waits', async () => {
    const { rowCount } = await world.pool.query('SELECT FROM parked WHERE replay_id = $1', [id]);
    return rowCount === 0 && look(id);
  });
  const { rows } = await world.pool.query('SELECT sequence::int FROM deliveries WHERE hook_id = $1 ORDER BY sequence', [
    late,
  ]);
  expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: handed }, (_, index) => index + 1));
});

test('a replay keeps to its account’s limit and lets new deliveries go first', async () => {
  hookId = await world.addHook('slow', { url: receiver.url, repository: 'r' });
  await fillLog(120);
  const id = await replay();
  await until('its share of the burst is used', () => receiver.received.length >= 10);
  const from = Date.now();
  const before = receiver.received.length;
  const fresh = await Promise.all(Array.from({ length: 10 }, () => world.publish({ subject: 'slow/r' })));
  await until('the fresh ones are there', () => fresh.every((guid) => guidsOf().includes(guid)));
  const rows = (await Promise.all(fresh.map((guid) => world.deliveries(guid)))).flat();
  expect(rows.filter(({ throttled_at: at }) => at !== null)).toEqual([]); // three quarters of the burst are theirs
  await until('more is replayed', () => receiver.received.length > before + 40);
  const seconds = (Date.now() - from) / 1000;
  expect(receiver.received.length - before).toBeLessThanOrEqual(20 * seconds + 40);
  await until('those beyond the limit are stamped', async () => {
    const text = 'SELECT FROM deliveries WHERE hook_id = $1 AND redelivery AND throttled_at IS NOT NULL';
    return (await world.pool.query(text, [hookId])).rowCount! > 0;
  });
  await world.pool.query('DELETE FROM hooks'); // and with it the replay
  expect(await look(id)).toBeUndefined();
});
