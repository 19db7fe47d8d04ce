/**
 * Many short concurrent reads over few connections: statements are sent without waiting for earlier answers, and those of one turn of the event
 * loop leave in one write. With a connection for each, PostgreSQL and this process would spend more time waking each other than reading.
 */
import type { PoolClient, QueryConfig, QueryResult } from 'pg';
import { openPool, type Pool, type PoolOptions, type Queryable } from './pool.ts';

export type Reads = AsyncDisposable & Queryable;

/**
 * Opens up to `max` connections on demand, and again after they break; statements in flight on a broken one reject. A statement waits for
 * those before it on its connection, so this is not for slow statements, large results or transactions.
 */
export function openReads(options: PoolOptions): Reads {
  if (options.isPooled) return openPooledReads(options);
  const pool = openPool({ ...options, pipeline: true });
  const connections = Array.from({ length: options.max }, () => makeConnection(pool));
  const query = (statement: QueryConfig) =>
    connections.reduce((best, one) => (one.underWay() < best.underWay() ? one : best)).query(statement);
  return {
    query: query as Pool['query'], // only the overload that is used here
    async [Symbol.asyncDispose]() {
      for (const connection of connections) await connection.close();
      await pool.end();
    },
  };
}

/** Through a pooler, a connection carries one transaction at a time; connections to it are cheap. */
function openPooledReads(options: PoolOptions): Reads {
  const pool = openPool({ ...options, max: options.max * 4 });
  return { query: pool.query.bind(pool) as Pool['query'], [Symbol.asyncDispose]: () => pool.end() };
}

type Connection = { underWay(): number; query(statement: QueryConfig): Promise<QueryResult>; close(): Promise<void> };

function makeConnection(pool: Pool): Connection {
  let opening: Promise<PoolClient> | undefined;
  let underWay = 0;
  let corked = false;

  function open(): Promise<PoolClient> {
    const opened = pool.connect().then((client) => {
      client.once('error', (error) => {
        if (opening !== opened) return; // it was given back, and the pool handles the error
        opening = undefined;
        client.release(error);
      });
      return client;
    });
    opened.catch(() => {
      if (opening === opened) opening = undefined;
    });
    return opened;
  }

  /** Holds back writes until the end of this turn. */
  function cork({ connection: { stream } }: PoolClient): void {
    if (corked) return;
    corked = true;
    stream.cork();
    setImmediate(() => {
      corked = false;
      stream.uncork();
    });
  }

  return {
    underWay: () => underWay,
    async query(statement) {
      underWay += 1;
      try {
        opening ??= open();
        const client = await opening;
        cork(client);
        return await client.query(statement);
      } finally {
        underWay -= 1;
      }
    },
    async close() {
      const last = opening;
      opening = undefined;
      const client = await last?.catch(() => undefined); // otherwise there is nothing to close
      client?.release();
    },
  };
}
