/**
 * Payloads too large to travel in a job: read from PostgreSQL once for all deliveries of their event that are made at the same time,
 * and only so many bytes of them at once.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { loadPayload, payloadBytes } from '@gatepost/webhook-db/events';
import type { Pool } from '@gatepost/webhook-db/pool';
import { type LargeEvents, largeBytes } from '../routing/large-events.ts';
import { holds, released } from '../routing/memory.ts';
import type { Persist } from '../settling/persist.ts';

type EventOf = Pick<DeliveryJob, 'eventKey' | 'eventOn'>;

export type Payloads = {
  /** Gives `work` the payload, undefined if it is no longer stored; holds it until `work` ends. */
  use<T>(event: EventOf, work: (payload: Buffer | undefined) => Promise<T>): Promise<T>;
  /** Keeps a payload that is about to be asked for here, for a moment and while there is room, so that it need not be read back. */
  keep(event: EventOf, payload: Buffer): void;
};

/** As many as events in hand may have. One that is larger is read when no other is in use. */
const maxBytes = 64 * 1024 * 1024;

/** Up to how many bytes in use one more is kept: a single large event, and not a flood of them. */
const keptBytes = 32 * 1024 * 1024;

/** Jobs of an event come back within some milliseconds, unless there are many before them. */
const keptMs = 2_000;

type Shared = { users: number; size: number; payload: Promise<Buffer | undefined> };

export function makePayloads(pool: Pool, largeEvents: Pick<LargeEvents, 'load'>, persist: Persist): Payloads {
  const inUse = new Map<string, Shared>();
  /** What is kept, and how to let go of it. */
  const kept = new Map<Shared, () => void>();
  const budget = makeBudget();
  const load = async (shared: Shared, { eventKey, eventOn }: EventOf) => {
    const size = await persist('look how large a payload is', () => payloadBytes(pool, eventKey, eventOn));
    if (size === undefined) return undefined;
    if (!budget.fits(size)) for (const letGo of [...kept.values()]) letGo();
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
  const leave = (key: string, shared: Shared) => {
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
        leave(key, shared);
      }
    },
    keep(event, payload) {
      const key = keyOf(event);
      if (inUse.has(key) || !budget.mayKeep(payload.length)) return;
      const shared: Shared = { users: 1, size: payload.length, payload: Promise.resolve(payload) };
      inUse.set(key, shared);
      budget.take(shared.size);
      const letGo = () => {
        clearTimeout(timer);
        kept.delete(shared);
        leave(key, shared);
      };
      const timer = setTimeout(letGo, keptMs).unref();
      kept.set(shared, letGo);
    },
  };
}

/** So many bytes at a time; what is more waits, in order. */
function makeBudget() {
  const queue: { size: number; begin: () => void }[] = [];
  let bytes = 0;
  const fits = (size: number) => bytes === 0 || bytes + size <= maxBytes;
  const take = (size: number) => {
    bytes += size;
    holds(size);
  };
  const letBegin = () => {
    for (let next = queue[0]; next && fits(next.size); next = queue[0]) {
      queue.shift();
      take(next.size);
      next.begin();
    }
  };
  return {
    fits,
    take,
    mayKeep: (size: number) => queue.length === 0 && bytes + size <= keptBytes,
    wait: (size: number) =>
      new Promise<void>((begin) => {
        queue.push({ size, begin });
        letBegin();
      }),
    release(size: number) {
      bytes -= size;
      released(size);
      letBegin();
    },
  };
}

const keyOf = ({ eventOn, eventKey }: EventOf): string => `${eventOn} ${eventKey}`;
