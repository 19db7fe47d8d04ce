/**
 * `refresh-tokens`: what keeps a person’s applications signed in. Deleting one ends its grant, so that a successor being issued at that
 * moment, and the access tokens issued with it, end as well.
 */
import { z } from 'zod';
import { endArtefacts } from '../accounts/end-access.ts';
import { refreshLifetime, rotates } from '../clients/lifetimes.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { RegisteredClient } from '../clients/store.ts';
import { Prisma } from '../database.ts';
import { audienceOf, resourceOf } from '../resources/audience.ts';
import { ok, operation } from './operation.ts';
import { checkpointQuery, fieldsQuery, list, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, missing } from './problem.ts';
import { loadUser } from './users.ts';

/** As stored; the id is the token's hash, which gives no access. */
type Row = {
  id: string;
  account_id: string;
  client_id: string;
  payload: {
    iat: number;
    iiat?: number;
    exp: number;
    rotations?: number;
    resource?: string | string[];
    scope?: string;
    sessionUid?: string;
  };
};

type Shown = Row & { client: RegisteredClient | undefined };

const idText = z.string().regex(/^[\w-]{43}$/, 'Not the id of a refresh token');

export const listRefreshTokens = operation({
  query: z.strictObject({
    ...checkpointQuery,
    ...fieldsQuery,
    user_id: z.string().max(300),
    client_id: z.string().max(300).optional(),
  }),
  async run({ parts, query: { user_id, client_id, take = 50, ...query } }) {
    const of = client_id === undefined ? Prisma.sql`true` : Prisma.sql`client_id = ${client_id}`;
    const where = Prisma.sql`account_id = ${user_id} AND ${of}`;
    return list('refresh_tokens', { ...query, take }, source(parts, where), present);
  },
});

export const listRefreshTokensOfUser = operation({
  query: z.strictObject({ ...checkpointQuery, include_totals: z.enum(['true', 'false']).optional() }),
  async run({ parts, params, query: { from, take = 50 } }) {
    const { userId } = await loadUser(parts, params.id);
    return list('tokens', { from, take }, source(parts, Prisma.sql`account_id = ${userId}`), present);
  },
});

export const getRefreshToken = operation({
  async run({ parts, params }) {
    const [row] = await select(parts, Prisma.sql`id = ${params.id ?? ''}`, Prisma.empty);
    if (!row) throw missing('refresh_token', 'The refresh token does not exist.');
    return ok(present(row));
  },
});

export const deleteRefreshToken = operation({
  async run({ parts, params }) {
    await end(parts, Prisma.sql`id = ${params.id ?? ''}`);
    return { status: 202 };
  },
});

export const deleteRefreshTokensOfUser = operation({
  async run({ parts, params }) {
    const { userId } = await loadUser(parts, params.id);
    await end(parts, Prisma.sql`account_id = ${userId}`);
    return { status: 202 };
  },
});

/** By id; or all of a person's, of an application, or for an API. */
export const revokeRefreshTokens = operation({
  body: z
    .strictObject({
      ids: z.array(idText).min(1).max(100),
      user_id: z.string().min(1).max(300),
      client_id: z.string().min(1).max(300),
      audience: z.string().min(1).max(1_024),
    })
    .partial(),
  async run({ parts, body: { ids, user_id, client_id, audience } }) {
    if ((ids === undefined) === (user_id === undefined)) throw badBody('either ids or user_id is needed');
    if (ids && (client_id ?? audience) !== undefined)
      throw badBody('ids cannot be combined with client_id or audience');
    if (audience !== undefined && client_id === undefined) throw badBody('audience needs client_id');
    const conditions = [
      ids ? Prisma.sql`id = ANY (${ids})` : Prisma.sql`account_id = ${user_id}`,
      ...(client_id === undefined ? [] : [Prisma.sql`client_id = ${client_id}`]),
      ...(audience === undefined ? [] : [Prisma.sql`payload -> 'resource' ? ${resourceOf(audience)}`]),
    ];
    await end(parts, Prisma.join(conditions, ' AND '));
    return { status: 204 };
  },
});

const alive = Prisma.sql`model = 'RefreshToken' AND account_id IS NOT NULL AND consumed_at IS NULL AND expires_at > now()`;

/** The tokens, each with its client, which determines its lifetime. */
async function select({ db, clients }: Parts, where: Prisma.Sql, window: Prisma.Sql): Promise<Shown[]> {
  const rows = await db.$queryRaw<Row[]>`
    SELECT id, account_id, client_id, payload FROM artefacts WHERE ${alive} AND ${where} ${window}`;
  return Promise.all(rows.map(async (row) => ({ ...row, client: await clients.find(row.client_id) })));
}

/** Ends the grants, and with them their refresh tokens; one being exchanged at that moment finds no grant for its successor. */
export async function end({ db }: Parts, where: Prisma.Sql): Promise<void> {
  const grants = Prisma.sql`SELECT grant_id FROM artefacts WHERE model = 'RefreshToken' AND ${where}`;
  await endArtefacts(
    db,
    Prisma.sql`(model = 'RefreshToken' AND ${where}) OR grant_id IN (${grants}) OR (model = 'Grant' AND id IN (${grants}))`,
  );
}

function source(parts: Parts, where: Prisma.Sql): Source<Shown> {
  return {
    async total() {
      const [row] = await parts.db.$queryRaw<
        { count: bigint }[]
      >`SELECT count(*) FROM artefacts WHERE ${alive} AND ${where}`;
      return Number(row?.count ?? 0);
    },
    items: ({ skip, take, after = '' }) =>
      select(parts, Prisma.sql`${where} AND id > ${after}`, Prisma.sql`ORDER BY id LIMIT ${take} OFFSET ${skip}`),
    key: ({ id }) => id,
  };
}

function present({ id, account_id, client_id, payload, client }: Shown): object {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const begun = payload.iiat ?? payload.iat;
  const isPublic = client?.tokenEndpointAuthMethod === 'none';
  const policy = { refresh_token: (client?.refreshToken ?? null) as OwnMetadata['refresh_token'] };
  return {
    id,
    user_id: account_id,
    created_at: at(begun),
    idle_expires_at: at(payload.exp),
    expires_at: at(begun + refreshLifetime(policy).absolute),
    client_id,
    session_id: payload.sessionUid ?? null,
    rotating: rotates({ ...policy, isPublic }),
    resource_servers: [payload.resource ?? []]
      .flat()
      .map((resource) => ({ audience: audienceOf(resource), scopes: payload.scope ?? '' })),
    last_exchanged_at: payload.rotations ? at(payload.iat) : null,
  };
}
