/** Who is a noisy neighbour, sending far more than others just now: counted by the owner of each event, without parsing it. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { subjectInHeaders } from '@gatepost/contracts/event';

export type NoisyNeighbours = {
  /** Counts an event of this owner, and says whether the owner floods. Whose owner cannot be told never does. */
  count(owner: string | undefined): boolean;
  /** Whether anybody but `owner` has sent something in the last minute. */
  hasOthers(owner: string | undefined): boolean;
};

/** Events of one owner within a window that are nobody else's trouble. */
const perWindow = 200;
const windowMs = 1_000;
const othersMs = 60_000;

export function makeNoisyNeighbours(now: () => number = Date.now): NoisyNeighbours {
  let counts = new Map<string, number>();
  let before = new Map<string, number>();
  let windowStart = now();
  // The two owners seen last tell whether there are others, however many there are.
  let last: { owner: string | undefined; at: number } | undefined;
  let lastOther: { at: number } | undefined;

  const turnWindow = () => {
    const passed = now() - windowStart;
    if (passed < windowMs) return;
    before = passed < 2 * windowMs ? counts : new Map();
    counts = new Map();
    windowStart = now();
  };
  return {
    count(owner) {
      turnWindow();
      if (last && last.owner !== owner) lastOther = last;
      last = { owner, at: now() };
      if (owner === undefined) return false;
      const count = (counts.get(owner) ?? 0) + 1;
      counts.set(owner, count);
      // Who flooded the last window does so until a calm one has passed.
      return count > perWindow || (before.get(owner) ?? 0) > perWindow;
    },
    hasOthers(owner) {
      const other = last?.owner === owner ? lastOther : last;
      return other !== undefined && now() - other.at < othersMs;
    },
  };
}

/** The owner by the subject's header, whichever form it has. Undefined for structured events, whose attributes are in the body. */
export function ownerOf(message: Pick<Incoming, 'contentType' | 'headers'>): string | undefined {
  const subject = subjectInHeaders(message);
  return typeof subject === 'string' ? subject.split('/', 1)[0]!.toLowerCase() : undefined;
}
