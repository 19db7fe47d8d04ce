/**
 * Looks at RabbitMQ's queue of dead letters, from its head. Looking holds the first letters for a moment and gives them back, so requests take
 * turns, and RabbitMQ counts for each letter how often that happened (`x-delivery-count`). The letters seen are therefore cached, and read
 * again only when some have come or gone, which shows in the queue's length, which anybody may ask for.
 */
import { browse, type Seen } from '@gatepost/amqp/browse';
import { type DeliveryJob, openJob } from '@gatepost/contracts/delivery-job';
import { deadEventsQueue } from '@gatepost/contracts/topology';
import { makeInTurn } from '@gatepost/runtime/in-turn';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Parts } from '../parts.ts';
import { guidsOf, idOf, type Letter, presentLetter, presentWhole, type WholeLetter } from './letter.ts';
import { makeSharedAnswer } from './shared-answer.ts';

/** How far a request looks: a longer queue is worked off from its head. */
export const lookedMax = 2_000;
/** Beyond this, no further bodies are held; each may have 25 MB. */
export const keptMaxBytes = 16_000_000;
/** Meanwhile one letter may go and another come without our noticing. */
const keptMaxMs = 60_000;
const recentMs = 2_000;

/** A letter, the possible guids of its event, and its delivery if one of our services made it. `whole` is missing if it is too large to keep. */
export type SeenLetter = {
  letter: Letter;
  guids: string[];
  job: DeliveryJob | undefined;
  whole: WholeLetter | undefined;
};

type Picked<T> = { item: T; take(): void }[];

export type DeadLetters = {
  /** The first letters, in queue order. */
  see(): Promise<SeenLetter[]>;
  /** All letters as seen a moment ago: however many ask, the queue is looked through by one at a time, with pauses in between. */
  recent(): Promise<SeenLetter[]>;
  /** One letter with headers and payload. */
  findWhole(id: string): Promise<WholeLetter | undefined>;
  /** Looks through the queue itself; letters taken are removed. */
  look<T, R>(pick: (message: Seen) => T | undefined, use: (picked: Picked<T>) => Promise<R>): Promise<R>;
};

type Needed = Pick<Parts, 'pool' | 'publisher' | 'amqpUrl' | 'storeTimeoutMs' | 'jobKeys'>;

export function makeDeadLetters(needed: Needed): DeadLetters {
  const inTurn = makeInTurn();
  let kept: { letters: SeenLetter[]; total: number; seenAtMs: number } | undefined;

  const see = () =>
    inTurn(async () => {
      const isYoung = kept && performance.now() - kept.seenAtMs < keptMaxMs;
      const total = await countLetters(needed);
      if (total === 0) return [];
      if (isYoung && kept?.total === total) return kept.letters;
      return browseLetters(needed, makeSee(needed.jobKeys), async (picked, total) => {
        const letters = picked.map(({ item }) => item);
        kept = { letters, total, seenAtMs: performance.now() };
        return letters;
      });
    });

  const look: DeadLetters['look'] = (pick, use) =>
    inTurn(async () => {
      kept = undefined;
      return browseLetters(needed, pick, use);
    });

  return {
    see,
    recent: makeSharedAnswer(see, recentMs),
    look,
    async findWhole(id) {
      const found = (await see()).find(({ letter }) => letter.id === id);
      if (found?.whole || !found) return found?.whole;
      return look(
        (message) => (idOf(message) === id ? presentWhole(message) : undefined),
        async ([first]) => first?.item,
      );
    },
  };
}

/** Keeps the whole letters until they are many bytes. */
function makeSee(jobKeys: Needed['jobKeys']): (message: Seen) => SeenLetter {
  let keptBytes = 0;
  return (message) => {
    const opened = message.headers.job === undefined ? undefined : openJob(message, ...jobKeys);
    const isKept = keptBytes + message.body.length <= keptMaxBytes;
    if (isKept) keptBytes += message.body.length;
    return {
      letter: presentLetter(message),
      guids: guidsOf(message),
      job: opened?.kind === 'job' ? opened.job : undefined,
      whole: isKept ? presentWhole(message) : undefined,
    };
  };
}

const turn = "hashtextextended('gatepost dead letters', 0)";

/** The number of letters, read while nobody looks: a process looking through the queue holds them, and it then seems empty. */
const countLetters = ({ pool, publisher }: Needed): Promise<number> =>
  inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock_shared(${turn})`);
    return publisher.waiting(deadEventsQueue, { mayBeGone: true });
  });

/** Only one look at a time over all processes; those of this process wait without a connection to PostgreSQL. */
function browseLetters<T, R>(
  { pool, amqpUrl, storeTimeoutMs }: Needed,
  pick: (message: Seen) => T | undefined,
  use: (picked: Picked<T>, total: number) => Promise<R>,
): Promise<R> {
  return inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(${turn})`);
    const options = {
      url: amqpUrl,
      name: 'webhook-api dead letters',
      queue: deadEventsQueue,
      most: lookedMax,
      timeoutMs: storeTimeoutMs * 0.75,
      idleMs: storeTimeoutMs / 2,
    };
    return browse(options, pick, use);
  });
}
