/** PostgreSQL: on its default port, or a private instance. */
import { chmodSync, chownSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { runToEnd, startChild } from '../processes/child.ts';
import { logFile, makeFolder, shortHash } from '../processes/home.ts';
import { answers } from '../processes/ports.ts';
import { expandVersions, findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import {
  type Instance,
  type PrivateOptions,
  type PrivateStore,
  recallInstance,
  remember,
  waitUntilReady,
} from './private.ts';

export const postgresPort = 5432;
const databaseName = 'gatepost';
const readyTimeoutMs = 60_000;

/** The URL of our database on a server that answers on the port and lets us in; the database is made if there is none. */
export async function probePostgres(env: NodeJS.ProcessEnv, port = postgresPort): Promise<string | undefined> {
  if (!(await answers(port))) return undefined;
  for (const [user, password] of likelyLogins(env)) {
    const url = urlOf(port, user, password);
    if ((await letsIn(url)) || (await makeDatabase(url))) return url;
  }
  return undefined;
}

/** libpq's own variables if they are set, else what fresh installations let in. */
function likelyLogins(env: NodeJS.ProcessEnv): [user: string, password?: string][] {
  if (env.PGUSER || env.PGPASSWORD) return [[env.PGUSER ?? 'postgres', env.PGPASSWORD]];
  return [['postgres'], ['postgres', 'postgres'], [userInfo().username]];
}

/** Can we make a schema in the database? */
export async function letsIn(url: string): Promise<boolean> {
  try {
    return await withClient(url, async (client) => {
      const { rows } = await client.query("SELECT has_database_privilege(current_database(), 'CREATE') AS may");
      return rows[0].may;
    });
  } catch {
    return false;
  }
}

/** Makes the URL's database by way of the server's own one, `postgres`; false if we may not. */
async function makeDatabase(url: string): Promise<boolean> {
  try {
    const server = new URL('/postgres', url).href;
    await withClient(server, (client) => client.query(`CREATE DATABASE ${databaseName}`));
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

type Postgres = Instance & { user: string; data?: string };

/** A private instance under `<home>/postgres`; root's has its data elsewhere (`dataFolder`). */
export async function preparePostgres(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const { home, durable, signal, group } = options;
  const folder = join(home, 'postgres');
  const account = await serverAccount(signal);
  const instance = await recallInstance<Postgres>(folder, signal);
  instance.user ??= 'gatepost';
  if (!instance.data) {
    instance.data = await initialize(program, dataFolder(folder, account), instance, account, options);
    remember(folder, instance, []);
  }
  const { data } = instance;
  const server = await fittingServer(program, data, signal);
  const url = urlOf(instance.port, instance.user, instance.password);
  return {
    url,
    async launch() {
      signal.throwIfAborted();
      const child = group.use(
        startChild({
          name: 'PostgreSQL',
          command: server,
          args: ['-D', data, ...settings(instance.port, durable)],
          env: { ...process.env, PGDATA: data },
          cwd: data,
          log: logFile(home, 'postgres'),
          stopSignal: 'SIGINT', // the "fast" shutdown: sessions end, data are safe
          stopDeadlineMs: 20_000,
          ...account,
        }),
      );
      remember(folder, instance, [child]);
      return waitUntilReady(child, async () => (await letsIn(url)) || makeDatabase(url), readyTimeoutMs, signal);
    },
  };
}

/** The server of the version that the data are of. @throws Trouble, in one line, when that is not installed. */
async function fittingServer(program: string, data: string, signal: AbortSignal): Promise<string> {
  const wanted = majorOfData(data);
  const { output } = await runToEnd(program, ['--version'], { cwd: '/', signal });
  const found = / (\d+)/.exec(output)?.[1];
  if (wanted === undefined || found === undefined || wanted === found) return program;
  const fitting = findProgram([`/usr/lib/postgresql/${wanted}/bin/postgres`]);
  if (fitting) return fitting;
  throw new Trouble(
    `The data in ${data} are of PostgreSQL ${wanted}, and ${program} is version ${found}: install postgresql-${wanted}, move them with pg_upgrade, or begin anew with --fresh.`,
  );
}

/** Undefined where nobody says. */
function majorOfData(data: string): string | undefined {
  try {
    return readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  } catch {
    return undefined;
  }
}

function urlOf(port: number, user: string, password?: string): string {
  const login = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent).join(':');
  return `postgres://${login}@127.0.0.1:${port}/${databaseName}`;
}

type Account = { uid: number; gid: number };

/** PostgreSQL refuses to run as root: there it gets the distribution's account for it, or `nobody`. */
async function serverAccount(signal: AbortSignal): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => runToEnd('id', [flag, name], { signal })));
    if (uid?.code === 0 && gid?.code === 0) return { uid: Number(uid.output), gid: Number(gid.output) };
  }
  throw new Trouble(
    'PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`.',
    'Make one, or set DATABASE_URL.',
  );
}

/** Whoever else's account the server has may not pass through root's folders: its data lie beside those of other servers. */
function dataFolder(folder: string, account: Account | undefined): string {
  return account ? join('/var/lib/gatepost', shortHash(folder), 'data') : join(folder, 'data');
}

/** Makes an empty cluster; answers its folder. */
async function initialize(
  program: string,
  data: string,
  { user, password }: Postgres,
  account: Account | undefined,
  { durable, signal }: PrivateOptions,
): Promise<string> {
  rmSync(data, { recursive: true, force: true }); // half of one, of a run that was stopped here
  makeFolder(data);
  const passwordFile = join(data, '..', 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) {
    for (const path of [data, passwordFile]) chownSync(path, account.uid, account.gid);
    for (const path of [join(data, '..'), join(data, '../..')]) chmodSync(path, 0o711);
  }
  const { code, output } = await runToEnd(
    join(dirname(program), 'initdb'),
    [
      `--pgdata=${data}`,
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      ...(durable ? [] : ['--no-sync']),
    ],
    { cwd: '/', signal, ...account },
  );
  rmSync(passwordFile, { force: true });
  if (code === 0) return data;
  throw new Trouble('PostgreSQL could not make its data folder:', ...endOf(output));
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
