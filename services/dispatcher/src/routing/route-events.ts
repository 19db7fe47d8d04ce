/** Routes a batch of events: finds their hooks, stores their rows, and makes or hands over their deliveries. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import type { Event } from '@gatepost/contracts/event';
import { eventKey } from '@gatepost/contracts/event-identity';
import type { Log } from '@gatepost/runtime/log';
import type {
  NewEvent,
  RememberedAccount,
  StoredEvent,
  StoreEvents,
  StoreRemembered,
} from '@gatepost/webhook-db/events';
import type { Pool } from '@gatepost/webhook-db/pool';
import { releaseTaken } from '@gatepost/webhook-db/routed-events';
import type { Taker } from '@gatepost/webhook-db/takers';
import type { Accounts, Found } from '../accounts.ts';
import type { Payloads } from '../delivering/payloads.ts';
import type { Taken, TakenDelivery } from '../delivering/taken.ts';
import type { Admit } from '../limit/admit.ts';
import type { EventResult, Metrics } from '../metrics.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import type { Persist } from '../settling/persist.ts';
import { classifyMessages } from './classify-messages.ts';
import type { Enqueue } from './enqueue.ts';
import { admitAll, type Delivery, handOver } from './hand-over.ts';
import { largeBytes } from './large-bytes.ts';
import type { LargeEvents } from './large-events.ts';
import { type Match, match } from './match.ts';
import { deliveriesOf, type Routed, toRow } from './rows.ts';

export type RouteEventsParts = {
  pool: Pool;
  accounts: Accounts;
  storeEvents: StoreEvents & { remembered: StoreRemembered };
  largeEvents: Pick<LargeEvents, 'store'>;
  enqueue: Enqueue;
  admit: Admit;
  persist: Persist;
  metrics: Metrics;
  log: Log;
  /** The deliveries this dispatcher makes itself, and its number among the dispatchers that do so. */
  taken: Taken;
  taker: Pick<Taker, 'id'>;
  payloads: Pick<Payloads, 'keep'>;
  /** It routes events that need not wait behind a flood. */
  isAhead: boolean;
};

/** `own`: the event's only delivery, which we make. */
export type Result = { result: EventResult | 'unknown'; own?: TakenDelivery };

export async function routeEvents(
  parts: RouteEventsParts,
  incoming: { message: Incoming; event: Event }[],
): Promise<Result[]> {
  const logins = new Set(incoming.map(({ event }) => event.account));
  // Mostly nothing has changed: PostgreSQL is then asked once, not twice.
  const isLarge = incoming.some(({ event }) => event.payload.length > largeBytes);
  const remembered = isLarge ? undefined : parts.accounts.remembered(logins);
  const results = remembered && (await routeBy(parts, incoming, remembered, [...remembered].map(toRemembered)));
  if (results) return results;
  const accounts = await parts.persist('look up hooks', () => parts.accounts.ofLogins(logins));
  return (await routeBy(parts, incoming, accounts, []))!;
}

const toRemembered = ([login, { account }]: [string, Found]): RememberedAccount => ({
  login,
  accountId: account.id,
  version: account.version,
});

