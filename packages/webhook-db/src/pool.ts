/** Plain SQL on the `webhooks` schema, for statements that carry many rows at once. */
import { openSettingsPool } from '@gatepost/runtime/postgres';
import type pg from 'pg';

export type Pool = pg.Pool;

export const schemaName = 'webhooks';

export type PoolOptions = {
  databaseUrl: string;
  /** Whether that URL leads through a pooler that gives each transaction another session. Default false. */
  isPooled?: boolean | undefined;
  name: string;
  max: number;
  /**
   * So many connections are opened at once and kept. One that is opened when it is needed takes a dozen turns of the event loop, which under
   * a load that needs it are seconds. Default 0.
   */
  keeps?: number;
  /** Default 5,000. */
  connectTimeoutMs?: number | undefined;
  /** How long a statement may take, by the server's clock; we wait a second longer, for a server that does not answer. Default 15,000. */
  statementTimeoutMs?: number | undefined;
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
    },
    {
      search_path: schemaName,
      statement_timeout: statementTimeoutMs,
      // So that times read as text have one form.
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
  // Who needs one that could not be opened opens it, and hears why not.
  const open = () =>
    pool.connect().then(
      (client) => client.release(),
      () => {},
    );
  for (let count = 0; count < (options.keeps ?? 0); count += 1) void open();
  return pool;
}
