/**
 * The first program of every `npm` command. It runs on the machine's own Node with nothing installed yet: it checks Node's
 * version, installs the dependencies, generates the database clients and builds the services when they are out of date, then hands over to
 * `commands/command.ts` on the Node that the project pins, and ends with that program's status.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const [program = 'infra/local/commands/start.ts', ...args] = process.argv.slice(2);
const pinnedNode = join(root, 'node_modules/node/bin/node');
const stampFile = join(root, 'node_modules/.gatepost.json');
const PATH = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
// Nothing here reports anything to anybody, and nothing asks a question.
const quiet = {
  TURBO_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
  CHECKPOINT_DISABLE: '1',
  PRISMA_HIDE_UPDATE_MESSAGE: '1',
};

let stop = () => {}; // what runs
let stoppedBy;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stoppedBy ??= signal;
    stop(signal);
  });
}

answerHelp();
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail(`Gatepost needs Node 20.19 or newer; this is ${process.version} (${process.execPath}).`);
const quietly = ['--output-logs=errors-only', '--no-update-notifier'];
await installDependencies();
await generateClients();
const services = ['services/auth', 'services/webhook-api', 'services/dispatcher'];
await step('build', 'tsc', ['--build', ...services], 1_000); // the compiler knows what has changed since
await step('console', 'turbo', ['run', 'build', '--filter=@gatepost/console', ...quietly], 2_000);
handOver();

/** Whoever asks what there is has installed nothing yet. */
function answerHelp() {
  const file = join(root, program.replace(/\.ts$/, '-help.txt'));
  if (!args.some((arg) => arg === '--help' || arg === '-h') || !existsSync(file)) return;
  process.stdout.write(readFileSync(file, 'utf8'));
  process.exit(0);
}

/** Installs when the lock file is not the one that was installed last; an interrupted installation leaves no stamp. */
async function installDependencies() {
  const lock = digestOf('pnpm-lock.yaml');
  if (readStamp().lock === lock && existsSync(pinnedNode)) return;
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  await step('dependencies', 'npx', ['--yes', packageManager, 'install', '--frozen-lockfile']);
  writeFileSync(stampFile, JSON.stringify({ lock }));
}

/** Generates the database clients whose schema is not the one that they were generated from. */
async function generateClients() {
  const folders = ['packages/webhook-db', 'services/auth'];
  const schemas = folders.map((folder) => digestOf(`${folder}/prisma/schema.prisma`)).join();
  const there = folders.every((folder) => existsSync(join(root, folder, 'src/generated')));
  if (there && readStamp().schemas === schemas) return;
  await step('database clients', 'turbo', ['run', 'generate', ...quietly]);
  writeFileSync(stampFile, JSON.stringify({ ...readStamp(), schemas }));
}

/**
 * Runs the command in a session of its own: Ctrl-C goes to the whole foreground group, and both the terminal and npm may tell
 * us of it; the command hears of it once, from us. The channel tells it when we are gone.
 */
function handOver() {
  const run = [
    '--conditions=source',
    '--disable-warning=ExperimentalWarning',
    'infra/local/commands/command.ts',
    program,
  ];
  const child = spawn(pinnedNode, [...run, ...args], {
    cwd: root,
    // What was compiled once starts faster the next time; the services inherit it.
    env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'), ...process.env, PATH },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
  });
  stop = (signal) => child.kill(signal);
  if (stoppedBy) stop(stoppedBy);
  // An npm that is killed outright tells nobody; its children get another parent.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && child.kill('SIGTERM'), 500).unref();
  child.once('error', (error) => fail(error.message));
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/**
 * Runs one program of the preparation, shows that it goes on, and ends everything with the end of its output if it fails. One that
 * had nothing to do, and ended within `quietMs`, is not mentioned.
 */
async function step(label, command, commandArgs, quietMs = 0) {
  const startedAt = Date.now();
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`;
  const [before, after] = process.stdout.isTTY ? ['\r\x1b[K', ''] : ['', '\n'];
  const show = () => process.stdout.write(`${before}  … ${label} ${seconds()}${after}`);
  const showing = setInterval(show, process.stdout.isTTY ? 200 : 15_000);
  const env = { ...process.env, ...quiet, PATH, CI: process.env.CI || 'true' };
  const child = spawn(command, commandArgs, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  stop = (signal) => child.exitCode === null && process.kill(-child.pid, signal);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const failure = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${signal ?? `status ${code}`}`));
  });
  stop = () => {};
  clearInterval(showing);
  process.stdout.write(before);
  if (stoppedBy) process.exit(128 + constants.signals[stoppedBy]);
  const end = output.trimEnd().split('\n').slice(-15).join('\n  ');
  if (failure) fail(`${label}: \`${[command, ...commandArgs].join(' ')}\` ${failure}\n  ${end}`);
  if (Date.now() - startedAt >= quietMs)
    console.log(`  ✓ ${label.padEnd(16)} ${'ready'.padEnd(58)} ${seconds().padStart(8)}`);
}

/** What was installed and generated last: nothing yet, where the file is missing or damaged. */
function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'));
  } catch {
    return {};
  }
}

function digestOf(file) {
  return createHash('sha256')
    .update(readFileSync(join(root, file)))
    .digest('hex');
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
