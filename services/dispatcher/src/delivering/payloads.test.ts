import type { Pool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { makePayloads } from './payloads.ts';

const event = (eventKey: string) => ({ eventKey, eventOn: '2026-01-02' });
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

test('a small payload does not wait behind large ones whose receivers hang', async () => {
  const pool = {
    async query(query: { values: string[] } | string, values?: string[]) {
      const [key] = typeof query === 'string' ? values! : query.values;
      return { rows: [{ bytes: key === 'small' ? 70_000 : 24_000_000, payload: Buffer.alloc(0) }] };
    },
  };
  const payloads = makePayloads(pool as unknown as Pool, { load: async () => Buffer.alloc(0) }, async (_what, work) =>
    work(),
  );
  const answered = Promise.withResolvers<void>();
  let hanging = 0;
  const large = ['a', 'b', 'c', 'd'].map((key) =>
    payloads.use(event(key), async () => {
      hanging += 1;
      await answered.promise;
    }),
  );
  await payloads.use(event('small'), async () => expect(hanging).toBe(2));
  answered.resolve();
  await Promise.all(large);
  expect(hanging).toBe(4);
});
