/**
 * The spine of routing: a message of `gatepost.events` becomes an event row and one delivery job per hook. It is acked only when its event
 * is routed, that is, its deliveries are handed over (hand-over.ts), by us or by a dispatcher with another message of the same event.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Incoming } from '@gatepost/amqp/consumer';
import { jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { type Event, eventGuid, eventKey, parseEvent } from '@gatepost/contracts/event';
import type { Producers } from '@gatepost/contracts/producers';
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
import { accountOf } from '../fairness/noisy-neighbours.ts';
import type { Admit } from '../limit/admit.ts';
import type { EventResult, Metrics } from '../metrics.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import type { WorkCounts } from '../progress.ts';
import { makeBatches } from '../settling/batch.ts';
import { type Intake, makeIntake } from '../settling/intake.ts';
import { GivenUp, type Persist } from '../settling/persist.ts';
import { ack, deadLetter, type Settle, type Verdict } from '../settling/settle.ts';
import { classifyMessages } from './classify-messages.ts';
import type { Enqueue } from './enqueue.ts';
import { admitAll, type Delivery, handOver } from './hand-over.ts';
import { type LargeEvents, largeBytes } from './large-events.ts';
import { type Match, match } from './match.ts';
import { acquired, released } from './memory.ts';
import { deliveriesOf, type Routed, toRow } from './rows.ts';

export type RouteParts = {
  pool: Pool;
  accounts: Accounts;
  producers: Producers;
  storeEvents: StoreEvents & { remembered: StoreRemembered };
  largeEvents: Pick<LargeEvents, 'parse' | 'store'>;
  enqueue: Enqueue;
  admit: Admit;
  settle: Settle;
  persist: Persist;
  workCounts: WorkCounts;
  metrics: Metrics;
  log: Log;
  /** The deliveries this dispatcher makes itself, and its number among the dispatchers that do so. */
  taken: Taken;
  taker: Pick<Taker, 'id'>;
  payloads: Pick<Payloads, 'keep'>;
};

/** `isAhead`: routes events that need not wait behind a flood. */
type BatchParts = RouteParts & { isAhead: boolean };

const batchMaxMessages = 100;
const batchMaxBytes = 8 * 1024 * 1024;

/** The decision on a message: settle it, wait for another dispatcher that is routing its event, or make the event's only delivery ourselves. */
type Decided = Verdict | 'unknown' | TakenDelivery;
/** The message was taken out of its queue, to be routed ahead of it. */
const ahead = 'ahead';

/** Receives messages that hold events. */
export type Route = Pick<Intake, 'receive'> & {
  /** Answers the decision on a message once it is routed. */
  add(message: Incoming): Promise<Decided>;
  /** Whether an event of this account waits here or is being routed. */
  hasAccount(account: string): boolean;
  /** Lets waiting messages that match `which` go ahead: now, and before each batch from now on. */
  letAhead(which: (message: Incoming) => boolean): void;
  /** How many wait to be routed. */
  waiting(): number;
  /** How many bytes of messages are in hand. */
  bytes(): number;
  /** How many messages are in hand, except those whose delivery is being made. */
  routing(): number;
  /** Gives back messages whose events another dispatcher is routing; resolves when the rest is settled. */
  finish(): Promise<void>;
};

/** When to look again at an event that another dispatcher is routing, which takes some milliseconds. */
const lookAgainMs = 200;

/**
 * Routes messages in batches, each account’s in the order received. `before` is awaited before each batch; `atOnce` batches, each of different
 * accounts, are worked on at the same time. `ahead` routes the messages let ahead of this route's; `isAhead`: this is such a route.
 */
export function makeRoute(
  parts: RouteParts,
  options: { before?: () => Promise<void>; atOnce?: number; isAhead?: boolean; ahead?: Route } = {},
): Route {
  const stop = new AbortController();
  let delivering = 0;
  let bytes = 0;
  const batches = makeAllBatches(parts, options);
  const accountsInHand = makeTally<string | undefined>();
  const add = async (message: Incoming): Promise<Decided> => {
    const decided = await accountsInHand.during(accountOf(message), () => batches.add(message));
    return decided === ahead ? options.ahead!.add(message) : decided;
  };
  const intake = makeIntake({
    name: 'route an event',
    settle: parts.settle,
    log: parts.log,
    async decide(message) {
      for (;;) {
        const decided = await add(message);
        if (decided !== 'unknown' && 'kind' in decided) return decided;
        if (decided !== 'unknown') {
          delivering += 1;
          return parts.taken.deliver(message, decided).finally(() => {
            delivering -= 1;
          });
        }
        await wait(lookAgainMs, undefined, { signal: stop.signal }).catch(() => {
          throw new GivenUp('stopped while another dispatcher routes an event');
        });
      }
    },
    onSettled(message) {
      bytes -= message.body.length;
      released(message.body.length);
    },
  });
  return {
    receive(message) {
      bytes += message.body.length;
      acquired(message.body.length);
      intake.receive(message);
    },
    add,
    hasAccount: accountsInHand.has,
    letAhead(which) {
      if (options.ahead) batches.letAhead(which);
    },
    waiting: batches.waiting,
    bytes: () => bytes,
    routing: () => intake.inHand() - delivering,
    async finish() {
      stop.abort();
      await intake.idle();
    },
  };
}

