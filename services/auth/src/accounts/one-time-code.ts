/**
 * One-time codes: six digits, three minutes, three tries, used once. A code belongs to the place that asked for it (`binding`: an
 * interaction, which is one browser's, or an application and the network it was asked from): only there can it be tried, and only
 * what is asked for there replaces it. So nobody spends or voids the code that somebody else waits for.
 *
 * That leaves the guessing to be bounded over all places together, without a bound that a stranger could reach for somebody else.
 * After `wrongMax` wrong tries for one person in a week, or while `madeMax` codes for him were made within three minutes, further
 * codes have twelve digits. So short ones see at most 30 wrong tries and then what is live of them, 2 windows x 20 codes x 3 tries:
 * 150 in a week at 10^-6 each. One person attacked without a pause from everywhere loses with a chance of 0.00015 a week, 0.8 % a
 * year; each long code adds 3 x 10^-12. Whoever asks for his code is served all the while.
 */
import { createHmac, randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type CodeRequest = { connection: string; recipient: string; binding: string };
export type CodeCheck = 'right' | 'wrong' | 'expired';

export type OneTimeCodes = {
  make(request: CodeRequest): Promise<string>;
  /** Counts a try. A right code is gone afterwards, unless `keep`. */
  check(request: CodeRequest, code: string, keep?: boolean): Promise<CodeCheck>;
};

const ttlSeconds = 180;
const triesMax = 3;
const madeMax = 20;
const wrongMax = 30;
const wrongWindowSeconds = 7 * 24 * 3_600;

// KEYS: the code, the person's wrong tries, codes made for the person lately. ARGV: digests of the short code and of the long one,
// bounds of the two counts, the code's life. Answers whether the long one is the code.
const makeScript = `
local made = redis.call('INCR', KEYS[3])
redis.call('EXPIRE', KEYS[3], ARGV[5], 'NX')
local wrong = tonumber(redis.call('GET', KEYS[2]) or '0')
local long = made > tonumber(ARGV[3]) or wrong >= tonumber(ARGV[4])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'digest', long and ARGV[2] or ARGV[1], 'tries', 0)
redis.call('EXPIRE', KEYS[1], ARGV[5])
return long and 1 or 0`;

// KEYS: the code, the person's wrong tries. ARGV: digest, keep, most tries, the wrong tries' window. Counted and compared in one
// step: parallel guesses get no more tries than serial ones.
const checkScript = `
local digest = redis.call('HGET', KEYS[1], 'digest')
if not digest then return 'expired' end
if digest == ARGV[1] then
  if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) end
  return 'right'
end
redis.call('INCR', KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[4], 'NX')
if redis.call('HINCRBY', KEYS[1], 'tries', 1) >= tonumber(ARGV[3]) then redis.call('DEL', KEYS[1]) end
return 'wrong'`;

type Scripts = {
  oneTimeCodeMake(...args: (string | number)[]): Promise<0 | 1>;
  oneTimeCodeCheck(...args: (string | number)[]): Promise<CodeCheck>;
};

/** @param secret keeps a copy of Redis from telling the codes: there are few */
export function makeOneTimeCodes(redis: Redis, prefix: string, secret: Buffer): OneTimeCodes {
  redis.defineCommand('oneTimeCodeMake', { numberOfKeys: 3, lua: makeScript });
  redis.defineCommand('oneTimeCodeCheck', { numberOfKeys: 2, lua: checkScript });
  const scripts = redis as unknown as Scripts;
  const key = ({ connection, recipient, binding }: CodeRequest) =>
    `${prefix}code:${hashId(JSON.stringify([connection, recipient, binding]))}`;
  const count = (what: string, { connection, recipient }: CodeRequest) =>
    `${prefix}codes-${what}:${hashId(JSON.stringify([connection, recipient]))}`;
  const digest = (code: string) => createHmac('sha256', secret).update(code).digest('base64url');
  return {
    async make(request) {
      const long = String(randomInt(0, 10 ** 12)).padStart(12, '0');
      const short = long.slice(0, 6);
      const [wrong, made] = [count('wrong', request), count('made', request)];
      const digests = [digest(short), digest(long)];
      const isLong = await scripts.oneTimeCodeMake(
        key(request),
        wrong,
        made,
        ...digests,
        madeMax,
        wrongMax,
        ttlSeconds,
      );
      return isLong ? long : short;
    },
    check(request, code, keep = false) {
      const given = digest(code.replace(/\s/g, ''));
      return scripts.oneTimeCodeCheck(
        key(request),
        count('wrong', request),
        given,
        keep ? '1' : '0',
        triesMax,
        wrongWindowSeconds,
      );
    },
  };
}
