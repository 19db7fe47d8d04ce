/** What each class of PostgreSQL's errors does to a statement of ours, raised by PostgreSQL itself. */

import { openLog } from '@gatepost/runtime/log';
import { sqlStates, type Trouble, troubleOf } from '@gatepost/runtime/store-errors';
import { openCuttable } from '@gatepost/testkit/cut';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { openPool } from '@gatepost/webhook-db/pool';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makePersist } from '../src/settling/persist.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const database = stack.use(await freshDatabase());
const open = (databaseUrl: string, statementTimeoutMs?: number) => {
  const opened = openPool({ databaseUrl, name: 'test', max: 2, statementTimeoutMs, onError: () => {} });
  stack.defer(() => opened.end());
  return opened;
};
const pool = open(database.url);
const log = openLog('test', 'silent');
const pause = (async () => {}) as never;
const persist = makePersist({ log, giveUp: new AbortController().signal, troubleOf, pause });

beforeAll(async () => {
  await pool.query('CREATE SCHEMA IF NOT EXISTS webhooks');
  await pool.query(`
    CREATE FUNCTION raise_first(state text, times bigint, counter text) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE tries bigint := nextval(counter::regclass);
    BEGIN
      IF tries <= times THEN RAISE EXCEPTION 'as you wish' USING ERRCODE = state; END IF;
      RETURN tries;
    END $$`);
});

/** How often it was tried, with an error of this class the first eight times, and whether it worked in the end. */
async function tries(state: string): Promise<{ tries: number; worked: boolean }> {
  const counter = `webhooks.tries_${state.toLowerCase()}`;
  await pool.query(`CREATE SEQUENCE ${counter}`);
  const work = () => pool.query('SELECT raise_first($1, 8, $2)', [state, counter]);
  const worked = await persist('ask', work).then(
    () => true,
    () => false,
  );
  const { rows } = await pool.query(`SELECT last_value::int AS n FROM ${counter}`);
  return { tries: rows[0].n, worked };
}

const expected: Record<Trouble, { tries: number; worked: boolean }> = {
  away: { tries: 9, worked: true },
  values: { tries: 1, worked: false },
  other: { tries: 5, worked: false },
};

// PL/pgSQL raises no code that ends in three zeros by that name alone: a subclass stands for its class.
const raised = sqlStates.map(
  ([begins, trouble, means]) => [begins.padEnd(5, '001'.slice(begins.length - 2)), trouble, means] as const,
);

test.each(raised)(
  'a statement that fails with %s counts as %s (%s) and is repeated accordingly',
  async (state, trouble) => {
    expect(await tries(state)).toEqual(expected[trouble]);
  },
);

test.each(['42P01', '42501', '54000', '58030', 'P0001', 'XX000'])(
  'a statement that fails with %s is repeated a few times, not for ever',
  async (state) => {
    expect(await tries(state)).toEqual(expected.other);
  },
);

test('a statement that takes too long is repeated until it succeeds', async () => {
  const impatient = open(database.url, 200);
  let count = 0;
  // On a busy machine the last one may take longer than that, too.
  await persist('sleep', () => (count++ < 7 ? impatient.query('SELECT pg_sleep(5)') : pool.query('SELECT 1')));
  expect(count).toBe(8);
});

test('a connection that breaks or cannot be made is tried again for as long as it takes', async () => {
  await using relay = await openCuttable(database.url);
  const cuttable = open(relay.url);
  await relay.cut();
  const sleep = 'SELECT pg_sleep(10)';
  const isAsleep = async () =>
    (await pool.query("SELECT FROM pg_stat_activity WHERE state = 'active' AND query = $1", [sleep])).rowCount === 1;
  let count = 0;
  await persist('ask', async () => {
    count += 1;
    if (count === 10) await relay.restore();
    if (count !== 12) await cuttable.query('SELECT 1');
    if (count < 12) throw Object.assign(new Error('again'), { syscall: 'read' });
    if (count > 12) return;
    const asleep = cuttable.query(sleep);
    const broken = until('it sleeps', isAsleep)
      .then(() => relay.cut())
      .then(() => relay.restore());
    await Promise.allSettled([asleep, broken]); // the next try finds the relay there again
    await asleep;
  });
  expect(count).toBe(13);
});

test('work that fails by a mistake of our own is repeated a few times, not for ever', async () => {
  let count = 0;
  await expect(
    persist('err', async () => {
      count += 1;
      throw new TypeError('undefined is not a function');
    }),
  ).rejects.toThrow(TypeError);
  expect(count).toBe(5);
});
