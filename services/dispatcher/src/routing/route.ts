/**
 * The spine of routing: a message of `gatepost.events` becomes an event row and one delivery job per hook. It is acked only
 * when the row is committed and all its jobs are confirmed.
 * Whether a message is a duplicate is said in duplicates.ts.
 */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { type Event, parseEvent } from '@gatepost/contracts/event';
import type { Producers } from '@gatepost/contracts/producers';
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Account, Accounts } from '../accounts.ts';
import { makeBatches } from '../batch.ts';
import { type Admit, admitted } from '../limit/admit.ts';
import type { EventResult, Metrics } from '../metrics.ts';
import type { Moved } from '../moved.ts';
import { type Parking, park } from '../parked/park.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import type { Persist } from '../persist.ts';
import { ack, deadLetter, type Settle, type Verdict } from '../settle.ts';
import { makeTake, type Take } from '../take.ts';
import { findDuplicates } from './duplicates.ts';
import type { Enqueue } from './enqueue.ts';
import { type Match, match } from './match.ts';
import { released } from './memory.ts';
import { markRouted, type StoredEvent, type StoreEvents } from './store-events.ts';

export type RouteParts = {
  pool: Pool;
  accounts: Accounts;
  producers: Producers;
  storeEvents: StoreEvents;
  enqueue: Enqueue;
  admit: Admit;
  settle: Settle;
  persist: Persist;
  moved: Moved;
  metrics: Metrics;
  log: Log;
};

const batchMaxMessages = 200;
const batchMaxBytes = 8 * 1024 * 1024;

type Routed = { message: Incoming; event: Event; account: Account | undefined; match: Match };

/** Takes messages that hold events. */
export type Route = Take & {
  /** How many wait to be routed. */
  waiting(): number;
  isIdle(): boolean;
};

/** Makes what routes, in batches, in the order in which messages are taken. `before` is awaited before each batch. */
export function makeRoute(parts: RouteParts, before?: () => Promise<void>): Route {
  // Messages of a batch that failed: what follows from their events may have begun.
  const tried = new WeakSet<Incoming>();
  const batches = makeBatches<Incoming, Verdict>({
    maxItems: batchMaxMessages,
    maxBytes: batchMaxBytes,
    bytesOf: (message) => message.body.length,
    ...(before && { before }),
    async work(messages) {
      const wasTried = messages.some((message) => tried.has(message));
      for (const message of messages) tried.add(message);
      return routeBatch(parts, messages, wasTried);
    },
  });
  const taking = makeTake({
    settle: parts.settle,
    log: parts.log,
    decide: batches.add,
    onSettled: (message) => released(message.body.length),
  });
  return { ...taking, waiting: batches.waiting, isIdle: () => taking.inHand() === 0 };
}

/** Says of each message what becomes of it, in order. */
async function routeBatch(
  parts: RouteParts,
  messages: readonly Incoming[],
  wasTried: boolean,
): Promise<readonly Verdict[]> {
  const verdicts = new Map<Incoming, Verdict>();
  const good: { message: Incoming; event: Event }[] = [];
  for (const message of messages) {
    const parsed = parseEvent(message);
    const refusal = parsed.kind === 'dead' ? parsed : parts.producers.refuse(message.userId, parsed.event.owner);
    if (refusal) verdicts.set(message, deadLetter(refusal.reason, refusal.detail));
    else if (parsed.kind === 'event') good.push({ message, event: parsed.event });
  }
  if (good.length > 0) {
    const results = await routeEvents(parts, good, wasTried);
    for (const [index, { message }] of good.entries()) {
      const result = results[index]!;
      parts.metrics.eventRouted(result);
      verdicts.set(message, ack(result === 'duplicate' ? 'duplicate' : 'routed'));
    }
  }
  parts.moved.events += messages.length; // what cannot be stored never comes here
  return messages.map((message) => verdicts.get(message)!);
}

async function routeEvents(
  parts: RouteParts,
  incoming: { message: Incoming; event: Event }[],
  wasTried: boolean,
): Promise<EventResult[]> {
  const owners = new Set(incoming.map(({ event }) => event.owner));
  const accounts = await parts.persist('look up hooks', () => parts.accounts.ofLogins(owners));
  const routed = incoming.map(({ message, event }): Routed => {
    const account = accounts.get(event.owner);
    return { message, event, account, match: match(event, account) };
  });
  const { stored, tries } = await store(parts, routed);
  // A statement may have been committed although we did not hear so.
  return followUp(parts, routed, stored, wasTried || tries > 1);
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

/** Publishes or parks the jobs of stored events, and notes that. Answers what became of each event. */
async function followUp(
  parts: RouteParts,
  routed: Routed[],
  stored: StoredEvent[],
  mayBeHalfDone: boolean,
): Promise<EventResult[]> {
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
  return results;
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
