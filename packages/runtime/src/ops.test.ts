import { once } from 'node:events';
import { createServer, get as httpGet, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { watchChecks } from './checks.ts';
import { logOfModule, openLog } from './log.ts';
import { openMetrics } from './metrics.ts';
import { openOps } from './ops.ts';
import { bodyOf } from './ops-request.ts';

let [databaseIsUp, keysAreRead] = [true, true];
const lines: Record<string, unknown>[] = [];
const log = openLog('test', 'info', { write: (line) => void lines.push(JSON.parse(line)) });
const routing = logOfModule(log, 'routing');
const common = { host: '127.0.0.1', port: 0, registry: openMetrics(), log };
const guarded = await openOps({ ...common, stores: {}, token: 'a-token-of-the-operators' });
const ops = await openOps({
  ...common,
  ready: { keys: () => (keysAreRead ? undefined : Promise.reject(new Error('no keys yet'))) },
  stores: {
    database: () => (databaseIsUp ? undefined : Promise.reject(new Error('connection refused'))),
    broker: () => undefined,
  },
});
afterAll(async () => {
  await ops[Symbol.asyncDispose]();
  await guarded[Symbol.asyncDispose]();
});
const get = (path: string) => fetch(`http://127.0.0.1:${ops.port}${path}`);

test('a process answers that it is alive, and shows its metrics', async () => {
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

test('a load balancer that excludes the stores keeps an instance whose database is away, but not one that is not ready itself', async () => {
  databaseIsUp = false;
  expect((await get('/readyz?exclude=stores')).status).toBe(200);
  keysAreRead = false;
  const answer = await get('/readyz?exclude=stores');
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: 'not ready', failing: { keys: 'no keys yet' } },
  ]);
  [databaseIsUp, keysAreRead] = [true, true];
  expect((await get('/readyz?exclude=database')).status).toBe(400);
});

test('the public status page checks at most once a second, and gives no reasons', async () => {
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

test('the ops port serves nothing else', async () => {
  expect((await get('/')).status).toBe(404);
});

const putLevel = (body: unknown, headers: Record<string, string> = {}, port = ops.port) =>
  fetch(`http://127.0.0.1:${port}/log-level`, { method: 'PUT', body: JSON.stringify(body), headers });

test('the log level of a module is changed while the process runs, and others stay the same', async () => {
  routing.debug('not logged');
  expect(await (await putLevel({ level: 'debug', module: 'routing' })).json()).toEqual({
    levels: { process: 'info', routing: 'debug' },
  });
  routing.debug('logged');
  log.debug('not logged');
  expect(lines.map(({ level, module, message }) => [level, module, message])).toEqual([
    ['warn', undefined, 'a change of the log level was requested'],
    ['debug', 'routing', 'logged'],
  ]);
  expect(await (await putLevel({ level: 'warn' })).json()).toEqual({ levels: { process: 'warn', routing: 'warn' } });
  expect(await (await get('/log-level')).json()).toEqual({ levels: { process: 'warn', routing: 'warn' } });
});

test('an unknown log level or module is reported by name', async () => {
  expect((await putLevel({ level: 'loud' })).status).toBe(400);
  const answer = await putLevel({ level: 'info', module: 'rooting' });
  expect([answer.status, await answer.json()]).toEqual([
    404,
    { error: 'no such module', modules: ['process', 'routing'] },
  ]);
});

test('a body that is too long is refused with a message', async () => {
  const answer = await putLevel({ level: 'info', module: 'x'.repeat(1_000_000) });
  expect([answer.status, await answer.json()]).toEqual([400, { error: expect.stringContaining('expects {"level"') }]);
});

test('a body that breaks off changes no log level', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('PUT /log-level HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"level":');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const body = bodyOf(request);
  client.destroy();
  await expect(body).resolves.toBeUndefined();
  server.close();
});

test('without a token only this machine can change a log level, not through a proxy or a web page', async () => {
  for (const [name, value] of [
    ['x-forwarded-for', '192.0.2.1'],
    ['origin', 'http://attacker.example'],
  ])
    expect((await putLevel({ level: 'silent' }, { [name!]: value! })).status).toBe(403);
  const rebound = await new Promise<number | undefined>((resolve) =>
    httpGet(
      { host: '127.0.0.1', port: ops.port, path: '/log-level', headers: { host: 'attacker.example' } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    ),
  );
  expect(rebound).toBe(403);
});

test('with OPS_TOKEN a change of log levels needs the token, even from this machine', async () => {
  expect((await putLevel({ level: 'silent' }, {}, guarded.port)).status).toBe(401);
  expect((await putLevel({ level: 'silent' }, { authorization: 'Bearer guess' }, guarded.port)).status).toBe(401);
  const authorization = 'Bearer a-token-of-the-operators';
  expect((await putLevel({ level: 'info' }, { authorization }, guarded.port)).status).toBe(200);
});
