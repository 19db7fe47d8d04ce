/**
 * Short-lived artefacts in Redis: one hash each (`payload`, and `consumed` once it has been used), removed by its expiry in any
 * case. Each operation is one script, so single use holds across any number of processes.
 */
import type { Redis } from 'ioredis';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { defineScript } from '../redis-script.ts';
import { AlreadyConsumed } from './consumed.ts';
import { makeUpsertSession, sessionKeys } from './sessions.ts';

// KEYS[1] the artefact, KEYS[2] (if any) the set of its grant's artefacts; ARGV: payload, lifetime in seconds.
// An index outlives the longest-lived member.
const upsert = `
redis.call('HSET', KEYS[1], 'payload', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if KEYS[2] then
  redis.call('SADD', KEYS[2], KEYS[1])
  if redis.call('TTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[2], ARGV[2]) end
end
return 1`;

// First come, first served: whoever sets the field has consumed it.
const consume = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HSETNX', KEYS[1], 'consumed', ARGV[1])`;

const revoke = `
local members = redis.call('SMEMBERS', KEYS[1])
for _, member in ipairs(members) do redis.call('DEL', member) end
redis.call('DEL', KEYS[1])
return #members`;

// Every model kept here has a lifetime; this bounds one that forgot to set it.
const lifetimeMaxSeconds = 86_400;

/** The key of an artefact; `id` as it is stored, hashed or not. */
export const artefactKey = (prefix: string, model: string, id: string): string => `${prefix}${model}:${id}`;

/** What makes the adapter of each model; once per connection, at the start. */
export function redisAdapters(redis: Redis, prefix: string): (model: string, grantable: boolean) => Adapter {
  const artefactUpsert = defineScript<number>(redis, 'artefactUpsert', upsert);
  const artefactConsume = defineScript<number>(redis, 'artefactConsume', consume, 1);
  const artefactRevoke = defineScript<number>(redis, 'artefactRevoke', revoke, 1);
  const upsertSession = makeUpsertSession(redis, prefix);
  return (model, grantable) => {
    const key = (id: string) => artefactKey(prefix, model, id);
    // One set per model and grant, because oidc-provider revokes model by model.
    const grantKey = (grantId: string) => `${prefix}grant:${model}:${grantId}`;
    const userCodeKey = (userCode: string) => `${prefix}user-code:${userCode}`;

    const find = async (id: string): Promise<AdapterPayload | undefined> => {
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
        const keys = [key(id), ...(grantable && payload.grantId ? [grantKey(payload.grantId)] : [])];
        const writes: Promise<unknown>[] = [artefactUpsert(keys.length, ...keys, json, expiresIn)];
        if (payload.userCode) writes.push(redis.set(userCodeKey(payload.userCode), id, 'EX', expiresIn));
        await Promise.all(writes);
      },
      async consume(id) {
        const first = await artefactConsume(key(id), Math.floor(Date.now() / 1000));
        if (first !== 1) throw new AlreadyConsumed(model);
      },
      async destroy(id) {
        await redis.del(key(id));
      },
      async revokeByGrantId(grantId) {
        await artefactRevoke(grantKey(grantId));
      },
    };
  };
}
