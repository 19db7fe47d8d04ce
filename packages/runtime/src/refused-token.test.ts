import { expect, test } from '@jest/globals';
import { explainRefusal } from './refused-token.ts';

const expected = {
  issuers: ['https://gate.example/', 'https://alias.example/'],
  audience: 'https://gate.example/api/v2/',
};
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = [part({ alg: 'RS256', kid: 'k1' }), part({ iss: expected.issuers[0], aud: ['a', 'b'], azp: 'm2m' }), 'x'];

test('A token that is good in itself, but was revoked, is one that cannot be used', () => {
  expect(explainRefusal(token.join('.'), undefined, expected)).toEqual({
    reason: 'not_usable',
    description: 'The token cannot be used here',
    kid: 'k1',
    aud: 'a b',
    client: 'm2m',
  });
});

test('What is no JWT is told from one, and nothing of it is repeated', () => {
  const explained = explainRefusal('a secret of somebody', undefined, expected);
  expect(explained.reason).toBe('no_jwt');
  expect(JSON.stringify(explained)).not.toContain('somebody');
});
