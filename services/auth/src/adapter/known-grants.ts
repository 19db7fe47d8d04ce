/**
 * Grants with their accounts as they were at most two seconds ago, for the endpoints where a token is only looked at: userinfo and
 * introspection. Whatever this process writes of accounts and grants is known here at once, what another one writes by a notification,
 * and were that lost, after those two seconds. Everything that issues tokens reads them fresh.
 */
import Provider, { type AdapterPayload } from 'oidc-provider';
import { type AccountForTokens, accountColumns } from '../accounts/for-tokens.ts';
import { type Cache, makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Databases, Pool } from '../database.ts';
import { setAside } from './side-by-side.ts';

export type GrantRow = { payload: AdapterPayload; consumed_at: Date | null } & AccountForTokens;
export type KnownGrants = Cache<GrantRow | undefined>;

/** How old what is known of a token may be, where it is only looked at. */
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

/** Whether the present request does no more than look at a token. */
export function isOnlyLookedAt(): boolean {
  const route = Provider.ctx?.oidc?.route;
  return route === 'userinfo' || route === 'introspection';
}

/** Where a token is only looked at, the account that its grant knows is the next that is found. */
export async function bringAccount(known: KnownGrants, token: { grantId?: string }): Promise<void> {
  const row = token.grantId !== undefined && isOnlyLookedAt() ? await known.get(token.grantId) : undefined;
  if (row?.userId) setAside({ kind: 'account', id: row.userId, row });
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
