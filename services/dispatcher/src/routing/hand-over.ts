/** Hands the deliveries of events to RabbitMQ or the parking, and marks the events as routed. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { StoredEvent } from '@gatepost/webhook-db/events';
import type { Pool } from '@gatepost/webhook-db/pool';
import { claimUnrouted } from '@gatepost/webhook-db/routed-events';
import type { Taker } from '@gatepost/webhook-db/takers';
import type { Account } from '../accounts.ts';
import type { Taken } from '../delivering/taken.ts';
import type { Admit } from '../limit/admit.ts';
import { type Parking, park } from '../parked/park.ts';
import type { Persist } from '../settling/persist.ts';
import { type Enqueue, type Outgoing, Unconfirmed } from './enqueue.ts';

/** `hasBacklog`: other deliveries of its account wait for the limit. */
export type Delivery = { job: DeliveryJob; payload: Buffer; account: Account; hasBacklog: boolean };

/**
 * A hanging dispatcher keeps its locks for no longer than this. Nor does one that waits for the end of an alarm of the broker: it repeats the
 * transaction.
 */
const settings = 'SET LOCAL idle_in_transaction_session_timeout = 15000';

/**
 * Answers the keys of the events that this call handed over; the others have been routed, or are being routed, by another dispatcher.
 *
 * An event is marked as routed in the transaction that hands over its deliveries. Meanwhile its row is locked, which tells others that it is
 * being routed. If we die, the mark is undone and the row is free for the next dispatcher. However often the transaction is retried, the
 * limit is asked once, and jobs that RabbitMQ has confirmed are not published again.
 */
export async function handOver(
  parts: {
    pool: Pool;
    admit: Admit;
    enqueue: Enqueue;
    persist: Persist;
    taker: Pick<Taker, 'id'>;
    taken: Pick<Taken, 'keys'>;
  },
  events: readonly StoredEvent[],
  deliveries: readonly Delivery[],
  /** Jobs to park along with them, whose limit has been asked already. */
  parked: readonly Parking[] = [],
): Promise<ReadonlySet<string>> {
  const asked = new Set<string>();
  const toPark = [...parked];
  let toPublish: Outgoing[] = [];
  return parts.persist('hand over deliveries', () =>
    inTransaction(
      parts.pool,
      async (client) => {
        const mine = await claimUnrouted(client, events, { id: parts.taker.id, inHand: parts.taken.keys });
        const isMine = ({ job }: { job: DeliveryJob }) => mine.has(job.eventKey);
        const unasked = deliveries.filter(({ job }) => mine.has(job.eventKey) && !asked.has(job.eventKey));
        const { now, later } = await admitAll(parts.admit, unasked);
        for (const key of mine) asked.add(key); // not before there is an answer
        toPark.push(...later);
        toPublish.push(...now);
        await park(client, toPark.filter(isMine));
        const others = toPublish.filter((one) => !isMine(one));
        try {
          await parts.enqueue(toPublish.filter(isMine));
          toPublish = others;
        } catch (error) {
          // The broker may have them all the same.
          if (error instanceof Unconfirmed)
            toPublish = [...others, ...error.jobs.map((one) => ({ ...one, job: { ...one.job, mayRepeat: true } }))];
          throw error;
        }
        return mine;
      },
      settings,
    ),
  );
}

/** Asks each account's limit once for all its deliveries, in their order. */
export async function admitAll(admit: Admit, deliveries: Delivery[]): Promise<{ now: Outgoing[]; later: Parking[] }> {
  const admitted = await Promise.all(
    [...Map.groupBy(deliveries, ({ account }) => account)].map(async ([account, own]) => {
      const jobs = own.map(({ job }) => job);
      const { now, later } = await admit(account, own[0]!.hasBacklog, jobs);
      const payloads = new Map(own.map(({ job, payload }) => [job.deliveryId, payload]));
      return { now: now.map((job) => ({ job, payload: payloads.get(job.deliveryId)! })), later };
    }),
  );
  return { now: admitted.flatMap(({ now }) => now), later: admitted.flatMap(({ later }) => later) };
}
