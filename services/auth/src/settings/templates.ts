/** The tenant's own page template (`branding/templates/universal-login`). */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database } from '../database.ts';

export type TemplateStore = {
  /** Cached; null when the built-in layout is used. */
  find(): Promise<string | null>;
  put(body: string): Promise<void>;
  remove(): Promise<void>;
};

const name = 'universal-login';

export function makeTemplateStore(db: Database, changes: Changes): TemplateStore {
  const cache = makeCache<string | null>({
    changes,
    tables: ['page_templates'],
    load: async () => (await db.pageTemplate.findUnique({ where: { name } }))?.body ?? null,
  });
  return {
    find: () => cache.get(name),
    async put(body) {
      await db.pageTemplate.upsert({ where: { name }, create: { name, body }, update: { body } });
      cache.clear();
    },
    async remove() {
      await db.pageTemplate.deleteMany({ where: { name } });
      cache.clear();
    },
  };
}
