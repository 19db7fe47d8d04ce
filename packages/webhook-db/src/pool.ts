/** Plain SQL on the `webhooks` schema, for statements that carry many rows at once. */
import pg from 'pg';

export type Pool = pg.Pool;

export const schemaName = 'webhooks';

export type PoolOptions = {
  databaseUrl: string;
  name: string;
  max: number;
  /** Default 5,000. */
  connectTimeoutMs?: number;
  /** How long a statement may take, by the server's clock; we wait a second longer, for a server that does not answer. Default 15,000. */
  statementTimeoutMs?: number;
  /**
   * Plans named statements once, instead of anew for each set of values: right where statements are simple and their values
   * alike, since planning over the log's partitions costs more than running. Default false.
   */
  planOnce?: boolean;
  /**
   * Looks rows up by index, never by reading a table through: right where every statement names its rows. The planner knows
   * nothing of a partition made today, takes it for empty, and keeps that plan while it fills. Default false.
   */
  byIndexOnly?: boolean;
  /** Sends statements without waiting for the answers to earlier ones: for `openReads`, which shares its connections. Default false. */
  pipeline?: boolean;
  onError: (error: Error) => void;
};

/** Opens a pool whose search path is the schema. `onError` hears of idle connections that broke; queries reject by themselves. */
export function openPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 15_000;
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    application_name: options.name,
    max: options.max,
    keepAlive: true,
    pipeline: options.pipeline ?? false,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + 1_000,
    options: [
      `-c search_path=${schemaName}`,
      // So that times read as text have one form.
      '-c TimeZone=UTC -c DateStyle=ISO',
      // Our statements run for a few milliseconds: compiling one takes longer than running it.
      '-c jit=off',
      ...(options.planOnce ? ['-c plan_cache_mode=force_generic_plan'] : []),
      ...(options.byIndexOnly ? ['-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off'] : []),
    ].join(' '),
  });
  pool.on('error', options.onError);
  // The pool listens to idle connections only; one that breaks while it is in use, between two statements, would end the
  // process. The next statement on it rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
