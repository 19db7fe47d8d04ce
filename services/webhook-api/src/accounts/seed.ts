/** The seed file's organizations: created or updated to match it, never deleted. */
import type { SeedOrganization } from '@gatepost/contracts/seed';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { PoolClient } from 'pg';

/** Applies each in one transaction. Two processes starting at once may both do it. */
export async function applySeed(pool: Pool, organizations: SeedOrganization[]): Promise<void> {
  for (const organization of organizations)
    await inTransaction(pool, async (client) => {
      const accountId = await ensureAccount(client, organization);
      for (const name of organization.repositories)
        await client.query(
          'INSERT INTO repositories (account_id, name) VALUES ($1, $2) ON CONFLICT (account_id, lower(name)) DO NOTHING',
          [accountId, name],
        );
      for (const { subject, role } of organization.members)
        await client.query(
          `INSERT INTO memberships (account_id, subject, role) VALUES ($1, $2, $3)
           ON CONFLICT (account_id, subject) DO UPDATE SET role = excluded.role`,
          [accountId, subject, role],
        );
    });
}

async function ensureAccount(client: PoolClient, { login, throttle }: SeedOrganization): Promise<number> {
  await client.query('INSERT INTO accounts (login) VALUES ($1) ON CONFLICT (lower(login)) DO NOTHING', [login]);
  const { rows } = await client.query<{ id: number }>('SELECT id FROM accounts WHERE lower(login) = lower($1)', [
    login,
  ]);
  if (!rows[0]) throw new Error(`the account ${login} was deleted while it was seeded`);
  const { id } = rows[0];
  if (throttle)
    // Only where it differs, since every dispatcher is told of each change. (An account without a limit of its own has nulls.)
    await client.query(
      `UPDATE accounts SET throttle_rate = $2, throttle_burst = $3
        WHERE id = $1 AND (throttle_rate, throttle_burst) IS DISTINCT FROM ($2::float8, $3::float8)`,
      [id, throttle.rate, throttle.burst],
    );
  return id;
}
