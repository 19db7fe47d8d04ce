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
  ['an updated account', 1, 'UPDATE accounts SET blocked = true'],
  ['an account deleted by Prisma', 1, 'DELETE FROM "auth"."accounts" WHERE (1=1)'],
  ['a member removed, whose grants a trigger ends', 1, 'DELETE FROM "auth"."organization_members" WHERE (1=1)'],
  ['an organization deleted, and its members with it', 1, 'DELETE FROM "auth"."organizations" WHERE (1=1)'],
  [
    'grants deleted in a statement that begins with WITH',
    1,
    'WITH token AS (SELECT 1) DELETE FROM artefacts WHERE id = 1',
  ],
  ['a transaction, at the statement and at its commit', 2, 'BEGIN', 'DELETE FROM artefacts', 'SELECT 1', 'COMMIT'],
  ['not after a SELECT', 0, ' SELECT * FROM accounts'],
  ['not for another table', 0, 'UPDATE clients SET name = 1', 'COMMIT'],
  [
    'not for statements that the adapter announces itself',
    0,
    { name: 'grant upsert', text: 'INSERT INTO artefacts VALUES (1)' },
  ],
  ['not for the times of last logins', 0, { name: 'last logins', text: 'UPDATE accounts SET last_login = 1' }],
])('announces writes to accounts and grants: %s', (_what, told, ...asked) => {
  expect(watched(...asked)).toBe(told);
});
