/** Caches rows that administrators write and every request reads, until a change is announced. */
import type { CachedTable, Changes } from './changes.ts';

export type Cache<V> = {
  /** The key's value; concurrent callers share one load. Undefined is never cached. */
  get(key: string): Promise<V>;
  /** Forgets one key, including a load in progress for it. */
  forget(key: string): void;
  /** Forgets everything: a process must read its own writes. */
  clear(): void;
};

/**
 * A cache over `load`. It is emptied when one of `tables` changes, and bypassed while changes may be missed. A value whose loading began
 * before a change is given to its waiting callers, but not kept. Beyond `max` keys the oldest is dropped. With `maxAgeMs` no value is older
 * than that, even if an announcement never arrives because its connection died silently. Without `changes`, only that ends a value.
 */
export function makeCache<V>(options: {
  changes?: Changes;
  tables?: CachedTable[];
  load: (key: string) => Promise<V>;
  max?: number;
  maxAgeMs?: number;
  now?: () => number;
}): Cache<V> {
  const { changes, load, maxAgeMs = Number.POSITIVE_INFINITY, now = Date.now } = options;
  const max = options.max ?? 1;
  const entries = new Map<string, { loading: Promise<V>; since: number }>();
  const clear = () => entries.clear();
  changes?.subscribe(options.tables ?? [], clear);

  return {
    clear,
    forget: (key) => void entries.delete(key),
    async get(key) {
      const known = entries.get(key);
      if (known && now() - known.since < maxAgeMs) return known.loading;
      entries.delete(key); // a reloaded value is the youngest again
      const since = now();
      const loading = load(key);
      if (changes?.isConnected() === false) return loading;
      entries.set(key, { loading, since });
      if (entries.size > max) entries.delete(entries.keys().next().value!);
      const drop = () => {
        if (entries.get(key)?.loading === loading) entries.delete(key);
      };
      try {
        const value = await loading;
        if (value === undefined) drop();
        return value;
      } catch (error) {
        drop();
        throw error;
      }
    },
  };
}
