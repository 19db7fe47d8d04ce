/** The delivery streams that this process holds open (docs/decisions/0316-listeners-and-streams.md). */
import type { Log } from '@gatepost/runtime/log';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Response } from 'express';
import { callerOf, expiresInMs, type Token } from '../access/token.ts';
import { makeCounts } from '../counts.ts';
import { ApiError, unavailable } from '../http/errors.ts';
import { makeStream, type Stream } from './stream.ts';
import { makeWatching, missedDeliveries } from './watching.ts';

/** Who wants to watch which hook. `ageMs`: how long ago the client's last known delivery began; `standing`: checks again whether it may. */
export type StreamRequest = {
  hookId: number;
  token: Token;
  ageMs: number | 'unknown' | undefined;
  standing(): Promise<boolean>;
};

export type Streams = AsyncDisposable & {
  /**
   * Watches from now on, and answers how to begin writing. Deliveries that appear in the log later are either included or will be sent.
   * @throws ApiError 429 or 503.
   */
  open(asked: StreamRequest): Promise<(response: Response) => void>;
};

/** An attempt is recorded when it has ended, DELIVERY_TIMEOUT_MS after its start at most: how much later than that it may be. */
const recordedWithinMs = 110_000;
const lookEveryMs = 1_000;
const beatEveryMs = 15_000;
const standingEveryMs = 10_000;
const beginWithinMs = 10_000;
/** How much all clients together may leave unread; beyond it, those that leave much are cut off. */
const unreadMaxBytes = 64 * 1024 * 1024;
const unreadMuchBytes = 64 * 1024;

type Open = StreamRequest & { stream: Stream; beatAt: number; standingAt: number };

export function openStreams(options: {
  pool: Pool;
  /** Streams per caller, and in all, in this process. */
  perCaller: number;
  most: number;
  deliveryTimeoutMs: number;
  /** How old a list of deliveries may be when read from a standby. */
  lagMs: number;
  registry: Registry;
  log: Log;
}): Streams {
  const { pool, log } = options;
  const lateMs = options.deliveryTimeoutMs + recordedWithinMs;
  const watching = makeWatching(pool, lateMs);
  const all = new Set<Open>();
  const callers = makeCounts();
  const rounds = makeRounds(all, watching, log);
  let isClosing = false;
  countOpen(all, options.registry);

  return {
    async open(asked) {
      const { hookId, token } = asked;
      const caller = callerOf(token);
      if (isClosing || all.size >= options.most) throw unavailable();
      if (callers.of(caller) >= options.perCaller) throw tooMany(options.perCaller);
      callers.add(caller, 1);
      const hook = watching.watch(hookId);
      const timers: NodeJS.Timeout[] = [];
      const stream = makeStream(() => {
        for (const one of timers) clearTimeout(one);
        all.delete(held);
        watching.leave(hookId, hook, held);
        callers.add(caller, -1);
      });
      const nowMs = performance.now();
      const held: Open = { ...asked, stream, beatAt: nowMs + beatEveryMs, standingAt: nowMs + standingEveryMs };
      all.add(held);
      hook.open.add(held);
      timers.push(setTimeout(() => stream.end('expired'), expiresInMs(token)).unref());
      // Nobody may begin it: the request may have ended before this was ready.
      const unbegun = setTimeout(() => stream.cut(), beginWithinMs).unref();
      timers.push(unbegun);
      rounds.wake();
      try {
        await hook.ready;
      } catch (error) {
        stream.cut();
        throw error;
      }
      return (response) => {
        clearTimeout(unbegun);
        stream.begin(response, missedDeliveries(pool, asked, { lateMs, lagMs: options.lagMs })).catch((error) => {
          log.warn({ 'hook.id': hookId, error }, 'could not read the deliveries that a stream begins with');
          stream.cut();
        });
      };
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      rounds.stop();
      for (const { stream } of [...all]) stream.end('restarts');
    },
  };
}

/** Checks for deliveries, and looks after the clients, once a second while there are any. */
function makeRounds(all: ReadonlySet<Open>, watching: ReturnType<typeof makeWatching>, log: Log) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const go = async () => {
    try {
      await watching.look();
    } catch (error) {
      watching.lookAtAll();
      log.warn({ error }, 'could not look for deliveries of the watched hooks');
    }
    const nowMs = performance.now();
    for (const held of all) keepAlive(held, nowMs, log);
    const unread = [...all].reduce((sum, { stream }) => sum + stream.unread(), 0);
    if (unread > unreadMaxBytes) for (const { stream } of all) if (stream.unread() > unreadMuchBytes) stream.cut();
    timer = all.size > 0 && !isStopped ? setTimeout(go, lookEveryMs).unref() : undefined;
  };
  return {
    wake(): void {
      if (timer || isStopped) return;
      watching.begin();
      timer = setTimeout(go, lookEveryMs).unref();
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function countOpen(open: ReadonlySet<Open>, registry: Registry): void {
  new Gauge({
    name: 'webhook_api_delivery_streams',
    help: 'Streams of deliveries that are open in this process',
    registers: [registry],
    collect() {
      this.set(open.size);
    },
  });
}

/** Shows its client that it is there, and checks whether the client may still see the deliveries. */
function keepAlive(held: Open, nowMs: number, log: Log): void {
  if (held.beatAt <= nowMs) {
    held.beatAt = nowMs + beatEveryMs;
    held.stream.beat();
  }
  if (held.standingAt > nowMs) return;
  held.standingAt = nowMs + standingEveryMs;
  held.standing().then(
    (isGood) => isGood || held.stream.end('refused'),
    (error) => log.warn({ 'hook.id': held.hookId, error }, 'could not check a stream'),
  );
}

const tooMany = (most: number) =>
  new ApiError(429, `You have ${most} streams already. Please close one before you open another.`);
