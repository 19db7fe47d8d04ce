/**
 * The gate’s public keys: read from its JWKS and cached; read again when a token names an unknown key, and every few minutes in the
 * background. So the gate may be away as long as its keys stay the same.
 */
import type { Log } from '@gatepost/runtime/log';
import { createRemoteJWKSet, type JWKSCacheInput, type JWTVerifyGetKey, jwksCache } from 'jose';

export type Keys = Disposable & {
  get: JWTVerifyGetKey;
  /** The latest read: a new object each time, whether or not the keys have changed. */
  lastRead(): unknown;
  /** Whether the latest read began after that time, ms since 1970. */
  wereReadSince(ms: number): boolean;
  /** @throws while no keys have been read yet. */
  ready(): void;
};

const refreshMs = 5 * 60_000;
const retryMs = 1_000;
const timeoutMs = 3_000;
// Tokens with made-up key ids must not each cause a request to the gate.
const cooldownMs = 5_000;

export function openKeys(options: { url: URL; log: Log; refreshMs?: number }): Keys {
  const { url, log } = options;
  const read: JWKSCacheInput = {};
  const set = createRemoteJWKSet(url, {
    [jwksCache]: read,
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: cooldownMs,
    timeoutDuration: timeoutMs,
  });
  let wasRead = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const refresh = async () => {
    try {
      await set.reload();
      wasRead = true;
    } catch (error) {
      log.warn({ url: url.href, error }, "could not read the gate's keys, keeping what we have");
    }
    if (!closed) timer = setTimeout(refresh, wasRead ? (options.refreshMs ?? refreshMs) : retryMs).unref();
  };
  void refresh();

  return {
    get: set,
    lastRead: () => read.jwks,
    // Only its end is known, and it may have taken as long as it is allowed to.
    wereReadSince: (ms) => (read.uat ?? 0) > ms + timeoutMs,
    ready() {
      if (!wasRead && !set.fresh) throw new Error("the gate's keys have not been read yet");
    },
    [Symbol.dispose]() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
