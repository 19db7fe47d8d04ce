/** Durable artefacts in PostgreSQL, in plain SQL: one statement per operation. */
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { accountColumns } from '../accounts/for-tokens.ts';
import type { TokenAccount } from '../accounts/store.ts';
import type { Pool } from '../database.ts';
import { AlreadyConsumed } from './consumed.ts';
import { type GrantRow, isTokenLookup, type KnownGrants, loadGrant } from './known-grants.ts';
import { isConsumedLater, storePrefetched, takeConsumed, takePrefetched } from './prefetched.ts';

type Row = { payload: AdapterPayload; consumed_at: Date | null };

// How JSON.stringify writes NUL and half a surrogate pair, neither of which PostgreSQL accepts. Requests that contain them are
// refused at the entry; this catches any path that was overlooked.
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;
const foreignKeyViolation = '23503';

const find = 'SELECT payload, consumed_at FROM artefacts WHERE model = $1 AND id = $2 AND expires_at > now()';

const upsert = `INSERT INTO artefacts (model, id, grant_id, account_id, client_id, payload, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
  ON CONFLICT (model, id) DO UPDATE SET grant_id = excluded.grant_id, account_id = excluded.account_id,
    client_id = excluded.client_id, payload = excluded.payload, expires_at = excluded.expires_at
  WHERE artefacts.expires_at > now()`;
/**
 * A grant is written only while the login behind it still counts ($9, epoch seconds): a concurrent password change either waits for
 * the grant and then ends it, or makes the grant wait. Otherwise a request in progress would keep access past the change. The same
 * holds for membership of the grant's organization. A grant only ever grows, so what a concurrent request has added to it is kept.
 */
const upsertGrant = `WITH owner AS MATERIALIZED (
    SELECT user_id FROM accounts
     WHERE user_id = $4 AND (sessions_not_before IS NULL OR $9::float8 IS NULL
                             OR sessions_not_before <= to_timestamp($9) + interval '999 milliseconds')
       FOR SHARE) -- before the membership, as whoever deletes an account locks them
  INSERT INTO artefacts (model, id, grant_id, account_id, client_id, payload, expires_at, incarnation)
  SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::jsonb, now() + make_interval(secs => $7), $8::uuid FROM owner
   WHERE $6::jsonb ->> 'organization' IS NULL OR EXISTS (
     SELECT FROM organization_members member
      WHERE member.organization_id = $6::jsonb ->> 'organization' AND member.user_id = owner.user_id FOR KEY SHARE)
  ON CONFLICT (model, id) DO UPDATE SET grant_id = excluded.grant_id, account_id = excluded.account_id,
    client_id = excluded.client_id, payload = merged_grant(artefacts.payload, excluded.payload), expires_at = excluded.expires_at
  WHERE artefacts.expires_at > clock_timestamp() -- it may have ended since this statement began`;
const consume = 'UPDATE artefacts SET consumed_at = now() WHERE model = $1 AND id = $2 AND consumed_at IS NULL';
/** The column holds milliseconds: `now()` might be rounded up and keep the grant alive until then. */
const end = "UPDATE artefacts SET expires_at = date_trunc('milliseconds', now()) WHERE model = $1 AND id = $2";

/** @param known grants remembered for looking at tokens; it is told of everything written here */
export function makePostgresAdapter(pool: Pool, model: string, known?: KnownGrants): Adapter {
  const query = async (name: string, text: string, values: unknown[]) => {
    if (model !== 'Grant') return pool.query<Row>({ name: `artefact ${name}`, text, values });
    try {
      return await pool.query<Row>({ name: `grant ${name}`, text, values });
    } finally {
      if (name !== 'find') known?.forget(String(values[1]));
    }
  };
  const findRow = async (id: string): Promise<Row | undefined> => {
    if (model === 'Grant') return findGrant(pool, id, known);
    if (model === 'RefreshToken') return findRefreshToken(pool, id);
    return (await query('find', find, [model, id])).rows[0];
  };
  return {
    async upsert(id, payload, expiresIn) {
      const { grantId, accountId, clientId } = payload;
      const json = JSON.stringify(payload);
      if (unstorable.test(json)) throw new errors.InvalidRequest('the request is malformed');
      const predecessor = model === 'RefreshToken' ? takeConsumed() : undefined;
      if (predecessor !== undefined) return rotate(pool, predecessor, id, { ...payload, json, expiresIn: expiresIn! });
      const row = [model, id, grantId, accountId, clientId, json, expiresIn];
      const account = model === 'Grant' ? ownerOf(payload) : undefined;
      const { rowCount } = await (model === 'Grant'
        ? query('upsert', upsertGrant, [...row, account?.incarnation, account?.from])
        : query('upsert', upsert, row)
      ).catch(zeroRowsIfGone);
      if (rowCount !== 1) throw new errors.AccessDenied('the account or the grant no longer exists');
    },
    async find(id) {
      const row = await findRow(id);
      if (!row) return undefined;
      // A token that was consumed after it was written has this in a column of its own, not in the payload.
      const consumed = row.consumed_at ? { consumed: Math.floor(row.consumed_at.getTime() / 1000) } : {};
      return { ...row.payload, ...consumed };
    },
    async consume(id) {
      if (model === 'RefreshToken' && isConsumedLater(id)) return;
      const { rowCount } = await query('consume', consume, [model, id]);
      if (rowCount !== 1) throw new AlreadyConsumed(model);
    },
    async destroy(id) {
      // A grant that is being extended right now must not come back: the expired row stays until it is purged, and nothing revives it.
      if (model === 'Grant') await query('end', end, [model, id]);
      else await query('destroy', 'DELETE FROM artefacts WHERE model = $1 AND id = $2', [model, id]);
    },
    async revokeByGrantId(grantId) {
      await query('revoke', 'DELETE FROM artefacts WHERE grant_id = $1 AND model = $2', [grantId, model]);
    },
    // Only sessions and device codes are looked up this way, and they live in Redis.
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  };
}

