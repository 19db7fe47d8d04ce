import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseLucene, type Query, type Value } from './lucene.ts';
import { ManagementProblem } from './problem.ts';

const is = (field: string | undefined, text: string): Query => ({
  kind: 'match',
  field,
  value: { kind: 'text', text },
});
const like = (field: string | undefined, ...parts: string[]): Query => ({
  kind: 'match',
  field,
  value: { kind: 'pattern', parts },
});
const range = (field: string, from?: [string, boolean], to?: [string, boolean]): Query => {
  const bound = ([text, inclusive]: [string, boolean]) => ({ text, inclusive });
  const value: Value = { kind: 'range', ...(from && { from: bound(from) }), ...(to && { to: bound(to) }) };
  return { kind: 'match', field, value };
};
const not = (of: Query): Query => ({ kind: 'not', of });
const and = (...of: Query[]): Query => ({ kind: 'and', of });
const or = (...of: Query[]): Query => ({ kind: 'or', of });

describe('parseLucene', () => {
  test.each<[string, Query]>([
    ['jane', is(undefined, 'jane')],
    ['"green apple"', is(undefined, 'green apple')],
    ['email:"a \\"b\\" c"', is('email', 'a "b" c')],
    ['name:John\\ Doe', is('name', 'John Doe')],
    ['name: "Jane"', is('name', 'Jane')],
    ['user_id:auth0|1', is('user_id', 'auth0|1')],
    ['name:jo*', like('name', 'jo', '')],
    ['name:*john*', like('name', '', 'john', '')],
    ['name:jane*smith', like('name', 'jane', 'smith')],
    ['name:a\\*b', is('name', 'a*b')],
    ['name:"a*"', is('name', 'a*')],
    ['*', { kind: 'everything' }],
    ['*:*', { kind: 'everything' }],
    ['email:*', { kind: 'exists', field: 'email' }],
    ['_exists_:app_metadata.plan', { kind: 'exists', field: 'app_metadata.plan' }],
    ['NOT _exists_:email', not({ kind: 'exists', field: 'email' })],
    ['logins_count:[100 TO 200]', range('logins_count', ['100', true], ['200', true])],
    ['logins_count:{100 TO 200}', range('logins_count', ['100', false], ['200', false])],
    ['logins_count:{100 TO *]', range('logins_count', ['100', false])],
    ['logins_count:[* TO 200}', range('logins_count', undefined, ['200', false])],
    ['logins_count:>=5', range('logins_count', ['5', true])],
    ['logins_count:<5', range('logins_count', undefined, ['5', false])],
    [
      'updated_at:["2018-01-01T10:00:00Z" TO 2018-02]',
      range('updated_at', ['2018-01-01T10:00:00Z', true], ['2018-02', true]),
    ],
    ['a:1 b:2', or(is('a', '1'), is('b', '2'))],
    ['a:1 OR b:2 AND NOT c:3', or(is('a', '1'), and(is('b', '2'), not(is('c', '3'))))],
    ['a:1 || b:2 && !c:3', or(is('a', '1'), and(is('b', '2'), not(is('c', '3'))))],
    ['(a:1 OR b:2) -c:3', and(or(is('a', '1'), is('b', '2')), not(is('c', '3')))],
    ['a:1 NOT b:2', and(is('a', '1'), not(is('b', '2')))],
    ['a:1 OR NOT b:2', or(is('a', '1'), not(is('b', '2')))],
    ['+a:1 b:2', is('a', '1')],
    ['+a:1 +b:2 -c:3', and(is('a', '1'), is('b', '2'), not(is('c', '3')))],
    ['a:(1 OR "x y")', or(is('a', '1'), is('a', 'x y'))],
    ['a:(jo* AND NOT "joe")', and(like('a', 'jo', ''), not(is('a', 'joe')))],
    ['(((a:1)))', is('a', '1')],
    ['and or not', or(is(undefined, 'and'), is(undefined, 'or'), is(undefined, 'not'))],
  ])('parses %s', (q, query) => {
    expect(parseLucene(q)).toEqual(query);
  });

  test.each([
    '',
    ' ',
    '(',
    ')',
    'AND',
    'a:1 AND',
    'a:1 OR',
    'a:1 AND OR b:2',
    'NOT',
    '-',
    'a:',
    'a:(',
    'a:()',
    '()',
    '(a:1',
    'a:1)',
    '"',
    'a:"x',
    'a:[1 TO',
    'a:[1 TO 2',
    'a:[1 2]',
    'a:[TO 2]',
    '[1 TO 2]',
    'a:>',
    'a:>=*',
    '*:x',
    '_exists_:a*',
    'a:x\\',
    'jo?n',
    'john~',
    'john~0.8',
    '"john doe"~2',
    'a:x^4',
    'a:/jo.*/',
    '&& a:1',
    `${'('.repeat(21)}a${')'.repeat(21)}`,
    `${'NOT '.repeat(30)}a`,
    '!'.repeat(5_000),
    'x '.repeat(257),
    'x'.repeat(8_001),
    '('.repeat(8_000),
  ])('refuses %j', (q) => {
    expect(() => parseLucene(q)).toThrow(/^Query validation error: 'q' /);
  });

  test('says where it no longer understands a query', () => {
    expect(() => parseLucene('name:a ) b')).toThrow("'q' is not understood at ) b");
  });

  test('any input is either parsed or refused, without another error', () => {
    const pieces = fc.constantFrom(
      ...' ():"\\*?[]{}<>=+-!&|~^/',
      'AND',
      'OR',
      'NOT',
      'TO',
      ' TO ',
      '_exists_:',
      'email:',
      'app_metadata.a:',
      '[1 TO *]',
      '\u{1f600}',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(fc.oneof(pieces, fc.string({ maxLength: 5 })), { maxLength: 100 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(text, (q) => {
        try {
          parseLucene(q);
        } catch (error) {
          expect(error).toBeInstanceOf(ManagementProblem);
          expect(error).toMatchObject({ statusCode: 400, errorCode: 'invalid_query_string' });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('quoted and escaped characters are taken literally', () => {
    const field = fc.constantFrom('email', 'app_metadata.a b', 'a:b', 'AND');
    fc.assert(
      fc.property(field, fc.string({ minLength: 1, unit: 'binary' }), (name, text) => {
        const escaped = (plain: string) => plain.replace(/[\s\S]/g, '\\$&');
        const expected = is(name, text);
        expect(parseLucene(`${escaped(name)}:"${text.replace(/["\\]/g, '\\$&')}"`)).toEqual(expected);
        expect(parseLucene(`${escaped(name)}:${escaped(text)}`)).toEqual(expected);
      }),
    );
  });
});
