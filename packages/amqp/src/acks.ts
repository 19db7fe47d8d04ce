/**
 * Acknowledges messages of a channel in few frames: each costs the broker as much as a message. What is acked in one turn of the event
 * loop goes out together, in one frame as far as nothing before it is in hand.
 */
import type { Channel, ConsumeMessage } from 'amqplib';

export type Acks = {
  /** Each message that comes by the channel, in order. */
  took(deliveryTag: number): void;
  ack(deliveryTag: number): void;
  giveBack(deliveryTag: number): void;
  /** Sends what is to be sent now. */
  flush(): void;
};

export function makeAcks(channel: Pick<Channel, 'ack' | 'nack'>): Acks {
  // In order, as a Set remembers it.
  const inHand = new Set<number>();
  let acked: number[] = [];

  const send = (how: () => void) => {
    try {
      how();
    } catch {
      // The channel is closed: the broker hands the message out again.
    }
  };
  const flush = () => {
    if (acked.length === 0) return;
    const tags = acked.sort((a, b) => a - b);
    acked = [];
    const [first = Number.POSITIVE_INFINITY] = inHand;
    const together = tags.filter((tag) => tag < first);
    const last = together.at(-1);
    // Whatever has a lower tag is acked by now, or given back.
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
