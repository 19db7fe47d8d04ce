/** Counting what passed and failed, so that nothing that did not run looks like a success. */

export type Count = {
  name: string;
  passed: number;
  failed: number;
  /** Files that failed and passed when they were run again by themselves. */
  flaky?: string[];
};

/** What of Jest's `--json` report we read. */
export type JestReport = {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
  /** One a file; a file that could not run has no test in it. */
  testResults?: { name: string; status: string; assertionResults: { status: string }[] }[];
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

/** The files that failed, each with the failures that it counted for: its failed tests, or one if it could not run. */
export function failedFiles(report: JestReport): { file: string; failures: number }[] {
  return (report.testResults ?? [])
    .filter((file) => file.status === 'failed')
    .map((file) => ({
      file: file.name,
      failures: Math.max(1, file.assertionResults.filter((one) => one.status === 'failed').length),
    }));
}

/** What a file counted for before, and what it came to when it was run again by itself. */
export type Rerun = { file: string; failures: number; again: Count };

/** A file that passed the second time no longer counts as failed, but is named as flaky; any other counts as it did. */
export function withReruns(count: Count, reruns: Rerun[]): Count {
  const mended = reruns.filter(({ again }) => again.failed === 0);
  const failures = mended.reduce((all, one) => all + one.failures, 0);
  return {
    ...count,
    passed: count.passed + failures,
    failed: count.failed - failures,
    flaky: mended.map(({ file }) => file),
  };
}

/** All together; if tests were asked for and not one ran, that is a failure. */
export function total(counts: Count[], testsWanted: boolean): { passed: number; failed: number } {
  const sum = (part: (count: Count) => number) => counts.reduce((all, count) => all + part(count), 0);
  const passed = sum((count) => count.passed);
  const failed = sum((count) => count.failed);
  const ran = counts.some((count) => !['types', 'lint'].includes(count.name) && count.passed + count.failed > 0);
  return { passed, failed: testsWanted && !ran ? failed + 1 : failed };
}
