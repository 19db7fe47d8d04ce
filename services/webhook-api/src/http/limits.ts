/**
 * How much one caller may ask (GH sections A.9, A.11): requests an hour, counted in Redis, and requests at once, counted here.
 * While Redis is away each process counts by itself.
 */
import type { Response } from 'express';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Token } from '../access/token.ts';
import { ApiError } from './errors.ts';

export type Limits = {
  /** Counts a request in. @throws ApiError 429 when it is one too many. Requests without a token are not counted. */
  admit(token: Token | undefined, response: Response): Promise<Admitted>;
};

/** `settle` is called before the answer's head is written (a 304 is not counted), `leave` when all is done. */
export type Admitted = { settle(status: number, response: Response): void; leave(): void };

const hourSeconds = 3600;
const rateDocs = 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api';
const unlimited: Admitted = { settle() {}, leave() {} };

export function makeLimits(options: {
  redis: Redis | undefined;
  prefix: string;
  perHour: number;
  concurrent: number;
}): Limits {
  const { redis, perHour, concurrent } = options;
  const running = new Map<string, number>();
  const limiter = redis && makeLimiter(redis, options.prefix, perHour);

  return {
    async admit(token, response) {
      if (!token) return unlimited;
      const key = `${token.clientId} ${token.subject}`;
      if ((running.get(key) ?? 0) >= concurrent) throw tooManyAtOnce();
      running.set(key, (running.get(key) ?? 0) + 1);
      const leave = once(() => {
        const left = (running.get(key) ?? 1) - 1;
        if (left === 0) running.delete(key);
        else running.set(key, left);
      });
      if (!limiter) return { settle() {}, leave };
      try {
        const result = await consume(limiter, key);
        writeHeaders(response, result.consumedPoints, result, perHour);
        if (result.consumedPoints > perHour) throw tooMany(token, result);
        return {
          leave,
          settle(status, settled) {
            if (status !== 304) return;
            writeHeaders(settled, result.consumedPoints - 1, result, perHour);
            limiter.reward(key, 1).catch(() => {}); // the counter expires by itself
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}

function makeLimiter(redis: Redis, prefix: string, points: number): RateLimiterRedis {
  const window = { points, duration: hourSeconds };
  return new RateLimiterRedis({
    ...window,
    storeClient: redis,
    keyPrefix: `${prefix}api-rate`,
    insuranceLimiter: new RateLimiterMemory(window),
    // Counting on beyond the limit in Redis gives a flood nothing but work.
    inMemoryBlockOnConsumed: points + 1,
  });
}

/** What stands consumed after this request, also when that is too much. */
async function consume(limiter: RateLimiterRedis, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}

function writeHeaders(response: Response, consumed: number, result: RateLimiterRes, limit: number): void {
  const used = Math.min(consumed, limit);
  response.set({
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(limit - used),
    'X-RateLimit-Used': String(used),
    'X-RateLimit-Reset': String(Math.ceil((Date.now() + result.msBeforeNext) / 1000)),
    'X-RateLimit-Resource': 'core',
  });
}

const tooMany = (token: Token, result: RateLimiterRes) =>
  new ApiError(429, `API rate limit exceeded for ${token.subject}.`, {
    headers: { 'Retry-After': String(Math.ceil(result.msBeforeNext / 1000)) },
    documentationUrl: rateDocs,
  });

const tooManyAtOnce = () =>
  new ApiError(429, 'You have exceeded a secondary rate limit. Please wait a few seconds before you try again.', {
    headers: { 'Retry-After': '1' },
    documentationUrl: `${rateDocs}#about-secondary-rate-limits`,
  });

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}
