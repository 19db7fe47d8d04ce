/**
 * Short-lived artefacts in Redis: one hash each (`payload`, and `consumed` once it has been used), always with an expiry. A single
 * script consumes one, so single use holds across any number of processes, as it does for each step of a device code. No command
 * names two artefacts, which may lie on different nodes of a Cluster.
 */
import type { Redis } from 'ioredis';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { defineScript } from '../redis-script.ts';
import { AlreadyConsumed, alreadyConsumed } from './consumed.ts';
import { makeUpsertSession, sessionKeys, sessionOf } from './sessions.ts';

// ARGV: payload, lifetime in seconds.
const upsert = `
redis.call('HSET', KEYS[1], 'payload', ARGV[1])
return redis.call('EXPIRE', KEYS[1], ARGV[2])`;

// ARGV: payload, lifetime in seconds, whether the code was confirmed when the writer read it (1 or 0). Somebody confirms a code or denies
// it, and whoever has confirmed it gets an answer or has to give it back, so nothing is written over an answer, or over a state that the
// writer has not read.
const upsertDeviceCode = `
local stored = redis.call('HGET', KEYS[1], 'payload')
if stored then
  local code = cjson.decode(stored)
  if code.error or code.accountId or (code.inFlight == true) ~= (ARGV[3] == '1') then return 0 end
end
${upsert}`;

// KEYS: the set of a grant's artefacts. ARGV: the artefact's key, its lifetime in seconds. The set outlives its longest-lived member.
const addToGrant = `
redis.call('SADD', KEYS[1], ARGV[1])
if redis.call('TTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return 1`;

// First come, first served: whoever sets the field has consumed it.
const consume = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HSETNX', KEYS[1], 'consumed', ARGV[1])`;

// Every model kept here has a lifetime; this is a bound in case one is missing.
const lifetimeMaxSeconds = 86_400;

/** The key of an artefact; `id` as it is stored, hashed or not. */
export const artefactKey = (prefix: string, model: string, id: string): string => `${prefix}${model}:${id}`;

/** Returns the function that makes each model's adapter. Call it once per connection, at startup. */
export function redisAdapters(redis: Redis, prefix: string): (model: string, grantable: boolean) => Adapter {
  const artefactUpsert = defineScript<number>(redis, 'artefactUpsert', upsert, 1);
  const deviceCodeUpsert = defineScript<number>(redis, 'deviceCodeUpsert', upsertDeviceCode, 1);
  const grantAdd = defineScript<number>(redis, 'grantAdd', addToGrant, 1);
  const artefactConsume = defineScript<number>(redis, 'artefactConsume', consume, 1);
  const upsertSession = makeUpsertSession(redis, prefix);
  return (model, grantable) => {
    const key = (id: string) => artefactKey(prefix, model, id);
    // One set per model and grant, because oidc-provider revokes model by model.
    const grantKey = (grantId: string) => `${prefix}grant:${model}:${grantId}`;
    const userCodeKey = (userCode: string) => `${prefix}user-code:${userCode}`;

    const find = async (id: string): Promise<AdapterPayload | undefined> => {
      if (model === 'Session') return sessionOf(await redis.hgetall(key(id)));
      const [payload, consumed] = await redis.hmget(key(id), 'payload', 'consumed');
      if (!payload) return undefined;
      const parsed = JSON.parse(payload) as AdapterPayload;
      return consumed ? { ...parsed, consumed: Number(consumed) } : parsed;
    };
    const findThrough = async (indexKey: string) => {
      const id = await redis.get(indexKey);
      return id ? find(id) : undefined;
    };

    return {
      find,
      findByUid: (uid) => findThrough(sessionKeys(prefix).uid(uid)),
      findByUserCode: (userCode) => findThrough(userCodeKey(userCode)),
      async upsert(id, payload, expiresIn = lifetimeMaxSeconds) {
        if (model === 'Session') return upsertSession(id, payload, expiresIn);
        const json = JSON.stringify(payload);
        const writes: Promise<unknown>[] = [];
        // First, so that no artefact is left out of its grant's set.
        if (grantable && payload.grantId) writes.push(grantAdd(grantKey(payload.grantId), key(id), expiresIn));
        const written =
          model === 'DeviceCode'
            ? deviceCodeUpsert(key(id), json, expiresIn, wasConfirmed(payload) ? 1 : 0)
            : artefactUpsert(key(id), json, expiresIn);
        writes.push(written);
        if (payload.userCode) writes.push(redis.set(userCodeKey(payload.userCode), id, 'EX', expiresIn));
        await Promise.all(writes);
        if ((await written) === 0) throw new AlreadyConsumed(model);
      },
      async consume(id) {
        const first = await artefactConsume(key(id), Math.floor(Date.now() / 1000));
        if (first !== 1) throw alreadyConsumed(model);
      },
      async destroy(id) {
        await redis.del(key(id));
      },
      async revokeByGrantId(grantId) {
        const members = await redis.smembers(grantKey(grantId));
        if (members.length === 0) return;
        // One by one: they may lie on several nodes. Members added meanwhile stay in the set.
        await Promise.all(members.map((member) => redis.del(member)));
        await redis.srem(grantKey(grantId), ...members);
      },
    };
  };
}

/** Whether this answers a device code that was confirmed before, or takes the confirmation back, rather than confirms or denies it. */
function wasConfirmed({ inFlight, accountId, error }: AdapterPayload): boolean {
  const isAnswer = accountId !== undefined || error !== undefined;
  return isAnswer ? inFlight === true : inFlight === false;
}
