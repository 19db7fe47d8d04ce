/** PostgreSQL: on its default port, or a private instance. */
import { chmodSync, chownSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { type Child, runToEnd, startChild } from '../processes/child.ts';
import { logEnd, logFile, makeFolder, shortHash } from '../processes/home.ts';
import { answers, freePort } from '../processes/ports.ts';
import { expandVersions, findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';
import {
  makePassword,
  type PrivateOptions,
  type PrivateStore,
  recallInstance,
  remember,
  waitUntilReady,
} from './private.ts';

export const postgresPort = 5432;
export const databaseName = 'gatepost';

const readyTimeoutMs = 60_000;
const oldSessionsMs = 15_000;

/** The URL of our database on a server that answers on the port and lets us in; the database is made if there is none. */
export async function probePostgres(env: NodeJS.ProcessEnv, port = postgresPort): Promise<string | undefined> {
  if (!(await answers(port))) return undefined;
  for (const [user, password] of likelyLogins(env)) {
    const url = urlOf({ user, password, port });
    if ((await letsIn(url)) || (await makeDatabase(url))) return url;
  }
  return undefined;
}

/** libpq's own variables if they are set, else what fresh installations let in. */
function likelyLogins(env: NodeJS.ProcessEnv): [user: string, password: string | undefined][] {
  if (env.PGUSER || env.PGPASSWORD) return [[env.PGUSER ?? 'postgres', env.PGPASSWORD]];
  return [
    ['postgres', undefined],
    ['postgres', 'postgres'],
    [userInfo().username, undefined],
  ];
}

/** Can we make a schema in the database? */
export async function letsIn(url: string): Promise<boolean> {
  try {
    return await withClient(url, async (client) => {
      const { rows } = await client.query<{ may: boolean }>(
        "SELECT has_database_privilege(current_database(), 'CREATE') AS may",
      );
      return rows[0]?.may === true;
    });
  } catch {
    return false;
  }
}

/** Makes the URL's database by way of the server's own one, `postgres`; false if we may not. */
export async function makeDatabase(url: string): Promise<boolean> {
  const server = new URL(url);
  server.pathname = '/postgres';
  try {
    await withClient(server.href, (client) => client.query(`CREATE DATABASE ${databaseName}`));
    return await letsIn(url);
  } catch {
    return false; // not let in, not allowed to
  }
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 30_000 });
  client.on('error', () => {}); // the query that it breaks rejects
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The newest installed `postgres`; Debian keeps them out of PATH. */
export function findPostgres(path?: string, folders = expandVersions('/usr/lib/postgresql/*/bin')): string | undefined {
  return findProgram([...folders.map((folder) => join(folder, 'postgres')), 'postgres'], path);
}

type Instance = { port: number; user: string; password: string; data?: string };

/** A private instance under `<home>/postgres`, or under /var/lib/gatepost where root's folders are closed to its user. */
export async function preparePostgres(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const folder = join(options.home, 'postgres');
  const account = serverAccount();
  const { instance } = await recallInstance<Instance>(
    folder,
    () => ({ port: 0, user: 'gatepost', password: makePassword() }),
    options.signal,
  );
  if (!instance.data) {
    const data = await initialize(program, chooseData(folder, account, options), instance, account, options);
    instance.data = data;
    remember(folder, instance, []);
  }
  const { data } = instance;
  removeForeignPidFile(data);
  instance.port = await freePort(instance.port || undefined);
  const url = urlOf(instance);
  const log = logFile(options.home, 'postgres');
  return {
    url,
    async launch() {
      const start = () => {
        options.signal.throwIfAborted();
        const child = options.group.use(
          startChild({
            name: 'PostgreSQL',
            command: program,
            args: ['-D', data, ...settings(instance.port, options.durable)],
            env: { ...process.env, PGDATA: data },
            cwd: data,
            log,
            stopSignal: 'SIGINT', // the "fast" shutdown: sessions end, data are safe
            stopDeadlineMs: 20_000,
            ...account,
          }),
        );
        remember(folder, instance, [child]);
        return child;
      };
      const child = await pastOldSessions(start, options.signal);
      await waitUntilReady(child, async () => (await letsIn(url)) || makeDatabase(url), readyTimeoutMs, options.signal);
      return child;
    },
  };
}

/** After a server was killed, its sessions take a moment to notice, and no new one starts until the last is gone. */
async function pastOldSessions(start: () => Child, signal: AbortSignal): Promise<Child> {
  const deadline = performance.now() + oldSessionsMs;
  for (;;) {
    const child = start();
    const ended = await waitFor(() => child.hasExited() || undefined, 400, signal);
    if (!ended || performance.now() > deadline) return child;
    if (!logEnd(child.log).some((line) => line.includes('pre-existing shared memory block'))) return child;
  }
}

function urlOf({ user, password, port }: { user: string; password: string | undefined; port: number }): string {
  const login = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent).join(':');
  return `postgres://${login}@127.0.0.1:${port}/${databaseName}`;
}

