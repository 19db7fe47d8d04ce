/** Redis: on its default port, or a private instance. It holds rate state, sessions and short-lived artefacts only. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startChild } from '../processes/child.ts';
import { logFile } from '../processes/home.ts';
import { findProgram } from '../processes/programs.ts';
import {
  type Instance,
  type PrivateOptions,
  type PrivateStore,
  recallInstance,
  remember,
  waitUntilReady,
} from './private.ts';

export const redisPort = 6379;
/** Before every key of ours, so that a Redis may be shared. */
export const redisKeyPrefix = 'gatepost:';

const readyTimeoutMs = 20_000;

/** The URL of a Redis on the port that lets us write without a password. */
export async function probeRedis(port = redisPort): Promise<string | undefined> {
  const url = `redis://127.0.0.1:${port}`;
  return (await letsIn(url)) ? url : undefined;
}

/** Can we write there? A replica, or a server that wants a password, cannot be used. */
export async function letsIn(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 1_000,
    commandTimeout: 2_000,
  });
  client.on('error', () => {}); // the rejection says the same
  try {
    await client.connect();
    await client.set(`${redisKeyPrefix}probe`, '1', 'EX', 1);
    return true;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

export function findRedis(path?: string): string | undefined {
  return findProgram(['redis-server', 'valkey-server'], path);
}

/** A private instance under `<home>/redis`. */
export async function prepareRedis(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const { home, durable, signal, group } = options;
  const folder = join(home, 'redis');
  const instance = await recallInstance(folder, signal);
  const url = `redis://:${instance.password}@127.0.0.1:${instance.port}`;
  const configFile = join(folder, 'redis.conf');
  writeFileSync(configFile, config(folder, instance, durable), { mode: 0o600 });
  return {
    url,
    async launch() {
      signal.throwIfAborted();
      const log = logFile(home, 'redis');
      const start = { name: 'Redis', command: program, args: [configFile], env: process.env, cwd: folder, log };
      const child = group.use(startChild(start));
      remember(folder, instance, [child]);
      return waitUntilReady(child, () => letsIn(url), readyTimeoutMs, signal);
    },
  };
}

// A snapshot at a clean stop keeps people signed in from one `npm start` to the next; nothing depends on it. Bounded, so that
// nobody fills the machine; `noeviction`: a full Redis must refuse rather than forget somebody's limit (docs/redis.md).
function config(folder: string, { port, password }: Instance, durable: boolean): string {
  return `${[
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    'daemonize no',
    'appendonly no',
    durable ? 'save 900 1' : 'save ""',
    'stop-writes-on-bgsave-error no',
    'maxmemory 256mb',
    'maxmemory-policy noeviction',
    `dir "${folder}"`,
  ].join('\n')}\n`;
}
