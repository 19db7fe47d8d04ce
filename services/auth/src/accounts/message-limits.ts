/**
 * How many messages of a kind a person gets per hour. The limits keep strangers from filling a mailbox, and from using up what its
 * owner may ask for:
 *
 * - 50 for everybody together, at most 25 of them for one asking network;
 * - once those are spent, 20 more for networks that have had fewer than 3, so that latecomers are served too;
 * - 5 for the network of the person’s last login, which nobody else can spend;
 * - one every ten minutes for any asker, and one every ten minutes for each network that has had its 25 (at most three networks):
 *   so messages never stop completely, even for somebody who shares a network with a stranger.
 *
 * That makes 99 at most. Messages are counted by network and not by application: the asker chooses the application, so a count per
 * application would let one network ask many times over, and a single count for all networks would let strangers spend it.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { defineScript } from '../redis-script.ts';

export type MessageLimits = {
  /** Counts one message; false when the limit is reached. @param ownNetwork the network of the recipient’s last login */
  take(message: {
    kind: 'login' | 'password' | 'verification';
    recipient: string;
    network: string;
    ownNetwork: string | undefined;
  }): Promise<boolean>;
};

const windowSeconds = 3_600;
const quietSeconds = 600;
const limits = { shared: 50, each: 25, late: 20, lateEach: 3, own: 5 };

// KEYS: this network's count, the shared one, that of late networks, that of the own network, the ten-minute one. ARGV: window, ten
// minutes, whether it is the own network, limits. One step: parallel requests get no more than serial ones.
const takeScript = `
local function count(key) return tonumber(redis.call('GET', key) or '0') end
local had, from = count(KEYS[1]), nil
if had < tonumber(ARGV[5]) and count(KEYS[2]) < tonumber(ARGV[4]) then from = KEYS[2]
elseif had < tonumber(ARGV[7]) and count(KEYS[3]) < tonumber(ARGV[6]) then from = KEYS[3]
elseif ARGV[3] == '1' and count(KEYS[4]) < tonumber(ARGV[8]) then from = KEYS[4]
elseif not redis.call('SET', had < tonumber(ARGV[5]) and KEYS[5] or KEYS[6], '1', 'EX', ARGV[2], 'NX') then return 0 end
for _, key in ipairs({ KEYS[1], from }) do
  redis.call('INCR', key)
  redis.call('EXPIRE', key, ARGV[1], 'NX')
end
return 1`;

export function makeMessageLimits(redis: Redis, prefix: string): MessageLimits {
  const messageTake = defineScript<0 | 1>(redis, 'messageTake', takeScript, 6);
  return {
    async take({ kind, recipient, network, ownNetwork }) {
      // The recipient is the hash tag, which keeps all keys on one node of a Cluster.
      const key = (count: string, ...of: string[]) =>
        [`${prefix}messages:${kind}:${count}:{${hashId(recipient)}}`, ...of.map(hashId)].join(':');
      const keys = [
        key('network', network),
        key('shared'),
        key('late'),
        key('own'),
        key('quiet'),
        key('quiet', network),
      ];
      const { shared, each, late, lateEach, own } = limits;
      const isOwn = network === ownNetwork ? 1 : 0;
      const values = [windowSeconds, quietSeconds, isOwn, shared, each, late, lateEach, own];
      return (await messageTake(...keys, ...values)) === 1;
    },
  };
}
