/** `npm start` as a whole, in its own folder and on its own ports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rowsOf } from '@gatepost/testkit/postgres-server';
import { freshDatabase, freshPrefix, freshVhost } from '@gatepost/testkit/stores';
import { freePorts } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { cleanEnv } from '../../tests/clean-env.ts';
import { rootFolder } from '../processes/home.ts';
import { servicePorts } from '../processes/ports.ts';
import { dataFolder } from '../stores/postgres.ts';

let home = '';
let env: NodeJS.ProcessEnv = {};
const started: ChildProcess[] = [];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'gatepost-start-'));
  env = { ...(await cleanEnv(process.env)), GATEPOST_HOME: home };
  const variables = Object.keys(servicePorts);
  const ports = await freePorts(variables.length);
  for (const [index, variable] of variables.entries()) env[variable] = String(ports[index]);
});

afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  await isEmpty().catch(() => {});
  rmSync(dirname(dataFolder(home)), { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true });
});

const run = join(rootFolder, 'infra/local/commands/command.ts');
const command = ['--conditions=source', run, 'infra/local/commands/start.ts'];

type Run = { child: ChildProcess; output(): string; ended: Promise<number | null> };

const start = (more?: NodeJS.ProcessEnv) => spawnCommand(['--private'], more);

function spawnCommand(args: string[], more: NodeJS.ProcessEnv = {}): Run {
  const child = spawn(process.execPath, [...command, ...args], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  return { child, output: () => output, ended: new Promise((resolve) => child.once('close', resolve)) };
}

async function shows(run: Run, text: string | RegExp): Promise<void> {
  const seen = () => run.output().search(text) >= 0;
  await until(`${text}`, () => seen() || run.child.exitCode !== null, 180_000).catch(() => {});
  if (!seen()) throw new Error(`${text} was not printed:\n${run.output()}`);
}

const isEmpty = () => until('all its processes end', () => processesOf(home).length === 0);

/** Every process with our folder in its environment or command line. */
function processesOf(folder: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({
      pid: Number(name),
      command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' '),
      env: read(`/proc/${name}/environ`),
    }))
    .filter(({ command, env: itsEnv }) => command.includes(folder) || itsEnv.includes(folder))
    .map(({ pid, command }) => ({ pid, command }));
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it has just ended
  }
}

test('brings everything up, passes the smoke story, restarts what dies, and leaves nothing behind', async () => {
  const run = start();
  await shows(run, 'Ctrl-C stops everything');
  expect(run.output()).toMatch(/smoke passed in \d+ ms/);
  // Producers do not get the services' login, but their own in their own file.
  expect(read(join(home, 'producer.env'))).toMatch(
    /^PRODUCER_AMQP_URL=amqp:\/\/producer:\w+@127\.0\.0\.1:\d+\/gatepost$/m,
  );
  expect(statSync(join(home, 'producer.env')).mode & 0o777).toBe(0o600);
  expect(read(join(home, 'services.env'))).toMatch(/^AMQP_URL=amqp:\/\/gatepost:/m);
  expect(run.output()).toContain(`PRODUCER_AMQP_URL in ${join(home, 'producer.env')}`);

  const second = start();
  expect(await second.ended).toBe(1);
  expect(second.output()).toMatch(
    new RegExp(`Port ${env.AUTH_PORT} is taken by process \\d+ .*services/auth\\): stop it, or set AUTH_PORT`),
  );
  expect(second.output()).toContain('A second Gatepost also needs a folder of its own: GATEPOST_HOME.');

  const dispatcher = Number(/"service":"dispatcher".*"pid":(\d+)/.exec(read(join(home, 'logs/dispatcher.log')))?.[1]);
  process.kill(dispatcher, 'SIGKILL');
  await shows(run, /dispatcher +ended with SIGKILL; starting it again in 0.2 s/);
  await shows(run, /dispatcher +runs again/);

  run.child.kill('SIGINT');
  expect(await run.ended).toBe(130);
  expect(processesOf(home)).toEqual([]);
});

