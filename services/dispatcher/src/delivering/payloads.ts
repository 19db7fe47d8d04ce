/**
 * Payloads too large to travel in a job: read from PostgreSQL once for all concurrent deliveries of their event, and only so many bytes
 * at a time.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { findPayload, payloadBytes } from '@gatepost/webhook-db/event-payloads';
import type { Pool } from '@gatepost/webhook-db/pool';
import { largeBytes } from '../routing/large-bytes.ts';
import type { LargeEvents } from '../routing/large-events.ts';
import { acquired, released } from '../routing/memory.ts';
import type { Persist } from '../settling/persist.ts';

type EventOf = Pick<DeliveryJob, 'eventKey' | 'eventOn' | 'accountId'>;

export type Payloads = {
  /** Passes `work` the payload, undefined if it is no longer stored, and holds it until `work` ends. `no_room`: there was none for too long. */
  use<T>(event: EventOf, work: (payload: Buffer | undefined) => Promise<T>): Promise<T | 'no_room'>;
  /** Keeps a payload that will soon be needed here, briefly and if there is room, so that it need not be read back. */
  keep(event: EventOf, payload: Buffer): void;
};

/**
 * How many bytes may be in use: of payloads of at most `smallBytes`, and of larger ones, so that neither wait for the others' receivers. An
 * account may have half of each, which is enough for the largest event, so that those of one whose receivers hang do not fill it.
 */
const spaces = { small: 16 * 1024 * 1024, large: 48 * 1024 * 1024 };
const smallBytes = 1024 * 1024;

/** After this long the delivery waits in PostgreSQL instead, where it takes no attempt's place and does not count as lost. */
export const roomWaitMaxMs = 30_000;

/** Payloads are kept only up to this many bytes in use: enough for a single large event, not for a flood of them. */
const keptBytes = 32 * 1024 * 1024;

/** The jobs of an event come back within milliseconds, unless many are ahead of them. */
const keptMs = 2_000;

type Shared = { users: number; free: () => void; payload: Promise<Buffer | undefined | 'no_room'> };

export function makePayloads(
  pool: Pool,
  largeEvents: Pick<LargeEvents, 'load'>,
  persist: Persist,
  /** For tests. */
  waitMaxMs = roomWaitMaxMs,
): Payloads {
  const inUse = new Map<string, Shared>();
  /** Each kept payload, with the function that lets go of it. */
  const kept = new Map<Shared, () => void>();
  const budget = makeBudget();
  const load = async (shared: Shared, { eventKey, eventOn, accountId }: EventOf) => {
    const size = await persist('look how large a payload is', () => payloadBytes(pool, eventKey, eventOn));
    if (size === undefined) return undefined;
    const wanted = { accountId, size };
    if (!budget.fits(wanted)) for (const drop of [...kept.values()]) drop();
    const free = await budget.wait(wanted, waitMaxMs);
    if (!free) return 'no_room';
    shared.free = free;
    return persist('load a payload', () =>
      size > largeBytes ? largeEvents.load(eventKey, eventOn) : findPayload(pool, eventKey, eventOn),
    );
  };
  const open = (key: string, event: EventOf) => {
    const shared: Shared = { users: 0, free: () => {}, payload: Promise.resolve(undefined) };
    shared.payload = load(shared, event);
    inUse.set(key, shared);
    return shared;
  };
  const release = (key: string, shared: Shared) => {
    shared.users -= 1;
    if (shared.users > 0) return;
    inUse.delete(key);
    shared.free();
  };
  return {
    async use(event, work) {
      const key = keyOf(event);
      const shared = inUse.get(key) ?? open(key, event);
      shared.users += 1;
      try {
        const payload = await shared.payload;
        return payload === 'no_room' ? payload : await work(payload);
      } finally {
        release(key, shared);
      }
    },
    keep(event, payload) {
      const key = keyOf(event);
      if (inUse.has(key)) return;
      const free = budget.keep({ accountId: event.accountId, size: payload.length });
      if (!free) return;
      const shared: Shared = { users: 1, free, payload: Promise.resolve(payload) };
      inUse.set(key, shared);
      const drop = () => {
        clearTimeout(timer);
        kept.delete(shared);
        release(key, shared);
      };
      const timer = setTimeout(drop, keptMs).unref();
      kept.set(shared, drop);
    },
  };
}

