import { randomUUID } from 'node:crypto';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { openLog } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { freshDatabase } from '@gatepost/testkit/stores';
import { makeStoreEvents } from '@gatepost/webhook-db/events';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { ensurePartitions } from '../src/partitions.ts';
import { makePersist } from '../src/persist.ts';
import { handOver } from '../src/routing/hand-over.ts';

test('a limit that cannot answer at first takes no delivery away', async () => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase());
  await migrateWebhooks(database.url);
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 2, onError: () => {} });
  stack.defer(() => pool.end());
  await ensurePartitions(pool);
  const [key, keyBefore, guid] = [randomUUID(), randomUUID(), randomUUID()];
  const about = { source: 'test', id: '1', type: 'push', action: null, accountId: 1, repositoryId: null };
  const payload = Buffer.from('{}');
  const storeEvents = await makeStoreEvents(pool);
  const stored = await storeEvents([
    { key, keyBefore, guid, ...about, occurredAt: new Date(), hookIds: [7], unmatched: null, payload },
  ]);
  const job = { eventKey: key, deliveryId: stored[0]!.deliveryIds[0], guid, hookId: 7 } as DeliveryJob;
  const account = { id: 1 } as Parameters<typeof handOver>[2][number]['account'];

  let asked = 0;
  const published: DeliveryJob[] = [];
  const persist = makePersist({
    log: openLog('test', 'silent'),
    giveUp: new AbortController().signal,
    troubleOf,
    pause: (async () => {}) as never,
  });
  const mine = await handOver(
    {
      pool,
      persist,
      async admit(_account, _hasBacklog, jobs) {
        asked += 1;
        if (asked === 1) throw Object.assign(new Error('away'), { code: 'ECONNRESET' });
        return { now: jobs, later: [] };
      },
      enqueue: async (jobs) => void published.push(...jobs.map((one) => one.job)),
    },
    stored,
    [{ job, payload, account, hasBacklog: false }],
  );
  expect([...mine]).toEqual([key]);
  expect(published).toEqual([job]);
});
