/** After a failover an address may lead to a standby for a while. A connection that is made then would stay there. */
import { isAway } from '@gatepost/runtime/store-errors';
import { openPostgresPair } from '@gatepost/testkit/postgres-server';
import { afterAll, expect, test } from '@jest/globals';
import { openPool } from '../src/pool.ts';
import { openReads } from '../src/reads.ts';
import { openTaker } from '../src/takers.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const pair = stack.use(await openPostgresPair());
const toStandby = { databaseUrl: pair.standby.url, name: 'test', max: 2, onError: () => {} };
const pool = stack.adopt(openPool(toStandby), (opened) => opened.end());
const reads = stack.use(openReads(toStandby));

test.each([
  ['statement', () => pool.query('SELECT')],
  ['transaction', () => pool.connect()],
  ['read', () => reads.query({ text: 'SELECT' })],
  ["dispatcher's sign of life", () => openTaker(toStandby)],
])('a %s at a standby is refused as away', async (_what, ask) => {
  const error = await ask().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ message: 'this PostgreSQL is a standby' });
  expect(isAway(error)).toBe(true);
});

test('a standby that is meant is read', async () => {
  const replica = stack.adopt(openPool({ ...toStandby, mayBeStandby: true }), (opened) => opened.end());
  expect((await replica.query('SELECT pg_is_in_recovery() AS is_standby')).rows).toEqual([{ is_standby: true }]);
});
