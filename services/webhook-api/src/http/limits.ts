/**
 * How much one caller may ask: requests per hour, counted in Redis, and concurrent requests, counted here. While Redis is away each process
 * counts separately. As on GitHub, 403 for the first, 429 for the second
 * (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
 */
import type { Response } from 'express';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { callerOf, type Token } from '../access/token.ts';
import { makeCounts } from '../counts.ts';
import { guideUrl } from '../meta/guides.ts';
import { ApiError } from './errors.ts';

export type Limits = {
  /** Counts a request. @throws ApiError 403 or 429 when it is one too many. Requests without a token are not counted. */
  admit(token: Token | undefined, response: Response): Promise<Admitted>;
  /** Counts a creation by the caller. @throws ApiError 429 when it is one too many. */
  admitCreation(token: Token): Promise<void>;
  /** What the caller has left of this hour, without counting anything; undefined when requests are not limited by the hour. */
  left(token: Token | undefined): Promise<RateLimit | undefined>;
};

/** `reset` is in seconds since 1970, as on GitHub. */
export type RateLimit = { limit: number; used: number; remaining: number; reset: number; resource: 'core' };

/** `settle` is called before the answer's head is written (a 304 is not counted), `leave` when everything is done. */
export type Admitted = { settle(status: number, response: Response): void; leave(): void };

const hourSeconds = 3600;
// GitHub’s limit for requests that create content.
const creationsPerHour = 500;
const unlimited: Admitted = { settle() {}, leave() {} };

export function makeLimits(options: {
  redis: Redis | undefined;
  prefix: string;
  perHour: number;
  concurrent: number;
}): Limits {
  const { redis, perHour, concurrent } = options;
  const running = makeCounts();
  const limiter = redis && makeLimiter(redis, `${options.prefix}api-rate`, perHour);
  const creations = redis && makeLimiter(redis, `${options.prefix}api-creations`, creationsPerHour);
  const consume = limiter && makeConsume(limiter);

  return {
    async admit(token, response) {
      if (!token) return unlimited;
      const caller = callerOf(token);
      if (running.of(caller) >= concurrent) throw tooManyAtOnce();
      running.add(caller, 1);
      const leave = once(() => running.add(caller, -1));
      if (!consume) return { settle() {}, leave };
      try {
        const { consumed, msBeforeNext, giveBack } = await consume(caller);
        writeHeaders(response, consumed, msBeforeNext, perHour);
        if (consumed > perHour) throw tooMany(token);
        return {
          leave,
          settle(status, settled) {
            if (status !== 304) return;
            writeHeaders(settled, consumed - 1, msBeforeNext, perHour);
            giveBack();
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
    async admitCreation(token) {
      const counted = creations && (await consumePoints(creations, callerOf(token), 1));
      if (counted && counted.consumedPoints > creationsPerHour) throw tooManyCreations(counted.msBeforeNext);
    },
    async left(token) {
      if (!limiter) return undefined;
      const counted = token && (await limiter.get(callerOf(token)));
      return rateLimit(counted?.consumedPoints ?? 0, counted?.msBeforeNext ?? hourSeconds * 1000, perHour);
    },
  };
}

function makeLimiter(redis: Redis, keyPrefix: string, points: number): RateLimiterRedis {
  const window = { points, duration: hourSeconds };
  return new RateLimiterRedis({
    ...window,
    storeClient: redis,
    keyPrefix,
    insuranceLimiter: new RateLimiterMemory(window),
    // Counting further in Redis beyond the limit would only add work during a flood.
    inMemoryBlockOnConsumed: points + 1,
  });
}

/** The requests used, including this one, even beyond the limit; `giveBack` uncounts it. */
type Counted = { consumed: number; msBeforeNext: number; giveBack(): void };

/** Makes the counter. One caller's requests within a turn of the event loop are counted by one command. */
function makeConsume(limiter: RateLimiterRedis): (key: string) => Promise<Counted> {
  type Gathered = { count: number; result: Promise<RateLimiterRes> };
  const gathering = new Map<string, Gathered>();
  async function consumeGathered(key: string): Promise<RateLimiterRes> {
    await endOfTurn();
    const { count } = gathering.get(key)!; // only this removes it
    gathering.delete(key);
    return consumePoints(limiter, key, count);
  }
  function gather(key: string): Gathered {
    const gathered = { count: 0, result: consumeGathered(key) };
    gathering.set(key, gathered);
    return gathered;
  }
  return async (key) => {
    const gathered = gathering.get(key) ?? gather(key);
    gathered.count += 1;
    const nth = gathered.count;
    const { consumedPoints, msBeforeNext } = await gathered.result;
    return {
      consumed: consumedPoints - gathered.count + nth,
      msBeforeNext,
      giveBack: () => void limiter.reward(key, 1).catch(() => {}), // the counter expires by itself
    };
  };
}

const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function consumePoints(limiter: RateLimiterRedis, key: string, points: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, points);
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused;
    // Callers known to be over the limit are refused without counting.
    if (refused.consumedPoints > 0) return refused;
    return new RateLimiterRes(0, refused.msBeforeNext, limiter.points + points);
  }
}

function rateLimit(consumed: number, msBeforeNext: number, limit: number): RateLimit {
  const used = Math.min(consumed, limit);
  const reset = Math.ceil((Date.now() + msBeforeNext) / 1000);
  return { limit, used, remaining: limit - used, reset, resource: 'core' };
}

function writeHeaders(response: Response, consumed: number, msBeforeNext: number, perHour: number): void {
  for (const [name, value] of Object.entries(rateLimitHeaders(rateLimit(consumed, msBeforeNext, perHour))))
    response.setHeader(name, value);
}

/** GitHub's headers of every counted answer. */
export const rateLimitHeaders = ({ limit, used, remaining, reset, resource }: RateLimit): Record<string, string> => ({
  'X-RateLimit-Limit': String(limit),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Used': String(used),
  'X-RateLimit-Reset': String(reset),
  'X-RateLimit-Resource': resource,
});

// Without `Retry-After`, which tells clients (hub4j among them) the secondary limit from this one.
const tooMany = (token: Token) =>
  new ApiError(403, `API rate limit exceeded for ${token.subject}.`, { documentationUrl: guideUrl('limits') });

const secondary = (wait: string, seconds: number) =>
  new ApiError(429, `You have exceeded a secondary rate limit. Please wait a few ${wait} before you try again.`, {
    headers: { 'Retry-After': String(seconds) },
    // go-github recognizes the secondary limit by the end of this URL.
    documentationUrl: guideUrl('secondaryLimits'),
  });

export const tooManyAtOnce = () => secondary('seconds', 1);
const tooManyCreations = (ms: number) => secondary('minutes', Math.ceil(ms / 1000));

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}
