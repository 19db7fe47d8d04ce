/**
 * Classifies errors of stores and of the connections to them, for all services: whether a store is away, and whether another try can help.
 */

/**
 * - `away`: the store is away, or there was brief contention. The same request works later: it is retried for ever.
 * - `values`: the values will never be accepted, or not together. Another try cannot help.
 * - `other`: unknown. It is retried a few times, and then taken for a fault of the request.
 */
export type Trouble = 'away' | 'values' | 'other';

/**
 * SQLSTATEs (PostgreSQL’s documentation, appendix A) by prefix; the longest match counts. All others, such as 42 (a missing table or
 * privilege), P0001 (RAISE in a trigger) and XX (damaged data), are `other`.
 */
export const sqlStates: readonly (readonly [begins: string, trouble: Trouble, means: string])[] = [
  ['08', 'away', 'connection exception'],
  ['21', 'values', 'cardinality violation: two rows of one statement are the same row'],
  ['22', 'values', 'data exception'],
  ['23', 'values', 'integrity constraint violation'],
  ['25006', 'away', 'read only: by a setting, or a pooler leads to a standby'],
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

/** Classifies an error, then its causes. Our own errors may state their `trouble` themselves. */
export function troubleOf(error: unknown): Trouble {
  for (const one of causesOf(error)) {
    const { trouble } = one as { trouble?: Trouble };
    if (trouble !== undefined) return trouble;
    const state = sqlStateOf(one);
    if (state !== undefined) return troubleOfState(state);
    if (isPrismaAway(one) || isRedisRefusal(one) || isConnectionError(one)) return 'away';
  }
  return 'other';
}

/** Whether a store is away: PostgreSQL, Redis or RabbitMQ cannot be reached, or cannot do its work now. */
export const isAway = (error: unknown): boolean => troubleOf(error) === 'away';

function troubleOfState(state: string): Trouble {
  const fitting = sqlStates.filter(([begins]) => state.startsWith(begins));
  return fitting.sort(([a], [b]) => b.length - a.length)[0]?.[1] ?? 'other';
}

/** A SQLSTATE has five characters; Node's own error codes look different. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code, severity, originalCode } = (error ?? {}) as Record<string, unknown>;
  const state = originalCode ?? (severity === undefined ? undefined : code);
  return typeof state === 'string' && /^[0-9A-Z]{5}$/.test(state) ? state : undefined;
}

/** The error, followed by its causes. */
export function causesOf(error: unknown): object[] {
  const all: object[] = [];
  for (let one = error; typeof one === 'object' && one !== null && !all.includes(one); one = causeOf(one))
    all.push(one);
  return all;
}

/** Prisma keeps the driver's error of a raw statement, with the SQLSTATE as `originalCode`, below `meta`. */
function causeOf(error: object): unknown {
  const { cause, meta } = error as { cause?: unknown; meta?: { driverAdapterError?: unknown } };
  return cause ?? meta?.driverAdapterError;
}

/** Prisma's own codes: P1… (the database), P2024 (no connection in time), P2028 (no transaction begun in time), P2034 (a deadlock). */
function isPrismaAway(error: object): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'PrismaClientInitializationError') return true;
  return name === 'PrismaClientKnownRequestError' && /^P(1\d{3}|2024|2028|2034)$/.test(String(code));
}

/** Redis's error codes: the first word of a reply; before Redis 7, a script's error has it behind a dash. */
const refusal = /(?:^|-)(?:READONLY|MASTERDOWN|LOADING|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|MISCONF|OOM|BUSY) /;

/**
 * A Redis that answers but refuses all work: it has become a replica (a failover that keeps the connection), is loading its data, is full, or
 * has lost its cluster.
 */
function isRedisRefusal(error: object): boolean {
  if (!isRedisReply(error)) return false;
  // A transaction with a refused command; ioredis adds the replies.
  if (error.message.startsWith('EXECABORT')) return error.previousErrors?.some(isRedisRefusal) ?? false;
  return refusal.test(error.message);
}

/** A reply from Redis; every other ioredis error concerns the connection. */
export function isRedisReply(error: unknown): error is { message: string; previousErrors?: object[] } {
  return (error as { name?: unknown } | undefined)?.name === 'ReplyError';
}

/** Errors of the system, TLS or the driver about a connection that could not be made, broke or fell silent. */
function isConnectionError(error: object): boolean {
  const { code, syscall, path, message, errors } = error as Record<string, unknown>;
  // Node tries all addresses of a name, then throws all their errors.
  if (Array.isArray(errors))
    return errors.some((one) => typeof one === 'object' && one !== null && isConnectionError(one));
  if (path !== undefined || syscall === 'listen') return false; // concerns a file, or a port of ours
  if (typeof syscall === 'string') return true;
  if (typeof code === 'string' && /^(E[A-Z]{3,}|ERR_(TLS|SSL|SOCKET|STREAM)_.+|.*CERT.*)$/.test(code)) return true;
  return typeof message === 'string' && driversWords.has(message);
}

/** pg’s, pg-pool’s and amqplib’s own errors have neither code nor class, so they alone are recognized by their messages. */
const driversWords = new Set([
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Connection terminated',
  'Connection terminated due to connection timeout',
  'Connection terminated unexpectedly',
  'Query read timeout',
  'Socket closed abruptly during opening handshake',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
  'connect ETIMEDOUT',
  'timeout exceeded when trying to connect',
  'timeout expired',
]);
