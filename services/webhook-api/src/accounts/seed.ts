/** The seed file's organizations: created or updated to what it says, never deleted. */
import type { SeedOrganization } from '@gatepost/contracts/seed';
import type { Database } from '@gatepost/webhook-db/client';

/** Applies them in one transaction each. Two processes that start at once may both do it. */
export async function applySeed(database: Database, organizations: SeedOrganization[]): Promise<void> {
  for (const organization of organizations) {
    await database.$transaction(async (transaction) => {
      const accountId = await ensureAccount(transaction, organization);
      for (const name of organization.repositories) await ensureRepository(transaction, accountId, name);
      for (const { subject, role } of organization.members) {
        await transaction.membership.upsert({
          where: { accountId_subject: { accountId, subject } },
          create: { accountId, subject, role },
          update: { role },
        });
      }
    });
  }
}

type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];

// Names are unique without regard to case, by an index on an expression, which no upsert can name: hence the plain SQL.

async function ensureAccount(transaction: Transaction, { login, throttle }: SeedOrganization): Promise<number> {
  await transaction.$executeRaw`INSERT INTO accounts (login) VALUES (${login}) ON CONFLICT (lower(login)) DO NOTHING`;
  const [account] = await transaction.$queryRaw<{ id: number }[]>`
    SELECT id FROM accounts WHERE lower(login) = lower(${login})`;
  if (!account) throw new Error(`the account ${login} was deleted while it was seeded`);
  if (throttle) {
    const { rate, burst } = throttle;
    // Only where it differs: each change is told to every dispatcher. (An account without a limit of its own holds nulls.)
    await transaction.$executeRaw`
      UPDATE accounts SET throttle_rate = ${rate}, throttle_burst = ${burst}
       WHERE id = ${account.id} AND (throttle_rate, throttle_burst) IS DISTINCT FROM (${rate}::float8, ${burst}::float8)`;
  }
  return account.id;
}

async function ensureRepository(transaction: Transaction, accountId: number, name: string): Promise<void> {
  await transaction.$executeRaw`
    INSERT INTO repositories (account_id, name) VALUES (${accountId}, ${name}) ON CONFLICT (account_id, lower(name)) DO NOTHING`;
}
