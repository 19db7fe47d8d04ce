/**
 * What lies in RabbitMQ's queue of dead letters. It is looked through from its head: whoever looks holds the first letters for that moment and
 * gives them back, so requests take turns, and RabbitMQ counts for each letter how often that was (`x-delivery-count`). So what was seen is
 * kept, and looked at anew only when something has come or gone: then the queue, whose length anybody may ask, has another one.
 */
import { browse, type Seen } from '@gatepost/amqp/browse';
import { type DeliveryJob, openJob } from '@gatepost/contracts/delivery-job';
import { deadEventsQueue } from '@gatepost/contracts/topology';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Parts } from '../parts.ts';
import { guidsOf, idOf, type Letter, presentLetter, presentWhole, type WholeLetter } from './letter.ts';
import { makeRecent } from './recent.ts';

/** How far a request looks: a queue that holds more is worked off from its head. */
export const lookedMax = 2_000;
/** From when on no further bodies are held; each may have 25 MB. */
export const heldMaxBytes = 16_000_000;
/** One letter may have gone and another come meanwhile, by hands of which we do not hear. */
const keptMaxMs = 60_000;

/** A letter, the guids that its event may have, and the delivery that it was, if one of our services made it. `whole`: unless it is too large to keep. */
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

/** After whoever asked before. */
function inTurn<R>(state: State, work: () => Promise<R>): Promise<R> {
  const mine = state.last.then(work);
  state.last = mine.catch(() => {}); // who asked hears of it
  return mine;
}

/** The first letters, in the order of the queue. */
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

/** One of them with headers and payload. */
export async function wholeLetter(parts: Parts, id: string): Promise<WholeLetter | undefined> {
  const found = (await seenLetters(parts)).find(({ letter }) => letter.id === id);
  if (found?.whole || !found) return found?.whole;
  return look(
    parts,
    (message) => (idOf(message) === id ? presentWhole(message) : undefined),
    async ([first]) => first?.item,
  );
}

/** Those of an event, by its guid. */
export async function findDeadLetters(parts: Parts, guid: string): Promise<Letter[]> {
  return (await seenLetters(parts)).filter(({ guids }) => guids.includes(guid)).map(({ letter }) => letter);
}

const recentMs = 2_000;
const recent = new WeakMap<Parts, () => Promise<SeenLetter[]>>();

/** All letters, as they were seen a moment ago: asked by many, they are looked through by one at a time, with rests between. */
export function recentLetters(parts: Parts): Promise<SeenLetter[]> {
  const ask = recent.get(parts) ?? makeRecent(() => seenLetters(parts), recentMs);
  recent.set(parts, ask);
  return ask();
}

/** Looks through the queue itself; what is taken of it is gone. Afterwards what was seen before does not count. */
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

/** How many lie there, between two looks: whoever looks through the queue holds them meanwhile, and it seems to have none. */
const countLetters = ({ pool, publisher }: Parts): Promise<number> =>
  inTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock_shared(${turn})`);
    return publisher.waiting(deadEventsQueue, { mayBeGone: true });
  });

/** Runs by itself, whichever process looks; those of this process wait without a connection to PostgreSQL. */
function browseLetters<T, R>(
  { pool, amqpUrl }: Parts,
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
      idleMs: 2_000,
    };
    return browse(options, pick, use);
  });
}
