/**
 * Looks at RabbitMQ's queue of dead letters, from its head. Looking holds the first letters for a moment and gives them back, so requests take
 * turns, and RabbitMQ counts for each letter how often that happened (`x-delivery-count`). The letters seen are therefore cached, and read
 * again only when some have come or gone, which shows in the queue's length, which anybody may ask for.
 */
import { browse, type Seen } from '@gatepost/amqp/browse';
import { type DeliveryJob, openJob } from '@gatepost/contracts/delivery-job';
import { deadEventsQueue } from '@gatepost/contracts/topology';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Parts } from '../parts.ts';
import { guidsOf, idOf, type Letter, presentLetter, presentWhole, type WholeLetter } from './letter.ts';
import { makeSharedAnswer } from './shared-answer.ts';

/** How far a request looks: a longer queue is worked off from its head. */
export const lookedMax = 2_000;
/** Beyond this, no further bodies are held; each may have 25 MB. */
export const heldMaxBytes = 16_000_000;
/** Meanwhile one letter may go and another come without our noticing. */
const keptMaxMs = 60_000;

/** A letter, the possible guids of its event, and its delivery if one of our services made it. `whole` is missing if it is too large to keep. */
export type SeenLetter = {
  letter: Letter;
  guids: string[];
  job: DeliveryJob | undefined;
  whole: WholeLetter | undefined;
};

type State = { kept: { letters: SeenLetter[]; total: number; seenAtMs: number } | undefined; last: Promise<unknown> };
const states = new WeakMap<Parts, State>();

function stateOf(parts: Parts): State {
  const state = states.get(parts) ?? { kept: undefined, last: Promise.resolve() };
  states.set(parts, state);
  return state;
}

/** Waits for all earlier callers. */
function inTurn<R>(state: State, work: () => Promise<R>): Promise<R> {
  const mine = state.last.then(work);
  state.last = mine.catch(() => {}); // the caller gets the error
  return mine;
}

/** The first letters, in queue order. */
export function seenLetters(parts: Parts): Promise<SeenLetter[]> {
  const state = stateOf(parts);
  return inTurn(state, async () => {
    const { kept } = state;
    const isYoung = kept && performance.now() - kept.seenAtMs < keptMaxMs;
    const total = await countLetters(parts);
    if (total === 0) return [];
    if (isYoung && kept.total === total) return kept.letters;
    return lookAtAll(parts, state);
  });
}

function lookAtAll(parts: Parts, state: State): Promise<SeenLetter[]> {
  let heldBytes = 0;
  const see = (message: Seen): SeenLetter => {
    const opened = message.headers.job === undefined ? undefined : openJob(message, ...parts.jobKeys);
    const isKept = heldBytes + message.body.length <= heldMaxBytes;
    if (isKept) heldBytes += message.body.length;
    return {
      letter: presentLetter(message),
      guids: guidsOf(message),
      job: opened?.kind === 'job' ? opened.job : undefined,
      whole: isKept ? presentWhole(message) : undefined,
    };
  };
  return browseLetters(parts, see, async (picked, total) => {
    const letters = picked.map(({ item }) => item);
    state.kept = { letters, total, seenAtMs: performance.now() };
    return letters;
  });
}

/** One letter with headers and payload. */
export async function wholeLetter(parts: Parts, id: string): Promise<WholeLetter | undefined> {
  const found = (await seenLetters(parts)).find(({ letter }) => letter.id === id);
  if (found?.whole || !found) return found?.whole;
  return look(
    parts,
    (message) => (idOf(message) === id ? presentWhole(message) : undefined),
    async ([first]) => first?.item,
  );
}

/** The letters of an event, by its guid. */
export async function findDeadLetters(parts: Parts, guid: string): Promise<Letter[]> {
  return (await seenLetters(parts)).filter(({ guids }) => guids.includes(guid)).map(({ letter }) => letter);
}

const recentMs = 2_000;
const recent = new WeakMap<Parts, () => Promise<SeenLetter[]>>();

/** All letters as seen a moment ago: however many ask, the queue is looked through by one at a time, with pauses in between. */
export function recentLetters(parts: Parts): Promise<SeenLetter[]> {
  const ask = recent.get(parts) ?? makeSharedAnswer(() => seenLetters(parts), recentMs);
  recent.set(parts, ask);
  return ask();
}

/** Looks through the queue itself; letters taken are removed. The cache is invalid afterwards. */
export function look<T, R>(
  parts: Parts,
  pick: (message: Seen) => T | undefined,
  use: (picked: { item: T; take(): void }[]) => Promise<R>,
): Promise<R> {
  const state = stateOf(parts);
  return inTurn(state, async () => {
    state.kept = undefined;
    return browseLetters(parts, pick, use);
  });
}

const turn = "hashtextextended('gatepost dead letters', 0)";

/** The number of letters, read while nobody looks: a process looking through the queue holds them, and it then seems empty. */
const countLetters = ({ pool, publisher }: Parts): Promise<number> =>
  inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock_shared(${turn})`);
    return publisher.waiting(deadEventsQueue, { mayBeGone: true });
  });

/** Only one look at a time over all processes; those of this process wait without a connection to PostgreSQL. */
function browseLetters<T, R>(
  { pool, amqpUrl, storeTimeoutMs }: Parts,
  pick: (message: Seen) => T | undefined,
  use: (picked: { item: T; take(): void }[], total: number) => Promise<R>,
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
