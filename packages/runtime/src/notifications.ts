/** Listens for PostgreSQL notifications on one channel, over a connection that reconnects. */
import { randomBytes } from 'node:crypto';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from './log.ts';

export type Notifications = AsyncDisposable & { isConnected(): boolean };

const retryMs = 500;
const beatEveryMs = 2_000;
/** Counted from the commit of a beat. */
const heardWithinMs = 3_000;
/** The longest time without a beat when none could be sent. */
const silenceMaxMs = 10_000;

/**
 * Calls `onNotification(payload)` after each commit that notified the channel. `onGap` is called when notifications may have been missed
 * (each time a connection is made or lost): caches must then be cleared; while `isConnected()` is false nothing may be cached. Rejects when
 * the first connection cannot be made; after that it reconnects for ever, every half second.
 *
 * A connection may die silently, and a standby or a replaced server receives nothing of what is committed. So every two seconds a
 * notification of our own is sent through `pool`, the way changes are written; a connection that does not receive it within three seconds
 * counts as lost, and counts as made only once it has received the first.
 */
export async function listen(options: {
  /** Leads to the server itself, not through a pooler. */
  databaseUrl: string;
  /** Where changes are written. */
  pool: Pick<pg.Pool, 'query'>;
  name: string;
  channel: string;
  onNotification: (payload: string) => void;
  onGap: () => void;
  log: Log;
}): Promise<Notifications> {
  const { log } = options;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  const closing = new AbortController();
  const { signal } = closing;

  const connect = async () => {
    const limits = { keepAlive: true, connectionTimeoutMillis: 3_000, query_timeout: 3_000 };
    const opened = new pg.Client({ connectionString: options.databaseUrl, application_name: options.name, ...limits });
    const beats = makeBeats(options.pool);
    const lost = (why: string) => {
      if (client !== opened) return;
      client = undefined;
      opened.connection.stream.destroy(); // there may be nobody to say goodbye to
      options.onGap();
      if (signal.aborted) return;
      log.warn({ why }, 'nothing is heard of changes in PostgreSQL; nothing is cached until that is fixed');
      again();
    };
    opened.on('error', ({ message }) => lost(message));
    opened.on('end', () => lost('the connection has ended'));
    opened.on('notification', ({ channel, payload }) => {
      if (channel === beats.channel) beats.heard(payload);
      else options.onNotification(payload ?? '');
    });
    await begin(opened, options.channel, beats);
    if (signal.aborted) return void (await opened.end());
    client = opened;
    options.onGap();
    void watch(beats, { lost, signal, isCurrent: () => client === opened });
  };
  const again = () => {
    if (signal.aborted) return;
    timer = setTimeout(() => connect().catch(again), retryMs);
  };

  await connect();
  return {
    isConnected: () => client !== undefined,
    async [Symbol.asyncDispose]() {
      closing.abort();
      clearTimeout(timer);
      const current = client;
      client = undefined;
      await current?.end();
    },
  };
}

/** Connects; rejects unless one of our own notifications arrives. */
async function begin(client: pg.Client, channel: string, beats: Beats): Promise<void> {
  try {
    await client.connect();
    await client.query(`LISTEN ${client.escapeIdentifier(channel)}; LISTEN ${beats.channel}`);
    if ((await beats.beat()) === 'unheard') throw new Unheard();
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}

/** Reports when an established connection is lost. */
async function watch(
  beats: Beats,
  { lost, signal, isCurrent }: { lost(why: string): void; signal: AbortSignal; isCurrent(): boolean },
): Promise<void> {
  let heardAt = performance.now();
  while (isCurrent()) {
    await wait(beatEveryMs, undefined, { signal, ref: false }).catch(() => {}); // it is closed
    if (!isCurrent()) return;
    const outcome = await beats.beat().catch(() => 'unsent');
    if (outcome === 'heard') heardAt = performance.now();
    else if (outcome === 'unheard') lost('a notification of our own did not arrive');
    else if (performance.now() - heardAt > silenceMaxMs) lost('no notification of our own could be sent');
  }
}

/** Counts as away, and is retried: after a failover the two URLs may briefly lead to two servers. */
class Unheard extends Error {
  readonly trouble = 'away';
  constructor() {
    super(
      'a notification sent to PostgreSQL did not arrive: DATABASE_DIRECT_URL must lead to the database of DATABASE_URL, and not through a pooler',
    );
  }
}

type Beats = {
  channel: string;
  heard(payload: string | undefined): void;
  /** Sends one. Rejects when it could not be sent. */
  beat(): Promise<'heard' | 'unheard'>;
};

function makeBeats(pool: Pick<pg.Pool, 'query'>): Beats {
  const channel = `gatepost_heard_${randomBytes(8).toString('hex')}`;
  let count = 0;
  let last = 0;
  let tell: (() => void) | undefined;
  return {
    channel,
    heard(payload) {
      last = Number(payload);
      if (last === count) tell?.();
    },
    async beat() {
      const mine = ++count;
      const heard = new Promise<void>((resolve) => {
        tell = resolve;
      });
      await pool.query('SELECT pg_notify($1, $2)', [channel, String(mine)]);
      const timeout = new AbortController();
      await Promise.race([
        heard,
        wait(heardWithinMs, undefined, { signal: timeout.signal, ref: false }).catch(() => {}),
      ]);
      timeout.abort();
      // A process that hung first reads what has arrived before it decides that nothing has.
      for (let turns = 0; last !== mine && turns < 3; turns++) await turn();
      return last === mine ? 'heard' : 'unheard';
    },
  };
}
