/** Organizations as sign-ins and tokens see them. */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database, Pool } from '../database.ts';
import type { ConnectionModel, OrganizationConnectionModel, OrganizationModel } from '../generated/models.ts';

export type Organization = OrganizationModel & {
  connections: (OrganizationConnectionModel & { connection: ConnectionModel })[];
};

export type OrganizationStore = {
  /** By id or by name; cached. */
  find(idOrName: string): Promise<Organization | undefined>;
  isMember(id: string, userId: string): Promise<boolean>;
  /** The organizations the person is a member of, by name; a hundred at most. */
  ofMember(userId: string): Promise<Organization[]>;
  /** @returns whether they are new there */
  join(id: string, userId: string): Promise<boolean>;
  /** The claims that tokens carry about it. */
  claims(id: string): Promise<{ org_id: string; org_name?: string }>;
  /** Call it when an organization was changed by other means than these functions. */
  clear(): void;
};

const isOrganizationId = (text: string): boolean => /^org_[A-Za-z0-9]{16}$/.test(text);

const cachedOrganizations = 2_000;

export function makeOrganizationStore(db: Database, pool: Pool, changes: Changes): OrganizationStore {
  const cache = makeCache<Organization | undefined>({
    changes,
    tables: ['organizations', 'organization_connections', 'connections'],
    max: cachedOrganizations,
    load: async (key) =>
      (await db.organization.findUnique({
        where: isOrganizationId(key) ? { id: key } : { name: key.toLowerCase() },
        include: { connections: { include: { connection: true } } },
      })) ?? undefined,
  });
  return {
    find: (idOrName) => cache.get(idOrName),
    async isMember(id, userId) {
      const { rowCount } = await pool.query({
        name: 'organization member',
        text: 'SELECT FROM organization_members WHERE organization_id = $1 AND user_id = $2',
        values: [id, userId],
      });
      return rowCount === 1;
    },
    ofMember: (userId) =>
      db.organization.findMany({
        where: { members: { some: { userId } } },
        include: { connections: { include: { connection: true } } },
        orderBy: [{ displayName: 'asc' }, { name: 'asc' }],
        take: 100,
      }),
    async join(id, userId) {
      const { rowCount } = await pool.query({
        name: 'organization join',
        text: 'INSERT INTO organization_members (organization_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        values: [id, userId],
      });
      return rowCount === 1;
    },
    async claims(id) {
      const found = await cache.get(id);
      return { org_id: id, ...(found && { org_name: found.name }) };
    },
    clear: cache.clear,
  };
}
