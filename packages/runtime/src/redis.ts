/**
 * A Redis that answers but does not do its work: it has become a replica (a failover that keeps the connection), loads its data, is
 * full, or has lost its cluster. Such a refusal counts as a store that is away, and readiness checks what matters: can we write?
 */
import { randomUUID } from 'node:crypto';
import type { Log } from './log.ts';

// The first word of an error says its kind; Redis before 7 puts it behind a dash in the error of a script.
const refusal = /(?:^|-)(?:READONLY|MASTERDOWN|LOADING|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|OOM|BUSY) /;
/** Another node may have become the one to write to: its name, resolved again, may lead there. */
const replica = /(?:^|-)(?:READONLY|MASTERDOWN) /;

/** Whether Redis said that it cannot do what was asked now, whatever was asked. */
export function isRedisRefusal(error: unknown): boolean {
  if (!isReply(error)) return false;
  // A transaction of which a command was refused; ioredis adds what was said to each.
  if (error.message.startsWith('EXECABORT')) return error.previousErrors?.some(isRedisRefusal) ?? false;
  return refusal.test(error.message);
}

type Reply = { message: string; previousErrors?: unknown[] };

function isReply(error: unknown): error is Reply {
  return (error as { name?: unknown } | undefined)?.name === 'ReplyError';
}

const reconnectEveryMs = 1_000;

/**
 * ioredis's `reconnectOnError`: a node that has become a replica is left, so that the next connection finds the new primary; at most once
 * a second, for as long as the name leads to the old one. The command itself is refused: ioredis would repeat one of a
 * transaction outside of it.
 */
export function makeReconnectOnError(log: Log): (error: Error) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!replica.test(error.message) || performance.now() - lastMs < reconnectEveryMs) return false;
    lastMs = performance.now();
    log.warn({ error }, 'Redis takes no writes, connecting anew');
    return true;
  };
}

type Writes = { set(key: string, value: string, unit: 'PX', ms: number): Promise<unknown> };

/** A readiness check: rejects unless Redis takes a write. Leaves one key below `prefix`, for ten seconds. */
export async function checkRedisWrites(redis: Writes, prefix: string): Promise<void> {
  await redis.set(`${prefix}ready:${instance}`, '1', 'PX', 10_000);
}

const instance = randomUUID();
