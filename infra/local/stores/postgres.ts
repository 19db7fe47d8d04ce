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
  /** By libpq's own variables if they are set, else as what fresh installations let in. */
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

/** The newest installed first; Debian keeps them out of PATH. */
export function postgresPrograms(debian = '/usr/lib/postgresql'): string[] {
  const installed = globSync(`${debian}/*/bin/postgres`);
  return [...installed.sort((a, b) => b.localeCompare(a, 'en', { numeric: true })), 'postgres'];
}

/** Can we make a schema in the database? A missing one is made by way of the server's own, `postgres`. */
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
    stopSignal: 'SIGINT' as const, // the "fast" shutdown: sessions end, data are safe
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
 * Data that nobody wants after this command lie in memory, if 2 GiB of it are free: tests make hundreds of databases of 500 files each and
 * drop them, and an ext4 without a journal looks, for each file that it makes, through all those that were deleted in the last minutes.
 */
function placeOf({ home, forTests, stack }: PrivateOptions): string {
  const free = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
  if (!forTests || free.bavail * free.bsize < 2 * 1024 ** 3) return dataFolder(home);
  const folder = join(memory, `gatepost-${shortHash(home)}`);
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'postgres', 'data');
}

/** PostgreSQL refuses to run as root, and whose account it has then may not pass through root's folders: its data lie elsewhere. */
export function dataFolder(home: string): string {
  const folder = join(home, 'postgres');
  return join(serverAccount() ? join('/var/lib/gatepost', shortHash(folder)) : folder, 'data');
}

/** Makes an empty cluster. `initdb` takes away what it has made when it is stopped half way. */
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
