import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCuttable } from '@gatepost/testkit/cut';
import { freshDatabase } from '@gatepost/testkit/stores';
import { freePorts } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { url: real } = stack.use(await freshDatabase());

function start(program: string, env: Record<string, string>, stdout: 'pipe' | number = 'pipe', ...args: string[]) {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, ['--conditions=source', path, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', stdout, 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      output += text;
    });
  const ready = new Promise<void>((resolve) => child.once('message', () => resolve()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, ready, ended, output: () => output };
}

async function stop(takesMs: number, mayTakeMs: number): Promise<{ code: number | null; output: string }> {
  const env = { STOP_TAKES_MS: String(takesMs), STOP_MAY_TAKE_MS: String(mayTakeMs) };
  const service = start('./slow-stop.ts', env);
  await service.ready;
  service.child.kill('SIGTERM');
  return { code: await service.ended, output: service.output() };
}

test('a service gets the time to stop that its environment asks for', async () => {
  const { code, output } = await stop(300, 60_000);
  expect(code).toBe(0);
  expect(output).toContain('"stopped"');
});

test('a service that takes longer to stop is ended', async () => {
  const { code, output } = await stop(60_000, 100);
  expect(code).toBe(1);
  expect(output).toContain('did not stop in time');
});

test('a store that is away at the start is waited for', async () => {
  await using store = await openCuttable(real);
  await store.cut();
  const service = start('./with-store.ts', { DATABASE_URL: store.url });
  await until('a first try', () => service.output().includes('a store is away'));
  await store.restore();
  await service.ready;
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
});

// It ended with status 1 and "could not start", which systemd takes for a failure.
test('a service that is told to stop while it waits for a store has stopped as it was told', async () => {
  const [port] = await freePorts(1); // nobody listens there
  const env = { DATABASE_URL: `postgres://127.0.0.1:${port}/none`, STOP_DELAY_MS: '60000' };
  const service = start('./with-store.ts', env);
  await until('a first try', () => service.output().includes('a store is away'));
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  expect(service.output()).toContain('"stopped"');
  expect(service.output()).not.toMatch(/"level":"error"|could not start/);
});

test('a store is not waited for longer than START_TIMEOUT_MS', async () => {
  const [port] = await freePorts(1); // nobody listens there
  const env = { DATABASE_URL: `postgres://gate:canary@127.0.0.1:${port}/none`, START_TIMEOUT_MS: '0' };
  const service = start('./with-store.ts', env);
  expect(await service.ended).toBe(1);
  expect(service.output()).toMatch(new RegExp(`ECONNREFUSED 127.0.0.1:${port}.*could not start`));
  expect(service.output()).not.toContain('canary');
});

test.each([
  [
    'another password',
    real.replace(/:[^:@/]+@/, ':canary@'),
    /^ {2}DATABASE_URL: PostgreSQL refuses it: password .*$/m,
  ],
  [
    'no such database',
    real.replace(/[^/]+$/, 'none'),
    /^ {2}DATABASE_URL: PostgreSQL refuses it: .* "none" does not exist$/m,
  ],
])('a store that refuses its URL is reported in one line: %s', async (_what, DATABASE_URL, line) => {
  const service = start('./with-store.ts', { DATABASE_URL });
  expect(await service.ended).toBe(78);
  expect(service.output()).toMatch(line);
  expect(service.output()).not.toContain('canary');
});

test('a service told to stop serves on for STOP_DELAY_MS, and is not ready meanwhile', async () => {
  const env = { DATABASE_URL: real, STOP_DELAY_MS: '60000' };
  const service = start('./with-store.ts', env);
  await service.ready;
  // Its log comes by another way than its being ready.
  const port = await until('its port in the log', () => /"port":(\d+)/.exec(service.output())?.[1]);
  const readiness = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    return [answer.status, await answer.json()];
  };
  expect(await readiness()).toEqual([200, { status: 'ready' }]);
  service.child.kill('SIGTERM');
  await until('it to be stopping', () => service.output().includes('"stopping"'));
  expect(await readiness()).toEqual([503, { status: 'stopping' }]);
  service.child.kill('SIGTERM'); // a second signal waits no longer
  expect(await service.ended).toBe(1);
});

// Linux only: a file that behaves like one on a full disk.
const fullDisk = () => openSync('/dev/full', 'w');

test('a service whose log is on a full disk goes on serving', async () => {
  const [port] = await freePorts(1);
  const service = start('./with-store.ts', { DATABASE_URL: real, OPS_PORT: String(port) }, fullDisk());
  await service.ready;
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect(answer.status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
});

test('of lines for a full disk the first are written when there is room, and the log goes on', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'full-disk-')), 'log');
  const program = start('./full-disk.ts', {}, fullDisk(), file);
  expect([await program.ended, program.output()]).toEqual([0, '']);
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { number?: number; message: string });
  const kept = lines.slice(0, -1).map(({ number }) => number);
  expect(kept.length).toBeGreaterThan(100); // of 400
  expect(kept.length).toBeLessThan(200);
  expect(kept).toEqual(kept.map((_, index) => index + 1));
  expect(lines.at(-1)!.message).toBe('there is room');
});
