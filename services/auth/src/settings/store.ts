/** An administrator's settings for the whole gate (`api/v2/tenants/settings`). */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database, Prisma } from '../database.ts';
import type { SettingsModel } from '../generated/models.ts';

export type SettingsStore = {
  /** Cached; never undefined: the migration creates the single row. */
  load(): Promise<SettingsModel>;
  /**
   * @param change the values to write, or a function from the current row: for a column with several settings, concurrent changes of
   *   different ones wait for each other, and none is lost
   */
  update(
    change: Change | ((before: SettingsModel, transaction: Prisma.TransactionClient) => Change | Promise<Change>),
  ): Promise<SettingsModel>;
};

type Change = Omit<Prisma.SettingsUpdateInput, 'id'>;

export function makeSettingsStore(db: Database, changes: Changes): SettingsStore {
  const cache = makeCache<SettingsModel>({
    changes,
    tables: ['settings'],
    load: () => db.settings.findUniqueOrThrow({ where: { id: 1 } }),
  });
  return {
    load: () => cache.get('settings'),
    update: async (change) => {
      const row = await (typeof change === 'function'
        ? db.$transaction(async (transaction) => {
            await transaction.$queryRaw`SELECT FROM settings WHERE id = 1 FOR UPDATE`;
            const before = await transaction.settings.findUniqueOrThrow({ where: { id: 1 } });
            const data = await change(before, transaction);
            return transaction.settings.update({ where: { id: 1 }, data });
          })
        : db.settings.update({ where: { id: 1 }, data: change }));
      cache.clear();
      return row;
    },
  };
}
