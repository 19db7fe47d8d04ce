/** Rows that are written behind the work they tell of. */

import { openLog } from '@gatepost/runtime/log';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { openWriteBehind } from './write-behind.ts';

const log = openLog('test', 'silent');
beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());
const aMoment = () => jest.advanceTimersByTimeAsync(250);

/** Keeps what it is given; while `away` it rejects, and what it refuses it always refuses. */
function makeStore() {
  const store = { batches: [] as number[][], away: false, refused: [] as number[], state: '22P05' };
  const write = async (rows: number[]) => {
    if (store.away) throw Object.assign(new Error('the store is away'), { code: 'ECONNREFUSED', syscall: 'connect' });
    if (rows.some((row) => store.refused.includes(row)))
      throw Object.assign(new Error('no'), { code: store.state, severity: 'ERROR' });
    store.batches.push(rows);
  };
  return { store, rows: openWriteBehind<number>({ write, what: 'the rows', log }) };
}

test('rows that arrive at the same moment are written together', async () => {
  const { store, rows } = makeStore();
  await using _ = rows;
  for (const row of [1, 2, 3]) rows.add(row);
  expect(store.batches).toEqual([]);
  await aMoment();
  rows.add(4);
  await aMoment();
  await aMoment();
  expect(store.batches).toEqual([[1, 2, 3], [4]]);
});

test('rows that the database did not accept are written when it is back, in order and once', async () => {
  const { store, rows } = makeStore();
  await using _ = rows;
  store.away = true;
  rows.add(1);
  await aMoment();
  rows.add(2);
  await aMoment();
  store.away = false;
  await aMoment();
  await aMoment();
  expect(store.batches).toEqual([[1, 2]]);
});

test('waiting rows are written before the process ends', async () => {
  const { store, rows } = makeStore();
  rows.add(1);
  await rows[Symbol.asyncDispose]();
  expect(store.batches).toEqual([[1]]);
});

test('many rows are written in several statements', async () => {
  const { store, rows } = makeStore();
  await using _ = rows;
  for (let row = 0; row < 2_500; row += 1) rows.add(row);
  await aMoment();
  expect(store.batches.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
});

test('while the database is away only the newest rows are kept, up to a bound', async () => {
  const { store, rows } = makeStore();
  await using _ = rows;
  store.away = true;
  for (let row = 0; row < 20_010; row += 1) rows.add(row);
  await aMoment();
  store.away = false;
  await aMoment();
  const written = store.batches.flat();
  expect([written.length, written[0], written.at(-1)]).toEqual([20_000, 10, 20_009]);
});

test('rows that are dropped while their batch is being written do not cost other rows', async () => {
  const taken: number[] = [];
  const doors: (() => void)[] = [];
  const write = (rows: number[]) =>
    new Promise<void>((resolve) => {
      taken.push(...rows);
      doors.push(resolve);
    });
  const rows = openWriteBehind<number>({ write, what: 'the rows', log });
  for (let row = 0; row < 20_000; row += 1) rows.add(row);
  await aMoment(); // the first thousand are on their way
  for (let row = 20_000; row < 20_005; row += 1) rows.add(row); // so five of these are dropped
  const ended = rows[Symbol.asyncDispose]();
  while (taken.length < 20_005) {
    doors.shift()?.();
    await jest.advanceTimersByTimeAsync(1);
  }
  doors.shift()?.();
  await ended;
  expect(taken).toEqual(Array.from({ length: 20_005 }, (_, row) => row));
});

// It was written again for ever, and all that came after it waited until the bound threw it out.
test.each([
  ['a value that is never taken', '22P05'],
  ['a refusal for no reason that we know', 'P0001'],
])(
  'a row that the database refuses because of %s is given up, and the other rows are written',
  async (_what, state) => {
    const { store, rows } = makeStore();
    await using _ = rows;
    Object.assign(store, { refused: [3], state });
    for (const row of [1, 2, 3, 4, 5]) rows.add(row);
    for (let moments = 0; moments < 6; moments += 1) await aMoment();
    expect(store.batches.flat()).toEqual([1, 2, 4, 5]);
    rows.add(6);
    await aMoment();
    expect(store.batches.at(-1)).toEqual([6]);
  },
);

test('rows written before the database went away are not written again', async () => {
  const { store, rows } = makeStore();
  await using _ = rows;
  store.refused = [2];
  for (const row of [1, 2, 3, 4]) rows.add(row);
  const push = store.batches.push.bind(store.batches);
  store.batches.push = (batch) => {
    if (store.batches.length === 0) store.away = true;
    return push(batch);
  };
  await aMoment();
  store.away = false;
  await aMoment();
  expect(store.batches.flat()).toEqual([1, 3, 4]);
});
