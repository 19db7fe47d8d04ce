/**
 * Stores sessions, and indexes them by account. The library finds a session only by its cookie; beside it, each account has a set of its
 * sessions' uids, which give no access. A session ended from outside is not written again by a request still holding it.
 */
import type { Redis } from 'ioredis';
import type { AdapterPayload } from 'oidc-provider';
import { defineScript } from '../redis-script.ts';
import { hashId } from './hashed.ts';

/** Where a session began and where it was last used. */
export type SessionDevice = {
  initial_user_agent: string;
  initial_ip: string;
  last_user_agent: string;
  last_ip: string;
};

/** As it is stored. */
export type StoredSession = AdapterPayload & {
  uid: string;
  accountId: string;
  loginTs: number;
  /** When an action ends the session, in epoch seconds (actions/post-login.ts). */
  endsAt?: number;
  /** When its owner ended all other sessions (library/sessions.ts), in epoch seconds with milliseconds. */
  continuedAt?: number;
  incarnation?: string;
  device?: SessionDevice;
};

export type Sessions = {
  /** The newest thousand as stored; some may be over nevertheless (accounts/store.ts). */
  ofAccount(accountId: string): Promise<StoredSession[]>;
  find(uid: string): Promise<StoredSession | undefined>;
  end(uid: string): Promise<void>;
};

/** Longer than any request holds a session. */
const endedSeconds = 120;
const perAccountMax = 1_000;

// KEYS: the session. ARGV: payload, lifetime in seconds, then a field and its value for each application.
const upsertScript = `
redis.call('HSET', KEYS[1], 'payload', ARGV[1], unpack(ARGV, 3))
return redis.call('EXPIRE', KEYS[1], ARGV[2])`;

// KEYS: the set of an account's sessions. ARGV: uid, now, lifetime.
const addToAccountScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[2] + ARGV[3], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -${perAccountMax + 1})
return redis.call('EXPIRE', KEYS[1], ARGV[3])`;

// KEYS: the set of a session's ids. ARGV: lifetime in seconds, then ids.
const addIdsScript = `
redis.call('SADD', KEYS[1], unpack(ARGV, 2))
return redis.call('EXPIRE', KEYS[1], ARGV[1])`;

export function sessionKeys(prefix: string) {
  return {
    session: (id: string) => `${prefix}Session:${id}`,
    uid: (uid: string) => `${prefix}uid:${uid}`,
    /** Of a session that has had several. A request that began before it got another one writes it again under the former. */
    ids: (uid: string) => `${prefix}ids-of-session:${uid}`,
    ended: (uid: string) => `${prefix}ended-session:${uid}`,
    account: (accountId: string) => `${prefix}sessions-of:${hashId(accountId)}`,
  };
}

/**
 * Requests at the same time each save their own copy of a session; so what it holds for each application is also a field of its own, which
 * no other copy replaces. Nothing is left out of a session under the same id: the library changes the id first.
 */
const applicationField = 'application:';

/** From all fields of its hash. */
export function sessionOf({ payload, ...fields }: Record<string, string>): StoredSession | undefined {
  if (payload === undefined) return undefined;
  const session = JSON.parse(payload) as StoredSession;
  const kept = Object.entries(fields)
    .filter(([name]) => name.startsWith(applicationField))
    .map(([name, value]) => [name.slice(applicationField.length), JSON.parse(value)] as const);
  if (kept.length === 0) return session;
  return { ...session, authorizations: { ...session.authorizations, ...Object.fromEntries(kept) } };
}

export function makeUpsertSession(redis: Redis, prefix: string) {
  const sessionUpsert = defineScript<number>(redis, 'sessionUpsert', upsertScript, 1);
  const sessionAdd = defineScript<number>(redis, 'sessionAdd', addToAccountScript, 1);
  const sessionAddIds = defineScript<number>(redis, 'sessionAddIds', addIdsScript, 1);
  const at = sessionKeys(prefix);
  return async (id: string, payload: AdapterPayload, seconds: number): Promise<void> => {
    const { uid = '', accountId, authorizations = {} } = payload;
    const now = Math.floor(Date.now() / 1000);
    const fields = Object.entries(authorizations).flatMap(([clientId, held]) => [
      `${applicationField}${clientId}`,
      JSON.stringify(held),
    ]);
    const [former] = await Promise.all([
      redis.set(at.uid(uid), id, 'EX', seconds, 'GET'),
      sessionUpsert(at.session(id), JSON.stringify(payload), seconds, ...fields),
      accountId && sessionAdd(at.account(accountId), uid, now, seconds),
    ]);
    const ids = former === null || former === id ? [id] : [id, former];
    if (ids.length > 1) await sessionAddIds(at.ids(uid), seconds, ...ids);
    // Checked after all writes: `end` sets its mark before it looks for what to delete, so one of the two finds the session.
    if (await redis.exists(at.ended(uid)))
      await Promise.all([...ids.map(at.session), at.uid(uid)].map((key) => redis.del(key)));
  };
}

export function makeSessions(redis: Redis, prefix: string): Sessions {
  const at = sessionKeys(prefix);
  const find = async (uid: string): Promise<StoredSession | undefined> => {
    const id = await redis.get(at.uid(uid));
    const session = id ? sessionOf(await redis.hgetall(at.session(id))) : undefined;
    // The uid outlives its session for a while, and the session id may have a newer uid.
    return session?.uid === uid && session.accountId ? session : undefined;
  };
  return {
    find,
    async ofAccount(accountId) {
      const uids = await redis.zrevrange(at.account(accountId), 0, perAccountMax - 1);
      const sessions = await Promise.all(uids.map(find));
      // Somebody else may have logged in with that session since.
      return sessions.filter((session) => session?.accountId === accountId) as StoredSession[];
    },
    async end(uid) {
      await redis.set(at.ended(uid), '1', 'EX', endedSeconds);
      const [id, ids] = await Promise.all([redis.get(at.uid(uid)), redis.smembers(at.ids(uid))]);
      const all = new Set(id === null ? ids : [id, ...ids]);
      await Promise.all([...[...all].map(at.session), at.uid(uid)].map((key) => redis.del(key)));
    },
  };
}
