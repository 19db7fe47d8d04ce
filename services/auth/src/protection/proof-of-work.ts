/**
 * Proof of work in the form of ALTCHA (https://altcha.org/docs/v2/proof-of-work/, its first version): the SHA-256 of a salt and a secret
 * number. Finding the number takes half of all tries on average. The salt states the challenge's expiry and purpose, and ends with
 * `&`, so that no digit can move from the number into the salt and change the expiry. Nothing is stored before a challenge is
 * solved; a solution is accepted once.
 */
import { hash, randomBytes, randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { hashId } from '../adapter/hashed.ts';
import type { Mac } from '../keys/mac.ts';
import { type ChallengeProvider, type ChallengeStage, stages } from './challenge.ts';

/** The largest number: 25,000 hashes on average, some tenths of a second in a browser. */
const maxnumber = 50_000;
/** Long enough for somebody who reads the page for a while. */
const lifetimeSeconds = 1_200;
const solutionMaxLength = 1_024;

const solutionShape = z.strictObject({
  algorithm: z.literal('SHA-256'),
  challenge: z.string().regex(/^[0-9a-f]{64}$/),
  number: z.int().min(0).max(maxnumber),
  salt: z.string().regex(/^[0-9a-f]{16}\?expires=\d{10}&stage=[a-z-]+&$/),
  signature: z.string(),
  // Widgets report how long it took.
  took: z.unknown().optional(),
});

export function makeProofOfWork(parts: {
  redis: Redis;
  prefix: string;
  mac: Mac;
  now?: () => number;
}): ChallengeProvider {
  const { redis, prefix, mac, now = Date.now } = parts;
  const signed = (salt: string, challenge: string) => JSON.stringify([salt, challenge]);
  return {
    issue(stage) {
      const expires = Math.floor(now() / 1000) + lifetimeSeconds;
      // Short enough that salt and number usually fit into one block of SHA-256.
      const salt = `${randomBytes(8).toString('hex')}?expires=${expires}&stage=${stage}&`;
      const challenge = hash('sha256', salt + randomInt(0, maxnumber + 1));
      const signature = mac.tokenFor(signed(salt, challenge));
      return JSON.stringify({ algorithm: 'SHA-256', challenge, maxnumber, salt, signature });
    },
    async redeem(accepted, text) {
      const solution = parse(text);
      if (!solution) return false;
      const { salt, challenge, number, signature } = solution;
      const { expires, stage } = readSalt(salt);
      const left = expires - Math.floor(now() / 1000);
      if (left <= 0 || !accepted.some((each) => each === stage)) return false;
      if (!mac.matches(signed(salt, challenge), signature) || hash('sha256', salt + number) !== challenge) return false;
      return (await redis.set(`${prefix}solved:${hashId(challenge)}`, '1', 'EX', left, 'NX')) === 'OK';
    },
  };
}

/** Base64 of JSON. */
function parse(text: string): z.infer<typeof solutionShape> | undefined {
  if (text.length > solutionMaxLength) return undefined;
  try {
    return solutionShape.parse(JSON.parse(Buffer.from(text, 'base64').toString()));
  } catch {
    return undefined; // whatever it is, it is no solution
  }
}

function readSalt(salt: string): { expires: number; stage: ChallengeStage | undefined } {
  const fields = new URLSearchParams(salt.slice(salt.indexOf('?') + 1));
  return { expires: Number(fields.get('expires')), stage: stages.find((each) => each === fields.get('stage')) };
}
