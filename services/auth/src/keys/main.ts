/** `npm run keys -- rotate`: makes new signing keys, published now and signing in a quarter of an hour; a second time they sign at once.
 * `list` shows them. */

import { readEnv } from '@gatepost/runtime/env';
import { openLog } from '@gatepost/runtime/log';
import { makeSeal } from '@gatepost/runtime/seal';
import { authDatabaseOf, variables } from '../config.ts';
import { openDatabase } from '../database.ts';
import { rotateSigningKeys } from './rotate.ts';
import { stateOf } from './signing-keys.ts';

const command = process.argv[2];
const env = readEnv(variables);
await using databases = openDatabase(authDatabaseOf(env), env.STORE_TIMEOUT_MS, openLog('keys', 'warn'));
const { pool, db } = databases;

if (command === 'rotate') {
  for (const { kid, alg, signsFrom } of await rotateSigningKeys(pool, makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER)))
    console.log(`${kid}  ${alg.padEnd(5)}  published now, signs from ${signsFrom.toISOString()}`);
} else if (command === 'list') {
  const rows = await db.signingKey.findMany({
    where: { revokedAt: null },
    orderBy: [{ alg: 'asc' }, { createdAt: 'asc' }],
  });
  const now = new Date();
  for (const row of rows) {
    const gone = row.retiresAt !== null && row.retiresAt <= now;
    const state = gone ? 'retired' : stateOf(row, rows, now);
    console.log(
      [
        row.kid,
        row.alg.padEnd(5),
        state.padEnd(8),
        `signs from ${row.signsFrom.toISOString()}`,
        row.retiresAt ? `until ${row.retiresAt.toISOString()}` : '',
      ].join('  '),
    );
  }
} else {
  console.error('usage: keys rotate | keys list');
  process.exitCode = 64;
}
