/** `api.cache`: what an action remembers between runs, in its own process. It is a cache, not a store: it ends with the process. */

type Entry = { value: string; expires_at: number };

/** Auth0’s limits. */
const entriesMax = 20;
const valueMax = 8_192;
const keyMax = 64;
const ttlMs = 24 * 60 * 60 * 1000;

export function makeCacheApi() {
  const entries = new Map<string, Entry>();
  const failure = (code: string) => ({ type: 'error', code });
  return {
    get(key: string) {
      const found = entries.get(key);
      if (found && found.expires_at > Date.now()) return { ...found };
      entries.delete(key);
      return undefined;
    },
    set(key: string, value: string, options: { ttl?: number; expires_at?: number } = {}) {
      if (typeof key !== 'string' || key.length > keyMax) return failure('CacheKeySizeExceeded');
      if (typeof value !== 'string' || value.length > valueMax) return failure('ItemSizeExceeded');
      const now = Date.now();
      const end = Math.min(options.expires_at ?? Infinity, now + (options.ttl ?? ttlMs), now + ttlMs);
      entries.delete(key);
      entries.set(key, { value, expires_at: end });
      if (entries.size > entriesMax) entries.delete(entries.keys().next().value!);
      return { type: 'success', record: { key, value, expires_at: end } };
    },
    delete(key: string) {
      entries.delete(key);
      return { type: 'success' };
    },
  };
}
