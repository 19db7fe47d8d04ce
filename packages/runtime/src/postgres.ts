/**
 * PostgreSQL connection pools: to the server itself, or through a pooler such as PgBouncer in transaction mode, which may use another session for
 * each transaction. Nothing may then depend on a session: no start-up parameter, SET, prepared statement or LISTEN
 * (https://www.pgbouncer.org/features.html).
 */
import pg from 'pg';
import { url } from './values.ts';

export const postgresUrl = url(['postgres:', 'postgresql:']);

/** `besides`: the variable that leads through the pooler. */
export const directUrlVariable = (besides: string) =>
  postgresUrl.optional().meta({
    description: `PostgreSQL itself, if \`${besides}\` leads through PgBouncer in transaction mode: for what needs a session (LISTEN, locks held while a process lives, migrations)`,
    shownDefault: `none: \`${besides}\` is PostgreSQL itself`,
  });

/** How to reach the database of one side. */
export type DatabaseUrls = {
  /** Where statements go. */
  url: string;
  /** The server itself, for work that needs a session: LISTEN, session locks, migrations. */
  directUrl: string;
  /** Whether `url` leads through a pooler, which it does if a direct URL is given as well. */
  isPooled: boolean;
};

type Given = { url: string | undefined; directUrl: string | undefined };

/** A side's own URLs take precedence over the shared ones; undefined when neither is given. A direct URL belongs to the URL given with it. */
export function databaseUrlsOf(own: Given, shared: Given): DatabaseUrls | undefined {
  const url = own.url ?? shared.url;
  if (url === undefined) return undefined;
  const directUrl = own.directUrl ?? (own.url === undefined ? shared.directUrl : undefined);
  return { url, directUrl: directUrl ?? url, isPooled: directUrl !== undefined };
}

/**
 * Opens a pool whose statements all run with these settings: PostgreSQL parameters and their values, of letters, digits and underscores. They
 * are set on each new connection or, through a pooler, in each transaction.
 */
export function openSettingsPool(
  config: pg.PoolConfig & { connectionString: string },
  settings: Record<string, string | number>,
  isPooled: boolean,
): pg.Pool {
  const each = Object.entries(settings);
  const options = each.map(([name, value]) => `-c ${name}=${value}`).join(' ');
  const pool = new pg.Pool(isPooled ? { ...config, pipeline: true } : withOptions(config, options));
  // A connection that breaks while checked out, between two statements, emits an error that the pool does not handle and that would end the
  // process. The next statement on it rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  if (isPooled) {
    // Session-level transaction defaults are set in each transaction here.
    const local = each.map(
      ([name, value]) => `SET LOCAL ${name.replace(/^default_transaction_/, 'transaction_')} = '${value}'`,
    );
    const begin = ['BEGIN', ...local].join('; ');
    pool.on('connect', (client) => setInEachTransaction(client, begin));
  }
  return pool;
}

/** The URL's own options (`?options=…`), which pg would use instead of ours, and then ours, of which each replaces an earlier one of its name. */
function withOptions<C extends pg.PoolConfig & { connectionString: string }>(config: C, ours: string): C {
  const url = new URL(config.connectionString);
  const given = url.searchParams.get('options');
  if (given === null) return { ...config, options: ours };
  url.searchParams.delete('options');
  return { ...config, connectionString: url.href, options: `${given} ${ours}` };
}

/**
 * Rejects unless a new connection leads to a primary. After a failover an address may lead to a standby for a while, and a connection made then
 * would stay there when the address has moved on.
 */
export async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ is_standby: boolean }>('SELECT pg_is_in_recovery() AS is_standby');
  if (rows[0]!.is_standby) throw new OnStandby();
}

/** Counts as away: the primary is elsewhere, or the standby becomes it. */
class OnStandby extends Error {
  readonly trouble = 'away';
  constructor() {
    super('this PostgreSQL is a standby');
  }
}

/**
 * A readiness check: rejects unless PostgreSQL takes writes. A connection that takes none is closed, since a later one may lead to another server
 * or begin with another setting.
 */
export async function checkPostgresWrites(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  let isReadOnly = true;
  try {
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    isReadOnly = rows[0]!.transaction_read_only === 'on';
  } finally {
    client.release(isReadOnly);
  }
  if (isReadOnly) throw new Error('PostgreSQL is read-only');
}

/** All of its overloads in one. */
type Ask = (...given: unknown[]) => Promise<unknown>;
type Callback = (error: unknown, result?: unknown) => void;

/**
 * Makes the client's transactions begin with `begin`, and turns each statement outside of one into a transaction of its own. Its three parts are
 * sent together, without waiting for each other, so they cost no extra round trip; the statement is done only when its COMMIT is.
 */
function setInEachTransaction(client: pg.PoolClient, begin: string): void {
  const send = client.query.bind(client) as unknown as Ask; // one of its many signatures
  let isInTransaction = false;

  const alone = async (given: unknown[]) => {
    const answers = await Promise.allSettled([send(begin), send(...given), send('COMMIT')]);
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed) throw failed.reason;
    return (answers[1] as PromiseFulfilledResult<unknown>).value;
  };
  const query = (...given: unknown[]): Promise<unknown> => {
    const statement = withoutName(given[0]);
    const text = typeof statement === 'string' ? statement : statement.text;
    if (/^\s*BEGIN\b/i.test(text)) {
      isInTransaction = true;
      return send(text.replace(/^\s*BEGIN\b/i, begin));
    }
    if (/^\s*(COMMIT|ROLLBACK(?!\s+TO))\b/i.test(text)) isInTransaction = false;
    else if (!isInTransaction) return alone([statement, ...given.slice(1)]);
    return send(statement, ...given.slice(1));
  };
  const queryOrCallBack = (...given: unknown[]) => {
    const last = given.at(-1);
    if (typeof last !== 'function') return query(...given);
    const callback = last as Callback;
    query(...given.slice(0, -1)).then((result) => callback(undefined, result), callback);
    return undefined;
  };
  client.query = queryOrCallBack as typeof client.query;
}

/** A named statement would be prepared in one session and executed in another. */
function withoutName(statement: unknown): string | { text: string } {
  if (typeof statement === 'string') return statement;
  const { name: _, ...rest } = statement as { name?: string; text: string };
  return rest;
}
