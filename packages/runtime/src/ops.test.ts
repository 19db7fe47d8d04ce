import { afterAll, expect, test } from '@jest/globals';
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

test('nothing else is served', async () => {
  expect((await get('/')).status).toBe(404);
});