type Wanted = { accountId: number; size: number };

/**
 * Limits the bytes held at a time. Whoever waits longest goes first, and later ones wait for it, unless it is its own account that has no room
 * left. Small payloads also take the large ones' space while no large one waits for it.
 */
function makeBudget() {
  type Waiting = Wanted & { begin: (free: () => void) => void };
  const queues: { small: Waiting[]; large: Waiting[] } = { small: [], large: [] };
  const small = makeSpace(spaces.small);
  const large = makeSpace(spaces.large);
  const spaceFor = (wanted: Wanted) => {
    if (wanted.size > smallBytes) return large.fits(wanted) ? large : undefined;
    if (small.fits(wanted)) return small;
    return queues.large.length === 0 && large.fits(wanted) ? large : undefined;
  };
  const take = (space: Space, wanted: Wanted) => {
    space.add(wanted, wanted.size);
    acquired(wanted.size);
    return () => {
      space.add(wanted, -wanted.size);
      released(wanted.size);
      startAll();
    };
  };
  const start = (queue: Waiting[], own: Space) => {
    for (let index = 0; index < queue.length; ) {
      const next = queue[index]!;
      const space = spaceFor(next);
      if (space) {
        queue.splice(index, 1);
        next.begin(take(space, next));
      } else if (own.hasShare(next)) return;
      else index += 1;
    }
  };
  const startAll = () => {
    start(queues.large, large);
    start(queues.small, small);
  };
  return {
    fits: (wanted: Wanted) => spaceFor(wanted) !== undefined,
    /** Answers how to give the bytes back, if there is room to keep them. */
    keep(wanted: Wanted): (() => void) | undefined {
      const isFree = queues.small.length + queues.large.length === 0;
      const space = spaceFor(wanted);
      const mayKeep = isFree && space && small.bytes() + large.bytes() + wanted.size <= keptBytes;
      return mayKeep ? take(space, wanted) : undefined;
    },
    /** Answers how to give the bytes back, once there is room; undefined after `maxMs`. */
    wait: (wanted: Wanted, maxMs: number) =>
      new Promise<(() => void) | undefined>((resolve) => {
        const queue = queues[wanted.size > smallBytes ? 'large' : 'small'];
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiting), 1);
          resolve(undefined);
          startAll();
        }, maxMs);
        const waiting: Waiting = {
          ...wanted,
          begin(free) {
            clearTimeout(timer);
            resolve(free);
          },
        };
        queue.push(waiting);
        startAll();
      }),
  };
}

type Space = ReturnType<typeof makeSpace>;

/** So many bytes, of which an account may have half. */
function makeSpace(most: number) {
  let bytes = 0;
  const ofAccounts = new Map<number, number>();
  const hasShare = ({ accountId, size }: Wanted) => {
    const own = ofAccounts.get(accountId) ?? 0;
    return own === 0 || own + size <= most / 2;
  };
  return {
    bytes: () => bytes,
    hasShare,
    /** A payload of any size fits where there is no other. */
    fits: (wanted: Wanted) => bytes === 0 || (bytes + wanted.size <= most && hasShare(wanted)),
    add({ accountId }: Wanted, change: number) {
      bytes += change;
      const own = (ofAccounts.get(accountId) ?? 0) + change;
      if (own > 0) ofAccounts.set(accountId, own);
      else ofAccounts.delete(accountId);
    },
  };
}

const keyOf = ({ eventOn, eventKey }: EventOf): string => `${eventOn} ${eventKey}`;
