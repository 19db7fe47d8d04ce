/**
 * A generator of what happens rarely: every message is there twice and in another order, every COMMIT is lost once (half of them
 * done all the same), and connections break now and then. SEED asks for a longer run with another order; without it there is a short one.
 */
import { openDoubled } from '@gatepost/testkit/doubled';
import { openLostCommits } from '@gatepost/testkit/lost-commits';
import { openReceiver } from '@gatepost/testkit/receiver';
import { management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openWorld } from './world.ts';

const seed = Number(process.env.SEED ?? 1);
const eventsPerAccount = process.env.SEED ? 100 : 40;

test('with every message duplicated and reordered and every COMMIT answer lost once, each delivery is made and logged exactly once', async () => {
  const random = makeRandom(seed);
  await using world = await openWorld();
  await using database = await openLostCommits(world.databaseUrl, random);
  await using broker = await openDoubled(world.amqpUrl, () => random() * 400);
  await using receiver = await openReceiver({
    behave: () => (random() < 0.15 ? { status: 503 } : { status: 204, delayMs: Math.floor(random() * 30) }),
  });
  for (const login of ['slow', 'fast']) {
    await world.addAccount(login, ['r']);
    for (const path of ['one', 'two']) await world.addHook(login, { url: `${receiver.url}/${login}/${path}` });
  }
  await world.pool.query("UPDATE accounts SET throttle_rate = 40, throttle_burst = 5 WHERE login = 'slow'");
  const through = {
    WEBHOOK_DATABASE_URL: database.url,
    AMQP_URL: broker.url,
    RETRY_SCHEDULE_SECONDS: Array.from({ length: 12 }, () => 1).join(','),
    DELIVERY_CONCURRENCY: '20',
  };
  const dispatchers = [await world.start(through), await world.start(through)];

  const ids = Array.from({ length: eventsPerAccount }, (_, index) => index);
  const twice = [...ids, ...ids].flatMap((index) => [`slow ${index}`, `fast ${index}`]);
  // Only when something has come through since the last time: a busy machine may take longer to connect than until the next.
  let copiesBefore = 0;
  const cutting = setInterval(() => {
    if (random() > 0.3 || broker.copies() === copiesBefore) return;
    copiesBefore = broker.copies();
    broker.cut();
  }, 1_000);
  try {
    for (const entry of shuffled(twice, random)) {
      const [login, index] = entry.split(' ');
      const id = `00000000-0000-4000-8000-${(Number(index) + (login === 'slow' ? 1_000 : 0)).toString().padStart(12, '0')}`;
      await world.publish({ id, subject: `${login}/r`, source: 'urn:twice', payload: { login, index } });
    }
    await until('all are delivered', async () => (await delivered()) === eventsPerAccount * 4, 240_000);
  } finally {
    clearInterval(cutting);
  }

  // What is left are copies, and they come to an end.
  await until('nothing waits', async () => (await waiting()) === 0);
  const { rows } = await world.pool.query<{ hook_id: number; guid: string; attempts: number[]; ok: number }>(
    `SELECT hook_id, guid, array_agg(attempt::int ORDER BY attempt) AS attempts, (count(*) FILTER (WHERE status = 'OK'))::int AS ok
       FROM deliveries GROUP BY hook_id, guid`,
  );
  for (const { attempts, ok } of rows) {
    expect(ok).toBe(1);
    expect(attempts).toEqual(attempts.map((_, index) => index + 1)); // one line of attempts, none of them doubled
  }
  const { rows: numbers } = await world.pool.query<{ guids: number; numbers: number[] }>(
    `SELECT count(DISTINCT guid)::int AS guids, array_agg(DISTINCT sequence::int ORDER BY sequence::int) AS numbers
       FROM deliveries GROUP BY hook_id`,
  );
  const inARow = Array.from({ length: eventsPerAccount }, (_, index) => index + 1);
  expect(numbers).toEqual(numbers.map(() => ({ guids: eventsPerAccount, numbers: inARow })));
  // Each is counted once, by the minute, for its hook, its account and all, whoever recorded it and however often.
  const { rows: miscounted } = await world.pool.query(`
    SELECT * FROM (SELECT account_id, hook_id, minute, sum(delivered) AS delivered, sum(failed) AS failed, sum(throttled) AS throttled, sum(retried) AS retried,
                          sum(ms_1 + ms_2 + ms_5 + ms_10 + ms_20 + ms_50 + ms_100 + ms_200 + ms_500 + ms_1000 + ms_2000 + ms_5000 + ms_10000 + ms_more) AS timed
                     FROM delivery_stats GROUP BY 1, 2, 3 HAVING sum(delivered + failed) > 0) s
      FULL JOIN (SELECT coalesce(account_id, 0) AS account_id, coalesce(hook_id, 0) AS hook_id, date_trunc('minute', delivered_at) AS minute,
                        count(*) FILTER (WHERE status = 'OK') AS delivered, count(*) FILTER (WHERE status <> 'OK') AS failed, count(throttled_at) AS throttled,
                        count(*) FILTER (WHERE attempt > 1) AS retried, count(*) AS timed
                   FROM deliveries GROUP BY GROUPING SETS ((account_id, hook_id, 3), (account_id, 3), (3))) d
      USING (account_id, hook_id, minute, delivered, failed, throttled, retried, timed)
     WHERE s.minute IS NULL OR d.minute IS NULL`);
  expect(miscounted).toEqual([]);
  const { rows: incoming } = await world.pool.query(
    'SELECT account_id, sum(came_in)::int AS came_in FROM delivery_stats GROUP BY 1 HAVING sum(came_in) > 0 ORDER BY 1',
  );
  expect(incoming.map(({ came_in }) => came_in)).toEqual([4, 2, 2].map((hooks) => hooks * eventsPerAccount));
  for (const dispatcher of dispatchers) {
    await until('it is ready', async () => (await dispatcher.readiness()) === 200); // a connection may have been cut just now
    expect(await dispatcher.metric(/^dispatcher_events_total\{result="dead"\}/)).toBe(0);
    expect(dispatcher.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await dispatcher.stop()).toBe(0);
  }
  expect(broker.copies()).toBeGreaterThan(eventsPerAccount * 2); // what is cut off while it is copied is not counted
  expect(database.lost().committed).toBeGreaterThan(10);
  expect(database.lost().notCommitted).toBeGreaterThan(10);
  if (process.env.SEED)
    console.log({ seed, requests: receiver.received.length, copies: broker.copies(), ...database.lost() });

  async function delivered(): Promise<number> {
    const { rows: found } = await world.pool.query(
      "SELECT count(DISTINCT (hook_id, guid))::int AS n FROM deliveries WHERE status = 'OK'",
    );
    return found[0].n;
  }
  async function waiting(): Promise<number> {
    const { rows: found } = await world.pool.query('SELECT count(*)::int AS n FROM parked');
    const vhost = new URL(world.amqpUrl).pathname.slice(1);
    const queues = (await management('GET', `/api/queues/${vhost}?disable_stats=true&enable_queue_totals=true`)) as {
      messages?: number;
    }[];
    return queues.reduce((sum, { messages = 0 }) => sum + messages, found[0].n);
  }
});

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function makeRandom(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<T>(items: T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