type Account = { uid: number; gid: number };

/** PostgreSQL refuses to run as root: there it gets the distribution's account for it, or `nobody`. */
function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody'].map((name) => accounts.find((account) => account[0] === name)).find(Boolean);
  if (!found)
    throw new Trouble(
      'PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`.',
      'Make one, or set DATABASE_URL.',
    );
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** `<folder>/data`, unless the server's account cannot get there, as below /root. */
function chooseData(folder: string, account: Account | undefined, { within, say }: PrivateOptions): string {
  const near = join(folder, 'data');
  if (!account || canReach(dirname(within), account)) return near;
  const far = join('/var/lib/gatepost', shortHash(folder), 'data');
  say.about('PostgreSQL', `keeps its data in ${dirname(far)}: its user cannot enter ${dirname(within)}`);
  return far;
}

/** May the account pass through this folder and all above it? */
function canReach(folder: string, { uid, gid }: Account): boolean {
  for (let path = folder; ; path = dirname(path)) {
    const { mode, uid: owner, gid: group } = statSync(path);
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (path === '/') return true;
  }
}

async function initialize(
  program: string,
  data: string,
  { user, password }: Instance,
  account: Account | undefined,
  options: PrivateOptions,
): Promise<string> {
  rmSync(data, { recursive: true, force: true }); // half of one, of a run that was stopped here
  makeFolder(data);
  if (account) {
    chownSync(data, account.uid, account.gid);
    letThrough(dirname(data), data.startsWith(`${options.within}/`) ? options.within : dirname(dirname(data)));
  }
  const passwordFile = join(data, '..', 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  const { code, output } = await runToEnd(
    join(dirname(program), 'initdb'),
    [
      `--pgdata=${data}`,
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      ...(options.durable ? [] : ['--no-sync']),
    ],
    { cwd: '/', signal: options.signal, ...account },
  );
  rmSync(passwordFile, { force: true });
  if (code === 0) return data;
  throw new Trouble('PostgreSQL could not make its data folder:', ...endOf(output));
}

/** Lets others pass through our folders from `path` up to `top`, without seeing what is in them. */
function letThrough(path: string, top: string): void {
  chmodSync(path, 0o711);
  if (path !== top) letThrough(dirname(path), top);
}

/**
 * After a power cut the process id in `postmaster.pid` may belong to another program by now, and PostgreSQL would not start. A
 * server of ours has the data folder as its working folder; one of an earlier run has been stopped before we come here.
 */
function removeForeignPidFile(data: string): void {
  const path = join(data, 'postmaster.pid');
  try {
    const pid = readFileSync(path, 'utf8').split('\n')[0];
    if (readlinkSync(`/proc/${pid}/cwd`) !== data) rmSync(path);
  } catch {
    // no such file, no such process (PostgreSQL sees that for itself), or not Linux
  }
}

function settings(port: number, durable: boolean): string[] {
  const values = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
  return values.flatMap((value) => ['-c', value]);
}
