/**
 * Leaving a node that is cut off from the rest of its cluster. From RabbitMQ 4.3 on such a node keeps its clients and accepts new ones, answers
 * what it can by itself, and neither confirms nor hands out anything until the others are back
 * (https://www.rabbitmq.com/docs/metadata-store/failure-recovery); earlier versions with `pause_minority` disconnect their clients. So the
 * client has to notice (https://github.com/rabbitmq/rabbitmq-server/discussions/16472).
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { splitUrls } from '@gatepost/runtime/urls';
import type { ChannelModel } from 'amqplib';

/** Whether there is another node to go to. */
export const hasOthers = (urls: string): boolean => splitUrls(urls).length > 1;

/** For publishers: leaves a node that has confirmed nothing since publishing a message whose confirm is overdue. */
export function watchSilence(urls: string) {
  let connection: { model: ChannelModel; since: number } | undefined;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let isBlocked = false;
  return {
    /** To be called for each new connection. */
    begin(model: ChannelModel): void {
      connection = { model, since: performance.now() };
      isBlocked = false;
      // A broker short of memory or disk announces it, and its peers would do the same.
      model.on('blocked', () => {
        isBlocked = true;
      });
      model.on('unblocked', () => {
        isBlocked = false;
        confirmedAt = performance.now(); // what was late until now was not the node's fault
      });
    },
    /** Whether the node reads nothing that we publish. */
    isBlocked: () => isBlocked,
    confirmed(): void {
      confirmedAt = performance.now();
    },
    noConfirmSince(publishedAt: number): void {
      if (!connection || !hasOthers(urls) || isBlocked) return;
      if (publishedAt > Math.max(connection.since, confirmedAt)) leave(connection.model, 'the node confirms nothing');
    },
  };
}

/** Ends a connection at once, whatever its node does; if it is made again, then at another node. */
export function leave(model: ChannelModel, why: string): void {
  const { stream } = model.connection as unknown as { stream: Duplex }; // the typings leave it out
  stream.destroy(new Error(why));
}

/**
 * For the connection's lifetime: leaves it when nothing has arrived for `quietMs` (`hasCome`: since the last call) and its node does not answer
 * within `answerMs` a question that only a majority can answer.
 */
export function leaveWhenCutOff(
  model: ChannelModel,
  { quietMs, answerMs, hasCome }: { quietMs: number; answerMs: number; hasCome: () => boolean },
): void {
  let asking = false;
  const timer = setInterval(async () => {
    if (hasCome() || asking) return;
    asking = true;
    const answered = askMajority(model).then(
      () => true,
      () => true, // a refusal is an answer too, and a broken connection is restored anyway
    );
    if (!(await Promise.race([answered, wait(answerMs, false, { ref: false })])))
      leave(model, 'the node does not reach the majority of its cluster');
    asking = false;
  }, quietMs).unref();
  model.once('close', () => clearInterval(timer));
}

/** Declares and deletes a queue of its own: the nodes have to agree on both. */
async function askMajority(model: ChannelModel): Promise<void> {
  const channel = await model.createChannel();
  channel.on('error', () => {}); // the call rejects
  const name = `gatepost.asking.${randomUUID()}`;
  await channel.assertQueue(name, { exclusive: true, autoDelete: true, durable: false });
  await channel.deleteQueue(name);
  await channel.close();
}
