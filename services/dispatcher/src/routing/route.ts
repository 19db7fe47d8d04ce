/**
 * The spine of routing: a message of `gatepost.events` becomes an event row and one delivery job per hook. It is acked only
 * when the row is committed and all its jobs are confirmed, or its dead letter is.
 * Whether a message is a duplicate is said in duplicates.ts.
 */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { type DeadReason, type Event, parseEvent } from '@gatepost/contracts/event';
import type { Producers } from '@gatepost/contracts/producers';
import { inHalves } from '@gatepost/runtime/halve';
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Account, Accounts } from '../accounts.ts';
import { type Batches, makeBatches } from '../batch.ts';
import { publishDeadLetter } from '../dead-letter.ts';
import { type Admit, admitted } from '../limit/admit.ts';
import type { EventResult, Metrics } from '../metrics.ts';
import type { Moved } from '../moved.ts';
import { type Parking, park } from '../parked/park.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import { isGivenUp, type Persist } from '../persist.ts';
import { deadReasonOf } from '../trouble.ts';
import { findDuplicates } from './duplicates.ts';
import type { Enqueue } from './enqueue.ts';
import { type Match, match } from './match.ts';
import { released } from './memory.ts';
import { markRouted, type StoredEvent, type StoreEvents } from './store-events.ts';

export type RouteParts = {
  pool: Pool;
  accounts: Accounts;
  producers: Producers;
  publisher: Publisher;
  storeEvents: StoreEvents;
  enqueue: Enqueue;
  admit: Admit;
  persist: Persist;
  moved: Moved;
  metrics: Metrics;
  log: Log;
};

const batchMaxMessages = 200;
const batchMaxBytes = 8 * 1024 * 1024;

type Routed = { message: Incoming; event: Event; account: Account | undefined; match: Match };

/**
 * Takes messages that hold events; each is settled by what is made here, sooner or later. `before` is awaited before each batch.
 */
export function makeRoute(parts: RouteParts, before?: () => Promise<void>): Batches<Incoming> {
  return makeBatches<Incoming>({
    maxItems: batchMaxMessages,
    maxBytes: batchMaxBytes,
    bytesOf: (message) => message.body.length,
    async work(messages) {
      await before?.();
      await routeSurely(parts, messages);
      for (const message of messages) released(message.body.length);
    },
  });
}

/** Routes a batch; one that cannot be routed as it is, is halved until the message at fault is alone and buried. */
async function routeSurely(parts: RouteParts, messages: Incoming[]): Promise<void> {
  let isFirst = true;
  try {
    await inHalves(messages, {
      async work(some) {
        // What follows from an event may have begun before the batch failed.
        const mayBeHalfDone = !isFirst;
        isFirst = false;
        await routeBatch(parts, some, mayBeHalfDone);
      },
      async alone(message, error) {
        parts.log.error({ error, 'message.id': message.messageId }, 'could not route an event');
        const { reason, detail } = deadReasonOf(error);
        try {
          if (!message.isSettled()) await bury(parts, message, reason, detail);
        } catch (again) {
          if (isGivenUp(again)) throw again;
          parts.log.error({ error: again, 'message.id': message.messageId }, 'could not bury an event either');
          message.giveBack(); // and the others go on
        }
      },
      isNobodysFault: isGivenUp,
    });
  } catch (error) {
    // What is not acked comes back, to us or another dispatcher.
    if (!isGivenUp(error)) parts.log.error({ error }, 'could not route a batch of events');
    for (const message of messages) if (!message.isSettled()) message.giveBack();
  }
}

