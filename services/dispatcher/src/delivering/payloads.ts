/**
 * Payloads too large to travel in a job: read from PostgreSQL once for all deliveries of their event that are made at the same time,
 * and only so many bytes of them at once.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { loadPayload, payloadBytes } from '@gatepost/webhook-db/events';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Persist } from '../persist.ts';
import { released } from '../routing/memory.ts';

type EventOf = Pick<DeliveryJob, 'eventKey' | 'eventOn'>;

/** Gives `work` the payload, undefined if it is no longer stored; holds it until `work` ends. */
export type Payloads = <T>(event: EventOf, work: (payload: Buffer | undefined) => Promise<T>) => Promise<T>;

/** As many as events in hand may have. One that is larger is read when no other is in use. */
const maxBytes = 64 * 1024 * 1024;

type Shared = { users: number; size: number; payload: Promise<Buffer | undefined> };

export function makePayloads(pool: Pool, persist: Persist): Payloads {
  const inUse = new Map<string, Shared>();
  const queue: { size: number; begin: () => void }[] = [];
  let bytes = 0;

  const letBegin = () => {
    for (let next = queue[0]; next && (bytes === 0 || bytes + next.size <= maxBytes); next = queue[0]) {
      queue.shift();
      bytes += next.size;
      next.begin();
    }
  };
  const load = async (shared: Shared, { eventKey, eventOn }: EventOf) => {
    const size = await persist('look how large a payload is', () => payloadBytes(pool, eventKey, eventOn));
    if (size === undefined) return undefined;
    await new Promise<void>((begin) => {
      queue.push({ size, begin });
      letBegin();
    });
    shared.size = size;
    return persist('load a payload', () => loadPayload(pool, eventKey, eventOn));
  };
  const open = (key: string, event: EventOf) => {
    const shared: Shared = { users: 0, size: 0, payload: Promise.resolve(undefined) };
    shared.payload = load(shared, event);
    inUse.set(key, shared);
    return shared;
  };
  return async (event, work) => {
    const key = `${event.eventOn} ${event.eventKey}`;
    const shared = inUse.get(key) ?? open(key, event);
    shared.users += 1;
    try {
      return await work(await shared.payload);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) {
        inUse.delete(key);
        bytes -= shared.size;
        released(shared.size);
        letBegin();
      }
    }
  };
}
