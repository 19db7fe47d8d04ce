/**
 * Ten failures (or as set by `attack-protection`) for one account from one network within ten minutes lock that pair, through any
 * endpoint. A success clears its own pair. Only failures lock a pair; but since a try in flight may still fail, failures and tries
 * in flight together never exceed ten, and further tries wait until one has ended. So parallel guesses get no more tries than serial
 * ones, and many right passwords at once all succeed.
 *
 * Kept in Redis, so that it survives restarts and is shared by all processes. A try whose process died is forgotten after
 * `leaseMs`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { defineScript } from '../redis-script.ts';

export type Attempt =
  /** Must be ended by one of these three. */
  | {
      kind: 'open';
      /** True for the failure that closes the pair. */
      failed(): Promise<boolean>;
      succeeded(): Promise<void>;
      /** The try could not be checked, and so does not count. Never throws. */
      takenBack(): Promise<void>;
    }
  | { kind: 'closed'; seconds: number }
  /** Other tries for the same pair took too long. */
  | { kind: 'busy' };

export type Lockout = {
  /** Begins a try for `subject` (accounts/subject.ts) from `network` (http/network.ts). @param max failures, ten by default */
  begin(subject: string, network: string, max?: number): Promise<Attempt>;
  /** For a success that did not begin as a try. */
  clear(subject: string, network: string): Promise<void>;
  /** The networks that are locked out for the subject. */
  closedFor(subject: string, max?: number): Promise<string[]>;
  /** Clears the failures of all of a subject's pairs. */
  open(subject: string): Promise<void>;
};

const usualMax = 10;
const windowSeconds = 600;
const leaseMs = 30_000;
const waitMs = 10_000;
const pollMs = 40;
/** How many closed networks are remembered per subject; the latest are kept. */
const networksMax = 1_000;
/** How many waiting tries one process holds at a time. */
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

// KEYS as above, and the networks that are closed for the subject. ARGV: the try, the window in which it counts as a failure, or 0
// for a success; most failures, the network, how many networks at most.
const endScript = `
redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
local failures = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2], 'NX')
if failures >= tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[3], redis.call('TIME')[1], ARGV[4])
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - ARGV[5])
  redis.call('EXPIRE', KEYS[3], ARGV[2])
end
return failures`;

export function makeLockout(redis: Redis, prefix: string): Lockout {
  const lockoutBegin = defineScript<number>(redis, 'lockoutBegin', beginScript, 2);
  const lockoutEnd = defineScript<number>(redis, 'lockoutEnd', endScript, 3);
  const { pairOf, failures, inFlight, closed } = keysOf(prefix);
  const askUntilOpen = makeAskUntilOpen((pair, id, max) =>
    lockoutBegin(failures(pair), inFlight(pair), max, id, leaseMs),
  );
  type Try = { subject: string; network: string; id: string; max: number };
  const end = async ({ subject, network, id, max }: Try, failedForSeconds: number) => {
    const pair = pairOf(subject, network);
    const keys = [failures(pair), inFlight(pair), closed(subject)];
    return (await lockoutEnd(...keys, id, failedForSeconds, max, network, networksMax)) === max;
  };
  return {
    async begin(subject, network, max = usualMax) {
      const pair = pairOf(subject, network);
      const id = randomUUID();
      const answer = await askUntilOpen(pair, id, max);
      if (answer === undefined) return { kind: 'busy' };
      if (answer > 0) return { kind: 'closed', seconds: answer };
      return {
        kind: 'open',
        failed: () => end({ subject, network, id, max }, windowSeconds),
        succeeded: async () => void (await end({ subject, network, id, max }, 0)),
        async takenBack() {
          await redis.zrem(inFlight(pair), id).catch(() => {}); // Redis is down as well: the lease ends the try
        },
      };
    },
    async clear(subject, network) {
      await redis.del(failures(pairOf(subject, network)));
    },
    async closedFor(subject, max = usualMax) {
      const networks = await redis.zrange(closed(subject), '0', '-1');
      if (networks.length === 0) return [];
      const counts = await redis.mget(networks.map((network) => failures(pairOf(subject, network))));
      return networks.filter((_, index) => Number(counts[index]) >= max);
    },
    async open(subject) {
      const networks = await redis.zrange(closed(subject), '0', '-1');
      await redis.del(closed(subject), ...networks.map((network) => failures(pairOf(subject, network))));
    },
  };
}

function keysOf(prefix: string) {
  return {
    // The subject is the hash tag of all its keys, which keeps them on one node of a Cluster.
    pairOf: (subject: string, network: string) => `{${hashId(subject)}}:${hashId(network)}`,
    failures: (pair: string) => `${prefix}failures:${pair}`,
    inFlight: (pair: string) => `${prefix}tries:${pair}`,
    // Only an administrator asks for these: pairs are stored as hashes.
    closed: (subject: string) => `${prefix}closed:{${hashId(subject)}}`,
  };
}

/** The script’s answer once it is not "wait"; undefined if that takes too long. */
function makeAskUntilOpen(ask: (pair: string, id: string, max: number) => Promise<number>) {
  let waiting = 0;
  return async (pair: string, id: string, max: number): Promise<number | undefined> => {
    const answer = await ask(pair, id, max);
    if (answer !== -1) return answer;
    if (waiting >= waitingMax) return undefined;
    waiting += 1;
    try {
      for (let waited = 0; waited < waitMs; waited += pollMs) {
        await sleep(pollMs);
        const later = await ask(pair, id, max);
        if (later !== -1) return later;
      }
      return undefined;
    } finally {
      waiting -= 1;
    }
  };
}
