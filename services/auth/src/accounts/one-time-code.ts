/**
 * One-time codes: six digits, three minutes, three tries, used once. A new one replaces the old. A code belongs to the place
 * that asked for it (`binding`: an interaction, or a client), so it is worth nothing anywhere else.
 */
import { createHmac, randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { asking } from '../stores-away.ts';

export type CodePlace = { connection: string; address: string; binding: string };
export type CodeCheck = 'right' | 'wrong' | 'expired';

export type OneTimeCodes = {
  make(place: CodePlace): Promise<string>;
  /** Counts a try. A right code is gone afterwards, unless `keep`. */
  check(place: CodePlace, code: string, keep?: boolean): Promise<CodeCheck>;
};

const ttlSeconds = 180;
const triesMax = 3;
// Codes are few, so guesses at one person's are bounded over all codes as well.
const guessesMax = 10;
const guessesWindowSeconds = 3_600;

// KEYS: the code, the person's guesses. ARGV: digest, keep, most tries, most guesses, window. Counted and compared in one step:
// parallel guesses get no more tries than serial ones.
const checkScript = `
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[4]) then return 'expired' end
local digest = redis.call('HGET', KEYS[1], 'digest')
if not digest then return 'expired' end
if digest == ARGV[1] then
  if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) end
  return 'right'
end
redis.call('INCR', KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[5], 'NX')
if redis.call('HINCRBY', KEYS[1], 'tries', 1) >= tonumber(ARGV[3]) then redis.call('DEL', KEYS[1]) end
return 'wrong'`;

type Scripts = { oneTimeCodeCheck(...args: (string | number)[]): Promise<CodeCheck> };

/** @param secret keeps a copy of Redis from telling the codes: there are only a million */
export function makeOneTimeCodes(redis: Redis, prefix: string, secret: Buffer): OneTimeCodes {
  redis.defineCommand('oneTimeCodeCheck', { numberOfKeys: 2, lua: checkScript });
  const key = ({ connection, address, binding }: CodePlace) =>
    `${prefix}code:${hashId(JSON.stringify([connection, address, binding]))}`;
  const guesses = ({ connection, address }: CodePlace) =>
    `${prefix}code-guesses:${hashId(JSON.stringify([connection, address]))}`;
  const digest = (code: string) => createHmac('sha256', secret).update(code).digest('base64url');
  return {
    async make(place) {
      const code = String(randomInt(0, 1_000_000)).padStart(6, '0');
      const name = key(place);
      await asking(
        redis.multi().del(name).hset(name, 'digest', digest(code), 'tries', 0).expire(name, ttlSeconds).exec(),
      );
      return code;
    },
    check(place, code, keep = false) {
      const scripts = redis as unknown as Scripts;
      return asking(
        scripts.oneTimeCodeCheck(
          key(place),
          guesses(place),
          digest(code.replace(/\s/g, '')),
          keep ? '1' : '0',
          triesMax,
          guessesMax,
          guessesWindowSeconds,
        ),
      );
    },
  };
}
