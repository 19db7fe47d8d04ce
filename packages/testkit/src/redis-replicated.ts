/** Redis that survives the loss of a node: with Sentinels, or as a Cluster. Each has passwords, and fails over on request. */
import { openRedisServer, type RedisServer } from './redis-server.ts';
import { freePorts } from './system.ts';
import { until } from './until.ts';

export type ReplicatedRedis = AsyncDisposable & {
  /** For REDIS_URL. */
  url: string;
  /** The running ones. */
  servers(): RedisServer[];
  /** Kills a primary; resolves when its replica has taken over. */
  failOver(): Promise<void>;
};

const password = 'a%:@b';
const encoded = encodeURIComponent(password);
const withPassword = { requirepass: password, masterauth: password };
const name = 'gatepost';
/** How long a primary may be silent: short only once a test has killed it, since on a busy machine a living one is silent for seconds. */
const silentMs = { usually: 60_000, afterKill: 1_000 };

/** A primary, a replica, and three Sentinels with a password of their own. */
export async function openRedisWithSentinels(): Promise<ReplicatedRedis> {
  const stack = new AsyncDisposableStack();
  const primary = stack.use(await openRedisServer(withPassword));
  const replica = stack.use(await openRedisServer({ ...withPassword, replicaof: `127.0.0.1 ${primary.port}` }));
  await until('a replica', async () => ((await primary.call('ROLE')) as unknown[][])[2]?.length === 1);
  const sentinels: RedisServer[] = [];
  for (const _ of [1, 2, 3]) {
    const own = { requirepass: 'of-sentinels', 'sentinel sentinel-pass': 'of-sentinels' };
    const sentinel = stack.use(await openRedisServer(own, 'sentinel'));
    await sentinel.call('SENTINEL', 'MONITOR', name, '127.0.0.1', primary.port, 2);
    const settings = { 'auth-pass': password, 'down-after-milliseconds': silentMs.usually, 'failover-timeout': 5_000 };
    await sentinel.call('SENTINEL', 'SET', name, ...Object.entries(settings).flat());
    sentinels.push(sentinel);
  }
  const facts = async (sentinel: RedisServer) =>
    fieldsOf((await sentinel.call('SENTINEL', 'MASTER', name)) as string[]);
  for (const sentinel of sentinels)
    await until('Sentinels', async () => {
      const { 'num-slaves': replicas, 'num-other-sentinels': others } = await facts(sentinel);
      return replicas === '1' && others === '2';
    });
  let isDown = false;
  const addresses = sentinels.map(({ port }) => `redis-sentinel://127.0.0.1:${port}`);
  return {
    url: `${addresses.join(',').replace('://', `://:${encoded}@`)}?sentinelMasterId=${name}&sentinelPassword=of-sentinels`,
    servers: () => (isDown ? [replica] : [primary, replica]),
    async failOver() {
      isDown = true;
      await primary.kill();
      for (const sentinel of sentinels)
        await sentinel.call('SENTINEL', 'SET', name, 'down-after-milliseconds', silentMs.afterKill);
      for (const sentinel of sentinels)
        await until('another primary', async () => (await facts(sentinel)).port === String(replica.port));
      await until('a new primary', async () => ((await replica.call('ROLE')) as string[])[0] === 'master');
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const slots = 16_384;

/** Three primaries with a replica each. */
export async function openRedisCluster(): Promise<ReplicatedRedis> {
  const stack = new AsyncDisposableStack();
  let nodes: RedisServer[] = [];
  for (const busPort of await freePorts(6)) {
    const settings = { 'cluster-enabled': 'yes', 'cluster-port': busPort, 'cluster-node-timeout': 2_000 };
    nodes.push(stack.use(await openRedisServer({ ...withPassword, ...settings })));
    await nodes[0]!.call('CLUSTER', 'MEET', '127.0.0.1', nodes.at(-1)!.port, busPort);
  }
  const primaries = nodes.slice(0, 3);
  for (const [index, primary] of primaries.entries()) {
    const [first, next] = [index, index + 1].map((n) => Math.floor((n * slots) / 3)) as [number, number];
    await primary.call('CLUSTER', 'ADDSLOTSRANGE', first, next - 1);
  }
  for (const node of nodes)
    await until('nodes that know each other', async () => (await infoOf(node)).cluster_known_nodes === '6');
  for (const [index, primary] of primaries.entries())
    await nodes[index + 3]!.call('CLUSTER', 'REPLICATE', (await primary.call('CLUSTER', 'MYID')) as string);
  for (const primary of primaries)
    await until('a replica', async () => ((await primary.call('ROLE')) as unknown[][])[2]?.length === 1);
  for (const node of nodes) await until('the cluster', async () => (await infoOf(node)).cluster_state === 'ok');
  const allowSilence = (ms: number) =>
    Promise.all(nodes.map((node) => node.call('CONFIG', 'SET', 'cluster-node-timeout', ms)));
  await allowSilence(silentMs.usually);
  return {
    url: primaries
      .map(({ port }, index) => `redis-cluster://${index === 0 ? `:${encoded}@` : ''}127.0.0.1:${port}`)
      .join(','),
    servers: () => nodes,
    async failOver() {
      const [lost, successor] = [nodes[0]!, nodes[3]!];
      nodes = nodes.filter((node) => node !== lost);
      await lost.kill();
      await allowSilence(2 * silentMs.afterKill);
      await until('a new primary', async () => ((await successor.call('ROLE')) as string[])[0] === 'master');
      for (const node of nodes) await until('the cluster', async () => (await infoOf(node)).cluster_state === 'ok');
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function fieldsOf(list: string[]): Record<string, string | undefined> {
  return Object.fromEntries(list.flatMap((key, index) => (index % 2 === 0 ? [[key, list[index + 1]]] : [])));
}

async function infoOf(node: RedisServer): Promise<Record<string, string | undefined>> {
  const text = (await node.call('CLUSTER', 'INFO')) as string;
  return Object.fromEntries(text.split('\r\n').map((line) => line.split(':') as [string, string]));
}
