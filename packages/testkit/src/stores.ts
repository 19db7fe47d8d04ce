/** Real stores for a test file: a database, a vhost and a key prefix of its own, dropped at the end. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';

export type Fresh = AsyncDisposable & { url: string };

/** Creates an empty database on the server of `TEST_DATABASE_URL`. */
export async function freshDatabase(): Promise<Fresh> {
  const server = needed('TEST_DATABASE_URL');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
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

/** Creates a user with these permissions in the vhost of `vhostUrl`, and nowhere else; `url` connects as that user. */
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
  const response = await fetch(origin + path, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      'content-type': 'application/json',
      connection: 'close', // RabbitMQ closes an idle one just as it is used again
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`RabbitMQ's management API answered ${response.status} to ${method} ${path}`);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

async function onServer(server: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests through \`npm test\`, which brings the stores`);
  return value;
}
