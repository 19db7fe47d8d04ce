/**
 * The first program of every `npm` command. It runs on the machine's own Node, with nothing installed yet. It checks Node's
 * version, installs the dependencies, generates the database clients and builds the services if they are out of date. Then it runs
 * `commands/command.ts` on the pinned Node, and ends with its status.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail(`Gatepost needs Node 20.19 or newer; this is ${process.version} (${process.execPath}).`);

const root = join(import.meta.dirname, '../..');
const [program = 'infra/local/commands/start.ts', ...args] = process.argv.slice(2);
const pinnedNode = join(root, 'node_modules/node/bin/node');
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter) };

const help = join(root, program.replace(/\.ts$/, '-help.txt'));
if (/^(--help|-h)$/m.test(args.join('\n')) && existsSync(help)) {
  process.stdout.write(readFileSync(help)); // nothing may be installed yet
  process.exit();
}
installDependencies();
// Both skip what has not changed.
step('generated code', 'turbo', 'run', 'generate', 'build', '--output-logs=errors-only', '--no-update-notifier');
step('build', 'tsc', '--build', 'services/auth', 'services/webhook-api', 'services/dispatcher');
handOver();

/** Installs if the lock file differs from the one installed last, of which an interrupted installation leaves no copy. */
function installDependencies() {
  const installed = join(root, 'node_modules/.gatepost-lock.yaml');
  const lock = readFileSync(join(root, 'pnpm-lock.yaml'));
  if (existsSync(pinnedNode) && existsSync(installed) && readFileSync(installed).equals(lock)) return;
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  step('dependencies', 'npx', '--yes', packageManager, 'install', '--frozen-lockfile');
  writeFileSync(installed, lock);
}

/** Runs the command, which ends with us: we pass signals on, and the channel tells it when we are gone. */
function handOver() {
  const run = ['--conditions=source', '--disable-warning=ExperimentalWarning', 'infra/local/commands/command.ts'];
  const running = spawn(pinnedNode, [...run, program, ...args], {
    cwd: root,
    // Cached compiled code speeds up later starts; the services inherit this.
    env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'), ...env },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => running.kill(signal));
  running.once('error', (error) => fail(error.message));
  running.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/** Runs a preparation program silently; shows the end of its output if it fails. */
function step(label, command, ...commandArgs) {
  console.error(`  … ${label}`); // not part of the command's output
  // These programs send no telemetry and ask no questions.
  const quiet = { CI: 'true', ...env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', CHECKPOINT_DISABLE: '1' };
  const options = { cwd: root, env: quiet, encoding: 'utf8', maxBuffer: Infinity };
  const { status, signal, error, stdout, stderr } = spawnSync(command, commandArgs, options);
  if (status === 0) return;
  const end = `${stdout}${stderr}`.trimEnd().split('\n').slice(-15).join('\n  ');
  const how = error?.message ?? `ended with ${signal ?? `status ${status}`}`;
  fail(`${label}: \`${[command, ...commandArgs].join(' ')}\` ${how}\n  ${end}`);
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
