/**
 * Fairness before routing: many accounts' events stand in one queue. While one account floods, events of the others go ahead of what waits here.
 * Once much of the flood does, further consumers read on beyond what is being routed. The flood's events wait here, in their order. Beyond a number of
 * bytes only their delivery tags are held: they stay with RabbitMQ, unacked, and are given back when their turn has come.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import type { Log } from '@gatepost/runtime/log';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import { largeBytes } from '../routing/large-events.ts';
import type { Route } from '../routing/route.ts';
import type { Settle, Tag } from '../settling/settle.ts';
import type { Backpressure } from './backpressure.ts';
import { accountOf, makeNoisyNeighbours } from './noisy-neighbours.ts';
import { type EventQueues, openReaders } from './readers.ts';

export type ReadAhead = AsyncDisposable & {
  /** Takes a message of the events queue that came the usual way. */
  take(message: Incoming): void;
  /** Takes no further messages. */
  pause(): Promise<void>;
};

/** With less than this waiting, nobody waits long. */
const backlogMin = 400;
/** At most this many wait to be routed, and so many bytes are in hand; beyond that events of other accounts are left with RabbitMQ too. */
const waitingMax = 1_000;
const routingMaxBytes = 32 * 1024 * 1024;
/** So much of the flood is kept here and routed from here; of the rest only the delivery tags are, until it comes again. */
const keptMaxBytes = 64 * 1024 * 1024;
/** A large one is kept beside so much at most: what is done with those takes memory too. */
const keptLargeMaxBytes = 16 * 1024 * 1024;
/** At most this many are given back at once: RabbitMQ reads each from disk again, and does nothing else meanwhile. */
const giveBackMax = 200;
const everyMs = 20;
const idleMs = 100;
const failedMs = 500;
const readersMax = 8;

