/** Counting what passed and failed, so that nothing that did not run looks like a success. */

export type Count = { name: string; passed: number; failed: number };

/** What of Jest's `--json` report we read. */
export type JestReport = {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
};

/**
 * A file that could not run counts as one failure. So does a run without a report, one that ended badly though every test
 * passed, and one that ran nothing, unless the caller had narrowed the files.
 */
export function countJest(name: string, report: JestReport | undefined, endedWell: boolean, narrowed: boolean): Count {
  if (!report) return { name, passed: 0, failed: 1 };
  const passed = report.numPassedTests;
  let failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  if (failed === 0 && !endedWell) failed = 1;
  if (failed === 0 && passed === 0 && !narrowed) failed = 1;
  return { name, passed, failed };
}

/** All together; if tests were asked for and not one ran, that is a failure. */
export function total(counts: Count[], testsWanted: boolean): { passed: number; failed: number } {
  const sum = (part: (count: Count) => number) => counts.reduce((all, count) => all + part(count), 0);
  const passed = sum((count) => count.passed);
  const failed = sum((count) => count.failed);
  const ran = counts.some((count) => !['types', 'lint'].includes(count.name) && count.passed + count.failed > 0);
  return { passed, failed: testsWanted && !ran ? failed + 1 : failed };
}