/** `npm start` with the tests' own stores, which already run: for tests that are not about stores. */
async function startOnGiven(
  more: NodeJS.ProcessEnv = {},
  prepare: (databaseUrl: string) => Promise<unknown> = async () => {},
): Promise<Run & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { url: DATABASE_URL } = opening.use(await freshDatabase('migrated'));
  const { url: AMQP_URL } = opening.use(await freshVhost());
  await prepare(DATABASE_URL);
  const stores = { DATABASE_URL, AMQP_URL, REDIS_URL: process.env.TEST_REDIS_URL, REDIS_KEY_PREFIX: freshPrefix() };
  const run = spawnCommand([], { ...stores, ...more });
  const open = opening.move();
  return { ...run, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

// As on a machine whose PostgreSQL a clone has used that was deleted since.
test('where the data in a store are of another folder, says how to go on without them', async () => {
  await using run = await startOnGiven({}, (url) =>
    rowsOf(url, "INSERT INTO auth.signing_keys (kid, alg, public_jwk, sealed) VALUES ('a', 'RS256', '{}', '\\x01')"),
  );
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(
    /SECRETS_KEY is not the key .*\n(.*\n)*.*--private` leaves them alone.*\n.*--fresh` drops them/,
  );
});

test.each([
  ['while the stores start', 'Redis ', async () => ({ ...start(), async [Symbol.asyncDispose]() {} })],
  ['while the services start', 'migrations ', startOnGiven],
])('stops at once and leaves nothing behind when it is told to %s', async (_, line, begin) => {
  await using run = await begin();
  await shows(run, line);
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(143);
  expect(processesOf(home)).toEqual([]);
});

test('with private stores no variable leads to a database that is given', async () => {
  await using given = await freshDatabase();
  const names = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'AUTH_DATABASE_URL', 'WEBHOOK_DATABASE_DIRECT_URL'];
  const run = start(Object.fromEntries(names.map((name) => [name, given.url])));
  await shows(run, 'both schemas are up to date');
  const schemas = "SELECT nspname FROM pg_namespace WHERE nspname IN ('auth', 'webhooks')";
  expect(await rowsOf(given.url, schemas)).toEqual([]);
  expect(read(join(home, 'services.env'))).not.toContain(new URL(given.url).pathname);
  expect(run.output()).toMatch(/not used: DATABASE_DIRECT_URL, AUTH_DATABASE_URL, WEBHOOK_DATABASE_DIRECT_URL$/m);
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(143);
});

test('leaves nothing behind when it is killed outright', async () => {
  const run = start();
  await shows(run, 'RabbitMQ ');
  run.child.kill('SIGKILL');
  await isEmpty();
});

// This used to come after the stores, which take minutes on a new machine.
test('reports every bad variable of every service before any store is started', async () => {
  const run = start({ DELIVERY_TIMEOUT_MS: 'soon', THROTTLE_RATE: '-1', KEY_ROTATION_DAYS: 'never' });
  expect(await run.ended).toBe(1);
  for (const line of [
    /^webhook-api: bad environment:\n(?: {2}.*\n)*? {2}DELIVERY_TIMEOUT_MS: .*"soon"/m,
    /^dispatcher: bad environment:\n(?: {2}.*\n)*? {2}DELIVERY_TIMEOUT_MS: .*"soon"/m,
    /THROTTLE_RATE: .*"-1"/,
    /^auth: bad environment:\n {2}KEY_ROTATION_DAYS: .*"never"/m,
  ])
    expect(run.output()).toMatch(line);
  expect(run.output()).not.toMatch(/PostgreSQL|Redis|RabbitMQ/);
  expect(readdirSync(home).filter((name) => name !== 'tls' && name !== 'secrets-key')).toEqual([]);
  expect(processesOf(home)).toEqual([]);
});

/** URLs of stores where nothing answers. */
async function silentUrls() {
  const [port] = await freePorts(1);
  return {
    DATABASE_URL: `postgres://127.0.0.1:${port}/x`,
    REDIS_URL: `redis://:secret@127.0.0.1:${port}`,
    AMQP_URL: `amqp://127.0.0.1:${port}`,
  };
}

// The key was gone, the data were not, and the next start ended with status 78.
test('a fresh start that does not get to the data keeps the key that opens them', async () => {
  const key = randomBytes(32).toString('base64');
  writeFileSync(join(home, 'secrets-key'), key);
  expect(await spawnCommand(['--fresh'], await silentUrls()).ended).toBe(1);
  expect(read(join(home, 'secrets-key'))).toBe(key);
});

const inFiles = (given: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const file = join(home, name);
      writeFileSync(file, `${value}\n`);
      return [`${name}_FILE`, file];
    }),
  );

test.each([
  ['in a variable', (urls: Record<string, string>) => urls],
  ['in a file', inFiles],
])('names a URL where nothing answers, and starts nothing in its place: %s', async (_, place) => {
  const run = spawnCommand([], place(await silentUrls()));
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(/(DATABASE|REDIS|AMQP)_URL is set, but .* does not let us in at/);
  expect(run.output()).not.toContain('secret');
});
