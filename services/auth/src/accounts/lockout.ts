/**
 * Ten failures for one account from one network in ten minutes close that pair, whichever door they came by; a success takes its
 * own pair's back. Only failures close it. But what is being looked at may still fail, so failures and tries in flight together
 * are never more than ten: who comes beyond waits until one of them has ended. So parallel guesses get no more tries than serial
 * ones, and many right passwords at once are all right.
 *
 * Kept in Redis: it survives our restarts and is shared by processes. A try whose process died is forgotten after `leaseMs`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type Attempt =
  /** To be ended by one of the three. */
  | {
      kind: 'open';
      failed(): Promise<void>;
      succeeded(): Promise<void>;
      /** It could not be looked at, and so was no try. Never throws. */
      takenBack(): Promise<void>;
    }
  | { kind: 'closed'; seconds: number }
  /** Others' tries took too long. */
  | { kind: 'busy' };

export type Lockout = {
  /** Begins a try for `subject` (accounts/subject.ts) from `network` (http/network.ts). */
  begin(subject: string, network: string): Promise<Attempt>;
  /** A success that was no try of its own. */
  clear(subject: string, network: string): Promise<void>;
};

const failuresMax = 10;
const windowSeconds = 600;
const leaseMs = 30_000;
const waitMs = 10_000;
const pollMs = 40;
/** Of so many tries a process waits with at a time. */
const waitingMax = 256;

// KEYS: failures, tries in flight. ARGV: most failures, the try, its lease. Answers seconds, 0 for "open" and -1 for "wait".
const beginScript = `
local failures = tonumber(redis.call('GET', KEYS[1]) or '0')
if failures >= tonumber(ARGV[1]) then return math.max(redis.call('TTL', KEYS[1]), 1) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if failures + redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[1]) then return -1 end
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0`;

// KEYS as above. ARGV: the try, the window of what it counts as a failure, or 0 for a success.
const endScript = `
redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
redis.call('INCR', KEYS[1])
return redis.call('EXPIRE', KEYS[1], ARGV[2], 'NX')`;

type Script = (...args: (string | number)[]) => Promise<number>;
type Scripts = { lockoutBegin: Script; lockoutEnd: Script };

export function makeLockout(redis: Redis, prefix: string): Lockout {
  redis.defineCommand('lockoutBegin', { numberOfKeys: 2, lua: beginScript });
  redis.defineCommand('lockoutEnd', { numberOfKeys: 2, lua: endScript });
  const scripts = redis as unknown as Scripts;
  const pairOf = (subject: string, network: string) => hashId(JSON.stringify([subject, network]));
  const failures = (pair: string) => `${prefix}failures:${pair}`;
  const inFlight = (pair: string) => `${prefix}tries:${pair}`;
  let waiting = 0;

  const ask = (pair: string, id: string) =>
    scripts.lockoutBegin(failures(pair), inFlight(pair), failuresMax, id, leaseMs);
  const end = async (pair: string, id: string, failedForSeconds: number) => {
    await scripts.lockoutEnd(failures(pair), inFlight(pair), id, failedForSeconds);
  };
  /** The script's answer, once it is not "wait"; undefined if that takes too long. */
  const askUntilOpen = async (pair: string, id: string): Promise<number | undefined> => {
    const answer = await ask(pair, id);
    if (answer !== -1) return answer;
    if (waiting >= waitingMax) return undefined;
    waiting += 1;
    try {
      for (let waited = 0; waited < waitMs; waited += pollMs) {
        await sleep(pollMs);
        const later = await ask(pair, id);
        if (later !== -1) return later;
      }
      return undefined;
    } finally {
      waiting -= 1;
    }
  };

  return {
    async begin(subject, network) {
      const pair = pairOf(subject, network);
      const id = randomUUID();
      const answer = await askUntilOpen(pair, id);
      if (answer === undefined) return { kind: 'busy' };
      if (answer > 0) return { kind: 'closed', seconds: answer };
      return {
        kind: 'open',
        failed: () => end(pair, id, windowSeconds),
        succeeded: () => end(pair, id, 0),
        async takenBack() {
          await redis.zrem(inFlight(pair), id).catch(() => {}); // Redis away as well: its lease ends
        },
      };
    },
    async clear(subject, network) {
      await redis.del(failures(pairOf(subject, network)));
    },
  };
}
