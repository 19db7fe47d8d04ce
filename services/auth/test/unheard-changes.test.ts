/** What the gate keeps in memory while the connection that tells it of changes has died without a word. */
import { openCuttable } from '@gatepost/testkit/cut';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { openGate } from './gate.ts';
import { api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const database = stack.use(await freshDatabase());
const direct = stack.use(await openCuttable(database.url));
const gate = stack.use(await openGate(fullSeed, { DATABASE_URL: database.url, DATABASE_DIRECT_URL: direct.url }));
const isReady = async () => (await fetch(`${gate.opsUrl}/readyz`)).status === 200;
const machineToken = () =>
  gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: api,
  });

// What used to happen: a deleted client grant was still honoured 23 s later, and the gate was ready all the while.
test('a client grant deleted while the gate cannot hear of changes stops working, and the gate is not ready until it hears again', async () => {
  expect((await machineToken()).status).toBe(200);
  expect(await isReady()).toBe(true);
  direct.hold(true);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("DELETE FROM auth.client_grants WHERE client_id = 'machine'");
  await client.end();
  await until('the refusal', async () => (await machineToken()).status !== 200);
  const answer = await fetch(`${gate.opsUrl}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('nothing is heard of changes')]);

  direct.hold(false);
  await until('readiness', isReady);
});
