/** PostgreSQL: on its default port, or a private instance. */
import { chmodSync, chownSync, existsSync, globSync, rmSync, statfsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { rowsOf } from '@gatepost/testkit/postgres-server';
import { serverAccount } from '@gatepost/testkit/server-account';
import { launcher, runToEnd } from '../processes/child.ts';
import { makeFolder, shortHash } from '../processes/home.ts';
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
  /** With libpq's variables if set, else the logins that fresh installations accept. */
  usual({ PGUSER: user, PGPASSWORD: password }, port = 5432) {
    if (user || password) return [urlOf(port, user ?? 'postgres', password)];
    return [urlOf(port, 'postgres'), urlOf(port, 'postgres', 'postgres'), urlOf(port, userInfo().username)];
  },
  letsIn,
  prepare,
  async drop(url, { AUTH_DATABASE_URL: auth, WEBHOOK_DATABASE_URL: webhooks }) {
    await rowsOf(auth || url, 'DROP SCHEMA IF EXISTS auth CASCADE');
    await rowsOf(webhooks || url, 'DROP SCHEMA IF EXISTS webhooks CASCADE');
  },
};

/** Newest first; Debian does not put them in PATH. */
export function postgresPrograms(debian = '/usr/lib/postgresql'): string[] {
  const installed = globSync(`${debian}/*/bin/postgres`);
  return [...installed.sort((a, b) => b.localeCompare(a, 'en', { numeric: true })), 'postgres'];
}

/** Can we create schemas in the database? `make` creates a missing one through the database `postgres`. */
async function letsIn(url: string, make = false): Promise<boolean> {
  const may = "SELECT has_database_privilege(current_database(), 'CREATE') AS may";
  const isIn = async () => (await rowsOf(url, may).catch(() => []))[0]?.may === true;
  if (await isIn()) return true;
  if (!make) return false;
  return rowsOf(new URL('/postgres', url).href, `CREATE DATABASE ${databaseName}`).then(isIn, () => false);
}

async function prepare(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const data = placeOf(options);
  const { port, password } = await recallInstance(options, 'postgres');
  if (options.fresh) rmSync(data, { recursive: true, force: true });
  if (!existsSync(join(data, 'PG_VERSION'))) await initialize(program, data, password, options);
  const values = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
    ...(options.forTests ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] : []),
  ];
  const url = urlOf(port, userName, password);
  const server = {
    name: 'PostgreSQL',
    command: program,
    args: ['-D', data, ...values.flatMap((value) => ['-c', value])],
    cwd: data,
    stopSignal: 'SIGINT' as const, // the "fast" shutdown: ends sessions, keeps data safe
    letsIn: () => letsIn(url, true),
    ...serverAccount(),
  };
  return { url, launch: launcher(options, server) };
}

function urlOf(port: number, user: string, password?: string): string {
  const login = [user, ...(password === undefined ? [] : [password])].map(encodeURIComponent).join(':');
  return `postgres://${login}@127.0.0.1:${port}/${databaseName}`;
}

const memory = '/dev/shm';

/**
 * Test data is kept in memory if 2 GiB are free. Tests create and drop hundreds of databases of 500 files each, and ext4 without a journal
 * searches all files deleted in the last minutes each time it creates one.
 */
function placeOf({ home, forTests, stack }: PrivateOptions): string {
  const free = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
  if (!forTests || free.bavail * free.bsize < 2 * 1024 ** 3) return dataFolder(home);
  const folder = join(memory, `gatepost-${shortHash(home)}`);
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'postgres', 'data');
}

/** PostgreSQL refuses to run as root, and the account it then has cannot enter root's folders: its data is elsewhere. */
export function dataFolder(home: string): string {
  const folder = join(home, 'postgres');
  return join(serverAccount() ? join('/var/lib/gatepost', shortHash(folder)) : folder, 'data');
}

/** Makes an empty cluster. An interrupted `initdb` removes what it has made. */
async function initialize(program: string, data: string, password: string, { forTests, signal }: PrivateOptions) {
  const account = serverAccount();
  makeFolder(data);
  if (account) {
    chownSync(data, account.uid, account.gid);
    for (const path of [join(data, '..'), join(data, '../..')]) chmodSync(path, 0o711);
  }
  const script = 'printf %s "$PGPASSWORD" | "$0" "$@" --pwfile=/dev/stdin';
  const args = [`--pgdata=${data}`, `--username=${userName}`, '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
  const all = ['-c', script, join(dirname(program), 'initdb'), ...args, ...(forTests ? ['--no-sync'] : [])];
  const env = { ...process.env, PGPASSWORD: password };
  const { code, output } = await runToEnd('sh', all, { cwd: '/', env, signal, ...account });
  if (code !== 0) throw new Trouble('PostgreSQL could not make its data folder:', ...endOf(output));
}
