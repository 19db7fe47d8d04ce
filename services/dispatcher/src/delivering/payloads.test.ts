import type { Pool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { makePayloads } from './payloads.ts';

const event = (eventKey: string, accountId = 1) => ({ eventKey, accountId, eventOn: '2026-01-02' });
const megabytes = (count: number) => Buffer.alloc(count * 1_000_000);

/** Payloads that are all stored with this many bytes; `loads` counts how often one is read. */
function open(stored: number) {
  const loads: string[] = [];
  const pool = { query: async () => ({ rows: [{ bytes: stored }] }) } as unknown as Pool;
  const load = async (key: string) => {
    loads.push(key);
    return megabytes(stored / 1_000_000);
  };
  return { loads, payloads: makePayloads(pool, { load }, async (_what, work) => work()) };
}

test('a payload kept in memory is not read back; any other is read once for all who use it at the same time', async () => {
  const { payloads, loads } = open(2_000_000);
  const kept = megabytes(2);
  payloads.keep(event('a'), kept);
  expect(await payloads.use(event('a'), async (payload) => payload === kept)).toBe(true);
  expect(await payloads.use(event('a'), async (payload) => payload === kept)).toBe(true);
  await Promise.all([1, 2, 3].map(() => payloads.use(event('b'), async () => {})));
  expect(loads).toEqual(['b']);
});

test('a kept payload gives way to one that is asked for, unless it is in use', async () => {
  const { payloads, loads } = open(40_000_000);
  payloads.keep(event('unused'), megabytes(30));
  const using = Promise.withResolvers<void>();
  const first = payloads.use(event('first'), () => using.promise);
  payloads.keep(event('no room'), megabytes(30));
  using.resolve();
  await first;
  expect(loads).toEqual(['first']);
  for (const key of ['unused', 'no room']) await payloads.use(event(key), async () => {});
  expect(loads).toEqual(['first', 'unused', 'no room']);
});

/** Payloads as large as their key says, for deliveries that end when they are told to. */
function openSizes(waitMaxMs?: number) {
  const sizeOf = (key: string) => Number(key.split(' ')[0]);
  const pool = {
    async query(query: { values: string[] } | string, values?: string[]) {
      const [key] = typeof query === 'string' ? values! : query.values;
      return { rows: [{ bytes: sizeOf(key!), payload: Buffer.alloc(0) }] };
    },
  };
  const load = async () => Buffer.alloc(0);
  const payloads = makePayloads(pool as unknown as Pool, { load }, async (_what, work) => work(), waitMaxMs);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const results: Promise<unknown>[] = [];
  const deliver = (bytes: number, accountId: number) => {
    const key = `${bytes} ${results.length}`;
    const result = payloads.use(event(key, accountId), async () => {
      begun.push(key);
      await new Promise<void>((resolve) => ends.set(key, resolve));
    });
    results.push(result);
    return { key, result, hasBegun: () => begun.includes(key), end: () => ends.get(key)!() };
  };
  /** What can begin has begun. */
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  /** Ends all deliveries, also those that can begin only then. */
  const endAll = async () => {
    let areLeft = true;
    void Promise.all(results).then(() => {
      areLeft = false;
    });
    while (areLeft) {
      for (const end of ends.values()) end();
      await settled();
    }
  };
  return { deliver, settled, [Symbol.asyncDispose]: endAll };
}

test('a small payload does not wait behind large ones whose receivers hang', async () => {
  await using sizes = openSizes();
  const { deliver, settled } = sizes;
  const large = [1, 2, 3, 4].map((account) => deliver(24_000_000, account));
  await settled();
  expect(large.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false, false]);
  const small = deliver(70_000, 5);
  await settled();
  expect(small.hasBegun()).toBe(true);
  large[0]!.end();
  await settled();
  expect(large.map(({ hasBegun }) => hasBegun())).toEqual([true, true, true, false]);
});

test('a large payload has its turn while small ones keep coming', async () => {
  await using sizes = openSizes();
  const { deliver, settled } = sizes;
  let small = Array.from({ length: 120 }, (_, index) => deliver(600_000, index % 60));
  await settled();
  const large = deliver(24_000_000, 100);
  for (let times = 0; times < 120 && !large.hasBegun(); times += 1) {
    const [ended, ...rest] = small.filter(({ hasBegun }) => hasBegun());
    ended!.end();
    small = [...rest, ...small.filter(({ hasBegun }) => !hasBegun()), deliver(600_000, times % 60)];
    await settled();
  }
  expect(large.hasBegun()).toBe(true);
});

test('an account whose receivers hang leaves room for the payloads of others, of any size', async () => {
  await using sizes = openSizes();
  const { deliver, settled } = sizes;
  for (let count = 0; count < 128; count += 1) deliver(600_000, 1);
  for (let count = 0; count < 10; count += 1) deliver(3_000_000, 1);
  await settled();
  const others = [deliver(100_000, 2), deliver(2_000_000, 3), deliver(20_000_000, 4)];
  await settled();
  expect(others.map(({ hasBegun }) => hasBegun())).toEqual([true, true, true]);
});

test('payloads that wait begin in the order in which they came', async () => {
  await using sizes = openSizes();
  const { deliver, settled } = sizes;
  const hanging = [deliver(24_000_000, 1), deliver(20_000_000, 2)];
  await settled();
  const [first, second] = [deliver(24_000_000, 3), deliver(2_000_000, 4)];
  await settled();
  expect([first.hasBegun(), second.hasBegun()]).toEqual([false, false]);
  hanging[0]!.end();
  await settled();
  expect([first.hasBegun(), second.hasBegun()]).toEqual([true, true]);
});

test('a payload that finds no room for long is given up on, and others do not wait for it any more', async () => {
  await using sizes = openSizes(20);
  const { deliver, settled } = sizes;
  deliver(24_000_000, 1);
  deliver(20_000_000, 2);
  await settled();
  expect(await deliver(24_000_000, 3).result).toBe('no_room');
  const next = deliver(2_000_000, 4);
  await settled();
  expect(next.hasBegun()).toBe(true);
});
