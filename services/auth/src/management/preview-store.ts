/** Previewed pages, kept for the few moments until they have been looked at, each under an address that nobody can guess. */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Page } from '../pages/pages.ts';

export type PreviewStore = {
  /** Resolves to its id. */
  save(page: Page): Promise<string>;
  find(id: string): Promise<Page | undefined>;
};

export const previewSeconds = 120;

export function makePreviewStore(redis: Redis, prefix: string): PreviewStore {
  const keyOf = (id: string) => `${prefix}preview:${id}`;
  return {
    async save(page) {
      const id = randomBytes(24).toString('base64url');
      await redis.set(keyOf(id), JSON.stringify(page), 'EX', previewSeconds);
      return id;
    },
    async find(id) {
      const kept = /^[\w-]{32}$/.test(id) ? await redis.get(keyOf(id)) : null;
      return kept === null ? undefined : (JSON.parse(kept) as Page);
    },
  };
}
