/** Listens to PostgreSQL's notifications on one channel, over a connection that reconnects. */
import pg from 'pg';

export type Notifications = AsyncDisposable & { isConnected(): boolean };

const retryMs = 500;

/**
 * Calls `onNotification(payload)` after each commit that notified the channel. `onGap` is called when notifications may have been
 * missed (each time the connection is made, and when it is lost): whoever caches must then forget everything; while
 * `isConnected()` is false nothing may be cached. Rejects when the first connection cannot be made; reconnects for ever after
 * that, every half second.
 */
export async function listen(options: {
  databaseUrl: string;
  name: string;
  channel: string;
  onNotification: (payload: string) => void;
  onGap: () => void;
}): Promise<Notifications> {
  let client: pg.Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const connect = async () => {
    const opened = new pg.Client({
      connectionString: options.databaseUrl,
      application_name: options.name,
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
    });
    const lost = () => {
      if (client !== opened) return;
      client = undefined;
      options.onGap();
      again();
    };
    opened.on('error', lost);
    opened.on('end', lost);
    opened.on('notification', ({ payload }) => options.onNotification(payload ?? ''));
    try {
      await opened.connect();
      await opened.query(`LISTEN ${opened.escapeIdentifier(options.channel)}`);
    } catch (error) {
      await opened.end().catch(() => {}); // it never was connected
      throw error;
    }
    if (closed) return void (await opened.end());
    client = opened;
    options.onGap();
  };
  const again = () => {
    if (closed) return;
    timer = setTimeout(() => connect().catch(again), retryMs);
  };

  await connect();
  return {
    isConnected: () => client !== undefined,
    async [Symbol.asyncDispose]() {
      closed = true;
      clearTimeout(timer);
      const current = client;
      client = undefined;
      await current?.end();
    },
  };
}
