/** A test's own Redis, which it may turn into a replica, fill or stop. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePorts } from './system.ts';
import { until } from './until.ts';

export type RedisServer = AsyncDisposable & {
  url: string;
  port: number;
  /** Sends it a command, such as `call('REPLICAOF', 'NO', 'ONE')`. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** Simulates the failure of its machine. */
  kill(): Promise<void>;
};

/** @param settings in addition to the usual ones, by their names in redis.conf */
export async function openRedisServer(
  settings: Record<string, string | number> = {},
  mode: 'server' | 'sentinel' = 'server',
): Promise<RedisServer> {
  const [port] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'redis-'));
  const own = mode === 'server' ? { save: '', appendonly: 'no' } : {};
  const all = { port, bind: '127.0.0.1', dir: folder, ...own, ...settings };
  const file = join(folder, 'redis.conf');
  writeFileSync(
    file,
    Object.entries(all)
      .map(([name, value]) => `${name} ${value === '' ? '""' : value}\n`)
      .join(''),
  );
  const server = spawn('redis-server', [file, ...(mode === 'sentinel' ? ['--sentinel'] : [])], { stdio: 'ignore' });
  const gone = new Promise((resolve) => server.once('exit', resolve));
  const password = settings.requirepass as string | undefined;
  const client = new Redis(port!, '127.0.0.1', {
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
    ...(password && { password }),
  });
  client.on('error', () => {}); // it is still starting, or was killed
  await until('Redis', () => client.status === 'ready');
  const kill = async () => {
    client.disconnect();
    server.kill('SIGKILL');
    await gone;
  };
  return {
    url: `redis://${password ? `:${encodeURIComponent(password)}@` : ''}127.0.0.1:${port}`,
    port: port!,
    call: (command, ...args) => client.call(command, ...args),
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
