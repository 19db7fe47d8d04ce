/** Connections: where accounts come from, and how their owners authenticate. */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import type { Database, Prisma } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';

/** If a client is given, only connections whose accounts may sign in to it count. */
export type ConnectionStore = {
  /** Cached, oldest first. */
  list(clientId?: string): Promise<ConnectionModel[]>;
  /** The connection of that name. */
  find(name: string, clientId?: string): Promise<ConnectionModel | undefined>;
  /** The first database connection; undefined when people log in only by one-time codes. */
  database(clientId?: string): Promise<ConnectionModel | undefined>;
  /** Whether accounts of the connection of that name may sign in to the client; none of a deleted one. */
  opens(name: string, clientId: string): Promise<boolean>;
  /** @param change what to write, from the current row. Concurrent changes wait for each other, and none is lost */
  update(id: string, change: (before: ConnectionModel) => Prisma.ConnectionUpdateInput): Promise<ConnectionModel>;
  /** Call it when a connection was changed by other means than `update`. */
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
    opens: async (name, clientId) => (await find(name, clientId)) !== undefined,
    async update(id, change) {
      const connection = await db.$transaction(async (transaction) => {
        // Waits for no account that is being created, which keeps the connection's id and name (accounts/store.ts).
        await transaction.$queryRaw`SELECT FROM connections WHERE id = ${id} FOR NO KEY UPDATE`;
        const before = await transaction.connection.findUniqueOrThrow({ where: { id } });
        return transaction.connection.update({ where: { id }, data: change(before) });
      });
      cache.clear();
      return connection;
    },
    clear: cache.clear,
  };
}

/**
 * Whether this connection's accounts may sign in to the application; a connection open to all allows any. Somebody who may sign in anywhere
 * may manage their own account.
 */
export function isEnabled({ everyClient, enabledClients }: ConnectionModel, clientId: string): boolean {
  if (clientId === accountClientId) return everyClient || enabledClients.length > 0;
  return everyClient || enabledClients.includes(clientId);
}
