/**
 * One of Jest's projects, counted from Jest's own report. A file that fails is run once more by itself: what passes then is
 * counted as passed and named as flaky, so that a busy machine turns no build red and no flaky test goes unseen.
 */
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { makeFolder, readJson, rootFolder } from '../processes/home.ts';
import { runPassing } from '../processes/pass.ts';
import type { Context } from './command.ts';
import { type Count, countJest, failedFiles, type JestReport, withReruns } from './test-count.ts';

// For a process that hangs, where no test's own time-out helps; a busy machine takes five times as long as an idle one.
const projectDeadlineMs = 60 * 60_000;
const fileDeadlineMs = 15 * 60_000;

/** Runs the project's files, narrowed by `rest` as in Jest, with Jest's output passed on. */
export async function runJest(
  context: Context,
  project: string,
  rest: string[],
  env: NodeJS.ProcessEnv,
): Promise<Count> {
  context.say.line();
  context.say.line(`  ${project}`);
  const { report, endedWell } = await runFiles(context, project, rest, env, projectDeadlineMs);
  const count = countJest(project, report, endedWell, rest.length > 0);
  const failed = report ? failedFiles(report) : [];
  if (failed.length === 0) return count;

  const reruns = [];
  for (const { file, failures } of failed) {
    const name = relative(rootFolder, file);
    context.say.line();
    context.say.line(`  ${name} failed; once more by itself`);
    const again = await runFiles(context, project, ['--runTestsByPath', file], env, fileDeadlineMs);
    reruns.push({ file: name, failures, again: countJest(project, again.report, again.endedWell, false) });
  }
  return withReruns(count, reruns);
}

/** Stories start whole systems, and unit tests last no longer than it takes to start a worker: their files run one after the other. */
const workers: Record<string, number> = { integration: 2 };

async function runFiles(
  { home, signal }: Context,
  project: string,
  rest: string[],
  env: NodeJS.ProcessEnv,
  deadlineMs: number,
): Promise<{ report: JestReport | undefined; endedWell: boolean }> {
  const reportFile = join(makeFolder(join(home, 'test', 'reports')), `${project}.json`);
  rmSync(reportFile, { force: true });
  const endedWell = await runPassing(
    process.execPath,
    [
      '--conditions=source',
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      join(rootFolder, 'node_modules/jest/bin/jest.js'),
      `--selectProjects=${project}`,
      '--passWithNoTests',
      `--maxWorkers=${workers[project] ?? 1}`,
      // A worker keeps a part of each file it has run: beyond this it is started anew.
      '--workerIdleMemoryLimit=1.5GB',
      '--json',
      `--outputFile=${reportFile}`,
      ...rest,
    ],
    { env, signal, deadlineMs },
  );
  return { report: readJson<JestReport>(reportFile), endedWell };
}
