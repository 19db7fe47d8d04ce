/** `npm run keys -- rotate`: makes new signing keys, published now and signing in a quarter of an hour; a second time they sign at once.
 * `list` shows them. */
import { readEnv } from '@gatepost/runtime/env';
import { openLog } from '@gatepost/runtime/log';
import { runProgram } from '@gatepost/runtime/program';
import { makeSeal } from '@gatepost/runtime/seal';
import { authDatabaseOf, variables } from '../config.ts';
import { openDatabase } from '../database.ts';
import { rotateSigningKeys } from './rotate.ts';
import { stateOf } from './signing-keys.ts';

await runProgram('keys', async () => {
  const commands: Record<string, typeof rotate> = { rotate, list };
  const command = commands[process.argv[2] ?? ''];
  if (command) return command();
  console.error('usage: keys rotate | keys list');
  process.exitCode = 64;
});

function open() {
  const env = readEnv(variables);
  return { env, databases: openDatabase(authDatabaseOf(env), env.STORE_TIMEOUT_MS, openLog('keys', 'warn')) };
}

async function rotate(): Promise<void> {
  const { env, databases } = open();
  await using _opened = databases;
  const seal = makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER);
  for (const { kid, alg, signsFrom } of await rotateSigningKeys(databases.pool, seal))
    console.log(`${kid}  ${alg.padEnd(5)}  published now, signs from ${signsFrom.toISOString()}`);
}

async function list(): Promise<void> {
  await using databases = open().databases;
  const rows = await databases.db.signingKey.findMany({
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
}