/** `atOnce` batch queues, with each account always in the same one, and one aside for large events. */
function makeAllBatches(
  parts: RouteParts,
  { before, atOnce = 1, isAhead = false }: Parameters<typeof makeRoute>[1] & {},
) {
  let goesAhead: ((message: Incoming) => boolean) | undefined;
  const letAhead = () => {
    if (!goesAhead) return;
    for (const batches of all) {
      // A batch being retried or halved may take long to be stored: later messages of its accounts must not overtake it.
      const busy = new Set(batches.working().map(accountOf));
      batches.withdraw((message) => goesAhead!(message) && !busy.has(accountOf(message)), ahead);
    }
  };
  const open = () =>
    makeBatches<Incoming, Decided | typeof ahead>({
      maxItems: batchMaxMessages,
      maxBytes: batchMaxBytes,
      bytesOf: (message) => message.body.length,
      async before() {
        // Covers messages that arrived while an earlier one of their account was in the last batch, and so had to wait for it.
        letAhead();
        await before?.();
      },
      work: (messages) => routeBatch({ ...parts, isAhead }, messages),
    });
  const all = Array.from({ length: atOnce }, open);
  const batchesOf = (message: Incoming) => all[atOnce === 1 ? 0 : crc32(accountOf(message) ?? '') % atOnce]!;
  // For large events, and meanwhile for later messages of their accounts: neither must overtake the other.
  const aside = open();
  const asideOf = makeTally<string | undefined>();
  const addAside = async (message: Incoming, account: string | undefined) => {
    await batchesOf(message).settled((earlier) => accountOf(earlier) === account);
    return aside.add(message);
  };
  return {
    add(message: Incoming) {
      const isLarge = message.body.length > largeBytes;
      if (!isLarge && asideOf.isEmpty()) return batchesOf(message).add(message);
      const account = accountOf(message);
      if (!isLarge && !asideOf.has(account)) return batchesOf(message).add(message);
      return asideOf.during(account, () => addAside(message, account));
    },
    letAhead(which: (message: Incoming) => boolean) {
      goesAhead = which;
      letAhead();
    },
    waiting: () => all.reduce((sum, batches) => sum + batches.waiting(), aside.waiting()),
  };
}

/** Counts the work in progress by key. */
function makeTally<K>() {
  const counts = new Map<K, number>();
  return {
    has: (key: K) => counts.has(key),
    isEmpty: () => counts.size === 0,
    async during<T>(key: K, work: () => Promise<T>): Promise<T> {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      try {
        return await work();
      } finally {
        const left = counts.get(key)! - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      }
    },
  };
}

/** Decides what happens to each message, in order. */
async function routeBatch(parts: BatchParts, messages: readonly Incoming[]): Promise<readonly Decided[]> {
  const verdicts = new Map<Incoming, Decided>();
  const good: { message: Incoming; event: Event }[] = [];
  const readLarge = (message: Incoming) => parts.persist('read a large event', () => parts.largeEvents.parse(message));
  for (const message of messages) {
    const parsed = message.body.length > largeBytes ? await readLarge(message) : parseEvent(message);
    const refusal = parsed.kind === 'dead' ? parsed : parts.producers.refuse(message.userId, parsed.event.account);
    if (refusal) verdicts.set(message, deadLetter(refusal.reason, refusal.detail));
    else if (parsed.kind === 'event') good.push({ message, event: parsed.event });
  }
  const results = good.length > 0 ? await routeEvents(parts, good) : [];
  const isShown = parts.log.isLevelEnabled('debug');
  for (const [index, { result, own }] of results.entries()) {
    const { message, event } = good[index]!;
    if (result !== 'unknown') parts.metrics.eventRouted(result);
    if (isShown) parts.log.debug({ 'event.guid': eventGuid(event), 'event.type': event.type, result }, 'event routed');
    verdicts.set(message, own ?? (result === 'unknown' ? result : ack(result === 'duplicate' ? result : 'routed')));
  }
  const all = messages.map((message) => verdicts.get(message)!);
  parts.workCounts.events += all.filter((verdict) => verdict !== 'unknown').length; // messages that cannot be stored never get here
  return all;
}

/** `own`: the event's only delivery, which we make. */
type Result = { result: EventResult | 'unknown'; own?: TakenDelivery };

async function routeEvents(parts: BatchParts, incoming: { message: Incoming; event: Event }[]): Promise<Result[]> {
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
  parts: BatchParts,
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
async function assignDeliveries(parts: RouteParts, placed: Set<string>, unrouted: readonly Unrouted[]) {
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
async function releaseClaims({ pool, log }: RouteParts, claimed: readonly StoredEvent[]): Promise<void> {
  try {
    for (const event of claimed) await releaseTaken(pool, event);
  } catch (error) {
    log.warn({ error }, 'could not leave events to other dispatchers');
  }
}

const isOnlyOne = (found: Match): boolean =>
  found.kind === 'matched' && found.hooks.length === 1 && !found.hooks[0]!.paused;

async function store(
  parts: RouteParts,
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
