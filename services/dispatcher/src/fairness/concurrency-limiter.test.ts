import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type ConcurrencyLimiter, makeConcurrencyLimiter, type Ran } from './concurrency-limiter.ts';

type Item = { hookId: number; accountId: number; isLast?: boolean; name: string };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A limiter whose attempts end when the test says so. */
function open(concurrency: number) {
  const running = new Map<string, (ran: Ran) => void>();
  const away: { name: string; dueMs: number }[] = [];
  const openedAt = Date.now();
  const limiter: ConcurrencyLimiter<Item> = makeConcurrencyLimiter<Item>({
    concurrency,
    start: ({ name }) => new Promise((resolve) => running.set(name, resolve)),
    turnAway: ({ name }, dueMs) => away.push({ name, dueMs: dueMs - openedAt }),
  });
  const passMs = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const end = async (name: string, ran: Ran) => {
    running.get(name)!(ran);
    running.delete(name);
    await passMs(0);
  };
  return { limiter, running, away, end, passMs };
}
const item = (hookId: number, accountId: number, number: number): Item => ({
  hookId,
  accountId,
  name: `${hookId}-${number}`,
});
const quick: Ran = { durationMs: 5, timedOut: false };
const late: Ran = { durationMs: 10_000, timedOut: true };

test('one hook has at most its share of the attempts in flight, and the rest is for other hooks', () => {
  const { limiter, running } = open(20);
  for (let number = 0; number < 12; number += 1) limiter.add(item(1, 1, number));
  expect(running.size).toBe(10);
  limiter.add(item(2, 2, 0));
  expect(running.has('2-0')).toBe(true);
});

test('one account has at most half of the attempts in flight, over all its hooks', () => {
  const { limiter, running } = open(20);
  for (let hook = 1; hook <= 15; hook += 1) limiter.add(item(hook, 1, 0));
  expect(running.size).toBe(10);
  limiter.add(item(99, 2, 0));
  expect(running.size).toBe(11);
});

test('while many receivers of one account hang, only few of its deliveries wait in memory, and none of another account for them', async () => {
  const { limiter, running, away, end, passMs } = open(20);
  const addRound = (number: number) => {
    for (let hook = 1; hook <= 15; hook += 1) limiter.add(item(hook, 1, number));
  };
  addRound(0);
  expect([running.size, limiter.waiting(), away.length]).toEqual([10, 5, 0]);
  await passMs(2_000);
  addRound(1);
  expect([limiter.waiting(), away.length]).toEqual([5, 15]);
  limiter.add(item(99, 2, 0));
  expect(running.has('99-0')).toBe(true);
  // Its attempts end again, and quickly: then more may wait.
  for (const name of [...running.keys()]) await end(name, quick);
  addRound(2);
  expect(away).toHaveLength(15);
});

test('accounts whose receivers hang always leave room together, and get their share again when these answer', async () => {
  const { limiter, running, end, passMs } = open(64);
  const inFlightOf = (account: number) => [...running.keys()].filter((name) => name.startsWith(`${account}`)).length;
  for (const account of [1, 2, 3, 4])
    for (let hook = 0; hook < 64; hook += 1) limiter.add(item(account * 100 + hook, account, 0));
  expect([1, 2, 3, 4].map(inFlightOf)).toEqual([32, 16, 8, 4]);
  await passMs(5_000);
  limiter.add(item(500, 5, 0));
  expect(inFlightOf(5)).toBe(1);
  // The receivers of one of them answer again, all but one.
  const [, ...answered] = [...running.keys()].filter((name) => name.startsWith('2'));
  for (const name of answered) await end(name, quick);
  for (let hook = 0; hook < 64; hook += 1) limiter.add(item(200 + hook, 2, 1));
  expect(running.size).toBe(64);
});

test('waiting deliveries start round robin over their hooks', async () => {
  const { limiter, running, end } = open(2);
  limiter.add(item(1, 1, 0));
  limiter.add(item(2, 2, 0));
  limiter.add(item(1, 1, 1));
  limiter.add(item(3, 3, 0));
  await end('1-0', quick);
  await end('2-0', quick);
  expect([...running.keys()].sort()).toEqual(['1-1', '3-0']);
});