async function routeBatch(parts: RouteParts, messages: readonly Incoming[], mayBeHalfDone: boolean): Promise<void> {
  const good: { message: Incoming; event: Event }[] = [];
  const dead: Promise<void>[] = [];
  for (const message of messages) {
    if (message.isSettled()) continue; // buried, before the rest of the batch failed
    const parsed = parseEvent(message);
    const refusal = parsed.kind === 'dead' ? parsed : parts.producers.refuse(message.userId, parsed.event.owner);
    if (refusal) dead.push(buryUnfit(parts, message, refusal.reason, refusal.detail));
    else if (parsed.kind === 'event') good.push({ message, event: parsed.event });
  }
  const outcomes = await Promise.allSettled([...dead, good.length > 0 && routeEvents(parts, good, mayBeHalfDone)]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

async function routeEvents(
  parts: RouteParts,
  incoming: { message: Incoming; event: Event }[],
  wasTried: boolean,
): Promise<void> {
  const owners = new Set(incoming.map(({ event }) => event.owner));
  const accounts = await parts.persist('look up hooks', () => parts.accounts.ofLogins(owners));
  const routed = incoming.map(({ message, event }): Routed => {
    const account = accounts.get(event.owner);
    return { message, event, account, match: match(event, account) };
  });
  const { stored, tries } = await store(parts, routed);
  // A statement may have been committed although we did not hear so.
  await followUp(parts, routed, stored, wasTried || tries > 1);
}

async function store(parts: RouteParts, routed: Routed[]): Promise<{ stored: StoredEvent[]; tries: number }> {
  let tries = 0;
  const stored = await parts.persist('store events', async () => {
    tries += 1;
    try {
      return await parts.storeEvents(routed.map(toRow));
    } catch (error) {
      if (!isMissingPartition(error)) throw error;
      await ensurePartitions(parts.pool);
      return await parts.storeEvents(routed.map(toRow));
    }
  });
  return { stored, tries };
}

/** Publishes or parks the jobs of stored events, notes that, and acks. */
async function followUp(
  parts: RouteParts,
  routed: Routed[],
  stored: StoredEvent[],
  mayBeHalfDone: boolean,
): Promise<void> {
  const jobs: { job: DeliveryJob; payload: Buffer; account: Account }[] = [];
  const toMark: StoredEvent[] = [];
  const results: EventResult[] = [];
  const duplicates = findDuplicates(
    stored.map((row, index) => ({ ...row, redelivered: routed[index]!.message.redelivered })),
    mayBeHalfDone,
  );
  for (const [index, { event, account, match: found }] of routed.entries()) {
    const row = stored[index]!;
    const isDuplicate = duplicates[index]!;
    results.push(isDuplicate ? 'duplicate' : found.kind);
    if (isDuplicate || row.isRouted) continue; // of a new row that counts as routed nothing follows
    toMark.push(row);
    if (!account) continue; // deleted since the event was first stored
    for (const [position, hookId] of row.hookIds.entries()) {
      const job: DeliveryJob = {
        deliveryId: row.deliveryIds[position]!,
        guid: row.guid,
        hookId,
        event: event.type,
        action: event.action,
        eventKey: row.key,
        eventOn: row.receivedOn,
        accountId: account.id,
        repositoryId: found.repositoryId,
        occurredAt: event.time.toISOString(),
        attempt: 1,
        redelivery: false,
        throttledAt: null,
        retries: true,
        ...(row.isNew ? {} : { mayRepeat: true }),
      };
      jobs.push({ job, payload: event.payload, account });
    }
  }
  const { now, later } = await admitAll(parts.admit, jobs);
  await Promise.all([
    parts.enqueue(now),
    later.length > 0 && parts.persist('park deliveries', () => park(parts.pool, later)),
  ]);
  if (toMark.length > 0) await parts.persist('mark events routed', () => markRouted(parts.pool, toMark));
  for (const [index, { message }] of routed.entries()) {
    parts.metrics.eventRouted(results[index]!);
    parts.moved.events += 1;
    message.ack();
  }
}

/** Asks each account's limit once for all its deliveries of the batch, in their order. */
async function admitAll(
  admit: Admit,
  jobs: { job: DeliveryJob; payload: Buffer; account: Account }[],
): Promise<{ now: { job: DeliveryJob; payload: Buffer }[]; later: Parking[] }> {
  const byAccount = Map.groupBy(jobs, ({ account }) => account);
  const slots = new Map(
    await Promise.all(
      [...byAccount].map(async ([account, own]) => [account, await admit.plan(account, own.length)] as const),
    ),
  );
  const now: { job: DeliveryJob; payload: Buffer }[] = [];
  const later: Parking[] = [];
  for (const { job, payload, account } of jobs) {
    const decided = admitted(job, slots.get(account)!.shift()!);
    if (decided.kind === 'now') now.push({ job: decided.job, payload });
    else later.push(decided.parking);
  }
  return { now, later };
}

function toRow({ event, account, match: found }: Routed) {
  const hookIds = found.kind === 'matched' ? found.hooks.map((hook) => hook.id) : [];
  return {
    event,
    accountId: account?.id ?? null,
    repositoryId: found.repositoryId,
    hookIds,
    // The API's `tests` send a repository's latest push, whether or not a hook was there when it came.
    keepPayload: hookIds.length > 0 || (event.type === 'push' && found.repositoryId !== null),
  };
}

async function buryUnfit(parts: RouteParts, message: Incoming, reason: DeadReason, detail: string): Promise<void> {
  await bury(parts, message, reason, detail);
  parts.moved.events += 1; // what we could not store is not moved by being buried
}

async function bury(parts: RouteParts, message: Incoming, reason: DeadReason, detail: string): Promise<void> {
  await parts.persist('publish a dead letter', () => publishDeadLetter(parts.publisher, message, reason, detail));
  parts.metrics.eventDead(reason, detail, message.messageId);
  message.ack();
}
