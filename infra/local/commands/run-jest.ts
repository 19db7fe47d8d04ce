/**
 * One of Jest's projects, counted from Jest's own report. A file that fails is run once more by itself: what passes then is
 * counted as passed and named as flaky, so that a busy machine turns no build red and no flaky test goes unseen.
 */
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runShown } from '../processes/child.ts';
import { makeFolder, readJson, rootFolder } from '../processes/home.ts';
import type { Context } from './command.ts';
import { type Count, countJest, failedFiles, type JestReport, type Rerun, withReruns } from './test-count.ts';

// For a process that hangs, where no test's own time-out helps; a busy machine takes five times as long as an idle one.
const projectDeadlineMs = 60 * 60_000;
const fileDeadlineMs = 15 * 60_000;

/** Runs the project's files, narrowed by `rest` as in Jest, with Jest's output passed on. */
export async function runJest(
  { home, say, signal }: Context,
  project: string,
  rest: string[],
  env: NodeJS.ProcessEnv,
): Promise<Count> {
  const reportFile = join(makeFolder(join(home, 'test', 'reports')), `${project}.json`);
  const runFiles = async (title: string, files: string[], deadlineMs: number) => {
    say.line();
    say.line(`  ${title}`);
    rmSync(reportFile, { force: true });
    const endedWell = await runShown(jestArgs(project, reportFile, files), { env, signal, deadlineMs });
    return { endedWell, report: readJson<JestReport>(reportFile) };
  };
  const { report, endedWell } = await runFiles(project, rest, projectDeadlineMs);
  const reruns: Rerun[] = [];
  for (const { file, failures } of report ? failedFiles(report) : []) {
    const name = relative(rootFolder, file);
    const again = await runFiles(`${name} failed; once more by itself`, ['--runTestsByPath', file], fileDeadlineMs);
    reruns.push({ file: name, failures, again: countJest(project, again.report, again.endedWell, false) });
  }
  return withReruns(countJest(project, report, endedWell, rest.length > 0), reruns);
}

/** Stories start whole systems, and unit tests last no longer than it takes to start a worker: their files run one after the other. */
const workers: Record<string, number> = { integration: 2 };

function jestArgs(project: string, reportFile: string, files: string[]): string[] {
  return [
    '--experimental-vm-modules',
    join(rootFolder, 'node_modules/jest/bin/jest.js'),
    `--selectProjects=${project}`,
    '--passWithNoTests',
    `--maxWorkers=${workers[project] ?? 1}`,
    // A worker keeps a part of each file it has run: beyond this it is started anew.
    '--workerIdleMemoryLimit=1.5GB',
    '--json',
    `--outputFile=${reportFile}`,
    ...files,
  ];
}
