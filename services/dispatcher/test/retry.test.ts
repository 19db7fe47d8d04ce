import { type DeliveryJob, deriveJobKey, jobMessage } from '@gatepost/contracts/delivery-job';
import { deliveriesQueue } from '@gatepost/contracts/topology';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { parkPublished } from '@gatepost/webhook-db/requested';
import { kindsOf } from '@gatepost/webhook-db/stats';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

describe('further attempts', () => {
  let world: World;
  let receiver: Receiver;
  let dispatcher: Dispatcher;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    await world.addAccount('acme', ['widgets']);
    const patient = { DELIVERY_TIMEOUT_MS: '600000', RESCUE_AFTER_SECONDS: '630' };
    dispatcher = await world.start({ ...patient, RETRY_SCHEDULE_SECONDS: '1,3600' });
  });
  afterAll(async () => {
    await receiver?.[Symbol.asyncDispose](); // ends what hangs there
    expect(await dispatcher?.stop()).toBe(0);
    await world?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await world.pool.query('DELETE FROM hooks');
    receiver.received.length = 0;
    receiver.behave({});
  });
  const settled = (guid: string) =>
    until(`nothing of ${guid} is parked`, async () => {
      const { rowCount } = await world.pool.query('SELECT FROM parked WHERE job LIKE $1', [`%${guid}%`]);
      return rowCount === 0;
    });

  /** Lets the hour until the third attempt pass. @returns when it was due. */
  const passTheHour = (guid: string) =>
    until(`the third attempt of ${guid}`, async () => {
      const { rows } = await world.pool.query<{ due_at: Date }>(
        `UPDATE parked p SET due_at = now() FROM parked before
          WHERE before.delivery_id = p.delivery_id AND p.job LIKE $1 AND p.due_at > now() + interval '30 minutes'
         RETURNING before.due_at`,
        [`%${guid}%`],
      );
      return rows[0]?.due_at;
    });

  test('a failed delivery is tried again by the schedule until it succeeds, each attempt in its own row with the same guid', async () => {
    receiver.behave((_request, index) => ({ status: index < 2 ? 500 : 200 }));
    await world.addHook('acme', { url: receiver.url, secret: 's' });
    const guid = await world.publish({});
    const [first, second] = await world.deliveries(guid, 2);
    const dueAt = await passTheHour(guid);
    const rows = await world.deliveries(guid, 3);
    expect(rows.map(({ attempt, status_code, redelivery }) => [attempt, status_code, redelivery])).toEqual([
      [1, 500, false],
      [2, 500, false],
      [3, 200, false],
    ]);
    // 10 % either way.
    expect(second!.delivered_at.getTime() - first!.delivered_at.getTime()).toBeGreaterThanOrEqual(890);
    const wait = (dueAt.getTime() - second!.delivered_at.getTime()) / 60_000;
    expect(wait).toBeGreaterThanOrEqual(54);
    expect(wait).toBeLessThan(66 + 5);
    expect(receiver.received.map((one) => one.headers['x-github-delivery'])).toEqual([guid, guid, guid]);
    await settled(guid);
  });

  test('the statistics of a minute say which kinds of deliveries it had, so that lists can skip it', async () => {
    receiver.behave((_request, index) => ({ status: index === 0 ? 500 : 200 }));
    await world.addHook('acme', { url: receiver.url, events: ['*'] });
    await world.deliveries(await world.publish({ type: 'push', payload: {} }), 2);
    await world.deliveries(await world.publish({ type: 'issues', payload: { action: 'opened' } }));
    const { rows } = await world.pool.query<{ hook_id: number; said: string; had: string }>(
      `SELECT hook_id, said, had FROM (SELECT hook_id, minute, bit_or(kinds)::text AS said FROM delivery_stats WHERE hook_id > 0 GROUP BY 1, 2) s
         FULL JOIN (SELECT hook_id, date_trunc('minute', delivered_at) AS minute, bit_or(${kindsOf('d')})::text AS had FROM deliveries d GROUP BY 1, 2) d
        USING (hook_id, minute)`,
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { said, had } of rows) expect(said).toBe(had);
    // It failed and was delivered, and there were two events and an action.
    const { rows: bits } = await world.pool.query<{ count: string }>(
      'SELECT bit_count(bit_or(kinds)) AS count FROM delivery_stats WHERE hook_id = (SELECT id FROM hooks)',
    );
    expect(Number(bits[0]!.count)).toBe(2 + 1 + 2 + 1);
  });

  test('retries end with the schedule, and at once after 410 or for a hook without retries', async () => {
    receiver.behave(({ path }) => ({ status: path === '/gone' ? 410 : 503 }));
    const failing = await world.addHook('acme', { url: `${receiver.url}/failing` });
    const gone = await world.addHook('acme', { url: `${receiver.url}/gone` });
    const off = await world.addHook('acme', { url: `${receiver.url}/off`, retry: false });
    const guid = await world.publish({});
    await passTheHour(guid);
    const rows = await world.deliveries(guid, 5);
    await settled(guid);
    const attempts = (hook: number) => rows.filter((row) => row.hook_id === hook).length;
    expect([attempts(failing), attempts(gone), attempts(off)]).toEqual([3, 1, 1]);
  });

  test('Retry-After replaces the delay of the schedule', async () => {
    receiver.behave((_request, index) => (index === 0 ? { status: 429, headers: { 'retry-after': '2' } } : {}));
    await world.addHook('acme', { url: receiver.url });
    const [first, second] = await world.deliveries(await world.publish({}), 2);
    expect(second!.delivered_at.getTime() - first!.delivered_at.getTime()).toBeGreaterThanOrEqual(1_950);
  });

  test('a retry goes to the hook’s current URL, and is cancelled when the hook is deleted', async () => {
    const changed = Promise.withResolvers<void>();
    receiver.behave({ status: 500, after: changed.promise });
    const hook = await world.addHook('acme', { url: `${receiver.url}/old` });
    const guid = await world.publish({});
    await until('the first request', () => receiver.received.length > 0);
    await world.pool.query('UPDATE hooks SET url = $1 WHERE id = $2', [`${receiver.url}/new`, hook]);
    changed.resolve(); // now the second until the next attempt begins, which a busy machine needs for less
    await world.deliveries(guid, 2);
    expect(receiver.received.map((one) => one.path)).toEqual(['/old', '/new']);
    await world.pool.query('DELETE FROM hooks');
    await passTheHour(guid);
    await settled(guid);
    expect(receiver.received).toHaveLength(2);
    expect(await dispatcher.metric(/outcome="cancelled",reason="hook_gone"/)).toBe(1);
  });

  /** The job of a redelivery of an event that was delivered, as the API makes it, and its key. */
  const redelivery = async (hook: number, guid: string) => {
    const [row] = await world.deliveries(guid);
    const { rows } = await world.pool.query(
      `SELECT d.*, event_on::text AS event_day, nextval('delivery_ids') AS next FROM deliveries d WHERE id = $1`,
      [row!.id],
    );
    const job: DeliveryJob = {
      deliveryId: Number(rows[0].next),
      guid,
      hookId: hook,
      event: 'issues',
      action: 'opened',
      eventKey: rows[0].event_key,
      eventOn: rows[0].event_day,
      accountId: rows[0].account_id,
      repositoryId: rows[0].repository_id,
      occurredAt: new Date().toISOString(),
      attempt: 1,
      redelivery: true,
      throttledAt: null,
      retries: true,
    };
    return { job, key: deriveJobKey(Buffer.from(world.env.SECRETS_KEY!, 'base64')) };
  };

  test('a redelivery that the API asks for keeps the guid', async () => {
    const hook = await world.addHook('acme', { url: receiver.url });
    const guid = await world.publish({ payload: { a: 1 } });
    const { job, key } = await redelivery(hook, guid);
    // Without a body: the payload is read from the event's row.
    await world.publisher.publish(jobMessage(job, Buffer.alloc(0), key));
    const again = await world.deliveries(guid, 2);
    expect(again[1]).toMatchObject({ redelivery: true, attempt: 1, status: 'OK' });
    expect(receiver.received.map((one) => one.body.toString())).toEqual(['{"a":1}', '{"a":1}']);
  });

  // RabbitMQ may confirm later than the API waits: whoever was told of a failure asked again, and each try was delivered.
  test('a delivery that the API withdrew, since it answered with 503, is not made when its job comes after all', async () => {
    const hook = await world.addHook('acme', { url: receiver.url });
    const guid = await world.publish({});
    const [kept, withdrawn] = [await redelivery(hook, guid), await redelivery(hook, guid)];
    await parkPublished(world.pool, kept.job);
    const publish = ({ job, key }: typeof kept) =>
      world.publisher.publish(jobMessage({ ...job, parked: true }, Buffer.alloc(0), key));
    const cancelled = async () => (await dispatcher.metric(/settled_total{.*why="cancelled"/)) ?? 0;
    const before = await cancelled();
    await publish(withdrawn);
    await until('it is dropped', async () => (await cancelled()) === before + 1);
    await publish(kept);
    const rows = await world.deliveries(guid, 2);
    expect(rows.map(({ redelivery: again }) => again)).toEqual([false, true]);
    expect(receiver.received).toHaveLength(2);
    await settled(guid);
  });

  test('deliveries that a wiped broker lost are sent again, and no others', async () => {
    receiver.behave({ delayMs: 1_000 });
    const rescuing = await world.start({ RESCUE_AFTER_SECONDS: '40' });
    // An event with a single delivery needs no job that a broker could lose.
    await world.addHook('acme', { url: receiver.url });
    await world.addHook('acme', { url: receiver.url });
    const vhost = new URL(world.amqpUrl).pathname.slice(1);
    const guids = await Promise.all(Array.from({ length: 20 }, () => world.publish({})));
    await until('all routed', async () => {
      const { rows } = await world.pool.query(
        'SELECT count(*)::int AS n FROM events WHERE guid = ANY ($1) AND routed_at IS NOT NULL',
        [guids],
      );
      return rows[0].n === 20;
    });
    await management('DELETE', `/api/queues/${vhost}/${deliveriesQueue}`);
    receiver.behave({});
    await until('every event delivered', async () => {
      const { rows } = await world.pool.query(
        'SELECT count(DISTINCT (guid, hook_id))::int AS n FROM deliveries WHERE guid = ANY ($1)',
        [guids],
      );
      return rows[0].n === 40;
    });
    const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM deliveries WHERE guid = ANY ($1)', [guids]);
    expect(rows[0].n).toBe(40);
    expect(await rescuing.stop()).toBe(0);
  });

  test('one receiver that hangs, with many deliveries waiting, does not slow the others', async () => {
    receiver.behave(({ path }) => (path === '/hangs' ? { fault: 'hang' } : {}));
    const hanging = await world.addHook('acme', { url: `${receiver.url}/hangs`, events: ['push'], retry: false });
    await world.addHook('acme', { url: `${receiver.url}/well`, events: ['issues'] });
    await Promise.all(Array.from({ length: 700 }, () => world.publish({ type: 'push' })));
    await until('all are somebody’s', async () => {
      const { rows } = await world.pool.query(
        `SELECT count(*) FILTER (WHERE routed_at IS NOT NULL OR taken_by IS NOT NULL)::int AS n FROM events WHERE type = 'push'`,
      );
      return rows[0].n >= 700;
    });
    for (let count = 0; count < 20; count += 1) {
      const guid = await world.publish({ type: 'issues' });
      await until('the other is served', () =>
        receiver.received.some((one) => one.headers['x-github-delivery'] === guid),
      );
    }
    // Each of them went by those that hang: none of these has timed out yet.
    const { rows } = await world.pool.query('SELECT status, error FROM deliveries WHERE hook_id = $1', [hanging]);
    expect(rows).toEqual([]);
    await world.pool.query('DELETE FROM hooks');
  });
});
