/** Counts what passed and failed, so that nothing that did not run looks like a success. */

export type Count = {
  name: string;
  passed: number;
  failed: number;
  /** Files that failed and then passed when run again alone. */
  flaky?: string[];
};

/** The part of Jest's `--json` report that we read. */
export type JestReport = {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
  /** One per file; a file that could not run has no tests in it. */
  testResults?: { name: string; status: string; assertionResults: { status: string }[] }[];
};

/**
 * A file that could not run counts as one failure. So does a run without a report, one that ended badly although every test passed, and
 * one that ran nothing, unless the caller had narrowed the files.
 */
export function countJest(report: JestReport | undefined, endedWell: boolean, narrowed: boolean) {
  const passed = report?.numPassedTests ?? 0;
  const failed = report ? report.numFailedTests + report.numRuntimeErrorTestSuites : 1;
  const isOdd = !endedWell || (passed === 0 && !narrowed);
  return { passed, failed: failed || Number(isOdd) };
}

/** The failed files, each with the number of failures it counted for: its failed tests, or one if it could not run. */
export function failedFiles(report: JestReport | undefined): { file: string; failures: number }[] {
  const failed = report?.testResults?.filter((file) => file.status === 'failed') ?? [];
  return failed.map(({ name: file, assertionResults }) => ({
    file,
    failures: Math.max(1, assertionResults.filter((one) => one.status === 'failed').length),
  }));
}

/** The totals; if tests were requested and none ran, that is a failure. */
export function total(counts: Count[], testsWanted: boolean): { passed: number; failed: number } {
  const sum = (part: 'passed' | 'failed') => counts.reduce((all, count) => all + count[part], 0);
  const ran = counts.some((count) => !['types', 'lint'].includes(count.name) && count.passed + count.failed > 0);
  return { passed: sum('passed'), failed: sum('failed') + Number(testsWanted && !ran) };
}
