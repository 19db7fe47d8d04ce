/** A database once seeded with the demo keeps its secrets, whatever seed is used today. */
import { demoSecrets } from '@gatepost/contracts/demo-secrets';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { passwordMatches } from './accounts/password.ts';
import { hashSecret } from './clients/secret.ts';
import type { Pool } from './database.ts';

/** For production. @throws Misconfigured, with a line for each affected client and person */
export async function refuseDemoSecrets(pool: Pool): Promise<void> {
  const clients = await pool.query<{ client_id: string }>(
    'SELECT client_id FROM clients WHERE secret_hashes && $1 ORDER BY client_id',
    [demoSecrets.clientSecrets.map(hashSecret)],
  );
  const problems = clients.rows.map(({ client_id }) => `client ${client_id} has a secret of the demo’s`);
  for (const { user_id, password } of demoSecrets.passwords) {
    const { rows } = await pool.query<{ password_hash: string | null }>(
      'SELECT password_hash FROM accounts WHERE user_id = $1 AND NOT blocked',
      [user_id],
    );
    const hash = rows[0]?.password_hash;
    if (hash && (await passwordMatches(password, hash))) problems.push(`user ${user_id} has the demo’s password`);
  }
  if (problems.length > 0)
    throw new Misconfigured(
      'the demo’s secrets, which everybody knows, are in the database',
      problems,
      'Begin with an empty database, or change or delete these with NODE_ENV=development where nobody else reaches the gate.',
    );
}
