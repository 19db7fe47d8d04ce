/** Durable artefacts in PostgreSQL, by plain SQL: one statement an operation. */
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { type AccountForTokens, accountColumns } from '../accounts/for-tokens.ts';
import type { TokenAccount } from '../accounts/store.ts';
import type { Pool } from '../database.ts';
import { AlreadyConsumed } from './consumed.ts';
import { setAside, takeAside } from './side-by-side.ts';

type Row = { payload: AdapterPayload; consumed_at: Date | null };

// How JSON.stringify writes NUL and half a surrogate pair, neither of which PostgreSQL accepts. Requests that contain them are
// refused at the entry; this catches any path that was overlooked.
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;
const foreignKeyViolation = '23503';

const find = 'SELECT payload, consumed_at FROM artefacts WHERE model = $1 AND id = $2 AND expires_at > now()';

export function makePostgresAdapter(pool: Pool, model: string): Adapter {
  const query = (name: string, text: string, values: unknown[]) =>
    pool.query<Row>({ name: `artefact ${name}`, text, values });
  return {
    async upsert(id, payload, expiresIn) {
      const json = JSON.stringify(payload);
      if (unstorable.test(json)) throw new errors.InvalidRequest('the request is malformed');
      const { rowCount } = await query(
        'upsert',
        `INSERT INTO artefacts (model, id, grant_id, account_id, client_id, payload, expires_at, incarnation)
         VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7), $8)
         ON CONFLICT (model, id) DO UPDATE SET grant_id = excluded.grant_id, account_id = excluded.account_id,
           client_id = excluded.client_id, payload = excluded.payload, expires_at = excluded.expires_at
         WHERE artefacts.expires_at > now()`,
        [
          model,
          id,
          payload.grantId,
          payload.accountId,
          payload.clientId,
          json,
          expiresIn,
          incarnationOf(model, payload),
        ],
      ).catch((error: unknown) => {
        if ((error as { code?: unknown }).code === foreignKeyViolation) return { rowCount: 0 };
        throw error;
      });
      if (rowCount !== 1) throw new errors.AccessDenied('the account or the grant is gone');
    },
    async find(id) {
      const row = model === 'Grant' ? await findGrant(pool, id) : (await query('find', find, [model, id])).rows[0];
      if (!row) return undefined;
      // A token consumed after it was written has that in a column of its own, not in the payload.
      const consumed = row.consumed_at ? { consumed: Math.floor(row.consumed_at.getTime() / 1000) } : {};
      return { ...row.payload, ...consumed };
    },
    async consume(id) {
      const { rowCount } = await query(
        'consume',
        'UPDATE artefacts SET consumed_at = now() WHERE model = $1 AND id = $2 AND consumed_at IS NULL',
        [model, id],
      );
      if (rowCount !== 1) throw new AlreadyConsumed(model);
    },
    async destroy(id) {
      // A grant that is being extended right now must not come back: an expired row stays until it is purged, and nothing revives
      // it.
      if (model === 'Grant')
        await query('end', 'UPDATE artefacts SET expires_at = now() WHERE model = $1 AND id = $2', [model, id]);
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

/**
 * The mark of the account that the grant belongs to, if the request knows it; otherwise PostgreSQL looks it up. No grant is written
 * for an account that is gone.
 */
function incarnationOf(model: string, { accountId }: AdapterPayload): string | undefined {
  const account = model === 'Grant' ? (Provider.ctx?.oidc?.account as TokenAccount | undefined) : undefined;
  return account?.accountId === accountId ? account?.incarnation : undefined;
}

/** A grant together with its account, which is needed next when codes and refresh tokens are exchanged. */
async function findGrant(pool: Pool, id: string): Promise<Row | undefined> {
  const known = takeAside<Row>('grant', id);
  if (known) return known;
  const { rows } = await pool.query<Row & AccountForTokens>({
    name: 'grant and account',
    text: `SELECT grant_.payload, grant_.consumed_at, ${accountColumns}
             FROM artefacts grant_ LEFT JOIN accounts account ON account.user_id = grant_.account_id
             WHERE model = 'Grant' AND id = $1 AND expires_at > now()`,
    values: [id],
  });
  const row = rows[0];
  if (row?.userId) setAside({ kind: 'account', id: row.userId, row });
  return row;
}
