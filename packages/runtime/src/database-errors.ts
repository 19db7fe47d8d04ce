/** What an error of PostgreSQL, or of the way to it, says about trying again. */

/**
 * - `away`: the store is away, or there was contention for a moment. The same request works later: it is retried for ever.
 * - `values`: the values will never be accepted, or not together. Trying again cannot help.
 * - `other`: neither is known. It is tried a few times, and then taken for a fault of the request.
 */
export type Trouble = 'away' | 'values' | 'other';

/**
 * SQLSTATEs (PostgreSQL's documentation, appendix A) by their beginning: the longest that fits counts. What is not listed, such as
 * 42 (a table or a right is missing), P0001 (a trigger's RAISE) and XX (damaged data), is `other`.
 */
export const sqlStates: readonly (readonly [begins: string, trouble: Trouble, means: string])[] = [
  ['08', 'away', 'connection exception'],
  ['21', 'values', 'cardinality violation: two rows of one statement are the same row'],
  ['22', 'values', 'data exception'],
  ['23', 'values', 'integrity constraint violation'],
  ['25006', 'away', 'read only: we reach a standby, and the primary is away'],
  ['25P03', 'away', 'idle in transaction for too long'],
  ['25P04', 'away', 'transaction timeout'],
  ['28', 'away', 'refused at the door: no connection'],
  ['3D', 'away', 'no such database: no connection'],
  ['40001', 'away', 'serialization failure'],
  ['40P01', 'away', 'deadlock detected'],
  ['53', 'away', 'insufficient resources'],
  ['55P03', 'away', 'lock timeout'],
  ['57014', 'away', 'statement timeout'],
  ['57P0', 'away', 'shutdown, crash, starting up, database dropped, idle session timeout'],
];

/** Judges an error by itself, then by its causes. */
export function troubleOf(error: unknown): Trouble {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as { cause?: unknown }).cause) {
    const state = sqlStateOf(one);
    if (state !== undefined) return troubleOfState(state);
    if (isConnectionError(one)) return 'away';
  }
  return 'other';
}

export function troubleOfState(state: string): Trouble {
  const fitting = sqlStates.filter(([begins]) => state.startsWith(begins));
  return fitting.sort(([a], [b]) => b.length - a.length)[0]?.[1] ?? 'other';
}

/** Five characters of SQLSTATE; Node's own error codes have another form. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined ? code : undefined;
}

/** What the system, TLS or the driver says of a connection that could not be made, broke or fell silent. */
function isConnectionError(error: object): boolean {
  const { code, syscall, message, errors } = error as {
    code?: unknown;
    syscall?: unknown;
    message?: unknown;
    errors?: unknown;
  };
  // Node tries all addresses of a name, and then throws all that came of it.
  if (Array.isArray(errors))
    return errors.some((one) => typeof one === 'object' && one !== null && isConnectionError(one));
  if (typeof syscall === 'string') return true;
  if (typeof code === 'string' && /^(E[A-Z]{3,}|ERR_(TLS|SSL|SOCKET|STREAM)_.+|.*CERT.*)$/.test(code)) return true;
  return typeof message === 'string' && driversWords.has(message);
}

/** The driver's own errors (pg and pg-pool) have no codes. */
const driversWords = new Set([
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Connection terminated',
  'Connection terminated due to connection timeout',
  'Connection terminated unexpectedly',
  'Query read timeout',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
  'timeout exceeded when trying to connect',
  'timeout expired',
]);
