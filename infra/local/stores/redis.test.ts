import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { say } from '../commands/say.ts';
import { redis } from './redis.ts';

test('a private Redis is bounded and forgets nobody’s limit, like that of docker-compose.yml', async () => {
  await using stack = new AsyncDisposableStack();
  const home = stack.adopt(await mkdtemp(join(tmpdir(), 'home-')), (path) => rm(path, { recursive: true }));
  const { signal } = new AbortController();
  await redis.prepare('redis-server', { env: process.env, home, stack, forTests: true, signal, say });
  const config = await readFile(join(home, 'redis', 'redis.conf'), 'utf8');
  expect(config).toContain('maxmemory 256mb\nmaxmemory-policy noeviction\n');
  const compose = await readFile(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
  expect(compose).toContain('"--maxmemory", "256mb", "--maxmemory-policy", "noeviction"');
});