export async function openReadAhead(options: {
  broker: Omit<ConnectionOptions, 'name'> & EventQueues;
  producers: Producers;
  /** Routes in the order of the queue. */
  route: Route;
  /** Routes those of accounts that do not flood. */
  ahead: Route;
  backpressure: Backpressure;
  /** How many events RabbitMQ has ready. */
  eventsWaiting: () => Promise<number>;
  settle: Settle;
  registry: Registry;
  log: Log;
  /** How long after its last event a flood is over. For tests. */
  overMs?: number;
}): Promise<ReadAhead> {
  const { route, ahead, backpressure, log } = options;
  const floods = watchFloods(options.producers, options.overMs);
  const own = makeHeld();
  let changing: Promise<void> | undefined;
  let paused = false;
  showHeld(options.registry, own.count);

  /** Takes an event while we read ahead, by whichever consumer it came. */
  const takeAhead = (message: Incoming) => {
    const { account, floods: isFlood } = floods.count(message);
    // Of an account whose flood is over much may wait here still: what comes now does not overtake it.
    if (!isFlood && !own.isAbout(account)) {
      if (account !== undefined && route.isAbout(account)) route.take(message);
      else if (hasRoom(ahead)) ahead.take(message);
      else own.hold(message);
      return;
    }
    if (!message.redelivered) backpressure.flooded();
    // What comes again has most likely been held and given back: it has waited longest, and it is its turn. If it comes again for another
    // reason, only the order within the flood changes.
    const isNext = message.redelivered || own.count() === 0;
    if (isNext && hasRoom(route)) route.take(message);
    else own.add(message);
  };
  const readers = await openReaders(options.broker, takeAhead);

  const extend = async () => {
    const prefetch = await readers.extend(floods.meanBytes());
    log.info({ 'amqp.prefetch': prefetch, held: own.held() }, 'an account floods: reading ahead for the others');
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
  const tend = async () => {
    if (readers.count() === 0 || changing) return;
    if (own.count() > readers.capacity() * 0.5 && readers.count() < readersMax) return change(extend);
    if (own.kept.length > 0) own.routeKept(route);
    else if (own.held() > 0) {
      if (!backpressure.isLifted() || route.waiting() >= giveBackMax || !hasRoom(route)) return;
      // Given back, they may come to any dispatcher, and before all that waits there. When we can take nothing more, nobody else's come in either.
      const isFull = own.held() > readers.capacity() * 0.8;
      if ((isFull || (await options.eventsWaiting()) < giveBackMax) && !paused)
        for (const tag of own.takeHeld(floods.many(giveBackMax)))
          void options.settle(tag, { kind: 'give_back', why: 'held' });
    } else if (floods.isOver() && route.routing() === 0 && ahead.routing() === 0) {
      // Only when all that came through them is routed: a channel that closes gives back what is not settled. What is being delivered (there
      // always is something) stays ours: whoever gets its message waits for the outcome.
      change(end);
    }
  };
  const tending = (async () => {
    while (!paused) {
      let pauseMs = readers.count() === 0 ? idleMs : everyMs;
      try {
        await tend();
      } catch (error) {
        log.warn({ error }, 'could not give events back, trying again');
        pauseMs = failedMs;
      }
      await wait(pauseMs, undefined, { ref: false });
    }
  })();

  return {
    take(message) {
      if (readers.count() > 0) return takeAhead(message);
      const wasOver = floods.isOver();
      const { account, floods: isFlood } = floods.count(message);
      // Those that came before the flood was noticed; and later those of which an earlier one of their account had not been routed yet.
      if (wasOver && isFlood) route.letAhead((waiting) => !floods.isOver() && !floods.includes(waiting));
      if (isFlood || floods.isOver() || account === undefined || route.isAbout(account) || !hasRoom(ahead))
        route.take(message);
      else ahead.take(message);
      const isBehind = isFlood && route.waiting() >= backlogMin && floods.hasOthers(account);
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

/** A message alone may be larger. */
const hasRoom = (route: Route) => route.waiting() < waitingMax && route.bytes() < routingMaxBytes;

/** Without the body. */
const tagOf = ({ ack, giveBack }: Incoming): Tag => ({ ack, giveBack });

/** The events of floods that wait here. */
function makeHeld() {
  // In the order of the queue, and older than what is held.
  const kept: Incoming[] = [];
  let keptBytes = 0;
  /** Without an account: of one that does not flood. */
  const held: { tag: Tag; account?: string }[] = [];
  /** How many of each account wait. */
  const counts = new Map<string, number>();
  const nameOf = (message: Incoming) => accountOf(message) ?? '';
  const leaves = (account: string) => {
    const left = counts.get(account)! - 1;
    if (left > 0) counts.set(account, left);
    else counts.delete(account);
  };
  return {
    kept,
    count: () => kept.length + held.length,
    isAbout: (account: string | undefined) => account !== undefined && counts.has(account),
    /** Of how many only the delivery tags are here. */
    held: () => held.length,
    hold: (message: Incoming) => void held.push({ tag: tagOf(message) }),
    add(message: Incoming) {
      const account = nameOf(message);
      counts.set(account, (counts.get(account) ?? 0) + 1);
      const most = message.body.length > largeBytes ? keptLargeMaxBytes : keptMaxBytes;
      if (held.length > 0 || keptBytes >= most) return void held.push({ tag: tagOf(message), account });
      kept.push(message);
      keptBytes += message.body.length;
    },
    routeKept(route: Route) {
      let count = 0;
      for (; count < kept.length && hasRoom(route); count += 1) {
        const message = kept[count]!;
        keptBytes -= message.body.length;
        leaves(nameOf(message));
        if (!message.isLost()) route.take(message);
      }
      kept.splice(0, count);
    },
    /** The first of those of which only the tags are here. */
    takeHeld(most: number): Tag[] {
      return held.splice(0, most).map(({ tag, account }) => {
        if (account !== undefined) leaves(account);
        return tag;
      });
    },
  };
}

/** Which accounts flood, or have done so a moment ago: the end of a flood keeps its place behind the rest of it. */
function watchFloods(producers: Producers, overMs = 10_000) {
  const noisyNeighbours = makeNoisyNeighbours();
  const floodedAt = new Map<string, number>();
  let lastAt = Number.NEGATIVE_INFINITY;
  let meanBytes = 2_000;
  return {
    /** Counts a message, and says whether it belongs to a flood. */
    count(message: Incoming): { account: string | undefined; floods: boolean } {
      meanBytes = meanBytes * 0.99 + message.body.length * 0.01;
      const named = accountOf(message);
      // A producer cannot make an account a noisy neighbour for which it may not publish.
      const account = named !== undefined && producers.refuse(message.userId, named) ? undefined : named;
      if (account === undefined) return { account, floods: noisyNeighbours.count(account) };
      if (noisyNeighbours.count(account)) {
        lastAt = Date.now();
        floodedAt.set(account, lastAt);
      }
      const isOver = Date.now() - (floodedAt.get(account) ?? Number.NEGATIVE_INFINITY) > overMs;
      if (isOver) floodedAt.delete(account);
      return { account, floods: !isOver };
    },
    /** Whether a message belongs to a flood, without counting it. */
    includes: (message: Incoming) => floodedAt.has(accountOf(message) ?? ''),
    hasOthers: noisyNeighbours.hasOthers,
    meanBytes: () => meanBytes,
    /** So many of them, or fewer where they are large. */
    many: (most: number) => Math.max(1, Math.min(most, Math.floor(routingMaxBytes / meanBytes))),
    /** Nobody floods, and nobody has done so a moment ago. */
    isOver: () => Date.now() - lastAt > overMs,
  };
}

function showHeld(registry: Registry, held: () => number): void {
  new Gauge({
    name: 'dispatcher_events_held',
    help: 'Events of accounts that flood, unacked, that wait until those of others are routed',
    registers: [registry],
    collect() {
      this.set(held());
    },
  });
}
