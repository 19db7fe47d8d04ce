import { describe, expect, test } from '@jest/globals';
import { parseIdentifier, parseUsername } from './identifier.ts';

describe('a login identifier', () => {
  test.each([
    ['Alice@Example.com', 'email', 'alice@example.com'],
    [' +1 (555) 555-0100 ', 'phone', '+15555550100'],
    ['+1--555.555.0100', 'phone', '+15555550100'],
    ['Alice', 'username', 'alice'],
    ['15555550100', 'username', '15555550100'],
    ['+123', 'username', '+123'],
  ])('%j is recognised as %s', (typed, kind, value) => {
    expect(parseIdentifier(typed)).toEqual({ kind, value });
  });

  test.each(['', ' ', 'a b', 'a@', '@b', 'a@b@c', 'nul\0', 'half\ud800', 7, 'x'.repeat(129)])(
    '%j is not a valid identifier',
    (typed) => {
      expect(parseIdentifier(typed)).toBeUndefined();
    },
  );
});

describe('a new username', () => {
  const usual = { options: {} };
  test.each(['a', "o'neil_99+x.y-z", '!#$^`~', 'Fifteen-letters', '+12', '123456'])('may be %s', (given) => {
    expect(parseUsername(given, usual)).toEqual({ username: given.toLowerCase() });
  });

  test.each([
    '',
    'sixteen-letters-',
    'alice@example',
    'a@b.example',
    '+15555550100',
    '+1-555-555-0100',
    '15555550100',
    '555-0100',
    'a b',
    'ümlaut',
    'Ⅷ',
    'a/b',
    'a\0',
  ])('may not be %j', (given) => {
    expect(parseUsername(given, usual)).toHaveProperty('problem');
  });

  test.each([
    [{ validation: { username: { min: 3, max: 20 } } }, 'ab', 'problem'],
    [{ validation: { username: { min: 3, max: 20 } } }, 'sixteen-letters-', 'username'],
    [{ validation: { username: { max: 1_000 } } }, 'x'.repeat(128), 'username'],
    [{ validation: { username: { max: 1_000 } } }, 'x'.repeat(129), 'problem'],
    [{ validation: { username: { min: 'a', max: null } } }, 'x'.repeat(15), 'username'],
    [{ validation: null }, 'x'.repeat(16), 'problem'],
    [null, 'abc', 'username'],
  ])('keeps to the length in the connection’s options: %j', (options, given, outcome) => {
    expect(parseUsername(given, { options })).toHaveProperty(outcome);
  });
});
