import { expect, test } from '@jest/globals';
import { makeWriteWatch } from './own-writes.ts';

function watched(...asked: (string | { name: string; text: string })[]): number {
  let told = 0;
  const watch = makeWriteWatch(() => {
    told += 1;
  });
  for (const statement of asked) watch(statement);
  return told;
}

test.each<[what: string, told: number, ...asked: Parameters<typeof watched>]>([
  ['a change of an account', 1, 'UPDATE accounts SET blocked = true'],
  ['the same by Prisma', 1, 'DELETE FROM "auth"."accounts" WHERE (1=1)'],
  ['grants that are deleted by a condition', 1, 'WITH token AS (SELECT 1) DELETE FROM artefacts WHERE id = 1'],
  ['one that no commit has followed yet, and its commit', 2, 'BEGIN', 'DELETE FROM artefacts', 'SELECT 1', 'COMMIT'],
  ['something read', 0, ' SELECT * FROM accounts'],
  ['another table', 0, 'UPDATE clients SET name = 1', 'COMMIT'],
  ['what the adapter tells of by itself', 0, { name: 'grant upsert', text: 'INSERT INTO artefacts VALUES (1)' }],
  ['the times of last logins', 0, { name: 'last logins', text: 'UPDATE accounts SET last_login = 1' }],
])('%s', (_what, told, ...asked) => {
  expect(watched(...asked)).toBe(told);
});
