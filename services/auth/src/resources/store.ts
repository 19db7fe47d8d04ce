/** APIs (resource servers): what access tokens are for. */
import { randomBytes } from 'node:crypto';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database, Prisma } from '../database.ts';
import type { ResourceServerModel } from '../generated/models.ts';
import { endIssuedFor, endScopes } from './issued.ts';

export type Scope = { value: string; description?: string };
export type Api = Omit<ResourceServerModel, 'scopes'> & { scopes: Scope[]; isSystem: boolean };

export type ResourceStore = {
  /** By identifier; cached. Includes the gate's own APIs, each under all of its names. */
  find(identifier: string): Promise<Api | undefined>;
  /** All APIs, the management API first; cached. */
  list(): Promise<Api[]>;
  create(api: Omit<Prisma.ResourceServerCreateInput, 'id' | 'scopes'> & { scopes: Scope[] }): Promise<Api>;
  /** @param change what to write, from the current row. Concurrent changes wait for each other, and none is lost */
  update(identifier: string, change: (before: Api) => ApiChange): Promise<Api>;
  /** @param check refuses, if it throws, once nobody can name the API any more */
  remove(identifier: string, check: (transaction: Prisma.TransactionClient) => Promise<void>): Promise<void>;
  /** By identifier, as they are now: they stay, with their scopes, until the transaction ends. Includes the gate's own APIs. */
  hold(transaction: Prisma.TransactionClient, identifiers: string[]): Promise<Map<string, Api>>;
};

type ApiChange = Omit<Prisma.ResourceServerUpdateInput, 'scopes'> & { scopes?: Scope[] };

/** One of the gate's own APIs, with its names at our issuers. */
export type BuiltInApi = { api: Api; names: ReadonlySet<string> };

/** @param unlisted is found, but is not listed, and nobody has permissions for it */
export function makeResourceStore(
  db: Database,
  changes: Changes,
  management: BuiltInApi,
  unlisted: BuiltInApi,
): ResourceStore {
  const cache = makeCache<Map<string, Api>>({
    changes,
    tables: ['resource_servers'],
    load: async () => {
      const rows = await db.resourceServer.findMany();
      return new Map([management.api, ...rows.map(toApi)].map((api) => [api.identifier, api]));
    },
  });
  const written = (row: ResourceServerModel): Api => {
    cache.clear();
    return toApi(row);
  };

  return {
    async find(identifier) {
      if (unlisted.names.has(identifier)) return unlisted.api;
      return (await cache.get('all')).get(management.names.has(identifier) ? management.api.identifier : identifier);
    },
    list: async () => [...(await cache.get('all')).values()],
    create: async (data) =>
      written(await db.resourceServer.create({ data: { ...data, id: randomBytes(12).toString('hex') } })),
    update: async (identifier, change) =>
      written(
        await db.$transaction(async (transaction) => {
          await transaction.$queryRaw`SELECT FROM resource_servers WHERE identifier = ${identifier} FOR UPDATE`;
          const before = await transaction.resourceServer.findUniqueOrThrow({ where: { identifier } });
          const data = change(toApi(before));
          const kept = new Set(data.scopes?.map(({ value }) => value));
          const lost = toApi(before).scopes.flatMap(({ value }) => (data.scopes && !kept.has(value) ? [value] : []));
          if (lost.length > 0) await endScopes(transaction, identifier, lost);
          return transaction.resourceServer.update({ where: { identifier }, data });
        }),
      ),
    async remove(identifier, check) {
      await db.$transaction(async (transaction) => {
        await transaction.$queryRaw`SELECT FROM resource_servers WHERE identifier = ${identifier} FOR UPDATE`;
        await check(transaction);
        await transaction.resourceServer.deleteMany({ where: { identifier } });
        await endIssuedFor(transaction, identifier);
      });
      cache.clear();
    },
    async hold(transaction, identifiers) {
      await transaction.$queryRaw`
        SELECT FROM resource_servers WHERE identifier = ANY(${identifiers}) ORDER BY identifier FOR SHARE`;
      const rows = await transaction.resourceServer.findMany({ where: { identifier: { in: identifiers } } });
      return new Map([...rows.map(toApi), management.api, unlisted.api].map((api) => [api.identifier, api]));
    },
  };
}

function toApi(row: ResourceServerModel): Api {
  return { ...row, scopes: row.scopes as Scope[], isSystem: false };
}
