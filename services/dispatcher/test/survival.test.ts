import { readFileSync } from 'node:fs';
import { openConsumer } from '@gatepost/amqp/consumer';
import { deadEventsQueue, eventsExchange, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { openLostAcks } from '@gatepost/testkit/lost-acks';
import { setReadOnly } from '@gatepost/testkit/postgres-server';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, startsIn, type World } from './world.ts';

describe('when things break', () => {
  let world: World;
  let receiver: Receiver;
  let broker: Cuttable;
  let database: Cuttable;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    broker = await openCuttable(world.amqpUrl);
    database = await openCuttable(world.databaseUrl);
    await world.addAccount('acme', ['widgets']);
    await world.addHook('acme', { url: receiver.url, retry: false });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    for (const one of [receiver, broker, database]) await one?.[Symbol.asyncDispose]();
  });
  // A dispatcher left by a failed test would take what the next one publishes.
  const { start, killAll } = startsIn(() => world);
  afterEach(killAll);
  const throughRelays = () => ({ AMQP_URL: broker.url, WEBHOOK_DATABASE_URL: database.url });
  const publishMany = (count: number) => Promise.all(Array.from({ length: count }, () => world.publish({})));
  const guidsReceived = () => new Set(receiver.received.map((one) => one.headers['x-github-delivery']));
  /** Missing deliveries, who has them, and what was recorded instead. */
  const missing = async (guids: string[]) => {
    const { rows } = await world.pool.query(
      `SELECT e.guid, e.routed_at, e.taken_by, ARRAY(SELECT status FROM deliveries d WHERE d.guid = e.guid) AS recorded, p.*
         FROM events e LEFT JOIN parked p ON p.delivery_id = ANY (e.delivery_ids)
        WHERE e.guid = ANY ($1) AND NOT EXISTS (SELECT FROM deliveries d WHERE d.guid = e.guid AND d.status = 'OK')`,
      [guids],
    );
    return rows;
  };
  const allRecorded = async (guids: string[]) => {
    const areRecorded = async () => {
      const { rows } = await world.pool.query(
        "SELECT count(DISTINCT guid)::int AS n FROM deliveries WHERE guid = ANY ($1) AND status = 'OK'",
        [guids],
      );
      return rows[0].n === guids.length;
    };
    await until('every event in the log', areRecorded).catch(async (cause) => {
      throw new Error(`not in the log: ${JSON.stringify(await missing(guids))}`, { cause });
    });
  };

  test('a dispatcher killed with deliveries in flight loses none of them', async () => {
    receiver.behave((_request, index) => (index < 60 ? {} : { fault: 'hang' }));
    const first = await start({ DELIVERY_CONCURRENCY: '20', DELIVERY_TIMEOUT_MS: '60000' });
    const guids = await publishMany(400);
    await until('some are in flight', () => receiver.received.length > 60);
    expect(await first.stop('SIGKILL')).toBeNull();
    receiver.behave({});
    const second = await start({ DELIVERY_CONCURRENCY: '20' });
    await allRecorded(guids);
    for (const guid of guids) expect(guidsReceived()).toContain(guid);
    // Deliveries in flight or not yet acked may be sent twice, with the same guid and one row.
    const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM deliveries WHERE guid = ANY ($1)', [guids]);
    expect(rows[0].n).toBe(400);
    expect(await second.stop()).toBe(0);
  });

  test('a dispatcher that is stopped finishes what is in flight and sends nothing twice', async () => {
    receiver.received.length = 0;
    receiver.behave({ delayMs: 50 });
    const first = await start({ DELIVERY_CONCURRENCY: '20' });
    const guids = await publishMany(200);
    await until('some are delivered', () => receiver.received.length > 30);
    expect(await first.stop()).toBe(0);
    const second = await start({ DELIVERY_CONCURRENCY: '20' });
    await allRecorded(guids);
    // Copies published by the dispatcher killed before may still arrive: they have other guids.
    const sent = receiver.received.map((one) => one.headers['x-github-delivery'] ?? '');
    expect(sent.filter((guid) => guids.includes(guid)).sort()).toEqual([...guids].sort());
    expect(await second.stop()).toBe(0);
  });

  test('a dispatcher that is stopped says so, and shows its metrics, until its last attempt has ended', async () => {
    receiver.received.length = 0;
    let answer = () => {};
    const after = new Promise<void>((resolve) => {
      answer = resolve;
    });
    receiver.behave({ after });
    const dispatcher = await start({ DELIVERY_TIMEOUT_MS: '300000' });
    const guid = await world.publish({});
    await until('the attempt', () => receiver.received.length === 1);
    const stopped = dispatcher.stop();
    await until('it to be stopping', () => dispatcher.log.some(({ message }) => message === 'stopping'));
    const answered = await dispatcher.ask('/readyz');
    expect([answered.status, await answered.json()]).toEqual([503, { status: 'stopping' }]);
    expect(await dispatcher.metric(/^dispatcher_stalled_seconds\{place="deliveries"\}/)).toBeDefined();
    answer();
    await world.deliveries(guid);
    expect(await stopped).toBe(0);
  });

  test('no delivery is lost when the broker and then the database go away and come back', async () => {
    receiver.received.length = 0;
    receiver.behave({});
    const dispatcher = await start(throughRelays());
    const guids = await publishMany(20);
    await allRecorded(guids);
    await broker.cut();
    guids.push(...(await publishMany(300)));
    await broker.restore();
    await until('it goes on', () => receiver.received.length > 40);
    await broker.cut();
    guids.push(...(await publishMany(100)));
    await broker.restore();
    await until('it goes on', () => receiver.received.length > 150);
    await database.cut();
    guids.push(...(await publishMany(100)));
    await database.restore();
    await allRecorded(guids);
    for (const guid of guids) expect(guidsReceived()).toContain(guid);
    const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM deliveries WHERE guid = ANY ($1)', [guids]);
    expect(rows[0].n).toBe(guids.length);
    expect(await dispatcher.metric(/^amqp_reconnects_total/)).toBeGreaterThan(0);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a dispatcher is not ready while PostgreSQL is read-only, and goes on when it takes writes again', async () => {
    receiver.behave({});
    const dispatcher = await start(throughRelays());
    await setReadOnly(world.databaseUrl, true);
    await database.cut();
    await database.restore();
    const guids = await publishMany(20);
    await until('it is not ready', async () => {
      const { failing } = (await (await dispatcher.ask('/readyz')).json()) as { failing?: Record<string, string> };
      return failing?.database === 'PostgreSQL is read-only';
    });
    await setReadOnly(world.databaseUrl, false);
    await until('it is ready', async () => (await dispatcher.readiness()) === 200);
    await allRecorded(guids);
    expect(await dispatcher.stop()).toBe(0);
  });

  // It used to send everything in hand, while RabbitMQ had already redelivered it to others.
  test('a dispatcher whose connection broke leaves to others the deliveries that it had not begun', async () => {
    // Their own hooks: messages of earlier dispatchers that were cut off may still come again.
    await using receiver = await openReceiver();
    await using silent = await openReceiver();
    await using lossy = await openLostAcks(world.amqpUrl);
    await using broker = await openCuttable(lossy.url);
    await world.addAccount('begun', ['r']);
    await world.addHook('begun', { url: receiver.url, retry: false });
    const { promise: answered, resolve: answerNow } = Promise.withResolvers<void>();
    silent.behave({ after: answered });
    // Two accounts whose receivers are silent have all of the room, so that what waits for it is neither begun nor put aside. Two that wait
    // leave the first behind, so that it releases nothing it has put aside: deliveries released as the connection breaks, without a confirm,
    // may be made twice. The long timeout: on a slow machine these two would otherwise have room before the connection breaks.
    const env = { ...throughRelays(), AMQP_URL: broker.url };
    const first = await start({ ...env, DELIVERY_CONCURRENCY: '3', DELIVERY_TIMEOUT_MS: '60000' });
    for (const login of ['silent-1', 'silent-2']) {
      await world.addAccount(login, ['r']);
      await world.addHook(login, { url: silent.url, retry: false });
    }
    for (const [index, login] of ['silent-1', 'silent-1', 'silent-2'].entries()) {
      await world.publish({ subject: `${login}/r` });
      await until('one more is in flight', () => silent.received.length > index);
    }
    lossy.lose(); // so all of them come again, also those put aside; RabbitMQ gives out no more than 12 without an answer
    const guids = await Promise.all(Array.from({ length: 12 }, () => world.publish({ subject: 'begun/r' })));
    await until('all but two are put aside', async () => (await first.metric(/why="parked"/)) === 10);
    await broker.cut();
    const second = await start({ DELIVERY_CONCURRENCY: '4' });
    await until('another has sent what was put aside', () => receiver.received.length >= 10);
    answerNow();
    const lost = /^dispatcher_messages_settled_total\{how="give_back",why="connection_lost"\}/;
    await until('two that wait for room are let go', async () => (await first.metric(lost)) === 2);
    await allRecorded(guids);
    await broker.restore();
    const sent = receiver.received.map((one) => one.headers['x-github-delivery'] ?? '');
    expect(sent.sort()).toEqual([...guids].sort());
    expect(await first.stop()).toBe(0);
    expect(await second.stop()).toBe(0);
  });

  // RabbitMQ takes messages back when a connection breaks, and from who has held them for half an hour (consumer_timeout).
  test('a job that comes again while its outcome waits for PostgreSQL is not delivered again', async () => {
    receiver.received.length = 0;
    receiver.behave({});
    // Events with two hooks are delivered by jobs.
    await world.addAccount('twins', ['widgets']);
    for (const path of ['/one', '/two']) await world.addHook('twins', { url: `${receiver.url}${path}`, retry: false });
    const dispatcher = await start({ AMQP_URL: broker.url });
    const publish = () => world.publish({ subject: 'twins/widgets' });
    const sent = (guid: string) =>
      receiver.received.filter(({ headers }) => headers['x-github-delivery'] === guid).map(({ path }) => path);
    const client = await world.pool.connect();
    const guids: string[] = [];
    try {
      await client.query('BEGIN');
      await client.query('LOCK TABLE deliveries IN SHARE MODE'); // outcomes can be looked for, and not written
      guids.push(await publish());
      await until('both are made', () => sent(guids[0]!).length === 2);
      await until('their outcomes wait', async () => {
        const { rowCount } = await client.query(
          'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))',
        );
        return rowCount;
      });
      await broker.cut();
      await broker.restore();
      // Behind those that come again.
      guids.push(await publish());
      await until('the next are made', () => sent(guids[1]!).length === 2);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    await allRecorded(guids);
    expect(await dispatcher.stop()).toBe(0);
    for (const guid of guids) expect(sent(guid).sort()).toEqual(['/one', '/two']);
  });

  test('a queue full of large events keeps memory bounded, and small events behind them arrive', async () => {
    const payload = Buffer.concat([Buffer.from('{"filler":"'), Buffer.alloc(10_000_000, 'x'), Buffer.from('"}')]);
    await world.addAccount('storing', ['r']); // pushes are stored, but there is no hook
    for (let count = 0; count < 50; count += 1)
      await world.publish({ source: 'urn:large', type: 'push', subject: 'storing/r', payload });
    const dispatcher = await start();
    const stored = async () => {
      const { rows } = await world.pool.query("SELECT count(*)::int AS n FROM events WHERE source = 'urn:large'");
      return rows[0].n === 50;
    };
    await until('all are stored', stored, 240_000);
    const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${dispatcher.pid}/status`, 'utf8'))?.[1]) / 1024;
    // All of them at once would take 500 MB on top of the process itself.
    expect(peakMb).toBeLessThan(520);
    await world.deliveries(await world.publish({}));
    expect(await dispatcher.stop()).toBe(0);
  });

  test('invalid messages are dead-lettered with their reason and block nothing, and a 26 MB message leaves memory flat', async () => {
    const dispatcher = await start();
    await world.deliveries(await world.publish({}));
    const dead: { reason: unknown; detail: unknown; bytes: number }[] = [];
    await using _consumer = await openConsumer({
      url: world.amqpUrl,
      name: 'test',
      log: openLog('test', 'silent'),
      topology,
      queue: deadEventsQueue,
      prefetch: 10,
      onMessage(message) {
        dead.push({
          reason: message.headers['x-reason'],
          detail: message.headers['x-detail'],
          bytes: message.body.length,
        });
        message.ack();
      },
    });
    const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${dispatcher.pid}/status`, 'utf8'))?.[1]) / 1024;
    const rssBefore = rss();
    await world.publish({ payload: Buffer.alloc(26 * 1024 * 1024, ' ') });
    await world.publish({ payload: 'not json' });
    await world.publish({ payload: '[1]' });
    await world.publish({ payload: Buffer.from([0x22, 0xff, 0x22]) });
    await world.publish({ headers: { 'cloudEvents:subject': undefined } });
    await world.publish({ headers: { 'cloudEvents:time': 'yesterday' } });
    // PostgreSQL has no year 0.
    await world.publish({ headers: { 'cloudEvents:time': '0000-01-01T00:00:00Z' } });
    await world.publisher.publish({ exchange: eventsExchange, routingKey: 'x', body: Buffer.alloc(0), messageId: 'm' });
    await world.publisher.publish({
      exchange: '',
      routingKey: 'gatepost.deliveries',
      body: Buffer.from('{}'),
      messageId: 'n',
    });
    await world.deliveries(await world.publish({}));
    await until('all dead letters', () => dead.length === 9);
    expect(dead.map(({ reason }) => reason).sort()).toEqual([
      'bad_attribute',
      'bad_attribute',
      'missing_attribute',
      'not_a_job',
      'not_an_object',
      'not_json',
      'not_json',
      'not_utf8',
      'too_large',
    ]);
    expect(dead.find(({ reason }) => reason === 'missing_attribute')?.detail).toContain('`subject`');
    expect(dead.find(({ reason }) => reason === 'too_large')?.bytes).toBe(26 * 1024 * 1024);
    await until('memory is flat again', () => rss() < rssBefore + 30);
    // A letter may be here before the dispatcher hears that RabbitMQ has it, and counts it.
    await until('all are counted', async () => (await dispatcher.metric(/result="dead"/)) === 9);
    expect(await dispatcher.stop()).toBe(0);
  });
});
