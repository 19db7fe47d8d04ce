/**
 * Jest, counted from its own report. A failed file is run once more alone: if it then passes it is counted as passed and listed as flaky,
 * so that a busy machine fails no build and no flaky test goes unnoticed.
 */
import { readFileSync, rmSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join, relative } from 'node:path';
import type { Context } from '../local/commands/command.ts';
import { runShown } from '../local/processes/child.ts';
import { makeFolder, rootFolder } from '../local/processes/home.ts';
import { type Count, countJest, failedFiles, type JestReport } from './count.ts';
import { hasLastRelease } from './programs.ts';

// For a process that hangs, where no test's own timeout helps; a busy machine takes five times as long as an idle one.
const deadlineMs = 90 * 60_000;
const fileDeadlineMs = 15 * 60_000;

/** Runs the files of these projects of jest.config.mjs, narrowed by `rest` as in Jest, and passes Jest's output on. */
export async function runJest(
  { home, say, signal }: Context,
  projects: string[],
  rest: string[],
  env: NodeJS.ProcessEnv,
): Promise<Count> {
  const reportFile = join(makeFolder(join(home, 'test', 'reports')), 'tests.json');
  const skipped = [
    // Selected by name: they need CHROMIUM_PATH.
    ...(env.CHROMIUM_PATH ? [] : [String.raw`\.browser\.test\.ts$`]),
    ...(!projects.includes('stories') || (await hasLastRelease(say)) ? [] : [String.raw`tests/upgrade\.test\.ts$`]),
  ];
  const runFiles = async (title: string, files: string[], narrowed: boolean, withinMs: number) => {
    say.line();
    say.line(`  ${title}`);
    rmSync(reportFile, { force: true });
    const endedWell = await runShown(jestArgs(projects, reportFile, files, skipped), {
      env,
      signal,
      timeout: withinMs,
    });
    const report = readReport(reportFile);
    return { report, ...countJest(report, endedWell, narrowed) };
  };
  const { report, ...count } = await runFiles(projects.join(', '), rest, rest.length > 0, deadlineMs);
  const flaky: string[] = [];
  for (const { file, failures } of failedFiles(report)) {
    const name = relative(rootFolder, file);
    const title = `${name} failed; once more by itself`;
    if ((await runFiles(title, ['--runTestsByPath', file], false, fileDeadlineMs)).failed > 0) continue;
    flaky.push(name);
    count.passed += failures;
    count.failed -= failures;
  }
  return { name: 'tests', ...count, flaky };
}

/** Undefined if Jest was killed before or while it wrote it. */
function readReport(path: string): JestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as JestReport;
  } catch {
    return undefined;
  }
}

/**
 * Node options, inherited by the workers. Each file leaves its modules behind: with the default young generation, a sixth of the workers'
 * time went into collecting them, and marking the old generation again at each step of heap growth took a twelfth. A worker is restarted at
 * 1 GB (jest.config.mjs), so nothing needs marking before that.
 */
const nodeOptions = ['--max-semi-space-size=64', '--min-semi-space-size=64', '--initial-heap-size=1100'];

/**
 * A story mostly waits, while others use its core: four kept two cores busy for 85 % of the time. With its stores, services and browser, each
 * worker takes about 2 GB.
 */
const workers = totalmem() >= 12 * 2 ** 30 ? 6 : 4;

function jestArgs(projects: string[], reportFile: string, files: string[], skipped: string[]): string[] {
  return [
    ...nodeOptions,
    join(rootFolder, 'node_modules/jest/bin/jest.js'),
    ...projects.map((project) => `--selectProjects=${project}`),
    '--passWithNoTests',
    `--maxWorkers=${workers}`,
    ...skipped.map((pattern) => `--testPathIgnorePatterns=${pattern}`),
    '--json',
    `--outputFile=${reportFile}`,
    ...files,
  ];
}
