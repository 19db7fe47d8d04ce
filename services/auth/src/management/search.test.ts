import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { searchCondition } from './search.ts';
import { userFields, userOrder } from './user-search.ts';

const conditionOf = (q: string) => searchCondition(q, userFields);

describe('searchCondition', () => {
  test.each([
    'password_hash:x',
    'passwordHash:x',
    '_exists_:password_hash',
    'incarnation:x',
    'credentials_version:1',
    'sessions_not_before:2020',
    'constructor:x',
    '__proto__:x',
    'user_metadata.:x',
    'app_metadata..a:x',
    'blocked:maybe',
    'blocked:[a TO b]',
    'logins_count:many',
    'logins_count:1*',
    'logins_count:[a TO b]',
    `logins_count:${'9'.repeat(40)}`,
    'logins_count:NaN',
    'created_at:yesterday',
    'created_at:2018-13',
    'created_at:2018-02-30',
    'created_at:2018*',
    'created_at:[2018 TO 0000]',
    'name:*sa',
    'app_metadata.a:*x*',
    '*sa',
  ])('refuses %j', (q) => {
    expect(() => conditionOf(q)).toThrow(/^Query validation error: /);
  });

  test.each<[string, unknown[]]>([
    ['created_at:2018', ['2018-01-01T00:00:00.000Z', '2019-01-01T00:00:00.000Z']],
    ['created_at:2018-12', ['2018-12-01T00:00:00.000Z', '2019-01-01T00:00:00.000Z']],
    ['last_login:[2017-12-01 TO 2017-12-31]', ['2017-12-01T00:00:00.000Z', '2018-01-01T00:00:00.000Z']],
    ['last_login:{2017-11 TO 2017-12]', ['2017-12-01T00:00:00.000Z', '2018-01-01T00:00:00.000Z']],
    ['updated_at:[* TO 2018-01-15}', ['2018-01-15T00:00:00.000Z']],
    ['updated_at:>2018-01-15', ['2018-01-16T00:00:00.000Z']],
    ['updated_at:>=2018-01-15T10:20:30.400+02:00', ['2018-01-15T08:20:30.400Z']],
  ])('a date covers the whole period that it names: %s', (q, dates) => {
    expect(JSON.parse(JSON.stringify(conditionOf(q).values))).toEqual(dates);
  });

  test('no value reaches the SQL text, which depends on the query’s structure alone', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 3, unit: 'binary' }),
        fc.string({ minLength: 1, unit: 'binary' }),
        (value, key) => {
          fc.pre(!key.includes('.'));
          const escaped = (plain: string) => plain.replace(/[\s\S]/g, '\\$&');
          for (const form of [
            'name:"V"',
            'V',
            'name:"V" OR NOT email:V*',
            'app_metadata.K:"V"',
            'user_metadata.K.K:*V',
            '_exists_:app_metadata.K',
            'app_metadata.K:["V" TO *]',
          ]) {
            const filled = (v: string, k: string) =>
              conditionOf(form.replace(/"?V"?/g, () => escaped(v)).replaceAll('K', () => escaped(k)));
            expect(filled(value, key).text).toBe(filled('some', 'thing').text);
          }
        },
      ),
    );
  });
});

test.each([
  'email',
  'email:2',
  'password_hash:1',
  'app_metadata.a:1',
  'user_metadata:1',
  'identities.connection:1',
  '__proto__:1',
  '',
])('userOrder refuses %j', (sort) => {
  expect(() => userOrder(sort)).toThrow(/^Query validation error: /);
});
