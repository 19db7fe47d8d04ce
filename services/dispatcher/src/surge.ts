/**
 * Fairness before routing: all accounts' events stand in one queue. While an account sends far more than its share, and others
 * send too, its events are put aside into a queue of their own, for a fraction of what routing them costs, and routed from there
 * beside the rest.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import { surgeQueue } from '@gatepost/contracts/topology';
import type { Log } from '@gatepost/runtime/log';
import { Counter, type Registry } from '@gatepost/runtime/metrics';
import { makeBatches } from './batch.ts';
import { ownHeaders } from './dead-letter.ts';
import { GivenUp, type Persist } from './persist.ts';

export type Surge = {
  /** Takes the message if it is to be put aside; it is acked when its copy is confirmed. `backlog` waits to be routed. */
  divert(message: Incoming, backlog: number): boolean;
  /** Resolves when nothing has been put aside for a moment, or after a second: routing what was is less urgent than that. */
  calm(): Promise<void>;
  idle(): Promise<void>;
};

/** Events of one account within a window that are nobody else's trouble. */
const perWindow = 200;
const windowMs = 1_000;
/** With less than this waiting, nobody waits long. */
const backlogMin = 100;
const calmMs = 200;
const calmWaitMaxMs = 1_000;

export function makeSurge(options: {
  publisher: Publisher;
  persist: Persist;
  registry: Registry;
  log: Log;
  now?: () => number;
}): Surge {
  const now = options.now ?? Date.now;
  const diverted = new Counter({
    name: 'dispatcher_events_put_aside_total',
    help: 'Events of accounts that sent far more than others, moved to the surge queue',
    registers: [options.registry],
  });
  let counts = new Map<string, number>();
  let before = new Map<string, number>();
  let windowStart = now();

  // In batches, which the broker writes at a third of the cost.
  const batches = makeBatches<Incoming>({
    maxItems: 1_000,
    maxBytes: 8 * 1024 * 1024,
    bytesOf: (message) => message.body.length,
    async work(messages) {
      await Promise.all(messages.map((message) => putAside(options, message)));
    },
  });
  let lastDivertedAt = Number.NEGATIVE_INFINITY;
  const turnWindow = () => {
    const passed = now() - windowStart;
    if (passed < windowMs) return;
    before = passed < 2 * windowMs ? counts : new Map();
    counts = new Map();
    windowStart = now();
  };
  /** Whether anybody but `owner` has sent something lately. */
  const hasOthers = (owner: string) => others(counts, owner) || others(before, owner);

  return {
    divert(message, backlog) {
      const owner = ownerOf(message.headers);
      if (owner === undefined) return false;
      turnWindow();
      const count = (counts.get(owner) ?? 0) + 1;
      counts.set(owner, count);
      // Who flooded the last window does so until a calm one has passed.
      const floods = count > perWindow || (before.get(owner) ?? 0) > perWindow;
      if (!floods || backlog < backlogMin || !hasOthers(owner)) return false;
      lastDivertedAt = now();
      diverted.inc();
      batches.add(message);
      return true;
    },
    async calm() {
      for (const until = now() + calmWaitMaxMs; now() < until && now() < lastDivertedAt + calmMs; )
        await wait(calmMs / 4);
    },
    idle: () => batches.idle(),
  };
}

async function putAside(
  options: { publisher: Publisher; persist: Persist; log: Log },
  message: Incoming,
): Promise<void> {
  try {
    await options.persist('put an event aside', () =>
      options.publisher.publish({
        exchange: '',
        routingKey: surgeQueue,
        body: message.body,
        headers: ownHeaders(message.headers),
        messageId: message.messageId ?? '',
        ...(message.contentType === undefined ? {} : { contentType: message.contentType }),
      }),
    );
    message.ack();
  } catch (error) {
    if (!(error instanceof GivenUp)) options.log.error({ error }, 'could not put an event aside');
    message.giveBack();
  }
}

/** A look at the subject without parsing; structured events, whose attributes are in the body, are never put aside. */
function ownerOf(headers: Record<string, unknown>): string | undefined {
  const subject = headers['cloudEvents:subject'] ?? headers.cloudEvents_subject;
  return typeof subject === 'string' ? subject.split('/', 1)[0]!.toLowerCase() : undefined;
}

function others(counts: Map<string, number>, owner: string): boolean {
  return counts.size > (counts.has(owner) ? 1 : 0);
}
