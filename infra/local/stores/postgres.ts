/** PostgreSQL: on its default port, or a private instance. */
import { chmodSync, chownSync, existsSync, globSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { initdb, rowsOf } from '@gatepost/testkit/postgres-server';
import { serverAccount } from '@gatepost/testkit/server-account';
import { launcher, runWell } from '../processes/child.ts';
import { makeFolder, shortHash } from '../processes/home.ts';
import { type PrivateOptions, recallInstance, type StoreKind } from './private.ts';

const ours = 'gatepost'; // our database, and its user

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
  /** Can we create schemas in the database? `make` creates a missing one through the database `postgres`. */
  async letsIn(url, make = false) {
    const may = "SELECT has_database_privilege(current_database(), 'CREATE') AS may";
    const isIn = async () => (await rowsOf(url, may).catch(() => []))[0]?.may === true;
    if (await isIn()) return true;
    if (!make) return false;
    return rowsOf(new URL('/postgres', url).href, `CREATE DATABASE ${ours}`).then(isIn, () => false);
  },
  async prepare(program, options) {
    const data = placeOf(options);
    const { port, password, isNew } = await recallInstance(options, 'postgres');
    // Nobody knows the password of what a deleted folder of the same name has left behind.
    if (options.fresh || isNew) rmSync(data, { recursive: true, force: true });
    if (!existsSync(join(data, 'PG_VERSION'))) await initialize(program, data, password, options);
    const values = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=300',
      ...(options.forTests ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] : []),
    ];
    const url = urlOf(port, ours, password);
    const launch = launcher(options, {
      name: 'PostgreSQL',
      command: program,
      args: ['-D', data, ...values.flatMap((value) => ['-c', value])],
      cwd: data,
      stopSignal: 'SIGINT', // the "fast" shutdown: ends sessions, keeps data safe
      letsIn: () => postgres.letsIn(url, true),
      ...serverAccount(),
    });
    return { url, launch };
  },
  async drop(url, { AUTH_DATABASE_URL: auth, WEBHOOK_DATABASE_URL: webhooks }) {
    await rowsOf(auth || url, 'DROP SCHEMA IF EXISTS auth CASCADE');
    await rowsOf(webhooks || url, 'DROP SCHEMA IF EXISTS webhooks CASCADE');
  },
};

const databases = /^(AUTH_|WEBHOOK_|WEBHOOK_READ_)?DATABASE_(DIRECT_)?URL(_FILE)?$/;

/** What is given for one database must not lead any of our programs, which use another, to it. */
export function withoutDatabases(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !databases.test(name)));
}

/** Newest first; Debian does not put them in PATH. */
export function postgresPrograms(debian = '/usr/lib/postgresql'): string[] {
  const installed = globSync(`${debian}/*/bin/postgres`);
  return [...installed.sort((a, b) => b.localeCompare(a, 'en', { numeric: true })), 'postgres'];
}

function urlOf(port: number, ...login: (string | undefined)[]): string {
  const given = login.filter((one) => one !== undefined).map(encodeURIComponent);
  return `postgres://${given.join(':')}@127.0.0.1:${port}/${ours}`;
}

/** Tests' data is kept in memory if 2 GiB are free: ext4 without a journal searches all lately deleted files for each new one. */
function placeOf({ home, forTests, stack }: PrivateOptions): string {
  const memory = '/dev/shm';
  const free = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
  if (!forTests || free.bavail * free.bsize < 2 * 1024 ** 3) return dataFolder(home);
  const folder = join(memory, `gatepost-${shortHash(home)}`);
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'postgres', 'data');
}

/** PostgreSQL refuses to run as root, and the account that it then has (`postgres` or `nobody`) cannot enter root's folders. */
export function dataFolder(home: string): string {
  const folder = join(home, 'postgres');
  return join(serverAccount() ? join('/var/lib/gatepost', shortHash(folder)) : folder, 'data');
}

/** Makes an empty cluster, which gets its name when it is complete. @throws Trouble with the output of `initdb` */
async function initialize(program: string, data: string, password: string, { forTests, signal }: PrivateOptions) {
  const account = serverAccount();
  const partial = `${data}.partial`;
  rmSync(partial, { recursive: true, force: true });
  makeFolder(partial);
  if (account) {
    chownSync(partial, account.uid, account.gid);
    for (const path of [join(data, '..'), join(data, '../..')]) chmodSync(path, 0o711);
  }
  const made = { account, sync: !forTests, user: ours, password };
  const [command, args, place] = initdb(join(dirname(program), 'initdb'), partial, made);
  await runWell('PostgreSQL could not be initialized:', command, args, { ...place, signal });
  renameSync(partial, data);
}
