/**
 * Stores for one run of tests, benchmarks or chaos, always of its own: tests make and drop databases and may kill a store, which nobody
 * else's may be used for. They lie in a folder of `.gatepost/` and are started anew each time.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../commands/command.ts';
import { openGroup } from '../processes/child.ts';
import { takeHome } from '../processes/home.ts';
import { Trouble } from '../processes/trouble.ts';
import { dropPrivateData } from './fresh.ts';
import type { PrivateOptions } from './private.ts';
import { findRabbitmq } from './rabbitmq.ts';
import { type Cluster, type ClusterNode, prepareCluster } from './rabbitmq-cluster.ts';
import {
  bringUp,
  findSources,
  type Machine,
  openMachine,
  type Store,
  type StoreName,
  storeKinds,
  urlsOf,
} from './stores.ts';

export type OwnStores = AsyncDisposable & {
  urls: Record<StoreName, string>;
  managementUrl: string | undefined;
  /** Each by itself, to be started again. */
  stores: Store[];
  machine: Machine;
  /** The nodes of RabbitMQ, if it is a cluster; it is none of `stores` then. */
  nodes: ClusterNode[];
};

/** Brings up all three under `<home>/<name>`. The command's stack closes them, if nobody has by then. */
export async function openOwnStores(
  { env, home: within, say, signal, stack }: Context,
  name: 'test' | 'bench' | 'chaos',
  { cluster = false } = {},
): Promise<OwnStores> {
  const home = join(within, name);
  stack.use(takeHome(home, name === 'test' ? 'npm test' : `npm run ${name}`));
  const machine = openMachine(env, home, signal);
  const kinds = storeKinds.filter(({ name }) => !(cluster && name === 'RabbitMQ'));
  const sources = await findSources(machine, 'own', kinds);
  await dropPrivateData(home, machine);
  rmSync(join(home, 'logs'), { recursive: true, force: true });
  const group = stack.use(openGroup());
  const options = { home, durable: name !== 'test', management: name === 'test', signal, group, say };
  const [brokers, ...up] = await Promise.all([
    cluster ? bringUpCluster(options, env.PATH) : undefined,
    ...[...sources].map(([kind, source]) => bringUp(kind, source, options)),
  ]);
  await Promise.all(up.map((store) => store.ready));
  return {
    urls: { ...urlsOf(up), ...(brokers && { RabbitMQ: brokers.url }) },
    nodes: brokers?.nodes ?? [],
    managementUrl: up.find((store) => store.managementUrl)?.managementUrl,
    stores: up,
    machine,
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  };
}

async function bringUpCluster(options: PrivateOptions, path?: string): Promise<Cluster> {
  const program = findRabbitmq(path);
  if (!program) throw new Trouble('A cluster takes an installed RabbitMQ (Debian, Ubuntu: rabbitmq-server).');
  const cluster = await prepareCluster(program, options);
  const where = () => `a private cluster of ${cluster.nodes.length} nodes`;
  await options.say.step('RabbitMQ', where, () => cluster.launch());
  return cluster;
}

/** What of the environment the programs under test may see: nothing that leads to anybody's data or changes a default. */
export function cleanEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ours =
    /^(DATABASE_URL|AUTH_|WEBHOOK_|DISPATCHER_|REDIS_|AMQP_URL|PRODUCER|SECRETS_KEY|SEED_FILE|ISSUER|JWKS_URL|MAIL_|DELIVERY_|OUTBOUND_|TRUST|TLS_|RETRY_|THROTTLE_|EVENT|HOST$|LOG_LEVEL|NODE_ENV|START_|STOP_|STORE_|GATEPOST_|PG[A-Z]+$|FORCE_COLOR)/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name)));
}