test('a hook that times out gets fewer attempts in flight, and deliveries that would wait long are turned away in order', async () => {
  const { limiter, running, away, end } = open(64);
  for (let number = 0; number < 40; number += 1) limiter.add(item(1, 1, number));
  expect(running.size).toBe(32);
  expect(away).toEqual([]);
  await end('1-0', late);
  // Attempts take 10 s: only the next waits in memory.
  expect(away).toHaveLength(7);
  for (let number = 40; number < 200; number += 1) limiter.add(item(1, 1, number));
  expect(away.length).toBeGreaterThan(160);
  expect(away.slice(0, 3).map(({ name }) => name)).toEqual(['1-33', '1-34', '1-35']);
  expect(away[1]!.dueMs).toBeGreaterThan(away[0]!.dueMs);
  for (const { dueMs } of away) expect(dueMs).toBeGreaterThan(0);
  for (const { dueMs } of away) expect(dueMs).toBeLessThanOrEqual(60_000);
});

// What came in a burst was measured by how fast the server had been, and waited in memory until its attempts timed out.
test.each([
  ['one hook', 1],
  ['many hooks of one account', 500],
])(
  'when the fast server of %s hangs just as a burst arrives, soon only few deliveries wait in memory',
  async (_whose, hooks) => {
    const { limiter, running, away, end, passMs } = open(256);
    const addMany = (count: number) => {
      for (let number = 0; number < count; number += 1) limiter.add(item(number % hooks, 1, number));
    };
    // It answered so often that it may have half of the attempts in flight.
    for (let round = 0; round < 300; round += 1) {
      addMany(32);
      await Promise.all([...running.keys()].map((name) => end(name, quick)));
    }
    addMany(1_000);
    expect([running.size, limiter.waiting(), away.length]).toEqual([128, 872, 0]);
    await passMs(2_100);
    expect(limiter.waiting()).toBeLessThanOrEqual(64);
    await passMs(6_000);
    expect(limiter.waiting()).toBeLessThanOrEqual(16);
    expect(limiter.waiting() + away.length).toBe(872);
  },
);

test('the longer a receiver is silent, the later its turned-away deliveries come back', async () => {
  const { limiter, away, passMs } = open(64);
  const add = (count: number) => {
    for (let number = 0; number < count; number += 1) limiter.add(item(1, 1, number));
    const added = away.splice(0);
    return added.length > 0 ? added.at(-1)!.dueMs - added[0]!.dueMs : 0;
  };
  expect(add(64)).toBe(0); // 32 in flight, 32 in memory
  const soon = add(33);
  await passMs(10_000);
  away.length = 0;
  expect(soon).toBe(250);
  expect(add(33)).toBeGreaterThan(10 * soon);
});

test('a drained limiter starts no more deliveries', async () => {
  const { limiter, running, end } = open(2);
  limiter.add(item(1, 1, 0));
  limiter.add(item(1, 1, 1));
  expect(limiter.drain().map(({ name }) => name)).toEqual(['1-1']);
  const idle = limiter.idle();
  await end('1-0', quick);
  await idle;
  expect(running.size).toBe(0);
});

test('deliveries of the lowest priority start only while there is plenty of room and nothing waits; otherwise they are turned away', async () => {
  const { limiter, running, away, end } = open(32);
  const last = (hookId: number, number: number) => limiter.add({ ...item(hookId, hookId, number), isLast: true });
  for (let number = 0; number < 6; number += 1) last(1, number);
  expect([...running.keys()]).toEqual(['1-0', '1-1', '1-2', '1-3']); // an eighth of the window
  expect(away.map(({ name }) => name)).toEqual(['1-4', '1-5']);
  expect(away.every(({ dueMs }) => dueMs >= 1_000 && dueMs <= 2_000)).toBe(true);
  for (let number = 0; number < 12; number += 1) limiter.add(item(1, 1, 10 + number));
  expect(running.size).toBe(16); // the others have all of their share beside it
  await end('1-0', quick);
  limiter.add(item(3, 3, 0));
  last(2, 0);
  expect(running.has('2-0')).toBe(false); // half the window is in use
  limiter.add(item(2, 2, 1));
  expect(running.has('2-1')).toBe(true);
});
