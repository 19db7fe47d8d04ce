/** A test's own PgBouncer in transaction mode, in front of a PostgreSQL. */
import { spawn } from 'node:child_process';
import { accessSync, chownSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { serverAccount, serverFolder } from './server-account.ts';
import { freePorts } from './system.ts';
import { until } from './until.ts';

export type PgBouncer = AsyncDisposable & {
  /** The given URL, leading through it. */
  url: string;
  /** Its log so far. */
  log(): string;
};

/** Few sessions for many clients: anything one leaves in its session, another finds. It passes on no start-up parameters. */
export async function openPgBouncer(databaseUrl: string, options: { sessions?: number } = {}): Promise<PgBouncer> {
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl);
  const [port] = await freePorts(1);
  const account = serverAccount();
  const folder = serverFolder('pgbouncer-', account);
  const file = join(folder, 'pgbouncer.ini');
  const server = `host=${hostname} port=${serverPort} user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`;
  const settings = [
    '[databases]',
    `* = ${server}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'max_client_conn = 500',
    `default_pool_size = ${options.sessions ?? 8}`,
    'server_login_retry = 1',
    '',
  ];
  writeFileSync(file, settings.join('\n'), { mode: 0o600 });
  if (account) chownSync(file, account.uid, account.gid);
  const child = spawn(findPgBouncer(), [file], { ...account, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  await until('PgBouncer', () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${log}`);
    return answers(url.href);
  });
  return {
    url: url.href,
    log: () => log,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => {}); // the rejection says the same
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Debian installs it in `/usr/sbin`, which ordinary users often lack in their PATH. */
function findPgBouncer(): string {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  const found = folders.map((folder) => join(folder, 'pgbouncer')).find(isThere);
  if (found) return found;
  throw new Error('there is no pgbouncer: run the tests through `npm test`, which installs it, or install it');
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
