/** What an administrator sets for the whole gate (`api/v2/tenants/settings`). */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database, Prisma } from '../database.ts';
import type { SettingsModel } from '../generated/models.ts';

export type SettingsStore = {
  /** Cached; never undefined: the migration makes the one row. */
  load(): Promise<SettingsModel>;
  update(change: Omit<Prisma.SettingsUpdateInput, 'id'>): Promise<SettingsModel>;
};

export function makeSettingsStore(db: Database, changes: Changes): SettingsStore {
  const cache = makeCache<SettingsModel>({
    changes,
    tables: ['settings'],
    load: () => db.settings.findUniqueOrThrow({ where: { id: 1 } }),
  });
  return {
    load: () => cache.get('settings'),
    update: async (change) => {
      const row = await db.settings.update({ where: { id: 1 }, data: change });
      cache.clear();
      return row;
    },
  };
}
