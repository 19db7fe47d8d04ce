/** What a producer does while RabbitMQ's nodes do not know yet which of them leads a queue. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsExchange, topology } from '@gatepost/contracts/topology';
import { openProducer } from '@gatepost/producer';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import type { Say } from '../../local/commands/say.ts';
import { findProgram } from '../../local/processes/programs.ts';
import { rabbitmq } from '../../local/stores/rabbitmq.ts';
import { openCluster } from '../cluster.ts';

const say: Say = { step: (_name, _detail, work) => work(), line() {}, about() {} };

// With RabbitMQ before 3.12 a channel that was first published on in that moment was refused everything until the dead node was back.
test('who publishes first while a queue has just lost its leader publishes on without it', async () => {
  if (!findProgram(rabbitmq.programs())) return; // in a container there is one node
  await using stack = new AsyncDisposableStack();
  const home = mkdtempSync(join(tmpdir(), 'gatepost-leader-'));
  stack.defer(() => rmSync(home, { recursive: true, force: true }));
  const { signal } = new AbortController();
  const earlier = join(home, 'rabbitmq', '1', 'data', 'of-an-earlier-run');
  mkdirSync(earlier, { recursive: true });
  const { nodes } = await openCluster({ home, durable: true, management: false, signal, stack, say }, process.env.PATH);
  expect(existsSync(earlier)).toBe(false); // with it, a second run would wait for the first one's nodes
  const [leading, ...others] = nodes;
  // The connection that declares a queue has its leader on that node.
  const model = await connect(leading!.url);
  model.on('error', () => {});
  const channel = await model.createChannel();
  const [queue] = topology.queues;
  await channel.assertExchange(eventsExchange, 'topic');
  await channel.assertQueue(queue!.name, { arguments: queue!.arguments });
  await channel.bindQueue(queue!.name, eventsExchange, '#');
  const open = async ({ url }: { url: string }) => stack.use(await openProducer({ url, source: 'urn:test' }));
  const producers = await Promise.all([...others, ...others].map(open));
  const server = await leading!.ready;
  server.process.kill('SIGKILL');
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
}, 240_000);
