/** Clients, and the APIs they may ask for on their own behalf (client grants). */
import { randomBytes } from 'node:crypto';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import { type Database, Prisma } from '../database.ts';
import type { ClientCredentialModel, ClientGrantModel, ClientModel } from '../generated/models.ts';

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
  /**
   * A client that an administrator changes is of use, and vouched for. Concurrent changes wait for each other, and none is lost.
   * @param change what to write, from the current row; undefined: nothing
   */
  update(
    clientId: string,
    change: (before: RegisteredClient, transaction: Prisma.TransactionClient) => Change | Promise<Change>,
  ): Promise<RegisteredClient>;
  /** With all that it was issued: if the id is ever assigned again, the old client's tokens must not come back with it. */
  remove(clientId: string): Promise<void>;
  /** @param scopeOf its new scopes, from the current row, as `update`. Undefined when no grant has that id (any more) */
  changeGrant(
    id: string,
    scopeOf: (before: ClientGrantModel) => string[],
    hold: Hold,
  ): Promise<ClientGrantModel | undefined>;
  /** Undefined when the client already has a grant for the audience. */
  addGrant(
    grant: Pick<ClientGrantModel, 'clientId' | 'audience' | 'scope'>,
    hold: Hold,
  ): Promise<ClientGrantModel | undefined>;
  /** Call it when a client was changed by other means than these functions. */
  clear(): void;
  removeGrant(id: string): Promise<void>;
};

/** Keeps what a grant names until the grant is written, or refuses it. */
type Hold = (transaction: Prisma.TransactionClient) => Promise<unknown>;

type Change = Prisma.ClientUpdateInput | undefined;

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
    update: async (clientId, change) =>
      written(
        await db.$transaction(async (transaction) => {
          await transaction.$queryRaw`SELECT FROM clients WHERE client_id = ${clientId} FOR UPDATE`;
          const before = await transaction.client.findUniqueOrThrow({ where: { clientId }, include: withRelations });
          const data = await change(before, transaction);
          return data
            ? transaction.client.update({
                where: { clientId },
                data: { ...data, unusedUntil: null, isVouchedFor: true },
                include: withRelations,
              })
            : before;
        }),
      ),
    remove: async (clientId) => {
      await db.$transaction([
        db.client.deleteMany({ where: { clientId } }),
        db.$executeRaw`DELETE FROM artefacts WHERE client_id = ${clientId}`,
      ]);
      written(undefined);
    },
    changeGrant: async (id, scopeOf, hold) =>
      written(
        await db.$transaction(async (transaction) => {
          await hold(transaction);
          await transaction.$queryRaw`SELECT FROM client_grants WHERE id = ${id} FOR UPDATE`;
          const before = await transaction.clientGrant.findUnique({ where: { id } });
          return before
            ? transaction.clientGrant.update({ where: { id }, data: { scope: scopeOf(before) } })
            : undefined;
        }),
      ),
    async addGrant(grant, hold) {
      try {
        return written(
          await db.$transaction(async (transaction) => {
            await hold(transaction);
            return transaction.clientGrant.create({ data: { ...grant, id: newGrantId() } });
          }),
        );
      } catch (error) {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return undefined;
        throw error;
      }
    },
    clear: cache.clear,
    removeGrant: async (id) => {
      await db.clientGrant.deleteMany({ where: { id } });
      written(undefined);
    },
  };
}

function newGrantId(): string {
  return `cgr_${randomBytes(12).toString('base64url')}`;
}
