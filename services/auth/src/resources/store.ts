/** APIs (resource servers): what access tokens are for. */
import { randomBytes } from 'node:crypto';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database, Prisma } from '../database.ts';
import type { ResourceServerModel } from '../generated/models.ts';

export type Scope = { value: string; description?: string };
export type Api = Omit<ResourceServerModel, 'scopes'> & { scopes: Scope[]; isSystem: boolean };

export type ResourceStore = {
  /** By identifier; cached. Includes the gate's own APIs, each under all of its names. */
  find(identifier: string): Promise<Api | undefined>;
  /** All APIs, the management API first; cached. */
  list(): Promise<Api[]>;
  create(api: Omit<Prisma.ResourceServerCreateInput, 'id' | 'scopes'> & { scopes: Scope[] }): Promise<Api>;
  update(
    identifier: string,
    change: Omit<Prisma.ResourceServerUpdateInput, 'scopes'> & { scopes?: Scope[] },
  ): Promise<Api>;
  remove(identifier: string): Promise<void>;
};

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
    update: async (identifier, data) => written(await db.resourceServer.update({ where: { identifier }, data })),
    remove: async (identifier) => {
      await db.resourceServer.deleteMany({ where: { identifier } });
      cache.clear();
    },
  };
}

function toApi(row: ResourceServerModel): Api {
  return { ...row, scopes: row.scopes as Scope[], isSystem: false };
}
