/**
 * Fairness before routing: the events of many accounts share one queue. While one account floods, other accounts' events go ahead of those
 * waiting here. Once much of the flood waits, further consumers read on past the events being routed. The flood's events wait here in order.
 * Beyond a number of bytes only their delivery tags are held: they stay with RabbitMQ, unacked, and are given back when their turn comes.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import type { Log } from '@gatepost/runtime/log';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import { largeBytes } from '../routing/large-bytes.ts';
import { makeOrderOf, makeOrderTally, type Order } from '../routing/order.ts';
import type { Route } from '../routing/route.ts';
import type { Settle, Tag } from '../settling/settle.ts';
import type { Backpressure } from './backpressure.ts';
import { watchFloods } from './floods.ts';
import { type EventQueues, openReaders } from './readers.ts';

export type ReadAhead = AsyncDisposable & {
  /** Takes a message that the regular consumer of the events queue received. */
  receive(message: Incoming): void;
  /** Takes no further messages. */
  pause(): Promise<void>;
};

/** With fewer than this waiting, nobody waits long. */
const backlogMin = 150;
/** Limits on events waiting to be routed and on bytes in hand; beyond them, other accounts' events stay with RabbitMQ too. */
const waitingMax = 1_000;
const routingMaxBytes = 32 * 1024 * 1024;
/** How much of the flood is kept and routed from here; of the rest only the delivery tags, until RabbitMQ sends it again. */
const keptMaxBytes = 64 * 1024 * 1024;
/** The same for large events, whose processing takes memory too. */
const keptLargeMaxBytes = 16 * 1024 * 1024;
/** Given back at once at most: RabbitMQ reads each from disk again, and does nothing else meanwhile. */
const giveBackMax = 200;
const everyMs = 20;
const idleMs = 100;
const failedMs = 500;
const readersMax = 8;

export async function openReadAhead(options: {
  broker: Omit<ConnectionOptions, 'name'> & EventQueues;
  producers: Producers;
  /** Routes in queue order. */
  route: Route;
  /** Routes events of accounts that do not flood. */
  ahead: Route;
  backpressure: Backpressure;
  /** How many events are ready in RabbitMQ. */
  eventsWaiting: () => Promise<number>;
  settle: Settle;
  registry: Registry;
  log: Log;
  /** How long after its last event a flood is over. For tests. */
  overMs?: number;
}): Promise<ReadAhead> {
  const { route, ahead, backpressure, log } = options;
  const floods = watchFloods(options.producers, options.overMs);
  const heldEvents = makeHeld(makeOrderOf(options.producers));
  let changing: Promise<void> | undefined;
  let paused = false;
  showHeld(options.registry, heldEvents.count);

  /** Receives an event from any consumer while we read ahead. */
  const receiveAhead = (message: Incoming) => {
    const { floods: isFlood } = floods.count(message);
    // An account whose flood is over may still have many events waiting here: new ones must not overtake them.
    if (!isFlood && !heldEvents.hasEarlier(message)) {
      if (route.hasEarlier(message)) route.receive(message);
      else if (hasRoom(ahead)) ahead.receive(message);
      else heldEvents.hold(message);
      return;
    }
    if (!message.redelivered) backpressure.flooded();
    // A redelivered event has most likely been held and given back: it has waited longest, and it is its turn. If it was redelivered for
    // another reason, only the order within the flood changes.
    const isNext = message.redelivered || heldEvents.count() === 0;
    if (isNext && hasRoom(route)) route.receive(message);
    else heldEvents.add(message);
  };
  const readers = await openReaders(options.broker, receiveAhead);

  const extend = async () => {
    const prefetch = await readers.extend(floods.meanBytes());
    log.info({ 'amqp.prefetch': prefetch, held: heldEvents.held() }, 'an account floods: reading ahead for the others');
  };
  const end = async () => {
    log.info('the flood is over');
    await readers.end();
  };
  const change = (work: () => Promise<void>) => {
    changing ??= work()
      .catch((error) => log.warn({ error }, 'could not begin or end reading ahead'))
      .finally(() => {
        changing = undefined;
      });
  };
  const adjust = async () => {
    if (readers.count() === 0 || changing) return;
    if (heldEvents.count() > readers.capacity() * 0.5 && readers.count() < readersMax) return change(extend);
    if (heldEvents.kept.length > 0) heldEvents.routeKept(route);
    else if (heldEvents.held() > 0) {
      if (!backpressure.isLifted() || route.waiting() >= giveBackMax || !hasRoom(route)) return;
      // Events given back may go to any dispatcher, ahead of all that waits there. When we can take no more, no other account's events get in either.
      const isFull = heldEvents.held() > readers.capacity() * 0.8;
      if ((isFull || (await options.eventsWaiting()) < giveBackMax) && !paused)
        for (const tag of heldEvents.takeHeld(fewer(giveBackMax, floods.meanBytes())))
          void options.settle(tag, { kind: 'give_back', why: 'held' });
    } else if (floods.isOver() && route.routing() === 0 && ahead.routing() === 0) {
      // Only when everything received through the readers is routed: closing a channel gives back unsettled messages. Deliveries under way (there
      // always are some) stay ours: a dispatcher that gets such a message again waits for the outcome.
      change(end);
    }
  };
  const tending = (async () => {
    while (!paused) {
      let pauseMs = readers.count() === 0 ? idleMs : everyMs;
      try {
        await adjust();
      } catch (error) {
        log.warn({ error }, 'could not give events back, trying again');
        pauseMs = failedMs;
      }
      await wait(pauseMs, undefined, { ref: false });
    }
  })();

  return {
    receive(message) {
      if (readers.count() > 0) return receiveAhead(message);
      const wasOver = floods.isOver();
      const { account, sender, floods: isFlood } = floods.count(message);
      // Lets events ahead that came before the flood was noticed, and later those that had to wait for an earlier event of their account.
      if (wasOver && isFlood) route.letAhead((waiting) => !floods.isOver() && !floods.includes(waiting));
      if (isFlood || floods.isOver() || account === undefined || route.hasEarlier(message) || !hasRoom(ahead))
        route.receive(message);
      else ahead.receive(message);
      const isBehind = isFlood && route.waiting() >= backlogMin && floods.hasOthers(sender);
      if (isBehind && readers.count() === 0 && !paused) change(extend);
    },
    async pause() {
      paused = true;
      await tending;
      await changing;
      await readers.pause();
    },
    [Symbol.asyncDispose]: () => readers[Symbol.asyncDispose](),
  };
}

