/** A Redis of a test's own, which it may turn into a replica, fill or stop. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePorts } from './system.ts';
import { until } from './until.ts';

export type RedisServer = AsyncDisposable & {
  url: string;
  /** Sends it a command, such as `call('REPLICAOF', 'NO', 'ONE')`. */
  call(command: string, ...args: string[]): Promise<unknown>;
};

export async function openRedisServer(): Promise<RedisServer> {
  const [port] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'redis-'));
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder],
    { stdio: 'ignore' },
  );
  const gone = new Promise((resolve) => server.once('exit', resolve));
  const client = new Redis(port!, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => {}); // it is still starting
  await until('Redis', () => client.status === 'ready');
  return {
    url: `redis://127.0.0.1:${port}`,
    call: (command, ...args) => client.call(command, ...args),
    async [Symbol.asyncDispose]() {
      client.disconnect();
      server.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true });
    },
  };
}