/** The row's parent is gone, so nothing was written. */
function zeroRowsIfGone(error: unknown): { rowCount: number } {
  if ((error as { code?: unknown }).code === foreignKeyViolation) return { rowCount: 0 };
  throw error;
}

/**
 * The account that the grant belongs to, if the request knows it; otherwise PostgreSQL looks up its mark. No grant is written for a
 * deleted account.
 */
function ownerOf({ accountId }: AdapterPayload): TokenAccount | undefined {
  const account = Provider.ctx?.oidc?.account as TokenAccount | undefined;
  return account?.accountId === accountId ? account : undefined;
}

/** A grant with its account, which is needed next when codes and refresh tokens are exchanged. */
async function findGrant(pool: Pool, id: string, known: KnownGrants | undefined): Promise<Row | undefined> {
  const aside = takePrefetched<Row>('grant', id);
  if (aside) return aside;
  if (known && isTokenLookup()) return known.get(id);
  const row = await loadGrant(pool, id);
  if (row?.userId) storePrefetched({ kind: 'account', id: row.userId, row });
  return row;
}

/** A refresh token with its grant and account, which are needed next. */
async function findRefreshToken(pool: Pool, id: string): Promise<Row | undefined> {
  const { rows } = await pool.query<
    GrantRow & { token: AdapterPayload; token_consumed_at: Date | null; grant_id: string }
  >({
    name: 'artefact with grant',
    text: `SELECT token.payload AS token, token.consumed_at AS token_consumed_at, token.grant_id, grant_.payload, grant_.consumed_at,
                  ${accountColumns}
             FROM artefacts token
             LEFT JOIN artefacts grant_ ON grant_.model = 'Grant' AND grant_.id = token.grant_id AND grant_.expires_at > now()
             LEFT JOIN accounts account ON account.user_id = grant_.account_id
             WHERE token.model = 'RefreshToken' AND token.id = $1 AND token.expires_at > now()`,
    values: [id],
  });
  const row = rows[0];
  if (!row) return undefined;
  if (row.payload) {
    const account = row.userId ? { kind: 'account' as const, id: row.userId, row } : undefined;
    storePrefetched({ kind: 'grant', id: row.grant_id, row, ...(account && { next: account }) });
  }
  return { payload: row.token, consumed_at: row.token_consumed_at };
}

/** Lets a refresh token live until `exp` (epoch seconds), unless it has ended meanwhile or another use has already done that. */
export async function extendRefreshToken(pool: Pool, id: string, exp: number): Promise<void> {
  await pool.query({
    name: 'artefact extend',
    text: `UPDATE artefacts SET payload = jsonb_set(payload, '{exp}', to_jsonb($2::bigint)), expires_at = to_timestamp($2::bigint)
             WHERE model = 'RefreshToken' AND id = $1 AND consumed_at IS NULL
               AND expires_at > now() AND expires_at < to_timestamp($2::bigint)`,
    values: [id, exp],
  });
}

type New = AdapterPayload & { json: string; expiresIn: number };

/** Stores a refresh token and consumes the one before it, both or neither. @throws AlreadyConsumed when another request was faster */
async function rotate(pool: Pool, predecessor: string, id: string, token: New): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'artefact rotate',
    text: `WITH used AS (
             UPDATE artefacts SET consumed_at = now() WHERE model = 'RefreshToken' AND id = $1 AND consumed_at IS NULL RETURNING 1
           )
           INSERT INTO artefacts (model, id, grant_id, account_id, client_id, payload, expires_at)
           SELECT 'RefreshToken', $2::text, $3::text, $4::text, $5::text, $6::jsonb, now() + make_interval(secs => $7) FROM used`,
    values: [predecessor, id, token.grantId, token.accountId, token.clientId, token.json, token.expiresIn],
  });
  if (rowCount !== 1) throw new AlreadyConsumed('RefreshToken');
}
