/** PostgreSQL: on its default port, or a private instance. */
import { chmodSync, chownSync, existsSync, rmSync, statfsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { type Account, serverAccount } from '@gatepost/testkit/server-account';
import pg from 'pg';
import { runToEnd } from '../processes/child.ts';
import { makeFolder, shortHash } from '../processes/home.ts';
import { launcher } from '../processes/launch.ts';
import { newestFirst } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import { type PrivateOptions, type PrivateStore, recallInstance, type StoreKind } from './private.ts';

const databaseName = 'gatepost';
const userName = 'gatepost';

export const postgres: StoreKind = {
  name: 'PostgreSQL',
  variable: 'DATABASE_URL',
  service: 'postgres',
  package: 'postgresql',
  programs: () => postgresPrograms(),
  /** By libpq's own variables if they are set, else as what fresh installations let in. */
  usual({ PGUSER: user, PGPASSWORD: password }, port = 5432) {
    if (user || password) return [urlOf(port, user ?? 'postgres', password)];
    return [urlOf(port, 'postgres'), urlOf(port, 'postgres', 'postgres'), urlOf(port, userInfo().username)];
  },
  letsIn,
  prepare,
  async drop(url, { AUTH_DATABASE_URL: auth, WEBHOOK_DATABASE_URL: webhooks }) {
    await withClient(auth || url, (client) => client.query('DROP SCHEMA IF EXISTS auth CASCADE'));
    await withClient(webhooks || url, (client) => client.query('DROP SCHEMA IF EXISTS webhooks CASCADE'));
  },
};

/** The newest installed first; Debian keeps them out of PATH. */
export function postgresPrograms(debian = '/usr/lib/postgresql'): string[] {
  return [...newestFirst(`${debian}/*/bin/postgres`), 'postgres'];
}

/** Can we make a schema in the database? A missing one is made by way of the server's own, `postgres`. */
async function letsIn(url: string, make = false): Promise<boolean> {
  const may = "SELECT has_database_privilege(current_database(), 'CREATE') AS may";
  const isIn = () => withClient(url, async (client) => (await client.query(may)).rows[0].may).catch(() => false);
  if (await isIn()) return true;
  if (!make) return false;
  const server = new URL('/postgres', url).href;
  return withClient(server, (client) => client.query(`CREATE DATABASE ${databaseName}`)).then(isIn, () => false);
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

async function prepare(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const data = placeOf(options);
  const { port, password } = await recallInstance(options, 'postgres');
  if (options.fresh) rmSync(data, { recursive: true, force: true });
  const account = serverAccount();
  if (!existsSync(join(data, 'PG_VERSION'))) await initialize(program, data, password, account, options);
  const values = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
    ...(options.durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
  const url = urlOf(port, userName, password);
  const launch = launcher(options, {
    name: 'PostgreSQL',
    command: program,
    args: ['-D', data, ...values.flatMap((value) => ['-c', value])],
    cwd: data,
    log: 'postgres',
    stopSignal: 'SIGINT', // the "fast" shutdown: sessions end, data are safe
    letsIn: () => letsIn(url, true),
    ...account,
  });
  return { url, launch };
}

function urlOf(port: number, user: string, password?: string): string {
  const login = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent).join(':');
  return `postgres://${login}@127.0.0.1:${port}/${databaseName}`;
}

/**
 * Data that nobody wants after this command lie in memory, if there is room. Tests make hundreds of databases of 500 files each and drop them,
 * and an ext4 without a journal looks, for each file that it makes, through all those that were deleted in the last minutes: half of what
 * PostgreSQL's processes took.
 */
function placeOf({ home, transient, stack }: PrivateOptions): string {
  if (!transient || !hasRoom()) return dataFolder(home);
  const folder = join(memory, `gatepost-${shortHash(home)}`);
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'postgres', 'data');
}

const memory = '/dev/shm';
/** A whole run's tests take 0.2 GiB of it at most. */
const neededBytes = 2 * 1024 ** 3;

function hasRoom(): boolean {
  if (!existsSync(memory)) return false; // not a Linux
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > neededBytes;
}

/** PostgreSQL refuses to run as root, and whose account it has then may not pass through root's folders: its data lie elsewhere. */
export function dataFolder(home: string): string {
  const folder = join(home, 'postgres');
  return join(serverAccount() ? join('/var/lib/gatepost', shortHash(folder)) : folder, 'data');
}

/** Makes an empty cluster. `initdb` takes away what it has made when it is stopped half way. */
async function initialize(
  program: string,
  data: string,
  password: string,
  account: Account | undefined,
  { durable, signal }: PrivateOptions,
): Promise<void> {
  makeFolder(data);
  if (account) {
    chownSync(data, account.uid, account.gid);
    for (const path of [join(data, '..'), join(data, '../..')]) chmodSync(path, 0o711);
  }
  const script = 'printf %s "$PGPASSWORD" | "$0" "$@" --pwfile=/dev/stdin';
  const args = [`--pgdata=${data}`, `--username=${userName}`, '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
  const all = ['-c', script, join(dirname(program), 'initdb'), ...args, ...(durable ? [] : ['--no-sync'])];
  const env = { ...process.env, PGPASSWORD: password };
  const { code, output } = await runToEnd('sh', all, { cwd: '/', env, signal, ...account });
  if (code !== 0) throw new Trouble('PostgreSQL could not make its data folder:', ...endOf(output));
}
