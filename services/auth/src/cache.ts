/** Rows that an administrator writes and every request reads, kept until a change is heard of. */
import type { CachedTable, Changes } from './changes.ts';

export type Cache<V> = {
  /** The value of the key, loaded at most once at a time. Undefined is never kept. */
  get(key: string): Promise<V>;
  /** Forgets everything: for the process that has just written and must read its own write. */
  clear(): void;
};

/**
 * A cache over `load`, emptied when one of `tables` changes and unused while changes may be missed. A value whose loading
 * began before a change is handed to those who waited for it, and not kept. Beyond `max` keys the oldest goes.
 */
export function makeCache<V>(options: {
  changes: Changes;
  tables: CachedTable[];
  load: (key: string) => Promise<V>;
  max?: number;
}): Cache<V> {
  const { changes, load } = options;
  const max = options.max ?? 1;
  const entries = new Map<string, Promise<V>>();
  const clear = () => entries.clear();
  changes.subscribe(options.tables, clear);

  return {
    clear,
    async get(key) {
      const known = entries.get(key);
      if (known) return known;
      const loading = load(key);
      if (!changes.isConnected()) return loading;
      entries.set(key, loading);
      if (entries.size > max) entries.delete(entries.keys().next().value!);
      const drop = () => {
        if (entries.get(key) === loading) entries.delete(key);
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
