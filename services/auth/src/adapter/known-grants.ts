/**
 * Grants with their accounts, at most two seconds old, for the endpoints that only look at a token: userinfo and introspection.
 * Writes by this process are known here at once; those of other processes arrive by a notification or, if it is lost, after those
 * two seconds. Everything that issues tokens reads them fresh.
 */
import Provider, { type AdapterPayload } from 'oidc-provider';
import { type AccountForTokens, accountColumns } from '../accounts/for-tokens.ts';
import { type Cache, makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Databases, Pool } from '../database.ts';
import { storePrefetched } from './prefetched.ts';

export type GrantRow = { payload: AdapterPayload; consumed_at: Date | null } & AccountForTokens;
export type KnownGrants = Cache<GrantRow | undefined>;

/** How old our knowledge of a token may be where the token is only looked at. */
export const knownForMs = 2_000;
const knownMax = 5_000;

export function makeKnownGrants({
  pool,
  changes,
  onOwnWrite,
}: Pick<Databases, 'pool' | 'onOwnWrite'> & { changes: Changes }): KnownGrants {
  const known: KnownGrants = makeCache({
    changes,
    tables: ['accounts', 'artefacts'],
    max: knownMax,
    maxAgeMs: knownForMs,
    load: (id) => loadGrant(pool, id),
  });
  onOwnWrite(known.clear);
  return known;
}

/** Whether the current request only looks at a token. */
export function isTokenLookup(): boolean {
  const route = Provider.ctx?.oidc?.route;
  return route === 'userinfo' || route === 'introspection';
}

/** Where a token is only looked at, sets its grant's account aside for the next account lookup. */
export async function presetAccount(known: KnownGrants, token: { grantId?: string }): Promise<void> {
  const row = token.grantId !== undefined && isTokenLookup() ? await known.get(token.grantId) : undefined;
  if (row?.userId) storePrefetched({ kind: 'account', id: row.userId, row });
}

/** The columns of the account are null when it is gone. */
export async function loadGrant(pool: Pool, id: string): Promise<GrantRow | undefined> {
  const { rows } = await pool.query<GrantRow>({
    name: 'grant and account',
    text: `SELECT grant_.payload, grant_.consumed_at, ${accountColumns}
             FROM artefacts grant_ LEFT JOIN accounts account ON account.user_id = grant_.account_id
             WHERE model = 'Grant' AND id = $1 AND expires_at > now()`,
    values: [id],
  });
  return rows[0];
}
