import { freshDatabase } from '@gatepost/testkit/stores';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { simulate } from './simulate.ts';

test('in a simulation with flooding accounts, accounts within their limits never wait, and all floods get equal shares', async () => {
  await using database = await freshDatabase();
  await migrateWebhooks(database.url);
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, byIndexOnly: true, onError: () => {} });
  const { share, ...simulated } = await simulate(pool, { accounts: 2_000, flooding: 20, seconds: 10 });
  await pool.end();
  expect(simulated).toMatchObject({ calmDelayed: 0, beyondLimit: 0 });
  expect(simulated.released).toBeGreaterThan(100);
  expect(share.most - share.least).toBeLessThanOrEqual(1);
  // The limit is used up: 2/s and a burst of 4.
  expect(share.least).toBeGreaterThanOrEqual(22);
});
