/** A test's own PostgreSQL servers: a primary, and a standby that follows it by streaming replication. */
import { type ChildProcess, type ExecFileOptions, execFile, spawn } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Account, serverAccount, serverFolder } from './server-account.ts';
import { freePorts } from './system.ts';
import { until } from './until.ts';

const run = promisify(execFile);
const user = 'gatepost';
const password = 'of-a-test';

export type PostgresPair = AsyncDisposable & {
  primary: { url: string; kill(): Promise<void> };
  standby: {
    url: string;
    /** Makes it a primary. */
    promote(): Promise<void>;
    /** Whether it replays what the primary writes. */
    replay(on: boolean): Promise<void>;
    kill(): Promise<void>;
  };
};

/** A commit on the primary waits until the standby has it on disk, so that a failover loses nothing. */
export async function openPostgresPair(): Promise<PostgresPair> {
  await using opening = new AsyncDisposableStack();
  const account = serverAccount();
  const folder = serverFolder('postgres-', account);
  opening.defer(() => rmSync(folder, { recursive: true, force: true }));
  const [port, standbyPort] = (await freePorts(2)) as [number, number];
  const bin = binFolder();
  const start = async (name: string, port: number, more: string[] = []) => {
    const server = await startServer(bin, join(folder, name), port, account, more);
    opening.defer(server.kill);
    return server;
  };

  await makeEmpty(bin, folder, account);
  // Synchronous only once there is a standby: before that, no commit would finish.
  const primary = await start('primary', port);
  const source = `host=127.0.0.1 port=${port} user=${user} password=${password}`;
  const backup = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync', '--wal-method=stream'];
  await run(join(bin, 'pg_basebackup'), ['--dbname', source, '--pgdata', join(folder, 'standby'), ...backup], {
    ...account,
    cwd: '/',
  });
  const standby = await start('standby', standbyPort);
  await ask(primary.url, 'CREATE DATABASE gatepost');
  await ask(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await ask(primary.url, 'SELECT pg_reload_conf()');
  const url = (of: string) => new URL('/gatepost', of).href;
  await until('the standby follows', () => ask(url(standby.url), 'SELECT 1').catch(() => false));
  const open = opening.move();
  return {
    primary: { url: url(primary.url), kill: primary.kill },
    standby: {
      url: url(standby.url),
      promote: async () => void (await ask(standby.url, 'SELECT pg_promote()')),
      replay: async (on) => void (await ask(standby.url, `SELECT pg_wal_replay_${on ? 'resume' : 'pause'}()`)),
      kill: standby.kill,
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

export type Archiving = AsyncDisposable & {
  url: string;
  /** Makes a base backup. */
  backUp(): Promise<void>;
  /** Simulates a lost machine: starts another server from the base backup, with these lines of postgresql.conf, for recovery. Answers its URL. */
  restore(settings: string): Promise<string>;
};

/** A PostgreSQL with these lines in its postgresql.conf, where `/archive` stands for a folder of its own. */
export async function openArchivingPostgres(settings: string): Promise<Archiving> {
  await using opening = new AsyncDisposableStack();
  const account = serverAccount();
  const folder = serverFolder('postgres-', account);
  opening.defer(() => rmSync(folder, { recursive: true, force: true }));
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  if (account) chownSync(archive, account.uid, account.gid);
  const [port, nextPort] = (await freePorts(2)) as [number, number];
  const bin = binFolder();
  const configure = (name: string, lines: string) =>
    appendFileSync(join(folder, name, 'postgresql.conf'), `\n${lines.replaceAll('/archive', archive)}\n`);
  await makeEmpty(bin, folder, account);
  configure('primary', settings);
  const primary = await startServer(bin, join(folder, 'primary'), port, account, []);
  opening.defer(primary.kill);
  const open = opening.move();
  return {
    url: primary.url,
    async backUp() {
      const backup = ['--dbname', primary.url, '--pgdata', join(folder, 'backup'), '--checkpoint=fast'];
      await run(join(bin, 'pg_basebackup'), backup, { ...account, cwd: '/' });
    },
    async restore(lines) {
      await primary.kill();
      configure('backup', lines);
      const signal = join(folder, 'backup', 'recovery.signal');
      writeFileSync(signal, '');
      if (account) chownSync(signal, account.uid, account.gid);
      const restored = await startServer(bin, join(folder, 'backup'), nextPort, account, []);
      open.defer(restored.kill);
      return restored.url;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const makeEmpty = (bin: string, folder: string, account: Account | undefined) =>
  run(...initdb(join(bin, 'initdb'), join(folder, 'primary'), { account, sync: false, user, password }));

/** The command, arguments and options that make an empty cluster. An interrupted `initdb` removes what it has made. */
export function initdb(
  program: string,
  data: string,
  { account, sync, ...login }: { account: Account | undefined; sync: boolean; user: string; password: string },
): [string, string[], ExecFileOptions] {
  const script = 'printf %s "$PGPASSWORD" | "$0" "$@" --pwfile=/dev/stdin';
  const settings = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', ...(sync ? [] : ['--no-sync'])];
  const env = { ...process.env, PGPASSWORD: login.password };
  const args = ['-c', script, program, `--pgdata=${data}`, `--username=${login.user}`, ...settings];
  return ['sh', args, { ...account, cwd: '/', env }];
}

async function startServer(bin: string, data: string, port: number, account: Account | undefined, more: string[]) {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'max_connections=200',
    ...more,
  ];
  const server: ChildProcess = spawn(
    join(bin, 'postgres'),
    ['-D', data, ...settings.flatMap((value) => ['-c', value])],
    { ...account, cwd: '/', stdio: 'ignore' },
  );
  const gone = new Promise((resolve) => server.once('exit', resolve));
  const url = `postgres://${user}:${password}@127.0.0.1:${port}/postgres`;
  await until(`PostgreSQL at ${port}`, () => {
    if (server.exitCode !== null) throw new Error(`PostgreSQL at ${port} ended with ${server.exitCode}`);
    return ask(url, 'SELECT 1').catch(() => false);
  });
  return {
    url,
    /** Simulates a power cut: sessions end at once, and nothing is written. */
    async kill() {
      server.kill('SIGQUIT');
      await gone;
    },
  };
}

const ask = async (url: string, sql: string): Promise<true> => (await rowsOf(url, sql)) && true;

/** Runs one statement on a connection of its own. */
export async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 60_000 });
  client.on('error', () => {}); // the rejection says the same
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Makes sessions that begin from now on read-only, or writable again. */
export async function setReadOnly(databaseUrl: string, on: boolean): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const alter = `ALTER DATABASE "${name}" SET default_transaction_read_only = ${on}`;
  await rowsOf(databaseUrl, `BEGIN READ WRITE; ${alter}; COMMIT`);
}

/** The newest version installed; Debian keeps them out of PATH. */
function binFolder(): string {
  const folder = '/usr/lib/postgresql';
  const versions = readdirSync(folder).filter((name) => /^\d+$/.test(name));
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (!newest) throw new Error(`there is no PostgreSQL in ${folder}`);
  return join(folder, newest, 'bin');
}
