/**
 * Fairness before routing: all accounts' events stand in one queue. While one account floods and others send too, further
 * consumers read on beyond what is being routed: events of the others go ahead, and of the rest nothing is kept but the delivery tag.
 * Those stay RabbitMQ's, unacked, and are given back to be routed when routing has nothing more urgent to do.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import { type Consumer, type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import { eventsQueue } from '@gatepost/contracts/topology';
import type { Log } from '@gatepost/runtime/log';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Route } from '../routing/route.ts';
import type { Settle, Tag } from '../settle.ts';
import type { Backpressure } from './backpressure.ts';
import { accountOf, makeNoisyNeighbours } from './noisy-neighbours.ts';

export type ReadAhead = AsyncDisposable & {
  /** Takes a message of the events queue that came the usual way. */
  take(message: Incoming): void;
  /** Takes no further messages. */
  pause(): Promise<void>;
};

/** With less than this waiting, nobody waits long. */
const backlogMin = 400;
/** As many may wait to be routed; beyond that even what does not flood is left with RabbitMQ. */
const waitingMax = 1_000;
/** So many are given back at once. RabbitMQ reads each from disk again, and nothing else meanwhile. */
const giveBackMax = 50;
const everyMs = 20;
const idleMs = 100;
/** Read ahead until so long after the last event of a flood. */
const overMs = 10_000;
/** What RabbitMQ may have under way to one reader. */
const underWayBytes = 64 * 1024 * 1024;
const prefetchMin = 100;
const prefetchMax = 60_000;
const readersMax = 8;

export async function openReadAhead(options: {
  broker: Omit<ConnectionOptions, 'name'>;
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
}): Promise<ReadAhead> {
  const { route, ahead, log } = options;
  const noisyNeighbours = makeNoisyNeighbours();
  const held: Tag[] = [];
  let readers: Consumer[] = [];
  let capacity = 0;
  let floodedAt = 0;
  let meanBytes = 2_000;
  let busy: Promise<void> | undefined;
  let paused = false;
  new Gauge({
    name: 'dispatcher_events_held',
    help: 'Events of accounts that flood, left with RabbitMQ until those of others are routed',
    registers: [options.registry],
    collect() {
      this.set(held.length);
    },
  });

  const count = (message: Incoming) => {
    meanBytes = meanBytes * 0.99 + message.body.length * 0.01;
    const named = accountOf(message);
    // Nobody makes an account a noisy neighbour that he may not publish for.
    const account = named !== undefined && options.producers.refuse(message.userId, named) ? undefined : named;
    const floods = noisyNeighbours.count(account);
    if (floods) floodedAt = Date.now();
    return { account, floods };
  };
  const readAhead = (message: Incoming) => {
    const { floods } = count(message);
    if (floods && !message.redelivered) options.backpressure.flooded();
    // What was given back is to be routed now; it came here because we have room as well.
    const batches = floods || message.redelivered ? route : ahead;
    const isTurn = !floods || message.redelivered;
    if (isTurn && batches.waiting() < waitingMax) batches.take(message);
    else held.push({ ack: message.ack, giveBack: message.giveBack });
  };
  const openReader = (standby: boolean, number: number, prefetch: number) =>
    openConsumer({
      ...options.broker,
      name: `gatepost dispatcher skimming ${number}`,
      queue: eventsQueue,
      prefetch,
      standby,
      onMessage: readAhead,
    });
  // Connected beforehand, since a broker that is flooded takes seconds over it.
  let standby: Consumer | undefined = await openReader(true, 1, prefetchMin);

  const extend = async () => {
    const prefetch = Math.round(Math.min(prefetchMax, Math.max(prefetchMin, underWayBytes / meanBytes)));
    const next = standby ?? (await openReader(false, readers.length + 1, prefetch));
    readers.push(next);
    capacity += prefetch;
    standby = undefined;
    await next.begin(prefetch);
    log.info({ 'amqp.prefetch': prefetch, held: held.length }, 'an account floods: reading ahead for the others');
  };
  const end = async () => {
    const ended = readers;
    readers = [];
    capacity = 0;
    await Promise.all(ended.map((reader) => reader.pause()));
    await Promise.all(ended.map((reader) => reader[Symbol.asyncDispose]()));
    log.info('the flood is over');
    standby = await openReader(true, 1, prefetchMin);
  };
  const change = (work: () => Promise<void>) => {
    busy ??= work()
      .catch((error) => log.warn({ error }, 'could not read ahead'))
      .finally(() => {
        busy = undefined;
      });
  };
  const tend = async () => {
    if (readers.length === 0 || busy) return;
    if (held.length > capacity * 0.8 && readers.length < readersMax) return change(extend);
    if (held.length > 0) {
      if (!options.backpressure.isLifted() || route.waiting() >= giveBackMax) return;
      // Given back, they may come to any dispatcher.
      if ((await options.eventsWaiting()) < giveBackMax && !paused)
        for (const tag of held.splice(0, giveBackMax)) void options.settle(tag, { kind: 'give_back', why: 'held' });
    } else if (Date.now() - floodedAt > overMs && route.isIdle() && ahead.isIdle()) {
      // At a moment when all that came through them is settled, for a channel that closes gives back what is not.
      change(end);
    }
  };
  const tending = (async () => {
    while (!paused) {
      await tend().catch((error) => log.warn({ error }, 'could not give events back, trying again'));
      await wait(readers.length === 0 ? idleMs : everyMs, undefined, { ref: false });
    }
  })();

  return {
    take(message) {
      const { account, floods } = count(message);
      if (readers.length > 0 && !floods && !message.redelivered) return ahead.take(message);
      route.take(message);
      const isBehind = floods && route.waiting() >= backlogMin && noisyNeighbours.hasOthers(account);
      if (isBehind && readers.length === 0 && !paused) change(extend);
    },
    async pause() {
      paused = true;
      await tending;
      await busy;
      await Promise.all([standby, ...readers].map((reader) => reader?.pause()));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([standby, ...readers].map((reader) => reader?.[Symbol.asyncDispose]()));
    },
  };
}
