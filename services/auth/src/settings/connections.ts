/** Connections: where an account comes from, and how its owner proves to be that. */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';

export type ConnectionStore = {
  /** Cached, oldest first. */
  list(): Promise<ConnectionModel[]>;
  /** The connection of that name. */
  find(name: string): Promise<ConnectionModel | undefined>;
  /** The first database connection, or undefined when people log in by one-time codes only. */
  database(): Promise<ConnectionModel | undefined>;
  clear(): void;
};

export function makeConnectionStore(db: Database, changes: Changes): ConnectionStore {
  const cache = makeCache<ConnectionModel[]>({
    changes,
    tables: ['connections'],
    load: () => db.connection.findMany({ orderBy: [{ createdAt: 'asc' }, { name: 'asc' }] }),
  });
  const list = () => cache.get('all');
  return {
    list,
    find: async (name) => (await list()).find((connection) => connection.name === name),
    database: async () => (await list()).find((connection) => connection.strategy === 'auth0'),
    clear: cache.clear,
  };
}
