/** All tests of a RabbitMQ cluster share one, since it takes long to start. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsExchange, topology } from '@gatepost/contracts/topology';
import { openProducer } from '@gatepost/producer';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import type { Say } from '../../local/commands/say.ts';
import { runChaos } from '../chaos.ts';
import { type Cluster, openCluster } from '../cluster.ts';

const say: Say = { step: (_name, _detail, work) => work(), line() {}, about() {} };
const { signal } = new AbortController();
const home = mkdtempSync(join(tmpdir(), 'gatepost-cluster-'));
const stack = new AsyncDisposableStack();
stack.defer(() => rmSync(home, { recursive: true, force: true }));
afterAll(() => stack.disposeAsync());

let cluster: Cluster;
beforeAll(async () => {
  const earlier = join(home, 'rabbitmq', '1', 'data', 'of-an-earlier-run');
  mkdirSync(earlier, { recursive: true });
  cluster = await openCluster({ env: process.env, home, signal, stack, say });
  expect(existsSync(earlier)).toBe(false); // with it, a second run would wait for the first one's nodes
});

test('a RabbitMQ cluster with one node killed and another cut off goes on at the others, loses nothing, and the log is complete', async () => {
  await using ofChaos = new AsyncDisposableStack();
  const context = { args: [], env: process.env, home, say, signal, stack: ofChaos };
  const verdict = await runChaos(context, {
    accounts: 20,
    seconds: 1, // one strike of each
    eventsPerSecond: 60,
    failingShare: 0,
    freezes: false,
    cluster,
    only: ['RabbitMQ 1', 'RabbitMQ 2 cut off'],
    seed: Math.floor(Math.random() * 1_000_000),
  });
  expect(verdict).toMatchObject({ complaints: [], lost: 0, otherGuids: 0, missingInLog: 0, inventedInLog: 0 });
  expect(verdict.struck.map(({ name, times, stood }) => [name, times, stood])).toEqual(
    expect.arrayContaining([
      ['RabbitMQ 1', 1, 0],
      ['RabbitMQ 2 cut off', 1, 0],
    ]),
  );
  expect(verdict.deliveries).toBeGreaterThan(100);
}, 600_000); // lost deliveries are awaited for three minutes before they count as lost

// Before RabbitMQ 3.12, every publish on a channel first used at that moment was refused until the dead node was back.
test('a producer that starts just after a queue lost its leader can publish', async () => {
  // The last node has not been away. A queue's leader is on the node of the connection that declares it.
  const [leading, ...others] = cluster.nodes.toReversed();
  const model = await connect(leading!.url);
  model.on('error', () => {});
  const channel = await model.createChannel();
  const [queue] = topology.queues;
  await channel.assertExchange(eventsExchange, 'topic');
  await channel.deleteQueue(queue!.name); // created by the test before, on any node
  await channel.assertQueue(queue!.name, { arguments: queue!.arguments });
  await channel.bindQueue(queue!.name, eventsExchange, '#');
  const open = async ({ url }: { url: string }) => stack.use(await openProducer({ url, source: 'urn:test' }));
  const producers = await Promise.all([...others, ...others].map(open));
  const server = await leading!.ready;
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
  const confirmed = producers.map((producer) =>
    until('a confirm', () =>
      producer.publish({ type: 'push', subject: 'acme/widgets', data: {} }).then(
        () => true,
        () => false,
      ),
    ),
  );
  expect(await Promise.all(confirmed)).toEqual([true, true, true, true]);
});