/** Undefined: one of the remembered accounts has changed, and nothing is stored. */
async function routeBy(
  parts: RouteEventsParts,
  incoming: { message: Incoming; event: Event }[],
  accounts: ReadonlyMap<string, Found>,
  remembered: readonly RememberedAccount[],
): Promise<Result[] | undefined> {
  const routed = incoming.map(({ message, event }): Routed => {
    const { account, hasBacklog = false } = accounts.get(event.account) ?? {};
    const found = match(event, account);
    const maySend = !hasBacklog && isOnlyOne(found) && event.payload.length <= jobBodyMaxBytes;
    const key = eventKey(event);
    const hasPlace = maySend && parts.taken.reserve(key, parts.isAhead);
    return { message, event, key, account, hasBacklog, match: found, hasPlace };
  });
  const placed = new Set(routed.filter(({ hasPlace }) => hasPlace).map(({ key }) => key));
  const claimed: StoredEvent[] = [];
  try {
    const rows = routed.map((one) => toRow(one, parts.taker.id));
    const stored = await parts.persist('store events', () => store(parts, rows, remembered));
    if (!stored) return undefined;
    countWaiting(parts.metrics, routed, stored);
    const unrouted = new Map<string, Unrouted>();
    for (const [index, row] of stored.entries())
      if (!row.isRouted && !unrouted.has(row.key)) {
        const isClaimed = row.isNew && routed[index]!.hasPlace;
        if (isClaimed) claimed.push(row);
        unrouted.set(row.key, { row, deliveries: deliveriesOf(routed[index]!, row), isClaimed });
      }
    const { jobs, handed } = await assignDeliveries(parts, placed, [...unrouted.values()]);
    const results = classifyMessages(stored, { handed, taken: jobs }).map((kind, index): Result => {
      if (kind !== 'event') return { result: kind };
      const found = routed[index]!.match;
      if (found.kind === 'unmatched') parts.metrics.eventUnmatched(found.reason);
      const own = jobs.get(stored[index]!.key);
      return { result: found.kind, ...(own && { own: { ...own, event: rows[index]! } }) };
    });
    for (const key of jobs.keys()) placed.delete(key); // they keep their place until they are made
    return results;
  } catch (error) {
    await releaseClaims(parts, claimed);
    throw error;
  } finally {
    for (const key of placed) parts.taken.free(key);
  }
}

/** `isClaimed`: its row says that we make its only delivery. */
type Unrouted = { row: StoredEvent; deliveries: Delivery[]; isClaimed: boolean };

/**
 * Sorts out the deliveries of events: those claimed and allowed by their limit we make ourselves; all others give up their place and are handed
 * over. Answers our own jobs by event key, and the keys of the events handed over.
 */
async function assignDeliveries(parts: RouteEventsParts, placed: Set<string>, unrouted: readonly Unrouted[]) {
  const claimed = unrouted.filter(({ isClaimed }) => isClaimed).flatMap(({ deliveries }) => deliveries);
  const { now, later } = await parts.persist('ask the limit', () => admitAll(parts.admit, claimed));
  const jobs = new Map(now.map((one) => [one.job.eventKey, one]));
  for (const key of placed)
    if (!jobs.has(key)) {
      placed.delete(key);
      parts.taken.free(key);
    }
  const rest = unrouted.filter(({ row }) => !jobs.has(row.key));
  const unasked = rest.filter(({ isClaimed }) => !isClaimed).flatMap(({ deliveries }) => deliveries);
  const rows = rest.map(({ row }) => row);
  for (const { job, payload } of unasked) if (payload.length > jobBodyMaxBytes) parts.payloads.keep(job, payload);
  const handed = rest.length > 0 ? await handOver(parts, rows, unasked, later) : new Set<string>();
  return { jobs, handed };
}

/** Gives up the claims of a failed batch, whose rows would otherwise tell other dispatchers until we end that we are making the deliveries. */
async function releaseClaims({ pool, log }: RouteEventsParts, claimed: readonly StoredEvent[]): Promise<void> {
  try {
    for (const event of claimed) await releaseTaken(pool, event);
  } catch (error) {
    log.warn({ error }, 'could not leave events to other dispatchers');
  }
}

const isOnlyOne = (found: Match): boolean =>
  found.kind === 'matched' && found.hooks.length === 1 && !found.hooks[0]!.paused;

async function store(
  parts: RouteEventsParts,
  rows: NewEvent[],
  remembered: readonly RememberedAccount[],
): Promise<StoredEvent[] | undefined> {
  const isLarge = rows.some(({ payload }) => payload && payload.length > largeBytes);
  const insert = () => (isLarge ? parts.largeEvents.store(rows) : parts.storeEvents.remembered(rows, remembered));
  try {
    return await insert();
  } catch (error) {
    if (!isMissingPartition(error)) throw error;
    await ensurePartitions(parts.pool);
    return insert();
  }
}

/** Counts deliveries that were parked while being stored. */
function countWaiting(metrics: Metrics, routed: readonly Routed[], stored: readonly StoredEvent[]): void {
  const waiting = new Map<string, number>();
  for (const [index, { key, isNew, isRouted, hookIds }] of stored.entries())
    if (routed[index]!.hasBacklog && isNew && isRouted) waiting.set(key, hookIds.length);
  for (const count of waiting.values()) metrics.throttled(count);
}
