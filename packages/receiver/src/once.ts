/**
 * Remembers which deliveries were handled, by a key of hook and guid: an attempt whose answer was lost is made again, and anybody may ask for
 * a redelivery. Several processes need a store that they share; the README shows one in Redis.
 */
export type DeliveryStore = {
  /** `new`: the caller handles it, and says `done` or `failed`. A claim whose process has died must end by itself. */
  claim(key: string): Promise<'new' | 'running' | 'done'>;
  done(key: string): Promise<void>;
  failed(key: string): Promise<void>;
};

/** Ends with its process; keeps the newest `max` keys. */
export function memoryStore({ max = 10_000 } = {}): DeliveryStore {
  const states = new Map<string, 'running' | 'done'>();
  return {
    async claim(key) {
      const state = states.get(key);
      if (state) return state;
      states.set(key, 'running');
      const [oldest = key] = states.keys();
      if (states.size > max) states.delete(oldest);
      return 'new';
    },
    done: async (key) => void states.set(key, 'done'),
    failed: async (key) => void states.delete(key),
  };
}
