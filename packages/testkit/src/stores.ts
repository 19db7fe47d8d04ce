/** Real stores for a test file: its own database, vhost and key prefix, dropped at the end. */
import { createHash, randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrationPrograms, runProgram } from './program.ts';

export type Fresh = AsyncDisposable & { url: string };

/** Creates a database on the server of `TEST_DATABASE_URL`: an empty one, or one with all migrations of both schemas. */
export async function freshDatabase(kind: 'empty' | 'migrated' = 'empty'): Promise<Fresh> {
  const server = needed('TEST_DATABASE_URL');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes less than half the time of PostgreSQL's default, which logs each page.
  if (kind === 'migrated') template ??= makeTemplate(server);
  const from = kind === 'migrated' ? await template : 'template1';
  await onServer(server, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY FILE_COPY`));
  return {
    url: urlOf(server, name),
    async [Symbol.asyncDispose]() {
      await onServer(server, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

/** Connections to a database that is dropped once the pool is closed. */
export function openTestPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // The pool is closed before its connections are: dropping the database may still end one, whose error nobody would listen to.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const migrationFiles = ['services/auth', 'packages/webhook-db'].map(
  (path) => `${path}/prisma/migrations/*/migration.sql`,
);

let template: Promise<string> | undefined;

/** A copy takes a fraction of the time of the migrations. The first to need it makes it; others wait for it. */
async function makeTemplate(server: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of globSync(migrationFiles, { cwd: root }).sort())
    hash.update(file).update(readFileSync(root + file));
  const name = `template_${hash.digest('hex').slice(0, 12)}`;
  await onServer(server, async (client) => {
    const exists = async () =>
      (await client.query('SELECT FROM pg_database WHERE datname = $1', [name])).rowCount === 1;
    if (await exists()) return;
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    if (await exists()) return;
    const unfinished = `${name}_unfinished`;
    await client.query(`DROP DATABASE IF EXISTS ${unfinished}`);
    await client.query(`CREATE DATABASE ${unfinished}`);
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL: urlOf(server, unfinished) };
    for (const path of migrationPrograms) await runProgram(path, env);
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
  });
  return name;
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** Creates an empty vhost on the broker of `TEST_AMQP_URL`, through its management API at `TEST_AMQP_MANAGEMENT_URL`. */
export async function freshVhost(): Promise<Fresh> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const { username } = new URL(needed('TEST_AMQP_MANAGEMENT_URL'));
  await management('PUT', `/api/vhosts/${name}`);
  await management('PUT', `/api/permissions/${name}/${username}`, { configure: '.*', write: '.*', read: '.*' });
  const url = new URL(needed('TEST_AMQP_URL'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await management('DELETE', `/api/vhosts/${name}`);
    },
  };
}

/** Creates a user with these permissions in the vhost of `vhostUrl` only; `url` connects as that user. */
export async function freshUser(
  vhostUrl: string,
  permissions: { configure: string; write: string; read: string },
): Promise<Fresh & { name: string }> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await management('PUT', `/api/users/${name}`, { password, tags: '' });
  const url = new URL(vhostUrl);
  await management('PUT', `/api/permissions/${url.pathname.slice(1)}/${name}`, permissions);
  url.username = name;
  url.password = password;
  return {
    name,
    url: url.href,
    async [Symbol.asyncDispose]() {
      await management('DELETE', `/api/users/${name}`);
    },
  };
}

/** Redis at `TEST_REDIS_URL`; keep to keys under a prefix of `freshPrefix()`. */
export const redisUrl = (): string => needed('TEST_REDIS_URL');
export const freshPrefix = (): string => `test:${randomBytes(6).toString('hex')}:`;

/** Calls RabbitMQ's management API; answers the body, if it is JSON. */
export async function management(method: string, path: string, body?: unknown): Promise<unknown> {
  const { origin, username, password } = new URL(needed('TEST_AMQP_MANAGEMENT_URL'));
  const ask = () =>
    fetch(origin + path, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
        'content-type': 'application/json',
        connection: 'close', // RabbitMQ may close an idle one just as it is reused
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const response = await ask().catch((error) => {
    // RabbitMQ closes a connection on which nothing comes for five seconds; a busy worker may take as long between opening and writing.
    if (method === 'POST') throw error;
    return ask();
  });
  if (!response.ok) throw new Error(`RabbitMQ's management API answered ${response.status} to ${method} ${path}`);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

async function onServer(server: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests through \`npm test\`, which brings the stores`);
  return value;
}
