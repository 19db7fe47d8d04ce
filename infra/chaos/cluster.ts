/**
 * A private RabbitMQ of three nodes, which chaos runs and tests kill and cut off: on one machine, with names that need no DNS (each is
 * `…@localhost`), with their own ports, and with a shared name service and cookie.
 */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { freePorts } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { type Child, findProgram, launcher, runWell, startChild } from '../local/processes/child.ts';
import { logFile, writePrivate } from '../local/processes/home.ts';
import { answers } from '../local/processes/ports.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { makePassword, type PrivateOptions } from '../local/stores/private.ts';
import { type Node, nameServiceArgs, prepareNode, rabbitmq } from '../local/stores/rabbitmq.ts';

export type ClusterNode = {
  name: string;
  url: string;
  /** Its process, once it accepts connections for the first time. */
  ready: Promise<Child>;
  /** Starts it and waits until it accepts connections. May be called again after it has died. */
  launch(): Promise<Child>;
  /** Breaks its connections to the other nodes. They continue, and it pauses, being the minority. */
  cutOff(): Promise<void>;
  /** Lets the others reach it again, and waits until it accepts connections. */
  rejoin(): Promise<void>;
  /** Waits until its quorum queues could lose a node, that is, until it has caught up. */
  whole(seconds?: number): Promise<void>;
};

export type Cluster = { nodes: ClusterNode[]; url: string };

const size = 3;
const readySeconds = 120;

/** Erlang: waits, for at most a minute, until every member of every quorum queue leads or follows. Others (exclusive ones) have no members. */
const allFollow = `
  Follows = fun(Q) ->
    {resource, VHost, queue, Name} = amqqueue:get_name(Q),
    case rabbit_quorum_queue:status(VHost, Name) of
      {error, Kind} when Kind =:= classic_queue_not_supported; Kind =:= not_found -> true;
      {error, _} -> false;
      Members -> lists:all(fun(Member) -> lists:member(proplists:get_value(<<"Raft State">>, Member), [leader, follower]) end, Members)
    end
  end,
  Wait = fun Wait(0) -> exit(members_are_behind);
             Wait(Left) -> case lists:all(Follows, rabbit_amqqueue:list()) of
               true -> ok;
               false -> timer:sleep(500), Wait(Left - 1)
             end
  end,
  Wait(120).`;
const nameOf = (index: number) => `gatepost-${index + 1}@localhost`;

/** Starts it, showing the progress. @throws Trouble if RabbitMQ is not installed. */
export async function openCluster(options: PrivateOptions): Promise<Cluster> {
  const program = findProgram(rabbitmq.programs(), options.env.PATH);
  if (!program) throw new Trouble('A cluster takes an installed RabbitMQ (Debian, Ubuntu: rabbitmq-server).');
  return options.say.step('RabbitMQ', `a private cluster of ${size} nodes`, () => startCluster(program, options));
}

async function startCluster(program: string, options: PrivateOptions): Promise<Cluster> {
  const { home, signal, stack } = options;
  // Nodes of an earlier run would wait for each other before accepting connections, and bring back that run's messages.
  rmSync(join(home, 'rabbitmq'), { recursive: true, force: true });
  const [epmdPort = 0, ...ports] = await freePorts(1 + size);
  const shared = { epmdPort, password: makePassword(), producerPassword: makePassword() };
  const cookie = makePassword();
  const nodes = ports.map((port, index): Node => {
    const folder = join(home, 'rabbitmq', String(index + 1));
    writePrivate(join(folder, '.erlang.cookie'), cookie);
    return { name: nameOf(index), folder, isNew: true, program, port, config: clusterConfig, ...shared };
  });
  const clusterNodes = await Promise.all(nodes.map((node, index) => makeNode(node, index, options)));
  const [command = '', ...args] = nameServiceArgs(shared.epmdPort);
  stack.use(startChild({ command, args, log: logFile(home, 'epmd'), cwd: '/' }));
  await until('the name service', () => answers(shared.epmdPort), 5_000, signal);
  const [first, ...others] = clusterNodes;
  await first!.launch(); // it must be running before the others join it
  await Promise.all(others.map((node) => node.launch()));
  return { nodes: clusterNodes, url: clusterNodes.map(({ url }) => url).join() };
}

const clusterConfig = [
  'cluster_formation.peer_discovery_backend = classic_config',
  `cluster_formation.classic_config.nodes.1 = ${nameOf(0)}`,
  'cluster_partition_handling = pause_minority',
  // After how many seconds a silent node counts as gone; the default, 60, is for worse networks.
  'net_ticktime = 5',
];

async function makeNode(node: Node, index: number, options: PrivateOptions): Promise<ClusterNode> {
  const { program } = node;
  const { url, producerUrl, env } = await prepareNode(node, options);
  const { signal } = options;
  const name = `RabbitMQ ${index + 1}`;
  const isReady = async () => (await rabbitmq.letsIn(url)) && rabbitmq.letsIn(producerUrl);
  const run = (command: string, args: string[]) =>
    runWell(`${command} failed:`, join(dirname(program), command), args, { env, signal });
  const evaluate = (expression: string) => run('rabbitmqctl', ['eval', expression]);
  const started = Promise.withResolvers<Child>();
  const others = Array.from({ length: size }, (_, other) => `'${nameOf(other)}'`).toSpliced(index, 1);
  return {
    name,
    url,
    ready: started.promise,
    async launch() {
      const server = { name, command: program, args: [], env, cwd: node.folder, letsIn: isReady };
      const child = await launcher(options, server)();
      started.resolve(child);
      return child;
    },
    // Two nodes that each reject the other's cookie connect in neither direction.
    cutOff: () => evaluate(`[{erlang:set_cookie(N, cut_off), erlang:disconnect_node(N)} || N <- [${others}]].`),
    async rejoin() {
      await evaluate(`[erlang:set_cookie(N, erlang:get_cookie()) || N <- [${others}]].`);
      await until(`${name} rejoins the others`, isReady, readySeconds * 1_000, signal);
    },
    async whole(seconds = readySeconds) {
      await run('rabbitmq-upgrade', ['await_online_quorum_plus_one', '--timeout', String(seconds)]);
      // The above only says that they run. A node that is still catching up (`await_condition`) starts no election when the leader goes.
      await evaluate(allFollow);
    },
  };
}
