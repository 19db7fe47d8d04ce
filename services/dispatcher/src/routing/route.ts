/**
 * The spine of routing: a message of `gatepost.events` becomes an event row and one delivery job per hook. It is acked only when its
 * event is routed, by us or by whoever had another message of it: its deliveries are handed over (hand-over.ts).
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Incoming } from '@gatepost/amqp/consumer';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { type Event, eventGuid, eventKey, eventKeyBefore, parseEvent, subjectOf } from '@gatepost/contracts/event';
import type { Producers } from '@gatepost/contracts/producers';
import type { Log } from '@gatepost/runtime/log';
import type { NewEvent, StoredEvent, StoreEvents } from '@gatepost/webhook-db/events';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Account, Accounts } from '../accounts.ts';
import { makeBatches } from '../batch.ts';
import type { Admit } from '../limit/admit.ts';
import type { EventResult, Metrics } from '../metrics.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import { GivenUp, type Persist } from '../persist.ts';
import type { Moved } from '../progress.ts';
import { ack, deadLetter, type Settle, type Verdict } from '../settle.ts';
import { makeTake, type Take } from '../take.ts';
import { whatEachBrings } from './brings.ts';
import type { Enqueue } from './enqueue.ts';
import { type Delivery, handOver } from './hand-over.ts';
import { type Match, match } from './match.ts';
import { released } from './memory.ts';

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

type Routed = { message: Incoming; event: Event; account: Account | undefined; hasBacklog: boolean; match: Match };

/** Takes messages that hold events. */
export type Route = Pick<Take, 'take'> & {
  /** How many wait to be routed. */
  waiting(): number;
  /** All that was taken is settled. */
  isIdle(): boolean;
  /** Gives back what another dispatcher is routing; resolves when the rest is settled. */
  finish(): Promise<void>;
};

/** When to look again at an event that another dispatcher is routing: it takes some milliseconds. */
const lookAgainMs = 200;

/** Makes what routes, in batches, in the order in which messages are taken. `before` is awaited before each batch. */
export function makeRoute(parts: RouteParts, before?: () => Promise<void>): Route {
  const stop = new AbortController();
  const batches = makeBatches<Incoming, Verdict | 'unknown'>({
    maxItems: batchMaxMessages,
    maxBytes: batchMaxBytes,
    bytesOf: (message) => message.body.length,
    ...(before && { before }),
    work: (messages) => routeBatch(parts, messages),
  });
  const taking = makeTake({
    settle: parts.settle,
    log: parts.log,
    async decide(message) {
      for (;;) {
        const verdict = await batches.add(message);
        if (verdict !== 'unknown') return verdict;
        await wait(lookAgainMs, undefined, { signal: stop.signal }).catch(() => {
          throw new GivenUp('stopped while another dispatcher routes an event');
        });
      }
    },
    onSettled: (message) => released(message.body.length),
  });
  return {
    take: taking.take,
    waiting: batches.waiting,
    isIdle: () => taking.inHand() === 0,
    async finish() {
      stop.abort();
      await taking.idle();
    },
  };
}

/** Says of each message what becomes of it, in order. */
async function routeBatch(parts: RouteParts, messages: readonly Incoming[]): Promise<readonly (Verdict | 'unknown')[]> {
  const verdicts = new Map<Incoming, Verdict | 'unknown'>();
  const good: { message: Incoming; event: Event }[] = [];
  for (const message of messages) {
    const parsed = parseEvent(message);
    const refusal = parsed.kind === 'dead' ? parsed : parts.producers.refuse(message.userId, parsed.event.account);
    if (refusal) verdicts.set(message, deadLetter(refusal.reason, refusal.detail));
    else if (parsed.kind === 'event') good.push({ message, event: parsed.event });
  }
  const results = good.length > 0 ? await routeEvents(parts, good) : [];
  for (const [index, result] of results.entries()) {
    const { message } = good[index]!;
    if (result !== 'unknown') parts.metrics.eventRouted(result);
    verdicts.set(message, result === 'unknown' ? result : ack(result === 'duplicate' ? result : 'routed'));
  }
  const all = messages.map((message) => verdicts.get(message)!);
  parts.moved.events += all.filter((verdict) => verdict !== 'unknown').length; // what cannot be stored never comes here
  return all;
}

async function routeEvents(
  parts: RouteParts,
  incoming: { message: Incoming; event: Event }[],
): Promise<(EventResult | 'unknown')[]> {
  const logins = new Set(incoming.map(({ event }) => event.account));
  const accounts = await parts.persist('look up hooks', () => parts.accounts.ofLogins(logins));
  const routed = incoming.map(({ message, event }): Routed => {
    const { account, hasBacklog = false } = accounts.get(event.account) ?? {};
    return { message, event, account, hasBacklog, match: match(event, account) };
  });
  const stored = await parts.persist('store events', () => store(parts, routed));
  const unrouted = new Map<string, { row: StoredEvent; deliveries: Delivery[] }>();
  for (const [index, row] of stored.entries())
    if (!row.isRouted && !unrouted.has(row.key))
      unrouted.set(row.key, { row, deliveries: deliveriesOf(routed[index]!, row) });
  const found = [...unrouted.values()];
  const mine =
    found.length > 0
      ? await handOver(
          parts,
          found.map(({ row }) => row),
          found.flatMap(({ deliveries }) => deliveries),
        )
      : new Set<string>();
  return whatEachBrings(stored, mine).map((brings, index) => {
    if (brings !== 'event') return brings;
    const found = routed[index]!.match;
    if (found.kind === 'unmatched') parts.metrics.eventUnmatched(found.reason);
    return found.kind;
  });
}

async function store(parts: RouteParts, routed: Routed[]): Promise<StoredEvent[]> {
  try {
    return await parts.storeEvents(routed.map(toRow));
  } catch (error) {
    if (!isMissingPartition(error)) throw error;
    await ensurePartitions(parts.pool);
    return parts.storeEvents(routed.map(toRow));
  }
}

function deliveriesOf({ event, account, hasBacklog, match: found }: Routed, row: StoredEvent): Delivery[] {
  if (!account) return []; // deleted since the event was first stored
  return row.hookIds.map((hookId, position) => {
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
      // Whoever stored it may have published some of its jobs.
      ...(row.isNew ? {} : { mayRepeat: true }),
    };
    return { job, payload: event.payload, account, hasBacklog };
  });
}

function toRow({ event, account, match: found }: Routed): NewEvent {
  const hookIds = found.kind === 'matched' ? found.hooks.map((hook) => hook.id) : [];
  // The API's `tests` send a repository's latest push, whether or not a hook was there when it came.
  const isAskedFor = hookIds.length > 0 || (event.type === 'push' && found.repositoryId !== null);
  return {
    key: eventKey(event),
    keyBefore: eventKeyBefore(event),
    guid: eventGuid(event),
    source: event.source,
    id: event.id,
    type: event.type,
    action: event.action,
    accountId: account?.id ?? null,
    repositoryId: found.repositoryId,
    occurredAt: event.time,
    hookIds,
    unmatched: found.kind === 'matched' ? null : { reason: reasonOf(found), subject: subjectOf(event) },
    payload: isAskedFor ? event.payload : null,
  };
}

const reasonOf = (found: Exclude<Match, { kind: 'matched' }>): string =>
  found.kind === 'unmatched' ? found.reason : found.kind;
