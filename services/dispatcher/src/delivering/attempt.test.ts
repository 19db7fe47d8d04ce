import type { Incoming } from '@gatepost/amqp/consumer';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Pool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { type AttemptParts, makeAttempt, ranOf } from './attempt.ts';
import { makePayloads } from './payloads.ts';

// Half a minute without an answer halved what might be in flight to a receiver that was never asked.
test('a receiver does not count as slow because there was no room here for a payload', async () => {
  const pool = { query: async () => ({ rows: [{ bytes: 40_000_000 }] }) } as unknown as Pool;
  const load = async () => Buffer.alloc(1);
  const payloads = makePayloads(pool, { load }, async (_what, work) => work(), 20);
  const event = { eventKey: 'first', eventOn: '2026-01-02', accountId: 1 };
  const held = Promise.withResolvers<void>();
  const hasRoom = Promise.withResolvers<void>();
  const first = payloads.use(event, () => {
    hasRoom.resolve();
    return held.promise;
  });
  await hasRoom.promise;
  const hook = { deliverable: true, paused: false };
  const parts = {
    payloads,
    accounts: { ofId: async () => ({ hooks: new Map([[1, hook]]) }), hookOf: async () => hook },
    persist: async (_what: string, work: () => Promise<unknown>) => work(),
  } as unknown as AttemptParts;
  const job = { ...event, eventKey: 'second', hookId: 1, deliveryId: 2 } as DeliveryJob;
  const message = { redelivered: false, body: Buffer.alloc(0) } as Incoming;
  const attempted = await makeAttempt(parts, message, job, 0);
  expect(attempted).toMatchObject({ dueMs: expect.any(Number) });
  expect(ranOf(attempted)).toBeUndefined();
  held.resolve();
  await first;
});
