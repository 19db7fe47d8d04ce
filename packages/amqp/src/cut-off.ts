/**
 * Leaving a node that is cut off from the others of its cluster. From RabbitMQ 4.3 on such a node keeps its clients and takes new ones, answers
 * what it knows by itself, and confirms nothing and hands nothing out until the others are back
 * (https://www.rabbitmq.com/docs/metadata-store/failure-recovery); earlier ones with `pause_minority` disconnect their clients. So a client
 * has to notice (https://github.com/rabbitmq/rabbitmq-server/discussions/16472).
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { splitUrls } from '@gatepost/runtime/urls';
import type { ChannelModel } from 'amqplib';

/** Whether there is another node to go to. */
export const hasOthers = (urls: string): boolean => splitUrls(urls).length > 1;

/** For a publisher: leaves a node that has confirmed nothing since a message was published that got no confirm in time. */
export function watchSilence(urls: string) {
  let connection: { model: ChannelModel; since: number } | undefined;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let isBlocked = false;
  return {
    /** With each connection. */
    begin(model: ChannelModel): void {
      connection = { model, since: performance.now() };
      isBlocked = false;
      // A broker that is short of memory or disk says so, and another would say the same.
      model.on('blocked', () => {
        isBlocked = true;
      });
      model.on('unblocked', () => {
        isBlocked = false;
      });
    },
    confirmed(): void {
      confirmedAt = performance.now();
    },
    noConfirmSince(publishedAt: number): void {
      if (!connection || !hasOthers(urls) || isBlocked) return;
      if (publishedAt > Math.max(connection.since, confirmedAt)) leave(connection.model, 'the node confirms nothing');
    },
  };
}

/** Ends a connection at once, whatever its node does; the next one is tried at another. */
function leave(model: ChannelModel, why: string): void {
  const { stream } = model.connection as unknown as { stream: Duplex }; // the typings leave it out
  stream.destroy(new Error(why));
}

/**
 * As long as a connection stands: leaves it when nothing has come for `quietMs` (`hasCome`: since it was asked last), and its node does not answer within
 * `answerMs` what only a majority can.
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
      () => true, // a refusal is an answer, and a connection that breaks comes again by itself
    );
    if (!(await Promise.race([answered, wait(answerMs, false, { ref: false })])))
      leave(model, 'the node does not reach the majority of its cluster');
    asking = false;
  }, quietMs).unref();
  model.once('close', () => clearInterval(timer));
}

/** A queue of nobody else's is made and goes: the nodes have to agree on both. */
async function askMajority(model: ChannelModel): Promise<void> {
  const channel = await model.createChannel();
  channel.on('error', () => {}); // the call rejects
  const name = `gatepost.asking.${randomUUID()}`;
  await channel.assertQueue(name, { exclusive: true, autoDelete: true, durable: false });
  await channel.deleteQueue(name);
  await channel.close();
}
