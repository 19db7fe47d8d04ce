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
  const consume = redis && makeConsume(makeLimiter(redis, options.prefix, perHour));

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
      if (!consume) return { settle() {}, leave };
      try {
        const { consumed, msBeforeNext, giveBack } = await consume(key);
        writeHeaders(response, consumed, msBeforeNext, perHour);
        if (consumed > perHour) throw tooMany(token, msBeforeNext);
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

/** What stands consumed after this request, also when that is too much; `giveBack` uncounts it. */
type Counted = { consumed: number; msBeforeNext: number; giveBack(): void };

/** Makes the counting. What one caller asks in one turn of the event loop is counted in one command. */
function makeConsume(limiter: RateLimiterRedis): (key: string) => Promise<Counted> {
  type Gathered = { count: number; result: Promise<RateLimiterRes> };
  const gathering = new Map<string, Gathered>();
  async function consumeGathered(key: string): Promise<RateLimiterRes> {
    await endOfTurn();
    const { count } = gathering.get(key)!; // this is what takes it away
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
    // Who is known here to be over the limit is refused without a count.
    if (refused.consumedPoints > 0) return refused;
    return new RateLimiterRes(0, refused.msBeforeNext, limiter.points + points);
  }
}

function writeHeaders(response: Response, consumed: number, msBeforeNext: number, limit: number): void {
  const used = Math.min(consumed, limit);
  response.set({
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(limit - used),
    'X-RateLimit-Used': String(used),
    'X-RateLimit-Reset': String(Math.ceil((Date.now() + msBeforeNext) / 1000)),
    'X-RateLimit-Resource': 'core',
  });
}

const tooMany = (token: Token, msBeforeNext: number) =>
  new ApiError(429, `API rate limit exceeded for ${token.subject}.`, {
    headers: { 'Retry-After': String(Math.ceil(msBeforeNext / 1000)) },
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
