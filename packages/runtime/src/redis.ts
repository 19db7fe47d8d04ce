/** Handles a Redis that has failed over, and checks for readiness that it can be written to. */
import { randomUUID } from 'node:crypto';
import type { Log } from './log.ts';

/** Another node may have become the one to write to: its name, resolved again, may lead there. */
const replica = /(?:^|-)(?:READONLY|MASTERDOWN) /;

const reconnectEveryMs = 1_000;

/**
 * ioredis’s `reconnectOnError`: leaves a node that has become a replica, so that the next connection finds the new primary; at most
 * once a second while the name still leads to the old one. The command itself fails: ioredis would repeat a command of a
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
