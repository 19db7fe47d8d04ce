/**
 * The spine of routing: a message of `gatepost.events` becomes an event row and one delivery job per hook. It is acked only when its event
 * is routed, that is, its deliveries are handed over (hand-over.ts), by us or by a dispatcher with another message of the same event.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Incoming } from '@gatepost/amqp/consumer';
import { type Event, parseEvent } from '@gatepost/contracts/event';
import { eventGuid } from '@gatepost/contracts/event-identity';
import type { Producers } from '@gatepost/contracts/producers';
import type { TakenDelivery } from '../delivering/taken.ts';
import { type Intake, makeIntake } from '../settling/intake.ts';
import { GivenUp } from '../settling/persist.ts';
import { ack, deadLetter, type Settle, type Verdict } from '../settling/settle.ts';
import type { WorkCounts } from '../work-counts.ts';
import { ahead, makeAccountQueues } from './account-queues.ts';
import { largeBytes } from './large-bytes.ts';
import type { LargeEvents } from './large-events.ts';
import { acquired, released } from './memory.ts';
import { makeOrderOf, makeOrderTally } from './order.ts';
import { type RouteEventsParts, routeEvents } from './route-events.ts';

export type RouteParts = Omit<RouteEventsParts, 'isAhead'> & {
  producers: Producers;
  largeEvents: Pick<LargeEvents, 'parse'>;
  settle: Settle;
  workCounts: WorkCounts;
};

/** The decision on a message: settle it, wait for another dispatcher that is routing its event, or make the event's only delivery ourselves. */
type Decided = Verdict | 'unknown' | TakenDelivery;

/** Receives messages that hold events. */
export type Route = Pick<Intake, 'receive'> & {
  /** Answers the decision on a message once it is routed. */
  add(message: Incoming): Promise<Decided>;
  /** Whether an event that this one must not overtake waits here or is being routed. */
  hasEarlier(message: Incoming): boolean;
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
  const { isAhead = false } = options;
  const orderOf = makeOrderOf(parts.producers);
  const queues = makeAccountQueues({
    ...options,
    orderOf,
    work: (messages) => routeBatch({ ...parts, isAhead }, messages),
  });
  const ordersInHand = makeOrderTally();
  const add = async (message: Incoming): Promise<Decided> => {
    const decided = await ordersInHand.during(orderOf(message), () => queues.add(message));
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
    hasEarlier: (message) => ordersInHand.hasEarlier(orderOf(message)),
    letAhead(which) {
      if (options.ahead) queues.letAhead(which);
    },
    waiting: queues.waiting,
    bytes: () => bytes,
    routing: () => intake.inHand() - delivering,
    async finish() {
      stop.abort();
      await intake.idle();
    },
  };
}

/** Decides what happens to each message, in order. */
async function routeBatch(
  parts: RouteParts & RouteEventsParts,
  messages: readonly Incoming[],
): Promise<readonly Decided[]> {
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
