import { afterAll, expect, test } from '@jest/globals';
import { watchChecks } from './checks.ts';
import { openMetrics } from './metrics.ts';
import { openOps } from './ops.ts';

let databaseIsUp = true;
const ops = await openOps({
  host: '127.0.0.1',
  port: 0,
  registry: openMetrics(),
  ready: {
    database: () => (databaseIsUp ? undefined : Promise.reject(new Error('connection refused'))),
    broker: () => undefined,
  },
});
afterAll(async () => await ops[Symbol.asyncDispose]());
const get = (path: string) => fetch(`http://127.0.0.1:${ops.port}${path}`);

test('the process says that it lives, and shows its metrics', async () => {
  expect((await get('/livez')).status).toBe(200);
  expect(await (await get('/metrics')).text()).toContain('process_cpu_seconds_total');
});

test('readiness names what is missing', async () => {
  expect((await get('/readyz')).status).toBe(200);
  databaseIsUp = false;
  const answer = await get('/readyz');
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ status: 'not ready', failing: { database: 'connection refused' } });
});

test('a page that anybody may open looks again after a second at the soonest, and gives no reasons', async () => {
  let looked = 0;
  const look = watchChecks({
    database() {
      looked += 1;
      throw new Error('password authentication failed for user "gatepost"');
    },
    broker: () => undefined,
  });
  const states = await Promise.all([look(), look(), look()]);
  expect(states).toEqual(Array(3).fill({ database: false, broker: true }));
  expect(looked).toBe(1);
});

test('nothing else is served', async () => {
  expect((await get('/')).status).toBe(404);
});
