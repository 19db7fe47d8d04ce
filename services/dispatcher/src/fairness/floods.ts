import type { Incoming } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import { accountOf, makeNoisyNeighbours } from './noisy-neighbours.ts';

/**
 * Tracks senders that flood or did so a moment ago: the tail of a flood stays behind the rest of it. The sender is the account; where none can
 * be read, or the producer may not publish for it, it is the producer, who must not be able to mark that account as a noisy neighbour.
 */
export function watchFloods(producers: Producers, overMs = 10_000) {
  const accountFrom = (message: Incoming) => {
    const named = accountOf(message);
    return named !== undefined && producers.refuse(message.userId, named) ? undefined : named;
  };
  // No account has a space in its name.
  const senderOf = (message: Incoming) => accountFrom(message) ?? `producer ${message.userId ?? ''}`;
  const now = () => performance.now(); // a clock that nobody sets
  const noisyNeighbours = makeNoisyNeighbours();
  const floodedAt = new Map<string, number>();
  let lastAt = Number.NEGATIVE_INFINITY;
  let meanBytes = 2_000;
  return {
    /** Counts a message and says whether it belongs to a flood. */
    count(message: Incoming): { account: string | undefined; sender: string; floods: boolean } {
      meanBytes = meanBytes * 0.99 + message.body.length * 0.01;
      const account = accountFrom(message);
      const sender = account ?? senderOf(message);
      if (noisyNeighbours.count(sender)) {
        lastAt = now();
        floodedAt.set(sender, lastAt);
      }
      const isOver = now() - (floodedAt.get(sender) ?? Number.NEGATIVE_INFINITY) > overMs;
      if (isOver) floodedAt.delete(sender);
      return { account, sender, floods: !isOver };
    },
    /** Whether a message belongs to a flood, without counting it. */
    includes: (message: Incoming) => floodedAt.has(senderOf(message)),
    hasOthers: noisyNeighbours.hasOthers,
    meanBytes: () => meanBytes,
    /** Nobody floods or did so a moment ago. */
    isOver: () => now() - lastAt > overMs,
  };
}
