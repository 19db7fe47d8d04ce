/**
 * A private RabbitMQ of three nodes, which chaos and tests kill and cut off: on one machine, with names that need no DNS (each is
 * `…@localhost`), ports of their own, and one name service and one cookie between them.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Child, runToEnd } from '../processes/child.ts';
import { logFile } from '../processes/home.ts';
import { freePort } from '../processes/ports.ts';
import { waitFor } from '../processes/wait.ts';
import { makePassword, type PrivateOptions, recallInstance, remember, waitUntilReady } from './private.ts';
import { letsIn, readyTimeoutMs, startServer } from './rabbitmq.ts';
import {
  environmentOf,
  makeNameService,
  type Node,
  type NodePorts,
  type Shared,
  urlsOf,
  writeConfig,
} from './rabbitmq-node.ts';

export type ClusterNode = {
  name: string;
  url: string;
  /** Its process, once it has let us in for the first time. */
  ready: Promise<Child>;
  /** Starts it and waits until it lets us in. May be called again when it has died. */
  launch(): Promise<Child>;
  /** Breaks what connects it to the other nodes. They go on, and it pauses: it is the minority. */
  cutOff(): Promise<void>;
  /** Lets the others reach it again, and waits until it lets us in. */
  rejoin(): Promise<void>;
  /** Waits until its quorum queues could lose a node: what it missed is there again. */
  whole(seconds?: number): Promise<void>;
};

export type Cluster = { nodes: ClusterNode[]; url: string; launch(): Promise<void> };

const size = 3;

/** Erlang: waits, for a minute at most, until every member of every quorum queue leads or follows. */
const allFollow = `
  Follows = fun(Q) ->
    {resource, VHost, queue, Name} = amqqueue:get_name(Q),
    lists:all(fun(Member) -> lists:member(proplists:get_value(<<"Raft State">>, Member), [leader, follower]) end,
              rabbit_quorum_queue:status(VHost, Name))
  end,
  Wait = fun Wait(0) -> exit(members_are_behind);
             Wait(Left) -> case lists:all(Follows, rabbit_amqqueue:list()) of
               true -> ok;
               false -> timer:sleep(500), Wait(Left - 1)
             end
  end,
  Wait(120).`;
const nameOf = (index: number) => `gatepost-${index + 1}@localhost`;

/** Prepares the nodes under `<home>/rabbitmq`; the first one must have started before the others join it. */
export async function prepareCluster(program: string, options: PrivateOptions): Promise<Cluster> {
  const { home, management, signal, group } = options;
  const folder = join(home, 'rabbitmq');
  const known = await recallInstance<Shared & { nodes?: NodePorts[]; cookie?: string }>(folder, signal);
  const instance = {
    ...known,
    epmdPort: await freePort(known.epmdPort),
    producerPassword: known.producerPassword ?? makePassword(),
    cookie: known.cookie ?? makePassword(),
    nodes: await freePorts(known.nodes),
  };
  const nodes = instance.nodes.map((ports, index): Node => {
    const cluster = { first: nameOf(0), cookie: instance.cookie };
    return { name: nameOf(index), folder: join(folder, String(index + 1)), management, cluster, ...ports };
  });
  const log = logFile(home, 'rabbitmq');
  const names = makeNameService(instance, environmentOf(instance, nodes[0]!, home), log);
  const servers: (Child | undefined)[] = [];
  group.use({
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server?.[Symbol.asyncDispose]()));
      await names[Symbol.asyncDispose]();
    },
  });

  const clusterNodes = nodes.map((node, index): ClusterNode => {
    mkdirSync(node.folder, { recursive: true, mode: 0o700 });
    writeConfig(instance, node);
    const { url, producerUrl } = urlsOf(instance, node);
    const env = environmentOf(instance, node, home);
    const isReady = async () => (await letsIn(url)) && letsIn(producerUrl);
    const run = async (command: string, args: string[]) => {
      const { code, output } = await runToEnd(join(dirname(program), command), args, { env, signal });
      if (code !== 0) throw new Error(`${command} ended with ${code}: ${output}`);
    };
    const evaluate = (expression: string) => run('rabbitmqctl', ['eval', expression]);
    const started = Promise.withResolvers<Child>();
    const others = nodes.filter((other) => other !== node).map(({ name }) => `'${name}'`);
    return {
      name: `RabbitMQ ${index + 1}`,
      url,
      ready: started.promise,
      async launch() {
        const nameService = await names.start(signal);
        signal.throwIfAborted();
        const server = startServer({ name: `RabbitMQ ${index + 1}`, program, folder: node.folder, env, log });
        servers[index] = server;
        const running = [...servers, nameService].filter((child) => child !== undefined);
        remember(folder, instance, running);
        await waitUntilReady(server, isReady, readyTimeoutMs, signal);
        started.resolve(server);
        return server;
      },
      // Two nodes that take each other's cookie for wrong connect in neither direction.
      cutOff: () => evaluate(`[{erlang:set_cookie(N, cut_off), erlang:disconnect_node(N)} || N <- [${others}]].`),
      async rejoin() {
        await evaluate(`[erlang:set_cookie(N, erlang:get_cookie()) || N <- [${others}]].`);
        if (!(await waitFor(async () => (await isReady()) || undefined, readyTimeoutMs, signal)))
          throw new Error(`RabbitMQ ${index + 1} did not rejoin the others within ${readyTimeoutMs / 1000} s`);
      },
      async whole(seconds = readyTimeoutMs / 1000) {
        await run('rabbitmq-upgrade', ['await_online_quorum_plus_one', '--timeout', String(seconds)]);
        // That says that they run. One that still misses something (`await_condition`) calls no election when the leader goes.
        await evaluate(allFollow);
      },
    };
  });
  return {
    nodes: clusterNodes,
    url: clusterNodes.map(({ url }) => url).join(),
    async launch() {
      const [first, ...others] = clusterNodes;
      await first!.launch();
      await Promise.all(others.map((node) => node.launch()));
    },
  };
}

async function freePorts(known: NodePorts[] = []): Promise<NodePorts[]> {
  const nodes: NodePorts[] = [];
  for (let index = 0; index < size; index += 1)
    nodes.push({
      port: await freePort(known[index]?.port),
      managementPort: await freePort(known[index]?.managementPort),
      distPort: await freePort(known[index]?.distPort),
    });
  return nodes;
}
