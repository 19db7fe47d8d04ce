/**
 * Payloads too large to travel in a job: read from PostgreSQL once for all concurrent deliveries of their event, and only so many bytes
 * at a time.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { loadPayload, payloadBytes } from '@gatepost/webhook-db/event-payloads';
import type { Pool } from '@gatepost/webhook-db/pool';
import { type LargeEvents, largeBytes } from '../routing/large-events.ts';
import { holds, released } from '../routing/memory.ts';
import type { Persist } from '../settling/persist.ts';

type EventOf = Pick<DeliveryJob, 'eventKey' | 'eventOn'>;

export type Payloads = {
  /** Passes `work` the payload, undefined if it is no longer stored, and holds it until `work` ends. */
  use<T>(event: EventOf, work: (payload: Buffer | undefined) => Promise<T>): Promise<T>;
  /** Keeps a payload that will soon be needed here, briefly and if there is room, so that it need not be read back. */
  keep(event: EventOf, payload: Buffer): void;
};

/** As much as events in hand may have. A larger payload is read when no other is in use. */
const maxBytes = 64 * 1024 * 1024;

/** Of these bytes, so many are left to payloads of at most `smallBytes`: a few receivers that hang must not hold up everybody's. */
const reservedBytes = 16 * 1024 * 1024;
const smallBytes = 1024 * 1024;

/** Payloads are kept only up to this many bytes in use: enough for a single large event, not for a flood of them. */
const keptBytes = 32 * 1024 * 1024;

/** The jobs of an event come back within milliseconds, unless many are ahead of them. */
const keptMs = 2_000;

type Shared = { users: number; size: number; payload: Promise<Buffer | undefined> };

export function makePayloads(pool: Pool, largeEvents: Pick<LargeEvents, 'load'>, persist: Persist): Payloads {
  const inUse = new Map<string, Shared>();
  /** Each kept payload, with the function that lets go of it. */
  const kept = new Map<Shared, () => void>();
  const budget = makeBudget();
  const load = async (shared: Shared, { eventKey, eventOn }: EventOf) => {
    const size = await persist('look how large a payload is', () => payloadBytes(pool, eventKey, eventOn));
    if (size === undefined) return undefined;
    if (!budget.fits(size)) for (const drop of [...kept.values()]) drop();
    await budget.wait(size);
    shared.size = size;
    return persist('load a payload', () =>
      size > largeBytes ? largeEvents.load(eventKey, eventOn) : loadPayload(pool, eventKey, eventOn),
    );
  };
  const open = (key: string, event: EventOf) => {
    const shared: Shared = { users: 0, size: 0, payload: Promise.resolve(undefined) };
    shared.payload = load(shared, event);
    inUse.set(key, shared);
    return shared;
  };
  const release = (key: string, shared: Shared) => {
    shared.users -= 1;
    if (shared.users > 0) return;
    inUse.delete(key);
    budget.release(shared.size);
  };
  return {
    async use(event, work) {
      const key = keyOf(event);
      const shared = inUse.get(key) ?? open(key, event);
      shared.users += 1;
      try {
        return await work(await shared.payload);
      } finally {
        release(key, shared);
      }
    },
    keep(event, payload) {
      const key = keyOf(event);
      if (inUse.has(key) || !budget.mayKeep(payload.length)) return;
      const shared: Shared = { users: 1, size: payload.length, payload: Promise.resolve(payload) };
      inUse.set(key, shared);
      budget.take(shared.size);
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

/** Limits the bytes held at a time; further requests wait in order, small ones apart from large ones. */
function makeBudget() {
  type Waiting = { size: number; begin: () => void };
  const queues: { small: Waiting[]; large: Waiting[] } = { small: [], large: [] };
  let bytes = 0;
  const isSmall = (size: number) => size <= smallBytes;
  const fits = (size: number) => bytes === 0 || bytes + size <= (isSmall(size) ? maxBytes : maxBytes - reservedBytes);
  const take = (size: number) => {
    bytes += size;
    holds(size);
  };
  const startWaiting = () => {
    for (const queue of [queues.small, queues.large])
      for (let next = queue[0]; next && fits(next.size); next = queue[0]) {
        queue.shift();
        take(next.size);
        next.begin();
      }
  };
  return {
    fits,
    take,
    mayKeep: (size: number) => queues.small.length + queues.large.length === 0 && bytes + size <= keptBytes,
    wait: (size: number) =>
      new Promise<void>((begin) => {
        queues[isSmall(size) ? 'small' : 'large'].push({ size, begin });
        startWaiting();
      }),
    release(size: number) {
      bytes -= size;
      released(size);
      startWaiting();
    },
  };
}

const keyOf = ({ eventOn, eventKey }: EventOf): string => `${eventOn} ${eventKey}`;
