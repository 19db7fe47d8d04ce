import { expect, test } from '@jest/globals';
import { pendingOf } from './migrate.ts';

const migrations = ['1_a', '2_b', '3_c'].map((name) => ({ name, sql: '', checksum: `sum of ${name}` }));
const recorded = (name: string, change = {}) => ({
  migration_name: name,
  checksum: `sum of ${name}`,
  finished_at: new Date(),
  ...change,
});

test('migrations that are not recorded yet are pending, in order', () => {
  expect(pendingOf(migrations, [recorded('1_a')]).map(({ name }) => name)).toEqual(['2_b', '3_c']);
});

test.each([
  ['changed since', recorded('1_a', { checksum: 'other' }), 'was changed after'],
  ['failed half way', recorded('1_a', { finished_at: null }), 'failed half way'],
  ['of a newer version, while one of ours is missing,', recorded('9_z'), 'another version'],
])('a migration %s stops the start', (_, record, message) => {
  expect(() => pendingOf(migrations, [record])).toThrow(message);
});

test('migrations of a newer version after all of ours are ignored; one among ours stops the start', () => {
  const ours = migrations.map(({ name }) => recorded(name));
  expect(pendingOf(migrations, [...ours, recorded('9_z')])).toEqual([]);
  expect(() => pendingOf(migrations, [...ours, recorded('2_x')])).toThrow('another version');
});
