/**
 * The first program of every `npm` command. It runs on the machine's own Node with nothing installed yet: it checks Node's
 * version, installs the dependencies, generates the database clients and builds the services when they are out of date, then hands over to
 * `infra/local/commands/<command>.ts` on the Node that the project pins, and ends with that program's status.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const [command = 'start', ...args] = process.argv.slice(2);
const stampFile = join(root, 'node_modules/.gatepost.json');
const env = {
  ...process.env,
  PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter),
  // Nothing here reports anything to anybody, and nothing asks a question.
  CI: process.env.CI || 'true',
  TURBO_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
  CHECKPOINT_DISABLE: '1',
  PRISMA_HIDE_UPDATE_MESSAGE: '1',
};
const installDeadlineMs = 15 * 60_000;

let running; // the program that signals go to
let stoppedBy;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stoppedBy ??= signal;
    running?.pass(signal);
  });
}

checkNode();
await installDependencies();
await generateClients();
await build();
await handOver();

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail([`Gatepost needs Node 20.19 or newer; this is ${process.version} (${process.execPath}).`]);
}

/** Installs when the lock file is not the one that was installed last; an interrupted installation leaves no stamp. */
async function installDependencies() {
  const lock = digest(readFileSync(join(root, 'pnpm-lock.yaml')));
  if (readStamp().lock === lock && existsSync(pinnedNode())) return;
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  await step(
    'dependencies',
    'npx',
    ['--yes', packageManager, 'install', '--frozen-lockfile'],
    ['Is the package registry reachable (`npm ping`)? `npm config get registry` shows which one is asked.'],
  );
  writeStamp({ lock });
}

/** Generates the database clients whose schema is not the one that they were generated from. */
async function generateClients() {
  const schemas = {};
  let missing = false;
  for (const folder of ['packages', 'services'].flatMap(children)) {
    const schema = join(root, folder, 'prisma/schema.prisma');
    if (!existsSync(schema)) continue;
    schemas[folder] = digest(readFileSync(schema));
    missing ||= !existsSync(join(root, folder, 'src/generated'));
  }
  const stamp = readStamp();
  if (!missing && JSON.stringify(stamp.schemas) === JSON.stringify(schemas)) return;
  await step('database clients', 'turbo', ['run', 'generate', '--output-logs=errors-only', '--no-update-notifier']);
  writeStamp({ ...stamp, schemas });
}

/** Builds what the services run; the compiler knows by itself what has changed since. */
async function build() {
  const services = ['services/auth', 'services/webhook-api', 'services/dispatcher'];
  await step('build', join(root, 'node_modules/.bin/tsc'), ['--build', ...services], 1_000);
}

/**
 * Runs the command in a session of its own: Ctrl-C goes to the whole foreground group, and both the terminal and npm may tell
 * us of it; the command hears of it once, from us. The channel tells it when we are gone.
 */
async function handOver() {
  const program = join(root, 'infra/local/commands', `${command}.ts`);
  if (!existsSync(program)) fail([`there is no command \`${command}\``]);
  const child = spawn(
    pinnedNode(),
    ['--conditions=source', '--disable-warning=ExperimentalWarning', program, ...args],
    {
      cwd: root,
      // What was compiled once starts faster the next time; the services inherit it.
      env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'), ...process.env, PATH: env.PATH },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true,
    },
  );
  running = { pass: (signal) => child.kill(signal) };
  if (stoppedBy) child.kill(stoppedBy);
  endWithNpm(child);
  child.once('error', (error) => fail([error.message]));
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/** An npm that is killed outright tells nobody; its children get another parent. */
function endWithNpm(child) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM');
  }, 500).unref();
}

/**
 * Runs one program of the preparation, shows that it goes on, and ends everything with the end of its output if it fails. One that
 * had nothing to do, and ended within `quietMs`, is not mentioned.
 */
async function step(label, program, programArgs, quietMs = 0) {
  const startedAt = Date.now();
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`;
  const show = process.stdout.isTTY
    ? setInterval(() => process.stdout.write(`\r\x1b[K  … ${label} ${seconds()}`), 200)
    : setInterval(() => console.log(`  … ${label} ${seconds()}`), 15_000);
  const child = spawn(program, programArgs, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const kill = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // it has just ended
    }
  };
  running = {
    pass: (signal) => {
      kill(signal);
      setTimeout(() => kill('SIGKILL'), 3_000).unref();
    },
  };
  const deadline = setTimeout(() => kill('SIGTERM'), installDeadlineMs);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-8_000);
    });
  }
  const failure = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? `status ${code}`}`));
  });
  clearInterval(show);
  clearTimeout(deadline);
  running = undefined;
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  if (stoppedBy) process.exit(128 + constants.signals[stoppedBy]);
  if (failure) {
    const end = output.trimEnd().split('\n').slice(-15);
    fail([
      `${label}: \`${program} ${programArgs.join(' ')}\` ${failure}`,
      ...end.map((line) => `  ${line}`),
      ...advice,
    ]);
  }
  if (Date.now() - startedAt < quietMs) return;
  console.log(`  ✓ ${label.padEnd(16)} ${'ready'.padEnd(58)} ${seconds().padStart(8)}`);
}

function pinnedNode() {
  return join(root, 'node_modules/node/bin/node');
}

function children(folder) {
  return readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'));
  } catch {
    return {}; // nothing was installed yet
  }
}

function writeStamp(stamp) {
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, JSON.stringify(stamp));
}

function digest(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function fail(lines) {
  for (const line of lines) console.error(line);
  process.exit(1);
}
