/**
 * Remembers which deliveries were handled, by a key of guid and hook or secret: an attempt whose answer was lost is repeated, and anybody may request
 * a redelivery. Several processes need a shared store; the README shows one in Redis.
 */
export type DeliveryStore = {
  /** `new`: the caller handles it, then calls `done` or `failed`. The claim of a process that died must expire by itself. */
  claim(key: string): Promise<'new' | 'running' | 'done'>;
  done(key: string): Promise<void>;
  failed(key: string): Promise<void>;
};

/** Lasts as long as its process; keeps the newest `max` keys. */
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
