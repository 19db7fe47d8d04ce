/** What would hold up all that is behind it, if it were repeated for ever. */
import { openConsumer } from '@gatepost/amqp/consumer';
import { type DeliveryJob, deriveJobKey, jobMessage } from '@gatepost/contracts/delivery-job';
import { deadEventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { publishDeadLetter } from '../src/settling/dead-letter.ts';
import { type Dispatcher, openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;
/** Nothing waits for as long as this limit asks for. */
const hardlyAny = 0.01;
/** One a test. */
const slow = ['slow-events', 'slow-parked', 'slow-deliveries', 'slow-copies', 'slow-stall', 'slow-no-job'];
let dispatcher: Dispatcher;
let dead: { reason: unknown; detail: string; headers: Record<string, unknown> }[] = [];
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  for (const login of ['acme', 'calm', 'steady']) {
    await world.addAccount(login, ['r']);
    await world.addHook(login, { url: receiver.url, retry: false });
  }
  for (const login of slow) await world.addAccount(login, ['r']);
  for (const login of slow) await world.addHook(login, { url: receiver.url });
  await world.pool.query('UPDATE accounts SET throttle_rate = $2, throttle_burst = 1 WHERE login = ANY ($1)', [
    [...slow, 'steady'],
    hardlyAny,
  ]);
  // PostgreSQL refuses what a test says, with the code that it says.
  await world.pool.query('CREATE TABLE webhooks.refusals (place text, event text, state text)');
  await world.pool.query(`
    CREATE FUNCTION webhooks.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE refusal record;
    BEGIN
      FOR refusal IN SELECT * FROM webhooks.refusals WHERE place = TG_ARGV[0] LOOP
        IF to_jsonb(NEW)::text LIKE '%' || refusal.event || '%' THEN
          RAISE EXCEPTION 'no %', refusal.event USING ERRCODE = refusal.state;
        END IF;
      END LOOP;
      RETURN NEW;
    END $$`);
  for (const place of ['events', 'parked', 'deliveries'])
    await world.pool.query(
      `CREATE TRIGGER refuse BEFORE INSERT ON ${place} FOR EACH ROW EXECUTE FUNCTION webhooks.refuse('${place}')`,
    );
  stack.use(
    await openConsumer({
      url: world.amqpUrl,
      name: 'test',
      log: openLog('test', 'silent'),
      topology,
      queue: deadEventsQueue,
      prefetch: 10,
      onMessage({ headers, ...message }) {
        dead.push({ reason: headers['x-reason'], detail: String(headers['x-detail']), headers });
        message.ack();
      },
    }),
  );
  dispatcher = await world.start();
});
afterEach(async () => {
  await lift();
  dead = [];
  receiver.received.length = 0;
});
afterAll(async () => {
  await stack.disposeAsync();
  expect(await dispatcher?.stop()).toBe(0);
  await receiver?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const setLimit = (rate: number, burst: number, login = 'acme') =>
  world.pool.query('UPDATE accounts SET throttle_rate = $1, throttle_burst = $2 WHERE login = $3', [
    rate,
    burst,
    login,
  ]);
const nothingIsParked = async () => (await world.pool.query('SELECT FROM parked')).rowCount === 0;
const refuse = (place: string, event: string, state: string) =>
  world.pool.query('INSERT INTO webhooks.refusals VALUES ($1, $2, $3)', [place, event, state]);
const lift = () => world.pool.query('DELETE FROM webhooks.refusals');
const publishMany = (count: number, login = 'acme', type = 'issues') =>
  Promise.all(Array.from({ length: count }, () => world.publish({ subject: `${login}/r`, type })));
const parkedJobs = async () => {
  const { rows } = await world.pool.query<{ delivery_id: string; job: string }>('SELECT delivery_id, job FROM parked');
  return rows.map(
    (row): DeliveryJob => ({ ...JSON.parse(row.job), deliveryId: Number(row.delivery_id), parked: true }),
  );
};
/** As the pump does, and does once more when it has not heard that its COMMIT worked. */
const publishAgain = async (jobs: DeliveryJob[]) => {
  const ids = jobs.map(({ deliveryId }) => deliveryId);
  await world.pool.query('UPDATE parked SET published_at = now() WHERE delivery_id = ANY ($1)', [ids]);
  await publishJobs(jobs);
};
const publishJobs = async (jobs: DeliveryJob[]) => {
  const key = deriveJobKey(Buffer.from(world.env.SECRETS_KEY!, 'base64'));
  await Promise.all(jobs.map((job) => world.publisher.publish(jobMessage(job, Buffer.from('{}'), key))));
};
const logged = async (guids: string[]) => {
  const { rows } = await world.pool.query(
    "SELECT count(DISTINCT guid)::int AS n FROM deliveries WHERE guid = ANY ($1) AND status = 'OK'",
    [guids],
  );
  return rows[0].n === guids.length;
};
const arrived = () => new Set(receiver.received.map((one) => one.headers['x-github-delivery']));

// Both copies used to be one statement's: PostgreSQL refused it (21000), and it was tried again for ever.
test('copies of parked jobs do not stall anything: every delivery arrives', async () => {
  const guids = await publishMany(60, 'slow-copies');
  const jobs = await until('most are parked', async () => {
    const found = await parkedJobs();
    return found.length >= 50 && found;
  });
  await publishAgain(jobs.flatMap((job) => [job, job]));
  await world.deliveries(await world.publish({ subject: 'calm/r' })); // behind the copies in their queue
  await setLimit(500, 1000, 'slow-copies');
  await until('all arrived', () => guids.every((guid) => arrived().has(guid)));
  await until('nothing is parked', nothingIsParked);
});

test.each(['events', 'parked', 'deliveries'])(
  'what PostgreSQL refuses for %s, for an unknown reason, is dead-lettered with that reason, and its neighbours go on',
  async (place) => {
    const login = `slow-${place}`;
    await refuse(place, 'poison', 'P0001');
    const guids = await publishMany(6, login);
    const [poisoned] = await publishMany(1, login, 'poison');
    guids.push(...(await publishMany(2, login)));
    if (place === 'deliveries') await setLimit(500, 1000, login);
    await until('it is buried', () => dead.length === 1);
    expect(dead[0]).toMatchObject({ reason: 'not_storable', detail: 'P0001: no poison' });
    await setLimit(500, 1000, login);
    await until('the others arrived', () => guids.every((guid) => arrived().has(guid)));
    await until('nothing is parked', nothingIsParked);
    expect(arrived().has(poisoned!)).toBe(place === 'deliveries');
    await until('the others are in the log', () => logged(guids));
    // Or a copy of it would wait until this dispatcher ends.
    const { rowCount } = await world.pool.query(
      'SELECT FROM events WHERE guid = $1 AND routed_at IS NULL AND taken_by IS NOT NULL',
      [poisoned],
    );
    expect(rowCount).toBe(0);
  },
);

test('a parked job that cannot be parked again is dead-lettered and does not come back', async () => {
  await world.deliveries(await world.publish({ subject: 'steady/r' }));
  await publishMany(1, 'steady', 'poison');
  const jobs = await until('it is parked', async () => {
    const found = await parkedJobs();
    return found.some(({ event }) => event === 'poison') && found;
  });
  await refuse('parked', 'poison', 'P0001');
  await publishAgain(jobs.filter(({ event }) => event === 'poison'));
  await until('the dead letter', () => dead.length > 0);
  await until('nothing is parked', async () => (await parkedJobs()).length === 0);
});

test('errors that mean a store is away cost nobody a delivery, however often they occur', async () => {
  await setLimit(500, 1000);
  await refuse('deliveries', 'issues', '57P03');
  const before = dispatcher.log.length;
  const guids = await publishMany(5);
  await until('it has been tried often', () => {
    const tries = dispatcher.log
      .slice(before)
      .filter((line) => line.message === 'could not record deliveries, trying again');
    return tries.length >= 6;
  });
  await lift();
  for (const guid of guids) await world.deliveries(guid);
  expect(dead).toEqual([]);
});

test('metrics show where waiting work makes no progress, and after a minute the dispatcher is not ready', async () => {
  await publishMany(20, 'slow-stall');
  const jobs = await until('they are parked', async () => {
    const found = await parkedJobs();
    return found.length >= 15 && found;
  });
  const stalled = () => dispatcher.metric(/^dispatcher_stalled_seconds\{place="parking"\}/);
  const client = await world.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('LOCK TABLE parked IN SHARE MODE');
    await publishJobs(jobs);
    await until('parking stands still', async () => (await stalled())! > 0.5);
    expect(await dispatcher.readiness()).toBe(200);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  await until('it moves again', async () => (await stalled()) === 0);
  await setLimit(500, 1000, 'slow-stall');
  await until('nothing is parked', nothingIsParked);
});

// With a reason on top they did not fit: the dead letter was tried for ever, and nothing was routed any more.
test('a bad message with as many headers as fit is dead-lettered all the same', async () => {
  const filler = 'x'.repeat(65_000);
  await world.publish({ headers: { 'cloudEvents:subject': undefined, filler } });
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  const [buried] = await until('the dead letter', () => dead.length === 1 && dead);
  expect(buried).toMatchObject({ reason: 'missing_attribute', headers: { 'cloudEvents:source': 'urn:test' } });
  expect(buried!.headers).not.toHaveProperty('filler');
});

// A table with a member `!` is how amqplib speaks of types: it reads this one, and cannot write it again.
// The stack overflowed, and the message came back every eleven seconds, for ever.
test('a bad message with lists nested many thousand deep in a header is dead-lettered without it', async () => {
  let deep: unknown[] = [];
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  // RabbitMQ's client reads some thousand, how many depends on how often it has done so.
  const message = {
    body: Buffer.from('not json'),
    contentType: undefined,
    messageId: 'deep',
    headers: { deep, flat: [[1]] },
  };
  await publishDeadLetter(world.publisher, message, 'not_json', 'no JSON');
  const [buried] = await until('the dead letter', () => dead.length === 1 && dead);
  expect(buried).toMatchObject({ reason: 'not_json', headers: { flat: [[1]] } });
  expect(buried!.headers).not.toHaveProperty('deep');
});

test('a bad message whose headers cannot be written again is dead-lettered without them', async () => {
  const odd = { '!': 'object', value: { '!': 'weird' } };
  await world.publish({ payload: 'not json', headers: { odd } });
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  const [buried] = await until('the dead letter', () => dead.length === 1 && dead);
  expect(buried).toMatchObject({ reason: 'not_json', headers: { 'cloudEvents:source': 'urn:test' } });
  expect(buried!.headers).not.toHaveProperty('odd');
});

// It was declared when a connection was made, and never after: everything waited for the first dead letter.
test('a deleted queue of dead letters is declared again', async () => {
  await management('DELETE', `/api/queues/${new URL(world.amqpUrl).pathname.slice(1)}/${deadEventsQueue}`);
  await world.publish({ payload: 'not json' });
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  await until('the dead letter', () => dead.length === 1);
});

// The pump read it first in every batch, and brought nothing back any more.
test('a parked row that is not a job is dead-lettered, and the rows behind it are released', async () => {
  const guids = await publishMany(8, 'slow-no-job');
  await until('they are parked', async () => (await parkedJobs()).length >= 6);
  await world.pool.query(`
    INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
    SELECT nextval('delivery_ids'), account_id, 'retry', now() - interval '1 hour', event_key, event_on, 'no job' FROM parked LIMIT 1`);
  await until('the dead letter', () => dead.length === 1);
  expect(dead[0]).toMatchObject({ reason: 'not_handled' });
  await setLimit(500, 1000, 'slow-no-job');
  await until('the others arrived', () => guids.every((guid) => arrived().has(guid)));
  await until('nothing is parked', nothingIsParked);
});

// One statement parked all that the rescue found: one row that was refused, and nothing was ever sent again.
test('a lost delivery that cannot be parked, or a parked row that is not a job, keeps no other delivery from being sent again', async () => {
  await setLimit(500, 1000);
  const guids = await publishMany(5, 'acme', 'lost');
  const [poisoned] = await publishMany(1, 'acme', 'poison');
  for (const guid of [...guids, poisoned!]) await world.deliveries(guid);
  await refuse('parked', 'poison', 'P0001');
  receiver.received.length = 0;
  await world.pool.query(`
    INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job)
    SELECT nextval('delivery_ids'), account_id, 'retry', now(), now() - interval '1 hour', event_key, event_on, 'no job'
      FROM deliveries LIMIT 1`);
  await world.pool.query('DELETE FROM deliveries WHERE guid = ANY ($1)', [[...guids, poisoned!]]);
  const rescuing = await world.start({ RESCUE_AFTER_SECONDS: '40' });
  await until('the lost ones are sent again', () => guids.every((guid) => arrived().has(guid)));
  await until('nothing is parked', async () => (await world.pool.query('SELECT FROM parked')).rowCount === 0);
  expect(arrived()).not.toContain(poisoned);
  await until('it says of the other that it cannot be', () =>
    rescuing.log.some(({ message }) => message === 'could not send a lost delivery again'),
  );
  expect(await rescuing.stop()).toBe(0);
});
