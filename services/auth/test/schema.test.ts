import { openLog } from '@gatepost/runtime/log';
import { freshDatabase } from '@gatepost/testkit/stores';
import { afterAll, expect, test } from '@jest/globals';
import { openDatabase, Prisma } from '../src/database.ts';
import { migrateAuth } from '../src/migrations.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { url } = stack.use(await freshDatabase());
await migrateAuth(url);
const { db, pool } = stack.use(openDatabase({ url, isPooled: false }, 30_000, openLog('test', 'silent')));

test('schema.prisma knows every table and column of the migrated database, and no other', async () => {
  const { rows } = await pool.query(`
    SELECT count(*)::int AS columns FROM information_schema.columns
    WHERE table_schema = 'auth' AND table_name <> '_prisma_migrations'`);
  const models = Object.values(Prisma.ModelName);
  const fields = models.flatMap((model) =>
    Object.keys(Prisma[`${model}ScalarFieldEnum` as 'ClientScalarFieldEnum']).map((field) => `${model}.${field}`),
  );
  expect(fields.length).toBe(rows[0].columns);
  // Reading a row of each model asks for each of its columns: a column that is not there is an error.
  for (const model of models) {
    const delegate = db[(model[0]!.toLowerCase() + model.slice(1)) as 'client'];
    await expect(delegate.findMany({ take: 1 })).resolves.toBeInstanceOf(Array);
  }
});
