import { expect, test } from '@jest/globals';
import { countJest, failedFiles, total } from './count.ts';

const report = (numPassedTests: number, numFailedTests = 0, numRuntimeErrorTestSuites = 0) => ({
  numPassedTests,
  numFailedTests,
  numRuntimeErrorTestSuites,
});

test.each([
  ['all passed', report(5), true, false, [5, 0]],
  ['some failed', report(5, 2), false, false, [5, 2]],
  ['a file that could not run counts as one', report(5, 0, 1), false, false, [5, 1]],
  ['no report at all', undefined, false, false, [0, 1]],
  ['a bad end although all passed', report(5), false, false, [5, 1]],
  ['nothing ran', report(0), true, false, [0, 1]],
  ['nothing ran here of what was asked for', report(0), true, true, [0, 0]],
] as const)('the tests of a run are counted: %s', (_, jest, endedWell, narrowed, [passed, failed]) => {
  expect(countJest(jest, endedWell, narrowed)).toEqual({ passed, failed });
});

test('a run in which no test was found has failed', () => {
  const types = { name: 'types', passed: 1, failed: 0 };
  const none = { name: 'unit', passed: 0, failed: 0 };
  const some = { name: 'integration', passed: 3, failed: 0 };
  expect(total([types, none], true)).toEqual({ passed: 1, failed: 1 });
  expect(total([types, none, some], true)).toEqual({ passed: 4, failed: 0 });
  expect(total([types], false)).toEqual({ passed: 1, failed: 0 });
});

test('each file that failed is run again, in place of the failures counted for it', () => {
  const file = (name: string, ...statuses: string[]) => ({
    name,
    status: statuses.length > 0 && statuses.every((status) => status === 'passed') ? 'passed' : 'failed',
    assertionResults: statuses.map((status) => ({ status })),
  });
  const files = [file('good', 'passed'), file('shaky', 'failed', 'failed', 'passed'), file('unread')];
  expect(failedFiles({ ...report(2, 2, 1), testResults: files })).toEqual([
    { file: 'shaky', failures: 2 },
    { file: 'unread', failures: 1 },
  ]);
});