/** A single message may be larger. */
const hasRoom = (route: Route) => route.waiting() < waitingMax && route.bytes() < routingMaxBytes;

/** At most this many messages, fewer where they are large. */
const fewer = (most: number, bytesEach: number) => Math.max(1, Math.min(most, Math.floor(routingMaxBytes / bytesEach)));

/** Drops the body. */
const tagOf = ({ ack, giveBack }: Incoming): Tag => ({ ack, giveBack });

/** The events of floods that wait here. */
function makeHeld(orderOf: (message: Incoming) => Order) {
  // In queue order, and older than the held ones.
  const kept: Incoming[] = [];
  let keptBytes = 0;
  /** Entries without an order belong to one that does not flood. */
  const held: { tag: Tag; order?: Order }[] = [];
  const orders = makeOrderTally();
  return {
    kept,
    count: () => kept.length + held.length,
    hasEarlier: (message: Incoming) => orders.hasEarlier(orderOf(message)),
    /** Events of which only the delivery tag is here. */
    held: () => held.length,
    hold: (message: Incoming) => void held.push({ tag: tagOf(message) }),
    add(message: Incoming) {
      const order = orderOf(message);
      orders.add(order);
      const most = message.body.length > largeBytes ? keptLargeMaxBytes : keptMaxBytes;
      if (held.length > 0 || keptBytes >= most) return void held.push({ tag: tagOf(message), order });
      kept.push(message);
      keptBytes += message.body.length;
    },
    routeKept(route: Route) {
      let count = 0;
      for (; count < kept.length && hasRoom(route); count += 1) {
        const message = kept[count]!;
        keptBytes -= message.body.length;
        orders.remove(orderOf(message));
        // A lost one is settled as well: until then, its bytes count as in hand.
        if (message.isLost()) message.giveBack();
        else route.receive(message);
      }
      kept.splice(0, count);
    },
    /** Takes the first of those of which only the tags are here. */
    takeHeld(most: number): Tag[] {
      return held.splice(0, most).map(({ tag, order }) => {
        if (order) orders.remove(order);
        return tag;
      });
    },
  };
}

function showHeld(registry: Registry, held: () => number): void {
  new Gauge({
    name: 'dispatcher_events_held',
    help: 'Unacked events of flooding accounts that wait until those of others are routed',
    registers: [registry],
    collect() {
      this.set(held());
    },
  });
}
