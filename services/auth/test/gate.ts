/** A gate of a test's own: in this process, on a fresh database and key prefix, at a free port that is its issuer's. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readEnv } from '@gatepost/runtime/env';
import { openLog } from '@gatepost/runtime/log';
import { type Start, startWithStores } from '@gatepost/runtime/run';
import type { LogLines } from '@gatepost/testkit/log-lines';
import '@gatepost/testkit/statement-names';
import { freshDatabase, freshPrefix, openTestPool, redisUrl } from '@gatepost/testkit/stores';
import { freePorts } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import type pg from 'pg';
import PostalMime, { type Email } from 'postal-mime';
import { variables } from '../src/config.ts';
import { startGate } from '../src/gate.ts';
import { checkAnswers } from './conformance.ts';
import { insertSigningKeys } from './made-keys.ts';

checkAnswers();

export type TestGate = AsyncDisposable & {
  issuer: string;
  databaseUrl: string;
  /** Of its database, with its schema as the search path. */
  pool: pg.Pool;
  redisPrefix: string;
  opsUrl: string;
  env: Record<string, string>;
  /** POSTs a form to a path below the issuer. */
  post(path: string, form: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** What was written to the outbox, oldest first. */
  outbox(): Promise<string[]>;
  /** The mails among it, all or those to an address. */
  mails(address?: string): Promise<Email[]>;
  /** The next mail to an address, counted from its `seen`th. */
  mailTo(address: string, seen?: number): Promise<Email>;
};

export type Answer = { status: number; headers: Headers; text: string; json: Record<string, unknown> };

/** @param seed the seed file's content (JSON is YAML), or a function that makes it from the issuer */
export async function openGate(
  seed: unknown | ((issuer: string) => unknown),
  env: Record<string, string> = {},
  log?: LogLines,
): Promise<TestGate> {
  await using opening = new AsyncDisposableStack();
  const databaseUrl = env.DATABASE_URL ?? opening.use(await freshDatabase('migrated')).url;
  const pool = openTestPool({ connectionString: databaseUrl, options: '-c search_path=auth' });
  opening.defer(() => pool.end());
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'gate-')), (path) => rm(path, { recursive: true }));
  const port = await freePort();
  const seedFile = join(folder, 'seed.yaml');
  const issuerOfPort = `http://localhost:${port}/`;
  await writeFile(seedFile, JSON.stringify(typeof seed === 'function' ? seed(env.ISSUER ?? issuerOfPort) : seed));
  const given = {
    NODE_ENV: 'test',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshPrefix(),
    ISSUER: issuerOfPort,
    AUTH_PORT: String(port),
    AUTH_OPS_PORT: '0',
    SECRETS_KEY: randomBytes(32).toString('base64'),
    SEED_FILE: seedFile,
    // What a store's slowness does is shown in stores-away.test.ts; elsewhere a busy machine is not to be taken for it.
    STORE_TIMEOUT_MS: '30000',
    MAIL_URL: pathToFileURL(join(folder, 'outbox/')).href,
    ...env,
  };
  // The types of one of the SDKs demand a NODE_ENV of their own of every environment.
  const parsed = readEnv(variables, given as NodeJS.ProcessEnv);
  if (!env.DATABASE_URL) await insertSigningKeys(databaseUrl, parsed.SECRETS_KEY);
  // On a busy machine a store may seem to be away, which is waited for as the service does.
  let opsPort = 0;
  const start = async (context: Start<typeof parsed>) => {
    ({ opsPort } = await startGate(context));
  };
  const context = { env: parsed, log: openLog('auth', log ? 'debug' : parsed.LOG_LEVEL, log), stack: opening };
  await startWithStores(start, { ...context, stopping: new AbortController().signal }, performance.now() + 60_000);
  const issuer = given.ISSUER;
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(new URL(path, issuer), { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
  };
  const outbox = async () => {
    const files = (await readdir(join(folder, 'outbox')).catch(() => [])).filter((file) => !file.startsWith('.'));
    return Promise.all(files.sort().map((file) => readFile(join(folder, 'outbox', file), 'utf8')));
  };
  const mails = async (address?: string) => {
    const parsed = await Promise.all((await outbox()).map((raw) => PostalMime.parse(raw)));
    return parsed.filter(({ to }) => to && (!address || to.some((one) => one.address === address)));
  };
  const stack = opening.move();
  return {
    issuer,
    databaseUrl,
    pool,
    redisPrefix: given.REDIS_KEY_PREFIX,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    env: given,
    post: (path, form, headers = {}) => ask(path, { method: 'POST', body: new URLSearchParams(form), headers }),
    get: (path, headers = {}) => ask(path, { headers }),
    outbox,
    mails,
    mailTo: (address, seen = 0) => until(`a mail to ${address}`, async () => (await mails(address))[seen]),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The link with a ticket in a mail: to a new password, a login, or the confirmation of an address. */
export const linkIn = ({ text = '' }: Pick<Email, 'text'>): string => /http\S+\?ticket=[\w-]+/.exec(text)![0];

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!;
}
