import { describe, expect, test } from '@jest/globals';
import { parseSearch, type SearchFields } from './search.ts';

const fields: SearchFields = {
  email: { column: 'email', holds: 'text' },
  blocked: { column: 'blocked', holds: 'boolean' },
  logins_count: { column: 'loginsCount', holds: 'number' },
};
const mode = 'insensitive';

describe('parseSearch', () => {
  test.each<[string, object]>([
    ['email:"a \\"b\\" c"', { email: { equals: 'a "b" c', mode } }],
    ['email.raw:a@b.c', { email: { equals: 'a@b.c', mode } }],
    ['email:jo*', { email: { startsWith: 'jo', mode } }],
    ['email:*jo', { email: { endsWith: 'jo', mode } }],
    ['email:*jo*', { email: { contains: 'jo', mode } }],
    ['email:*', { email: { not: null } }],
    ['_exists_:email', { NOT: { email: null } }],
    ['blocked:true', { blocked: true }],
    ['logins_count:3', { loginsCount: 3 }],
    ['jo', { OR: [{ email: { equals: 'jo', mode } }] }],
    ['blocked:true logins_count:1', { AND: [{ blocked: true }, { loginsCount: 1 }] }],
    [
      'blocked:true OR logins_count:1 AND NOT blocked:false',
      { OR: [{ blocked: true }, { AND: [{ loginsCount: 1 }, { NOT: { blocked: false } }] }] },
    ],
    [
      '(blocked:true OR logins_count:1) -blocked:false',
      { AND: [{ OR: [{ blocked: true }, { loginsCount: 1 }] }, { NOT: { blocked: false } }] },
    ],
  ])('%s', (q, where) => {
    expect(parseSearch(q, fields)).toEqual(where);
  });

  test.each([
    '',
    '(',
    ')',
    'AND',
    'blocked:true OR',
    'blocked:maybe',
    'logins_count:many',
    'password:x',
    'constructor:x',
    '__proto__:x',
    'email:a*b',
    'x '.repeat(200),
    '('.repeat(90),
  ])('refuses %j', (q) => {
    expect(() => parseSearch(q, fields)).toThrow(/Query validation error/);
  });
});
