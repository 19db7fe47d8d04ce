/** Takes what lies in `gatepost.events.dead`, as an operator would. */
import { openConsumer } from '@gatepost/amqp/consumer';
import { deadEventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';

export type DeadLetter = {
  reason: unknown;
  detail: unknown;
  messageId: string | undefined;
  headers: Record<string, unknown>;
  body: Buffer;
};

export type DeadLetters = AsyncDisposable & {
  all: DeadLetter[];
  /** The dead letter of the message with this id, once it is there. */
  of(messageId: string): Promise<DeadLetter>;
};

export async function openDeadLetters(amqpUrl: string): Promise<DeadLetters> {
  const all: DeadLetter[] = [];
  const consumer = await openConsumer({
    url: amqpUrl,
    name: 'test',
    log: openLog('test', 'silent'),
    topology,
    queue: deadEventsQueue,
    prefetch: 10,
    onMessage({ headers, messageId, body, ack }) {
      all.push({ reason: headers['x-reason'], detail: headers['x-detail'], messageId, headers, body });
      ack();
    },
  });
  return {
    all,
    of: (messageId) => until(`a dead letter of ${messageId}`, () => all.find((one) => one.messageId === messageId)),
    [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose](),
  };
}
