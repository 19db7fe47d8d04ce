/** PostgreSQL: on its default port, or a private instance. */
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { runToEnd } from '../processes/child.ts';
import { makeFolder, shortHash } from '../processes/home.ts';
import { answers } from '../processes/ports.ts';
import { findProgram, newestFirst } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import { launch, type PrivateOptions, type PrivateStore, recallInstance, type StoreKind } from './private.ts';

const databaseName = 'gatepost';
const userName = 'gatepost';

export const postgres: StoreKind = {
  name: 'PostgreSQL',
  variable: 'DATABASE_URL',
  service: 'postgres',
  package: 'postgresql',
  /** The database is made if there is none. */
  async probe(env, port = 5432) {
    if (!(await answers(port))) return undefined;
    for (const [user, password] of likelyLogins(env)) {
      const url = urlOf(port, user, password);
      if ((await letsIn(url)) || (await makeDatabase(url))) return url;
    }
    return undefined;
  },
  letsIn,
  find: (path) => findPostgres(path),
  prepare,
  async drop(url, env) {
    await withClient(env.AUTH_DATABASE_URL || url, (client) => client.query('DROP SCHEMA IF EXISTS auth CASCADE'));
    await withClient(env.WEBHOOK_DATABASE_URL || url, (client) =>
      client.query('DROP SCHEMA IF EXISTS webhooks CASCADE'),
    );
  },
};

/** libpq's own variables if they are set, else what fresh installations let in. */
function likelyLogins(env: NodeJS.ProcessEnv): [user: string, password?: string][] {
  if (env.PGUSER || env.PGPASSWORD) return [[env.PGUSER ?? 'postgres', env.PGPASSWORD]];
  return [['postgres'], ['postgres', 'postgres'], [userInfo().username]];
}

/** Can we make a schema in the database? */
async function letsIn(url: string): Promise<boolean> {
  const may = "SELECT has_database_privilege(current_database(), 'CREATE') AS may";
  return withClient(url, async (client) => (await client.query(may)).rows[0].may).catch(() => false);
}

/** Makes the URL's database by way of the server's own one, `postgres`; false if we may not. */
async function makeDatabase(url: string): Promise<boolean> {
  const server = new URL('/postgres', url).href;
  return withClient(server, (client) => client.query(`CREATE DATABASE ${databaseName}`)).then(
    () => letsIn(url),
    () => false,
  );
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
export function findPostgres(path?: string, debian = '/usr/lib/postgresql'): string | undefined {
  return findProgram([...newestFirst(`${debian}/*/bin/postgres`), 'postgres'], path);
}

async function prepare(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const folder = join(options.home, 'postgres');
  const data = dataFolder(options.home);
  const account = await serverAccount();
  const { port, password } = await recallInstance(folder, options.signal);
  if (!existsSync(data)) await initialize(program, data, password, account, options);
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  const command = findProgram([`/usr/lib/postgresql/${version}/bin/postgres`]) ?? program; // what the data are of
  const url = urlOf(port, userName, password);
  return {
    url,
    launch: () =>
      launch(options, {
        name: 'PostgreSQL',
        command,
        args: ['-D', data, ...settings(port, options.durable)],
        cwd: data,
        log: 'postgres',
        stopSignal: 'SIGINT', // the "fast" shutdown: sessions end, data are safe
        letsIn: async () => (await letsIn(url)) || makeDatabase(url),
        ...account,
      }),
  };
}

function urlOf(port: number, user: string, password?: string): string {
  const login = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent).join(':');
  return `postgres://${login}@127.0.0.1:${port}/${databaseName}`;
}

const isRoot = process.getuid?.() === 0;

/** PostgreSQL refuses to run as root: there it gets the distribution's account for it, or `nobody`. */
async function serverAccount(): Promise<{ uid: number; gid: number } | undefined> {
  if (!isRoot) return undefined;
  const { output } = await runToEnd('sh', ['-c', 'id postgres || id nobody']);
  const [, uid, gid] = /uid=(\d+)\D.*gid=(\d+)/.exec(output) ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Whoever else's account the server has may not pass through root's folders: its data lie beside those of other servers. */
export function dataFolder(home: string): string {
  const folder = join(home, 'postgres');
  return join(isRoot ? join('/var/lib/gatepost', shortHash(folder)) : folder, 'data');
}

/** Makes an empty cluster. It gets its name when it is whole: one that was stopped half way is made again. */
async function initialize(
  program: string,
  data: string,
  password: string,
  account: { uid: number; gid: number } | undefined,
  { durable, signal }: PrivateOptions,
): Promise<void> {
  const partial = `${data}.partial`;
  const passwordFile = `${data}.password`;
  rmSync(partial, { recursive: true, force: true });
  makeFolder(partial);
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) {
    for (const path of [partial, passwordFile]) chownSync(path, account.uid, account.gid);
    for (const path of [join(data, '..'), join(data, '../..')]) chmodSync(path, 0o711);
  }
  const args = [`--pgdata=${partial}`, `--username=${userName}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const more = ['--encoding=UTF8', '--locale=C', ...(durable ? [] : ['--no-sync'])];
  const run = { cwd: '/', signal, ...account };
  const { code, output } = await runToEnd(join(dirname(program), 'initdb'), [...args, ...more], run);
  rmSync(passwordFile);
  if (code !== 0) throw new Trouble('PostgreSQL could not make its data folder:', ...endOf(output));
  renameSync(partial, data);
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
