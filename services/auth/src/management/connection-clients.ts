/** `connections/{id}/clients` and `clients/{id}/connections`: which applications a connection's accounts may sign in to. */
import { z } from 'zod';
import type { Database } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { isEnabled } from '../settings/connections.ts';
import { isUpstream } from '../upstream/strategies.ts';
import { load as loadClient } from './clients.ts';
import { checkClients, load, presenter } from './connections.ts';
import { gone, operation } from './operation.ts';
import { checkpointQuery, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';

export const listClientsOfConnection = operation({
  query: z.strictObject({ take: checkpointQuery.take.default(50), from: checkpointQuery.from }),
  async run({ parts, params, query }) {
    const enabled = await enabledClients(parts.db, await load(parts, params.id));
    return list('clients', query, ofArray(enabled, String), (client_id) => ({ client_id }));
  },
});

export const updateClientsOfConnection = operation({
  body: z.array(z.strictObject({ client_id: z.string(), status: z.boolean() })).max(50),
  async run({ parts, params, body }) {
    const { id, everyClient, name, strategy } = await load(parts, params.id);
    await checkClients(
      parts.db,
      body.map(({ client_id }) => client_id),
    );
    // The last entry for a client counts. A connection open to all gets a list only when a client is removed, or when tools set up a new
    // connection for the applications that they name, before anybody has signed in by it.
    const wanted = new Map(body.map(({ client_id, status }) => [client_id, status]));
    const isOnlyAdded = ![...wanted.values()].includes(false);
    const isNew =
      isOnlyAdded && isUpstream(strategy) && !(await parts.db.account.findFirst({ where: { connection: name } }));
    if (everyClient && isOnlyAdded && !isNew) return gone;
    const on = [...wanted.keys()].filter((clientId) => wanted.get(clientId));
    // In one statement, so that of two concurrent changes both count.
    await parts.db.$executeRaw`
      UPDATE connections SET every_client = false, enabled_clients = ARRAY(
        SELECT client_id FROM clients
        WHERE client_id = ANY(${on})
          OR (((every_client AND NOT ${isNew}::boolean) OR client_id = ANY(enabled_clients)) AND NOT client_id = ANY(${[...wanted.keys()]}))
        ORDER BY client_id
      ) WHERE id = ${id}`;
    parts.connections.clear();
    return gone;
  },
});

export const listConnectionsOfClient = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    ...fieldsQuery,
    take: checkpointQuery.take.default(50),
    strategy: z.union([z.string(), z.array(z.string())]).optional(),
  }),
  async run({ parts, params, query: { strategy, ...query }, scopes }) {
    const { clientId } = await loadClient(parts, params.id);
    const wanted = strategy && [strategy].flat();
    const found = (await parts.connections.list()).filter(
      (connection) => isEnabled(connection, clientId) && (wanted?.includes(connection.strategy) ?? true),
    );
    return list(
      'connections',
      query,
      ofArray(found, ({ id }) => id),
      await presenter(parts, scopes),
    );
  },
});

async function enabledClients(db: Database, connection: ConnectionModel): Promise<string[]> {
  const known = await db.client.findMany({ select: { clientId: true } });
  return known.map(({ clientId }) => clientId).filter((clientId) => isEnabled(connection, clientId));
}
