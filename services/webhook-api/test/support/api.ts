/** The API as a test sees it: real stores of its own, tokens of its own issuer, HTTP. */
import { randomBytes } from 'node:crypto';
import { readEnv } from '@gatepost/runtime/env';
import { openLog } from '@gatepost/runtime/log';
import type { LogLines } from '@gatepost/testkit/log-lines';
import '@gatepost/testkit/statement-names';
import { freshDatabase, freshPrefix, freshVhost, openTestPool, redisUrl } from '@gatepost/testkit/stores';
import { type Issuer, openIssuer } from '@gatepost/testkit/tokens';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import type pg from 'pg';
import { variables } from '../../src/config.ts';
import { start } from '../../src/start.ts';
import { checkedFetch } from './conformance.ts';

export const audience = 'http://localhost:4500/';

export type Api = AsyncDisposable & {
  /** `http://127.0.0.1:PORT` */
  base: string;
  opsBase: string;
  issuer: Issuer;
  sql: pg.Pool;
  amqpUrl: string;
  env: Record<string, string>;
  /** A user's token through a third-party app, a first-party client, or a machine's. */
  tokens: Tokens;
};

export type Tokens = {
  user(subject: string, scope: string, clientId?: string): Promise<string>;
  app(subject: string, scope: string, clientId: string): Promise<string>;
  machine(clientId: string, scope: string): Promise<string>;
};

/** Starts one with the organization `acme`: alice and the machine `m2m` are admins, bob is a member; repositories widgets and gadgets. `wrap` may lead the service to its stores another way. */
export async function openApi(
  extra: Record<string, string> = {},
  wrap: (env: Record<string, string>) => Promise<Record<string, string>> = async () => ({}),
  log?: LogLines,
): Promise<Api> {
  await using opening = new AsyncDisposableStack();
  const database = extra.DATABASE_URL ? { url: extra.DATABASE_URL } : opening.use(await freshDatabase('migrated'));
  if (extra.DATABASE_URL) await migrateWebhooks(database.url);
  const vhost = opening.use(await freshVhost());
  const issuer = opening.use(await openIssuer());
  const env: Record<string, string> = {
    NODE_ENV: 'test',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    WEBHOOK_API_PORT: '0',
    WEBHOOK_API_OPS_PORT: '0',
    DATABASE_URL: database.url,
    AMQP_URL: vhost.url,
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshPrefix(),
    ISSUER: issuer.issuer,
    WEBHOOK_API_AUDIENCE: audience,
    // What a store's slowness does is shown in stores-away.test.ts; elsewhere a busy machine is not to be taken for it.
    STORE_TIMEOUT_MS: '30000',
    SECRETS_KEY: randomBytes(32).toString('base64'),
    ...extra,
  };
  const sql = opening.adopt(
    openTestPool({ connectionString: database.url, max: 2, options: '-c search_path=webhooks' }),
    (pool) => pool.end(),
  );
  await sql.query(`
    INSERT INTO accounts (login) VALUES ('acme'), ('other');
    INSERT INTO memberships SELECT id, unnest(ARRAY['auth0|alice', 'm2m']), 'admin' FROM accounts WHERE login = 'acme';
    INSERT INTO memberships SELECT id, 'auth0|bob', 'member' FROM accounts WHERE login = 'acme';
    INSERT INTO memberships SELECT id, 'auth0|olga', 'admin' FROM accounts WHERE login = 'other';
    INSERT INTO repositories (account_id, name) SELECT id, unnest(ARRAY['widgets', 'gadgets']) FROM accounts WHERE login = 'acme'`);
  const parsed = readEnv(variables, { ...env, ...(await wrap(env)) });
  const { port, opsPort } = await start({
    env: parsed,
    log: openLog('webhook-api', log ? 'debug' : parsed.LOG_LEVEL, log),
    stack: opening,
  });
  const stack = opening.move();
  return {
    base: `http://127.0.0.1:${port}`,
    opsBase: `http://127.0.0.1:${opsPort}`,
    issuer,
    sql,
    amqpUrl: vhost.url,
    env,
    tokens: makeTokens(issuer),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function makeTokens(issuer: Issuer): Tokens {
  const sign = (sub: string, client_id: string, scope: string, first_party: boolean) =>
    issuer.sign({ aud: audience, sub, client_id, azp: client_id, scope, first_party });
  return {
    user: (subject, scope, clientId = 'first-party') => sign(subject, clientId, scope, true),
    app: (subject, scope, clientId) => sign(subject, clientId, scope, false),
    machine: (clientId, scope) => sign(clientId, clientId, scope, true),
  };
}

export type Called = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's JSON, of which each test expects what it names
  body: any;
};

/** One request with a token; the answer's JSON comes parsed. */
export async function call(
  api: Pick<Api, 'base'>,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Called> {
  const response = await checkedFetch(api.base + path, {
    method,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    ...(body === undefined ? {} : { body: bodyOf(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parseBody(text, response) };
}

/** Text and bytes go out as they are; anything else as JSON. */
function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}

function parseBody(text: string, response: Response): unknown {
  if (text === '') return undefined;
  return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
}
