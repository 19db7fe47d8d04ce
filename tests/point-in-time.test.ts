/** A restore to a point in time, with the settings given in docs/operations.md. */
import { readFileSync } from 'node:fs';
import { openArchivingPostgres, rowsOf } from '@gatepost/testkit/postgres-server';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';

const text = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8');
const blocks = [...text.matchAll(/```ini\n(.*?)```/gs)].map(([, lines]) => lines!);
const settingsWith = (name: string) => blocks.find((lines) => lines.includes(`${name} = `))!;

test('a database restored to a point in time has what was written until then, nothing later, and is writable', async () => {
  await using server = await openArchivingPostgres(settingsWith('archive_command'));
  await rowsOf(server.url, 'CREATE TABLE written (n integer)');
  await server.backUp();
  await rowsOf(server.url, 'INSERT INTO written VALUES (1)');
  const [now] = await rowsOf(server.url, 'SELECT clock_timestamp()::text AS at');
  await rowsOf(server.url, 'INSERT INTO written VALUES (2)');
  const [switched] = await rowsOf(server.url, 'SELECT pg_walfile_name(pg_switch_wal()) AS segment');
  await until('the archive has it', async () => {
    const [archived] = await rowsOf(server.url, 'SELECT last_archived_wal AS last FROM pg_stat_archiver');
    return archived?.last != null && String(archived.last) >= String(switched?.segment); // nothing yet: null
  });
  const restored = await server.restore(
    settingsWith('restore_command').replace(/(recovery_target_time = )'.*'/, `$1'${now?.at}'`),
  );
  await until(
    'it takes part again',
    async () => !(await rowsOf(restored, 'SELECT pg_is_in_recovery() AS waits'))[0]?.waits,
  );
  await rowsOf(restored, 'INSERT INTO written VALUES (3)');
  expect(await rowsOf(restored, 'SELECT n FROM written ORDER BY n')).toEqual([{ n: 1 }, { n: 3 }]);
});
