/** Plain SQL on the `webhooks` schema, for statements that carry many rows at once. */
import { openSettingsPool, refuseStandby } from '@gatepost/runtime/postgres';
import type pg from 'pg';

export type Pool = pg.Pool;

/** The pool, a connection in a transaction, or `Reads`. */
export type Queryable = Pick<Pool, 'query'>;

export const schemaName = 'webhooks';

export type PoolOptions = {
  databaseUrl: string;
  /** Whether that URL leads through a pooler that may use another session for each transaction. Default false. */
  isPooled?: boolean | undefined;
  name: string;
  max: number;
  /**
   * How many connections to open in advance and keep. Opening one on demand takes a dozen turns of the event loop, which are seconds under
   * the kind of load that needs it. Default 0.
   */
  keeps?: number;
  /** Default 5,000. */
  connectTimeoutMs?: number | undefined;
  /** Statement timeout on the server; we wait a second longer, in case the server does not answer. Default 15,000. */
  statementTimeoutMs?: number | undefined;
  /**
   * Plans named statements once instead of for each set of values: right where statements are simple and their values similar, since planning
   * over the log's partitions costs more than running. Default false.
   */
  planOnce?: boolean;
  /**
   * Uses indexes only, never sequential scans: right where every statement names its rows. The planner knows nothing of a partition created
   * today, takes it for empty, and keeps that plan while it fills. Default false.
   */
  byIndexOnly?: boolean;
  /** Sends statements without waiting for the answers to earlier ones: for `openReads`, which shares its connections. Default false. */
  pipeline?: boolean;
  /** Whether it may lead to a standby; otherwise a connection to one is refused. Default false. */
  mayBeStandby?: boolean;
  onError: (error: Error) => void;
};

/** Opens a pool whose search path is the schema. `onError` receives errors of idle connections; queries reject by themselves. */
export function openPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 15_000;
  const pool = openSettingsPool(
    {
      connectionString: options.databaseUrl,
      application_name: options.name,
      max: options.max,
      min: options.keeps ?? 0,
      keepAlive: true,
      pipeline: options.pipeline ?? false,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
      query_timeout: statementTimeoutMs + 1_000,
      ...(options.mayBeStandby ? {} : { onConnect: refuseStandby }),
    },
    {
      search_path: schemaName,
      statement_timeout: statementTimeoutMs,
      // Gives times read as text a single form.
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      // Our statements run for a few milliseconds: compiling one takes longer than running it.
      jit: 'off',
      ...(options.planOnce ? { plan_cache_mode: 'force_generic_plan' } : {}),
      ...(options.byIndexOnly ? { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' } : {}),
    },
    options.isPooled ?? false,
  );
  pool.on('error', options.onError);
  // A caller who needs a connection that could not be opened opens it, and learns why not.
  const open = () =>
    pool.connect().then(
      (client) => client.release(),
      () => {},
    );
  for (let count = 0; count < (options.keeps ?? 0); count += 1) void open();
  return pool;
}
