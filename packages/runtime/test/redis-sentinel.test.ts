/** What a failover does to a client that finds its primary by Sentinels. */
import type { Socket } from 'node:net';
import { openRedisServer } from '@gatepost/testkit/redis-server';
import { openRelay } from '@gatepost/testkit/relay';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openLog } from '../src/log.ts';
import { connectRedis, makeRedis } from '../src/redis.ts';

const switched = '>3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$1\r\n-\r\n';

// ioredis took the word for an order to end, and the client never came back.
test('news of a failover during a query for the new primary does not end the connection', async () => {
  await using primary = await openRedisServer();
  await using sentinel = await openRedisServer({}, 'sentinel');
  await sentinel.call('SENTINEL', 'MONITOR', 'gatepost', '127.0.0.1', primary.port, 1);
  const listening: Socket[] = [];
  const held: (() => void)[] = [];
  let holds = false;
  await using relay = await openRelay(sentinel.url, (client, server) => {
    client.on('data', (chunk) => {
      if (chunk.includes('subscribe')) listening.push(client);
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (holds && chunk.includes(String(primary.port))) held.push(() => client.write(chunk));
      else client.write(chunk);
    });
  });
  const redis = makeRedis(`redis-sentinel://${new URL(relay.url).host}?sentinelMasterId=gatepost`, {
    connectTimeout: 10_000,
    log: openLog('test', 'silent'),
    retryStrategy: () => 20,
  });
  redis.on('error', () => {}); // the command that it breaks rejects
  try {
    await connectRedis(redis, 60_000);
    await until('it listens', () => listening.length > 0);
    holds = true;
    await primary.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until('it asks', () => held.length > 0);
    holds = false;
    await new Promise<void>((resolve) => listening[0]!.write(switched, () => setTimeout(resolve, 50)));
    for (const answer of held) answer();
    await until('it is connected again', () => {
      if (redis.status === 'end') throw new Error('it has ended');
      return redis.status === 'ready';
    });
    expect(await redis.set('a', '1')).toBe('OK');
  } finally {
    redis.disconnect();
  }
  await until('it has ended, as it was told', () => redis.status === 'end');
});
