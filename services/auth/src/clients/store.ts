/** Clients, and the APIs they may ask for on their own behalf (client grants). */
import { randomBytes } from 'node:crypto';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import { type Database, Prisma } from '../database.ts';
import type { ClientCredentialModel, ClientGrantModel, ClientModel } from '../generated/models.ts';
import { parted } from '../management/merge.ts';

/** With the credentials it authenticates by. */
export type RegisteredClient = ClientModel & { grants: ClientGrantModel[]; credentials: ClientCredentialModel[] };

export const withRelations = {
  grants: true,
  credentials: { where: { attached: true }, orderBy: { createdAt: 'asc' } },
} as const;

export type ClientStore = {
  /** Cached; changes by any process are noticed. */
  find(clientId: string): Promise<RegisteredClient | undefined>;
  create(client: Prisma.ClientCreateInput): Promise<RegisteredClient>;
  /** @param metadata merged into the client's metadata in the database, so that concurrent changes do not overwrite each other; null removes a key */
  update(
    clientId: string,
    change: Prisma.ClientUpdateInput,
    metadata?: Record<string, unknown>,
  ): Promise<RegisteredClient>;
  /** With all that it was issued: if the id is ever assigned again, the old client's tokens must not come back with it. */
  remove(clientId: string): Promise<void>;
  /** Undefined when no grant has that id (any more). */
  changeGrant(id: string, scope: string[]): Promise<ClientGrantModel | undefined>;
  /** Undefined when the client already has a grant for the audience. */
  addGrant(clientId: string, audience: string, scope: string[]): Promise<ClientGrantModel | undefined>;
  /** Call it when a client was changed by other means than these functions. */
  clear(): void;
  removeGrants(which: { id: string } | { audience: string }): Promise<void>;
};

const cachedClients = 2_000;

export function makeClientStore(db: Database, changes: Changes): ClientStore {
  const cache = makeCache<RegisteredClient | undefined>({
    changes,
    tables: ['clients', 'client_grants', 'client_credentials'],
    max: cachedClients,
    load: async (clientId) =>
      (await db.client.findUnique({ where: { clientId }, include: withRelations })) ?? undefined,
  });
  const written = <T>(value: T): T => {
    cache.clear();
    return value;
  };

  return {
    find: (clientId) => cache.get(clientId),
    create: async (data) => written(await db.client.create({ data, include: withRelations })),
    async update(clientId, data, metadata = {}) {
      const update = db.client.update({ where: { clientId }, data, include: withRelations });
      if (Object.keys(metadata).length === 0) return written(await update);
      const { set, removed } = parted(metadata);
      // `updated_at` too: if nothing else changes, the second statement only reads.
      const merge = db.$executeRaw`
        UPDATE clients SET client_metadata = (client_metadata - ${removed}::text[]) || ${set}::jsonb, updated_at = now()
         WHERE client_id = ${clientId}`;
      return written((await db.$transaction([merge, update]))[1]);
    },
    remove: async (clientId) => {
      await db.$transaction([
        db.client.deleteMany({ where: { clientId } }),
        db.$executeRaw`DELETE FROM artefacts WHERE client_id = ${clientId}`,
      ]);
      written(undefined);
    },
    changeGrant: async (id, scope) =>
      written((await db.clientGrant.updateManyAndReturn({ where: { id }, data: { scope } }))[0]),
    async addGrant(clientId, audience, scope) {
      try {
        return written(await db.clientGrant.create({ data: { id: newGrantId(), clientId, audience, scope } }));
      } catch (error) {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return undefined;
        throw error;
      }
    },
    clear: cache.clear,
    removeGrants: async (where) => {
      await db.clientGrant.deleteMany({ where });
      written(undefined);
    },
  };
}

function newGrantId(): string {
  return `cgr_${randomBytes(12).toString('base64url')}`;
}
