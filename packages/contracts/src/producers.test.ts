import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { expect, test } from '@jest/globals';
import { anyProducer, parseProducers } from './producers.ts';

const producers = parseProducers(`
producers:
  - { user: ci, accounts: [Acme, other] }
  - { user: gate, accounts: ["*"] }
  - { user: ci, accounts: [third] }
`);

test.each([
  ['ci', 'acme'],
  ['ci', 'other'],
  ['ci', 'third'],
  ['gate', 'acme'],
])('%s may publish for %s', (user, account) => {
  expect(producers.refuse(user, account)).toBeUndefined();
});

test.each([
  ['ci', 'fourth', 'producer_not_allowed', 'ci may not publish for fourth'],
  ['CI', 'acme', 'producer_unknown', 'no producer is named CI'],
  ['constructor', 'acme', 'producer_unknown', 'no producer is named constructor'],
  [undefined, 'acme', 'producer_unknown', 'the message has no `user_id`'],
])('%s may not publish for %s: %s', (user, account, reason, detail) => {
  expect(producers.refuse(user, account)).toEqual({ reason, detail });
});

test('without a file every producer may publish for every account', () => {
  expect(anyProducer.refuse(undefined, 'acme')).toBeUndefined();
});

test.each([
  ['', ['producers: Invalid input: expected array, received undefined']],
  [
    'producers: [{ user: ci, accounts: [], groups: [] }]',
    ['producers[0].accounts: Too small: expected array to have >=1 items', 'producers[0].groups: unknown key'],
  ],
  [
    'producers: [{ user: "", accounts: ["a/b"] }]',
    [
      'producers[0].user: Too small: expected string to have >=1 characters',
      'producers[0].accounts[0]: must be the login of an account, or `*` for all of them',
    ],
  ],
  ['producers: [', ['not YAML: ']],
])('an invalid file is refused with everything that is wrong in it: %s', (text, problems) => {
  try {
    parseProducers(text);
    throw new Error('it was taken');
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error;
    expect(error.problems.map((problem, index) => problem.slice(0, problems[index]!.length))).toEqual(problems);
  }
});
