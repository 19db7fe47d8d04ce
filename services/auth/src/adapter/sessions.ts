/**
 * Whose sessions there are. The library finds a session by its cookie alone; beside it lies, for each account, the set of its
 * sessions' uids, which open nothing. A session that was ended from outside is not written again by a request that had it in hand.
 */
import type { Redis } from 'ioredis';
import type { AdapterPayload } from 'oidc-provider';
import { defineScript } from '../redis-script.ts';
import { hashId } from './hashed.ts';

/** As it is stored. */
export type StoredSession = AdapterPayload & { uid: string; accountId: string; loginTs: number; incarnation?: string };

export type Sessions = {
  /** The newest thousand, by what is stored; some may be over all the same (accounts/store.ts). */
  ofAccount(accountId: string): Promise<StoredSession[]>;
  find(uid: string): Promise<StoredSession | undefined>;
  end(uid: string): Promise<void>;
};

/** Longer than any request has a session in hand. */
const endedSeconds = 120;
const perAccountMax = 1_000;

// KEYS: the session, its uid, whether it was ended, and the set of its account's, if it is anybody's. ARGV: payload, lifetime, id, uid, now.
const upsertScript = `
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'payload', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[2])
if KEYS[4] then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[5])
  redis.call('ZADD', KEYS[4], ARGV[5] + ARGV[2], ARGV[4])
  redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -${perAccountMax + 1})
  redis.call('EXPIRE', KEYS[4], ARGV[2])
end
return 1`;

// KEYS: its uid, whether it was ended. ARGV: where sessions lie, how long to remember.
const endScript = `
redis.call('SET', KEYS[2], '1', 'EX', ARGV[2])
local id = redis.call('GET', KEYS[1])
if id then redis.call('DEL', ARGV[1] .. id, KEYS[1]) end
return 1`;

export function sessionKeys(prefix: string) {
  return {
    session: (id: string) => `${prefix}Session:${id}`,
    uid: (uid: string) => `${prefix}uid:${uid}`,
    ended: (uid: string) => `${prefix}ended-session:${uid}`,
    account: (accountId: string) => `${prefix}sessions-of:${hashId(accountId)}`,
  };
}

export function makeUpsertSession(redis: Redis, prefix: string) {
  const sessionUpsert = defineScript<number>(redis, 'sessionUpsert', upsertScript);
  const at = sessionKeys(prefix);
  return async (id: string, payload: AdapterPayload, seconds: number): Promise<void> => {
    const { uid = '', accountId } = payload;
    const keys = [at.session(id), at.uid(uid), at.ended(uid), ...(accountId ? [at.account(accountId)] : [])];
    const now = Math.floor(Date.now() / 1000);
    await sessionUpsert(keys.length, ...keys, JSON.stringify(payload), seconds, id, uid, now);
  };
}

export function makeSessions(redis: Redis, prefix: string): Sessions {
  const sessionEnd = defineScript<number>(redis, 'sessionEnd', endScript, 2);
  const at = sessionKeys(prefix);
  const find = async (uid: string): Promise<StoredSession | undefined> => {
    const id = await redis.get(at.uid(uid));
    const payload = id && (await redis.hget(at.session(id), 'payload'));
    const session = payload ? (JSON.parse(payload) as StoredSession) : undefined;
    // Its uid outlives it for a while, and may have been given a later one.
    return session?.uid === uid && session.accountId ? session : undefined;
  };
  return {
    find,
    async ofAccount(accountId) {
      const uids = await redis.zrevrange(at.account(accountId), 0, perAccountMax - 1);
      const sessions = await Promise.all(uids.map(find));
      // Somebody else may have logged in there since.
      return sessions.filter((session) => session?.accountId === accountId) as StoredSession[];
    },
    async end(uid) {
      await sessionEnd(at.uid(uid), at.ended(uid), at.session(''), endedSeconds);
    },
  };
}
