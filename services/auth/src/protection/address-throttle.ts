/**
 * Throttles addresses that send too much (`attack-protection/suspicious-ip-throttling`): each network has a bucket of attempts, which
 * gains one every `rate` milliseconds. Successful logins give theirs back, so that only failures empty it. An attempt is taken before
 * its outcome is known: parallel guesses get no more than serial ones.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { defineScript } from '../redis-script.ts';
import type { SettingsStore } from '../settings/store.ts';
import { isListed } from './allowlist.ts';
import type { AttemptOrigin, ProtectionEvents } from './events.ts';
import { protectionOf } from './settings.ts';

export type ThrottledStage = 'pre-login' | 'pre-user-registration';

export type Pass =
  | {
      kind: 'open';
      /** The address has used up its bucket. */
      isLimited: boolean;
      /** The attempt does not count. Never throws. */
      giveBack(): Promise<void>;
    }
  | { kind: 'closed'; seconds: number };

export type AddressThrottle = {
  /** Undefined where addresses are not throttled at all; no store is asked then. */
  take(stage: ThrottledStage, origin: AttemptOrigin): Promise<Pass | undefined>;
};

// KEYS: the bucket. ARGV: how much it holds, milliseconds for one more. Answers milliseconds to wait, 0 for one taken.
const takeScript = `
local max, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local had = redis.call('HMGET', KEYS[1], 'level', 'at')
local level = math.min(max, tonumber(had[1] or max) + (now - tonumber(had[2] or now)) / rate)
if level < 1 then return math.ceil((1 - level) * rate) end
redis.call('HSET', KEYS[1], 'level', tostring(level - 1), 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil((max - level + 1) * rate))
return 0`;

// KEYS as above. ARGV: how much it holds. A missing bucket is full.
const returnScript = `
local level = redis.call('HGET', KEYS[1], 'level')
if level then redis.call('HSET', KEYS[1], 'level', tostring(math.min(tonumber(ARGV[1]), level + 1))) end
return 0`;

const free: Pass = { kind: 'open', isLimited: false, giveBack: async () => {} };

export function makeAddressThrottle(parts: {
  redis: Redis;
  prefix: string;
  settings: SettingsStore;
  events: ProtectionEvents;
}): AddressThrottle {
  const bucketTake = defineScript<number>(parts.redis, 'bucketTake', takeScript, 1);
  const bucketReturn = defineScript<0>(parts.redis, 'bucketReturn', returnScript, 1);
  return {
    async take(stage, origin) {
      const {
        enabled,
        shields,
        allowlist,
        stage: stages,
      } = protectionOf(await parts.settings.load())['suspicious-ip-throttling'];
      if (!enabled) return undefined;
      if (isListed(allowlist, origin.network)) return free;
      const { max_attempts, rate } = stages[stage];
      const key = `${parts.prefix}bucket:${stage}:${hashId(origin.network)}`;
      const waitMs = await bucketTake(key, max_attempts, rate);
      const blocks = shields.includes('block');
      // If Redis is down, the bucket refills by itself.
      const giveBack = async () => void (await bucketReturn(key, max_attempts).catch(() => {}));
      if (waitMs === 0) return { kind: 'open', isLimited: blocks, giveBack };
      await parts.events.throttled(stage, origin, { blocks, alerts: shields.includes('admin_notification') });
      return blocks ? { kind: 'closed', seconds: Math.ceil(waitMs / 1000) } : free;
    },
  };
}
