/** `device-credentials`: the refresh tokens on a person's devices. Deleting one ends its grant. */
import { z } from 'zod';
import { type Database, Prisma } from '../database.ts';
import { gone, operation } from './operation.ts';
import { fieldsQuery, list, pageQuery, type Source } from './paging.ts';
import { end } from './refresh-tokens.ts';

type Row = { id: string; account_id: string; client_id: string };

export const listDeviceCredentials = operation({
  query: z.strictObject({
    ...pageQuery,
    ...fieldsQuery,
    user_id: z.string().optional(),
    client_id: z.string().optional(),
    type: z.enum(['refresh_token', 'rotating_refresh_token', 'public_key']).optional(),
  }),
  async run({ parts, query }) {
    const conditions = [
      Prisma.sql`model = 'RefreshToken' AND consumed_at IS NULL AND expires_at > now() AND account_id IS NOT NULL`,
      ...(query.user_id === undefined ? [] : [Prisma.sql`account_id = ${query.user_id}`]),
      ...(query.client_id === undefined ? [] : [Prisma.sql`client_id = ${query.client_id}`]),
      // Device keys are a feature of Auth0's that we lack.
      ...(query.type === 'public_key' ? [Prisma.sql`false`] : []),
    ];
    return list('device_credentials', query, source(parts.db, Prisma.join(conditions, ' AND ')), present);
  },
});

export const deleteDeviceCredential = operation({
  async run({ parts, params }) {
    const id = (params.id ?? '').replace(/^dcr_/, '');
    await end(parts, Prisma.sql`id = ${id}`);
    return gone;
  },
});

function source(db: Database, where: Prisma.Sql): Source<Row> {
  return {
    async total() {
      const [row] = await db.$queryRaw<{ count: bigint }[]>`SELECT count(*) FROM artefacts WHERE ${where}`;
      return Number(row?.count ?? 0);
    },
    items: ({ skip, take }) =>
      db.$queryRaw<Row[]>`
        SELECT id, account_id, client_id FROM artefacts WHERE ${where} ORDER BY id LIMIT ${take} OFFSET ${skip}`,
    key: ({ id }) => id,
  };
}

/** The id is the token's hash, which gives no access. */
function present({ id, account_id, client_id }: Row): object {
  return { id: `dcr_${id}`, type: 'refresh_token', device_name: 'Refresh token', user_id: account_id, client_id };
}
