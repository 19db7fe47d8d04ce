/** Redis by TLS with certificates of one's own: one server, and a Cluster. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { openRedisServer } from '@gatepost/testkit/redis-server';
import { freePorts } from '@gatepost/testkit/system';
import { afterAll, expect, test } from '@jest/globals';
import { openLog } from '../src/log.ts';
import { connectRedis, makeRedis } from '../src/redis.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const certificates = stack.use(makeCertificates());
const folder = dirname(certificates.rootFile);
for (const [name, { cert, key }] of Object.entries({
  server: certificates.issue({ name: '127.0.0.1' }),
  client: certificates.issue({ name: 'gate' }),
})) {
  writeFileSync(join(folder, `${name}.pem`), cert);
  writeFileSync(join(folder, `${name}.key`), key);
}
const open = async (tlsPort: number, settings = {}) =>
  stack.use(
    await openRedisServer({
      'tls-port': tlsPort,
      'tls-cert-file': join(folder, 'server.pem'),
      'tls-key-file': join(folder, 'server.key'),
      'tls-ca-cert-file': certificates.rootFile,
      'tls-auth-clients': 'yes',
      ...settings,
    }),
  );
const files = `cacertfile=${certificates.rootFile}&certfile=${join(folder, 'client.pem')}&keyfile=${join(folder, 'client.key')}`;
const use = async (url: string) => {
  const redis = makeRedis(url, { connectTimeout: 5_000, log: openLog('test', 'silent'), retryStrategy: () => 100 });
  redis.on('error', () => {}); // it rejects with the same
  try {
    await connectRedis(redis, 60_000);
    await redis.set('a', '1');
    return await redis.get('a');
  } finally {
    redis.disconnect();
  }
};

test('Redis over TLS works with a private certificate authority and a client certificate', async () => {
  const [port] = await freePorts(1);
  await open(port!);
  expect(await use(`rediss://127.0.0.1:${port}?${files}`)).toBe('1');
  await expect(use(`rediss://127.0.0.1:${port}`)).rejects.toThrow(/certificate/);
  await expect(use(`rediss://127.0.0.1:${port}?cacertfile=${certificates.rootFile}`)).rejects.toThrow();
});

test('a Redis Cluster works over TLS', async () => {
  const [port, busPort] = await freePorts(2);
  const node = await open(port!, {
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'tls-cluster': 'yes',
    'cluster-announce-ip': '127.0.0.1',
  });
  await node.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  expect(await use(`rediss-cluster://127.0.0.1:${port}?${files}`)).toBe('1');
});
