import { expect, test } from '@jest/globals';
import { explainRefusal } from './refused-token.ts';

const expected = {
  issuers: ['https://gate.example/', 'https://alias.example/'],
  audience: 'https://gate.example/api/v2/',
};
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = [part({ alg: 'RS256', kid: 'k1' }), part({ iss: expected.issuers[0], aud: ['a', 'b'], azp: 'm2m' }), 'x'];

test('a valid token that was revoked is reported as one that cannot be used', () => {
  expect(explainRefusal(token.join('.'), undefined, expected)).toEqual({
    reason: 'not_usable',
    description: 'The token cannot be used here',
    kid: 'k1',
    aud: 'a b',
    client: 'm2m',
  });
});

test('text that is not a JWT is reported as such, and nothing of it is repeated', () => {
  const explained = explainRefusal('a secret of somebody', undefined, expected);
  expect(explained.reason).toBe('no_jwt');
  expect(JSON.stringify(explained)).not.toContain('somebody');
});
