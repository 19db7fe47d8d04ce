/** Connections: where an account comes from, and how its owner proves to be that. */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import type { Database } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';

/** Where a client is named, only those connections count whose accounts may sign in to it. */
export type ConnectionStore = {
  /** Cached, oldest first. */
  list(clientId?: string): Promise<ConnectionModel[]>;
  /** The connection of that name. */
  find(name: string, clientId?: string): Promise<ConnectionModel | undefined>;
  /** The first database connection, or undefined when people log in by one-time codes only. */
  database(clientId?: string): Promise<ConnectionModel | undefined>;
  /** Whether accounts of the connection of that name may sign in to the client. */
  opens(name: string, clientId: string): Promise<boolean>;
  clear(): void;
};

export function makeConnectionStore(db: Database, changes: Changes): ConnectionStore {
  const cache = makeCache<ConnectionModel[]>({
    changes,
    tables: ['connections'],
    load: () => db.connection.findMany({ orderBy: [{ createdAt: 'asc' }, { name: 'asc' }] }),
  });
  const list = async (clientId?: string) => {
    const all = await cache.get('all');
    return clientId === undefined ? all : all.filter((connection) => isEnabled(connection, clientId));
  };
  const find = async (name: string, clientId?: string) =>
    (await list(clientId)).find((connection) => connection.name === name);
  return {
    list,
    find,
    database: async (clientId) => (await list(clientId)).find((connection) => connection.strategy === 'auth0'),
    async opens(name, clientId) {
      const connection = await find(name);
      return connection === undefined || isEnabled(connection, clientId);
    },
    clear: cache.clear,
  };
}

/**
 * Whether the accounts of this connection may sign in to the application: those of one that names none may sign in to any. Whoever may sign in
 * anywhere may see to their own account.
 */
export function isEnabled({ everyClient, enabledClients }: ConnectionModel, clientId: string): boolean {
  if (clientId === accountClientId) return everyClient || enabledClients.length > 0;
  return everyClient || enabledClients.includes(clientId);
}
