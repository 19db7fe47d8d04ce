import type { Incoming } from '@gatepost/amqp/consumer';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { openLog } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { afterEach, expect, jest, test } from '@jest/globals';
import { type AttemptParts, makeAttempt } from '../src/delivering/attempt.ts';
import { makePersist } from '../src/settling/persist.ts';

afterEach(() => void jest.restoreAllMocks());

test('an attempt that this machine cannot make for long leaves its room to others, without an outcome', async () => {
  const log = openLog('test', 'silent');
  let nowMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const pause = async () => {
    nowMs += 2_000;
  };
  const persist = makePersist({ log, giveUp: new AbortController().signal, troubleOf, pause: pause as never });
  const hook = {
    id: 1,
    accountId: 1,
    deliverable: true,
    target: new URL('http://receiver.test/'),
    contentType: 'json',
    headers: {},
    keys: null,
    authorization: null,
  };
  let tries = 0;
  const parts = {
    persist,
    log,
    accounts: { ofId: async () => ({ hooks: new Map([[1, hook]]) }), hookOf: async () => hook },
    metrics: { attemptStarted() {}, attemptPostponed() {} },
    async post() {
      tries += 1;
      return { kind: 'error', code: 'EMFILE', message: 'too many open files', hadResponse: false, timings: {} };
    },
  } as unknown as AttemptParts;
  const job = { deliveryId: 1, guid: 'g', event: 'push', hookId: 1, accountId: 1, occurredAt: '2026-01-02T00:00:00Z' };
  const message = { body: Buffer.from('{}'), redelivered: false } as Incoming;
  const made = await makeAttempt(parts, message, job as DeliveryJob, nowMs);
  expect(made).toMatchObject({ kind: 'busy', dueMs: expect.any(Number) });
  expect(tries).toBeGreaterThan(3);
});
