import { expect, test } from '@jest/globals';
import { setValue } from './set.ts';

test.each([
  ['action=closed', { action: 'closed', issue: { number: 7 } }],
  ['issue.number=8', { action: 'opened', issue: { number: 8 } }],
  ['issue.number="8"', { action: 'opened', issue: { number: '8' } }],
  ['issue.title=a=b c', { action: 'opened', issue: { number: 7, title: 'a=b c' } }],
  ['issue.labels.0.name=bug', { action: 'opened', issue: { number: 7, labels: [{ name: 'bug' }] } }],
  ['issue=null', { action: 'opened', issue: null }],
  ['action.deep=1', { action: { deep: 1 }, issue: { number: 7 } }],
  ['issue.constructor=x', { action: 'opened', issue: { number: 7, constructor: 'x' } }],
])('--set %s changes the payload', (assignment, changed) => {
  const payload = { action: 'opened', issue: { number: 7 } };
  setValue(payload, assignment);
  expect(payload).toEqual(changed);
});

test.each(['action', '=x', 'a..b=1', '__proto__.polluted=1', 'a.__proto__.polluted=1'])(
  '--set %s is refused',
  (assignment) => {
    expect(() => setValue({}, assignment)).toThrow('--set');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  },
);
