/** Updates an account to what the gate says about its organization. */
import type { OrganizationStatement } from '@gatepost/contracts/organizations';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Pool } from '@gatepost/webhook-db/pool';
import type pg from 'pg';

/** `late`: superseded by a newer statement. `ignored`: not an account, and never was. `taken`: its name cannot be used for an account. */
export type Applied = 'applied' | 'late' | 'ignored' | 'taken';

const loginPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/;

/**
 * An account that already existed is never taken over: its name then belongs to another. The account's people are exactly the members, machines
 * are left as they are, and when the organization ends, only the people leave the account.
 */
export async function applyOrganization(pool: Pool, statement: OrganizationStatement): Promise<Applied> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`gate organization ${statement.id}`]);
    const { rows } = await client.query<{ account_id: number | null; version: string }>(
      'SELECT account_id, version FROM gate_organizations WHERE id = $1',
      [statement.id],
    );
    const known = rows[0];
    if (known && Number(known.version) >= statement.version) return 'late';
    const before = known?.account_id ?? undefined;
    const accountId = before ?? (statement.is_account ? await makeAccount(client, statement) : undefined);
    // Recorded even if it is no account: an older statement arriving later must not make it one.
    await client.query(
      `INSERT INTO gate_organizations (id, account_id, version) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, version = excluded.version`,
      [statement.id, accountId, statement.version],
    );
    if (accountId === undefined) return statement.is_account ? 'taken' : 'ignored';
    if (before !== undefined && statement.is_account) await rename(client, accountId, statement.name);
    await setPeople(client, accountId, statement.is_account ? statement.members : []);
    return 'applied';
  });
}

async function makeAccount(client: pg.PoolClient, { name }: OrganizationStatement): Promise<number | undefined> {
  if (!loginPattern.test(name)) return undefined;
  const { rows } = await client.query<{ id: number }>(
    'INSERT INTO accounts (login) VALUES ($1) ON CONFLICT (lower(login)) DO NOTHING RETURNING id',
    [name],
  );
  return rows[0]?.id;
}

/** Does nothing if another account has the new name. */
async function rename(client: pg.PoolClient, accountId: number, name: string): Promise<void> {
  if (!loginPattern.test(name)) return;
  await client.query(
    `UPDATE accounts SET login = $2 WHERE id = $1 AND login <> $2
       AND NOT EXISTS (SELECT FROM accounts other WHERE lower(other.login) = lower($2) AND other.id <> $1)`,
    [accountId, name],
  );
}

/** People have a connection's name before a `|` in their subject; machines do not. */
async function setPeople(
  client: pg.PoolClient,
  accountId: number,
  members: OrganizationStatement['members'],
): Promise<void> {
  const people = members.filter(({ subject }) => subject.includes('|'));
  const subjects = people.map(({ subject }) => subject);
  // As the account's own routes do (accounts/memberships.ts): a change that is being written there would outlast this one.
  await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  await client.query(
    "DELETE FROM memberships WHERE account_id = $1 AND subject LIKE '%|%' AND subject <> ALL ($2::text[])",
    [accountId, subjects],
  );
  await client.query(
    `INSERT INTO memberships (account_id, subject, role) SELECT $1, * FROM unnest($2::text[], $3::text[])
     ON CONFLICT (account_id, subject) DO UPDATE SET role = excluded.role WHERE memberships.role <> excluded.role`,
    [accountId, subjects, people.map(({ role }) => role)],
  );
}
