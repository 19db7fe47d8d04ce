/**
 * Acknowledges a channel's messages in few frames, since each frame costs the broker as much as a message. Acks of one turn of the event
 * loop are sent together, in one frame where no earlier message is still in hand.
 */
import type { Channel, ConsumeMessage } from 'amqplib';

export type Acks = {
  /** To be called for each message of the channel, in order. */
  took(deliveryTag: number): void;
  ack(deliveryTag: number): void;
  giveBack(deliveryTag: number): void;
  /** Sends pending acks now. */
  flush(): void;
};

export function makeAcks(channel: Pick<Channel, 'ack' | 'nack'>): Acks {
  // A Set keeps insertion order.
  const inHand = new Set<number>();
  let acked: number[] = [];

  const send = (how: () => void) => {
    try {
      how();
    } catch {
      // The channel is closed: the broker will redeliver the message.
    }
  };
  const flush = () => {
    if (acked.length === 0) return;
    const tags = acked.sort((a, b) => a - b);
    acked = [];
    const [first = Number.POSITIVE_INFINITY] = inHand;
    const together = tags.filter((tag) => tag < first);
    const last = together.at(-1);
    // Everything with a lower tag has been acked or given back by now.
    if (last !== undefined) send(() => channel.ack(tagged(last), true));
    for (const tag of tags.slice(together.length)) send(() => channel.ack(tagged(tag)));
  };
  return {
    took: (tag) => void inHand.add(tag),
    ack(tag) {
      inHand.delete(tag);
      if (acked.push(tag) === 1) setImmediate(flush);
    },
    giveBack(tag) {
      send(() => channel.nack(tagged(tag), false, true));
      inHand.delete(tag);
    },
    flush,
  };
}

const tagged = (deliveryTag: number) => ({ fields: { deliveryTag } }) as ConsumeMessage;
