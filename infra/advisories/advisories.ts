/**
 * `npm run advisories`: asks npm's configured registry for known vulnerabilities in the locked packages. Ends with 1 if there is one of
 * severity high or critical. If the service does not answer (mirrors often have none), it says so and ends with 0: no answer is neither
 * a finding nor an all-clear.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const timeoutMs = 60_000;
const failing = ['high', 'critical'];

type Advisory = {
  module_name: string;
  severity: string;
  title: string;
  url: string;
  vulnerable_versions: string;
  findings: { version: string; paths: string[] }[];
};

/** What to print, and the exit status. `output` is the output of `pnpm audit --json`, `errors` its error output. */
function judge(output: string, errors: string): { lines: string[]; exitCode: 0 | 1 } {
  const advisories = advisoriesOf(output);
  if (!advisories) {
    const reason = /\bERR_PNPM_\w+|\bE[A-Z]{4,}\b/.exec(`${errors}\n${output}`)?.[0] ?? 'no reason given';
    return { lines: [`Not checked: the registry’s advisory service did not answer (${reason}).`], exitCode: 0 };
  }
  if (advisories.length === 0)
    return { lines: ['The registry knows of no hole in what the lock file names.'], exitCode: 0 };
  const bad = advisories.some(({ severity }) => failing.includes(severity));
  return {
    lines: [
      ...advisories.map(lineOf),
      bad ? 'Update or override what is of severity high or critical.' : 'None is of severity high or critical.',
    ],
    exitCode: bad ? 1 : 0,
  };
}

function advisoriesOf(output: string): Advisory[] | undefined {
  try {
    const { advisories } = JSON.parse(output) as { advisories?: Record<string, Advisory> };
    return advisories && Object.values(advisories);
  } catch {
    return undefined;
  }
}

function lineOf({ module_name, severity, title, url, vulnerable_versions, findings }: Advisory): string {
  const versions = [...new Set(findings.map(({ version }) => version))].join(', ');
  const path = findings[0]?.paths[0] ?? '';
  return `${severity}: ${module_name} ${versions} (${vulnerable_versions}): ${title}, ${url}, by way of ${path}`;
}

/** Runs the pinned pnpm. Never rejects: a failure counts as no answer. */
async function audit(): Promise<{ output: string; errors: string }> {
  const { npm_config_registry: registry } = process.env; // set by npm; pnpm uses a different name
  const child = spawn(`${root}node_modules/.bin/pnpm`, ['audit', '--json'], {
    cwd: root,
    env: { ...(registry ? { pnpm_config_registry: registry } : {}), ...process.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
  });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  await new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      errors += (error as NodeJS.ErrnoException).code;
      resolve();
    });
  });
  return { output, errors };
}

const { output, errors } = await audit();
const { lines, exitCode } = judge(output, errors);
for (const line of lines) console.log(line);
process.exitCode = exitCode;
