/** The progress of the running import. It is written in one transaction, so its row changes only at the end. */
import type { Redis } from 'ioredis';

export type Progress = { done: number; total: number; startedAt: number };

export type ProgressStore = {
  /** If this fails, the import continues all the same. */
  note(id: string, progress: Progress): Promise<void>;
  find(id: string): Promise<Progress | undefined>;
};

const ttlSeconds = 600;

export function makeImportProgress(redis: Redis, prefix: string): ProgressStore {
  const keyOf = (id: string) => `${prefix}import-progress:${id}`;
  return {
    async note(id, progress) {
      try {
        await redis.set(keyOf(id), JSON.stringify(progress), 'EX', ttlSeconds);
      } catch {
        // While Redis is down, progress is simply not reported.
      }
    },
    async find(id) {
      const stored = await redis.get(keyOf(id));
      return stored === null ? undefined : (JSON.parse(stored) as Progress);
    },
  };
}

/** In Auth0's form: a whole percentage, below 100 until the end, and the remaining time at this pace. */
export function presentProgress(
  { done, total, startedAt }: Progress,
  now = Date.now(),
): { percentage_done: number; time_left_seconds?: number } {
  const percentage_done = Math.min(99, Math.floor((100 * done) / total));
  if (done === 0) return { percentage_done };
  return { percentage_done, time_left_seconds: Math.ceil((((now - startedAt) / done) * (total - done)) / 1_000) };
}
