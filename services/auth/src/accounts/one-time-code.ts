/**
 * One-time codes: six digits, three minutes, three tries, used once. A code belongs to whoever asked for it (`binding`: an
 * interaction, which belongs to one browser, or an application and the network of the request). It can be tried only there, and
 * only another request from there replaces it. So nobody can spend or void a code that somebody else is waiting for.
 *
 * That leaves the total number of guesses to be bounded, in a way that a stranger cannot use up for somebody else. After
 * `wrongMax` wrong tries for one person in a week, or after `madeMax` codes for that person within three minutes, further codes
 * have twelve digits. Short codes therefore see at most 30 wrong tries plus those for codes still live: 2 windows x 20 codes x 3
 * tries, 150 a week at 10^-6 each. A person under constant attack from everywhere is compromised with a probability of 0.00015 a
 * week, or 0.8 % a year; each long code adds 3 x 10^-12. Meanwhile everybody still gets the codes they ask for.
 */
import { createHmac, randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { defineScript } from '../redis-script.ts';

export type CodeRequest = { connection: string; recipient: string; binding: string };
export type CodeCheck = 'right' | 'wrong' | 'expired';

export type OneTimeCodes = {
  make(request: CodeRequest): Promise<string>;
  /** Counts a try. A right code is spent, unless `keep` is set. */
  check(request: CodeRequest, code: string, keep?: boolean): Promise<CodeCheck>;
};

export const codeTtlSeconds = 180;
const triesMax = 3;
const madeMax = 20;
const wrongMax = 30;
const wrongWindowSeconds = 7 * 24 * 3_600;

// KEYS: the code, the person’s wrong tries, codes recently made for the person. ARGV: digests of the short and the long code, the
// bounds of the two counts, the lifetime of the code. Answers whether the long one was used.
const makeScript = `
local made = redis.call('INCR', KEYS[3])
redis.call('EXPIRE', KEYS[3], ARGV[5], 'NX')
local wrong = tonumber(redis.call('GET', KEYS[2]) or '0')
local long = made > tonumber(ARGV[3]) or wrong >= tonumber(ARGV[4])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'digest', long and ARGV[2] or ARGV[1], 'tries', 0)
redis.call('EXPIRE', KEYS[1], ARGV[5])
return long and 1 or 0`;

// KEYS: the code, the person’s wrong tries. ARGV: digest, keep, the most tries, the window of the wrong tries, digest under the other
// key. Counts and compares in one step, so that parallel guesses get no more tries than serial ones.
const checkScript = `
local digest = redis.call('HGET', KEYS[1], 'digest')
if not digest then return 'expired' end
if digest == ARGV[1] or digest == ARGV[5] then
  if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) end
  return 'right'
end
redis.call('INCR', KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[4], 'NX')
if redis.call('HINCRBY', KEYS[1], 'tries', 1) >= tonumber(ARGV[3]) then redis.call('DEL', KEYS[1]) end
return 'wrong'`;

/** @param secrets the first signs new codes, all are accepted; without a secret a copy of Redis would reveal the codes, as so few are possible */
export function makeOneTimeCodes(redis: Redis, prefix: string, secrets: Buffer[]): OneTimeCodes {
  const oneTimeCodeMake = defineScript<0 | 1>(redis, 'oneTimeCodeMake', makeScript, 3);
  const oneTimeCodeCheck = defineScript<CodeCheck>(redis, 'oneTimeCodeCheck', checkScript, 2);
  // The person is the hash tag, which keeps all keys on one node of a Cluster.
  const personOf = ({ connection, recipient }: CodeRequest) => `{${hashId(JSON.stringify([connection, recipient]))}}`;
  const key = (request: CodeRequest) => `${prefix}code:${personOf(request)}:${hashId(request.binding)}`;
  const count = (what: string, request: CodeRequest) => `${prefix}codes-${what}:${personOf(request)}`;
  const digestUnder = (secret: Buffer, code: string) => createHmac('sha256', secret).update(code).digest('base64url');
  const digest = (code: string) => digestUnder(secrets[0]!, code);
  return {
    async make(request) {
      const long = String(randomInt(0, 10 ** 12)).padStart(12, '0');
      const short = long.slice(0, 6);
      const [wrong, made] = [count('wrong', request), count('made', request)];
      const digests = [digest(short), digest(long)];
      const isLong = await oneTimeCodeMake(key(request), wrong, made, ...digests, madeMax, wrongMax, codeTtlSeconds);
      return isLong ? long : short;
    },
    check(request, code, keep = false) {
      const given = digest(code.replace(/\s/g, ''));
      return oneTimeCodeCheck(
        key(request),
        count('wrong', request),
        given,
        keep ? '1' : '0',
        triesMax,
        wrongWindowSeconds,
        secrets[1] ? digestUnder(secrets[1], code.replace(/\s/g, '')) : given,
      );
    },
  };
}
