/**
 * Guesses at a client's secret: so many wrong ones for one client from one address (of IPv6 the /64) close that pair until the
 * window ends (sec-050). The same client is served from everywhere else, and nobody who authenticates rightly waits for this: failures
 * are counted when they have happened, in Redis for all processes, and what a process knows of closed pairs is in its memory.
 * Another process hears of a closed pair with the next failure it sees.
 */
import type { Redis } from 'ioredis';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { hashId } from '../adapter/hashed.ts';
import { addressOf } from '../http/head.ts';
import { networkOf } from '../http/network.ts';
import { checkClientSecrets } from '../library/seam.ts';

export type ClientThrottle = {
  /** Seconds for which the pair stays closed; undefined for an open one. Asks nobody. */
  closedFor(clientId: string, address: string): number | undefined;
  /** Counts a failure; answers as `closedFor`. While Redis is away each process counts for itself. */
  failed(clientId: string, address: string): Promise<number | undefined>;
  /** The secret was right: the pair's count is taken back, in its own time. */
  succeeded(clientId: string, address: string): void;
};

const failuresMax = 30;
const windowMs = 60_000;
/** Of so many pairs a process knows; the oldest goes first. */
const pairsMax = 10_000;

export function makeClientThrottle(redis: Redis, prefix: string): ClientThrottle {
  const pairs = new Map<string, { failures: number; until: number }>();
  const pairOf = (clientId: string, address: string) => hashId(`${clientId} ${networkOf(address)}`);
  const key = (pair: string) => `${prefix}client-failures:${pair}`;
  // The oldest stand first, and all have the same window: what is over goes without being looked for.
  const known = (pair: string) => {
    for (const [name, { until }] of pairs) {
      if (until > Date.now()) break;
      pairs.delete(name);
    }
    const entry = pairs.get(pair);
    return entry && entry.until > Date.now() ? entry : undefined;
  };
  const secondsOf = (entry: { failures: number; until: number } | undefined) =>
    entry && entry.failures > failuresMax ? Math.max(1, Math.ceil((entry.until - Date.now()) / 1000)) : undefined;

  return {
    // Where nobody has failed lately, this is all that a token costs.
    closedFor: (clientId, address) => (pairs.size === 0 ? undefined : secondsOf(known(pairOf(clientId, address)))),
    async failed(clientId, address) {
      const pair = pairOf(clientId, address);
      let entry = known(pair);
      if (!entry) {
        entry = { failures: 0, until: Date.now() + windowMs };
        pairs.delete(pair);
        pairs.set(pair, entry);
      }
      entry.failures += 1;
      if (pairs.size > pairsMax) pairs.delete(pairs.keys().next().value!);
      const counted = await redis
        .multi()
        .incr(key(pair))
        .pexpire(key(pair), windowMs, 'NX')
        .pttl(key(pair))
        .exec()
        .catch(() => undefined); // our own count stands in
      const [failures, leftMs] = [counted?.[0]?.[1] as number, counted?.[2]?.[1] as number];
      if (failures > entry.failures) Object.assign(entry, { failures, until: Date.now() + leftMs });
      return secondsOf(entry);
    },
    succeeded(clientId, address) {
      if (pairs.size === 0) return;
      const pair = pairOf(clientId, address);
      if (pairs.delete(pair)) redis.del(key(pair)).catch(() => {}); // it ends by itself soon
    },
  };
}

/** Refuses what comes from a closed pair, whether the secret is right or not, and counts what fails, whatever it failed by. */
export function throttleClientAuthentication(provider: Provider, throttle: ClientThrottle): void {
  checkClientSecrets(provider, (ctx, clientId, isRight) => {
    const address = addressOf(ctx.req);
    const seconds = throttle.closedFor(clientId, address);
    if (seconds !== undefined) throw new TooManyFailures(ctx, seconds);
    if (isRight) throttle.succeeded(clientId, address);
  });
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    if (ctx.status !== 401 || (ctx.body as { error?: string } | undefined)?.error !== 'invalid_client') return;
    const seconds = await throttle.failed(presentedId(ctx), addressOf(ctx.req));
    if (seconds === undefined) return;
    const { status, error, error_description } = new TooManyFailures(ctx, seconds);
    ctx.remove('www-authenticate');
    ctx.status = status;
    ctx.body = { error, error_description };
  });
}

class TooManyFailures extends errors.OIDCProviderError {
  constructor(ctx: KoaContextWithOIDC, seconds: number) {
    super(429, 'too_many_attempts');
    this.error_description = 'Client authentication has failed too often from this address. Try again later.';
    ctx.set('retry-after', String(seconds));
  }
}

/** The client that somebody claims to be; one that does not exist is counted like any other, and so looks like one. */
function presentedId(ctx: KoaContextWithOIDC): string {
  const known = ctx.oidc.client?.clientId ?? (ctx.oidc.params as { client_id?: string } | undefined)?.client_id;
  if (known !== undefined) return known;
  const [, basic = ''] = /^Basic (.+)$/i.exec(ctx.get('authorization')) ?? [];
  return Buffer.from(basic, 'base64').toString().split(':', 1)[0] ?? '';
}
