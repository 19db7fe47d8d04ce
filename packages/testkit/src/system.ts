/**
 * The whole system as its users run it: the three services as separate processes, configured by their environment, on stores of the test. It
 * uses only their commands, ports and signals.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrationPrograms, runProgram } from './program.ts';
import { freshDatabase, freshPrefix, freshVhost, redisUrl } from './stores.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const startTimeoutMs = 120_000;
/** Where no store is away: a person reads a refusal and tries again; a test must not take a busy machine for an unavailable store. */
export const patientStoreMs = '30000';

/** The variables that a program started by a test inherits from us, besides its own environment. */
export const inherited: Record<string, string> = {
  PATH: process.env.PATH ?? '',
  // With its compile cache a program starts in half the time.
  ...(process.env.NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE } : {}),
};

export type Service = AsyncDisposable & {
  name: string;
  /** Its standard output and error so far. */
  output(): string;
  pid: number;
  opsUrl: string;
  /** Resolves when the process is gone, whatever the cause; to its exit code, or null if a signal ended it. */
  ended: Promise<number | null>;
  /** Sends the signal and waits until the process is gone; resolves to its exit code, or null if a signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
};

export type System = AsyncDisposable & {
  issuer: string;
  apiUrl: string;
  audience: string;
  amqpUrl: string;
  databaseUrl: string;
  auth: Service;
  webhookApi: Service;
  dispatcher: Service;
  /** Starts one more process of the webhook API, at a port of its own. */
  startWebhookApi(env?: Record<string, string>): Promise<Service & { apiUrl: string }>;
  /** Starts one more dispatcher (or the first again, after it was ended). */
  startDispatcher(env?: Record<string, string>): Promise<Service>;
  /** A machine's token for the webhook API with all its scopes. */
  token(): Promise<string>;
};

export type SystemOptions = {
  seedFile?: string;
  /** Further variables for all three services. */
  env?: Record<string, string>;
  /** Stores to use instead of a fresh database, vhost and prefix on those that tests share. */
  databaseUrl?: string;
  amqpUrl?: string;
  redisUrl?: string;
  /** The webhook API's port, if it must be known in advance. */
  apiPort?: number;
};

/** Starts a system on a fresh database and vhost, and waits until all of it is ready. */
export async function openSystem(options: SystemOptions = {}): Promise<System> {
  await using opening = new AsyncDisposableStack();
  const databaseUrl = options.databaseUrl ?? opening.use(await freshDatabase('migrated')).url;
  const amqpUrl = options.amqpUrl ?? opening.use(await freshVhost()).url;
  const [authPort, authOpsPort, freePort, apiOpsPort] = await freePorts(4);
  const apiPort = options.apiPort ?? freePort;
  const issuer = `http://localhost:${authPort}/`;
  const audience = 'http://localhost:4500/';
  const env: Record<string, string> = {
    ...storesEnv(databaseUrl, options.redisUrl ?? redisUrl(), amqpUrl),
    ISSUER: issuer,
    AUTH_PORT: String(authPort),
    AUTH_OPS_PORT: String(authOpsPort),
    WEBHOOK_API_PORT: String(apiPort),
    WEBHOOK_API_OPS_PORT: String(apiOpsPort),
    WEBHOOK_API_AUDIENCE: audience,
    SEED_FILE: options.seedFile ?? `${root}infra/demo/seed.yaml`,
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
    ...options.env,
  };
  if (options.databaseUrl) await Promise.all(migrationPrograms.map((path) => runProgram(path, env)));
  const startDispatcher = async (more: Record<string, string> = {}) => {
    const [opsPort] = await freePorts(1);
    const own = { ...env, DISPATCHER_OPS_PORT: String(opsPort), ...more };
    return keep(await startService('dispatcher', own, opsPort!));
  };
  const startWebhookApi = async (more: Record<string, string> = {}) => {
    const [port, opsPort] = await freePorts(2);
    const own = { WEBHOOK_API_PORT: String(port), WEBHOOK_API_OPS_PORT: String(opsPort) };
    const service = keep(await startService('webhook-api', { ...env, ...own, ...more }, opsPort!));
    return { ...service, apiUrl: `http://localhost:${port}` };
  };
  const running: Service[] = [];
  opening.defer(async () => void (await Promise.all(running.map((service) => service[Symbol.asyncDispose]()))));
  const keep = (service: Service) => {
    running.push(service);
    return service;
  };
  const [auth, webhookApi, dispatcher] = await Promise.all([
    startService('auth', env, authOpsPort!).then(keep),
    startService('webhook-api', env, apiOpsPort!).then(keep),
    startDispatcher(),
  ]);
  const open = opening.move();
  return {
    issuer,
    apiUrl: `http://localhost:${apiPort}`,
    audience,
    amqpUrl,
    databaseUrl,
    auth,
    webhookApi,
    dispatcher,
    startWebhookApi,
    startDispatcher,
    token: () => machineToken(issuer, audience),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The variables of every service, with its own keys in Redis. */
function storesEnv(databaseUrl: string, redis: string, amqpUrl: string): Record<string, string> {
  return {
    ...inherited,
    GATEPOST_HOME: mkdtempSync(join(tmpdir(), 'gatepost-')),
    LOG_LEVEL: 'info',
    STORE_TIMEOUT_MS: patientStoreMs,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis,
    REDIS_KEY_PREFIX: freshPrefix(),
    AMQP_URL: amqpUrl,
    SECRETS_KEY: randomBytes(32).toString('base64'),
  };
}

/**
 * Ports of 127.0.0.1 that nobody listens on at this moment: below those that Linux uses for outgoing connections, and at random, so that they
 * are still free when a service listens there. No other test gets them while this process lives.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(20_000, 32_000);
    // First claimed: whoever claims another's port would else, by trying it, listen where its service is about to.
    if (!ports.has(port) && (await claim(port)) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

/** On a busy machine it takes seconds until a service listens. Linux keeps such a name as long as its process lives, in no folder. */
function claim(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(true);
  const server = createServer().unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ path: `\0gatepost test port ${port}` }, () => resolve(true));
  });
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/**
 * Starts one service as its package does, and waits for it to say `ready`. @param checkout the repository's folder, if not this one
 * @throws with its output when it ends before.
 */
export async function startService(
  name: string,
  env: Record<string, string>,
  opsPort: number,
  checkout = root,
): Promise<Service> {
  const folder = join(checkout, 'services', name);
  const { scripts } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { scripts: { start: string } };
  const child = spawn('/bin/sh', ['-c', `exec env ${scripts.start}`], {
    env: { ...env, PATH: `${dirname(process.execPath)}:${env.PATH}` },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      // Not for each piece: with a service that logs each request, copying would keep us busy.
      if (output.length > 400_000) output = output.slice(-200_000);
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const ready = new Promise<'ready'>((resolve) => child.once('message', () => resolve('ready')));
  const late = AbortSignal.timeout(startTimeoutMs);
  const timeout = new Promise<'late'>((resolve) => late.addEventListener('abort', () => resolve('late')));
  const first = await Promise.race([ready, ended, timeout]);
  if (first !== 'ready') {
    child.kill('SIGKILL');
    const why = first === 'late' ? `not ready within ${startTimeoutMs} ms` : `ended with ${first}`;
    throw new Error(`${name}: ${why}\n${output}`);
  }
  const end = (signal: NodeJS.Signals) => {
    if (isRunning(child)) child.kill(signal);
    return ended;
  };
  return {
    name,
    pid: child.pid!,
    output: () => output,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    ended,
    end,
    [Symbol.asyncDispose]: async () => {
      const firm = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await end('SIGTERM');
      clearTimeout(firm);
    },
  };
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function machineToken(issuer: string, audience: string): Promise<string> {
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-m2m',
      client_secret: 'demo-m2m-secret',
      audience,
    }),
  });
  const answer = (await response.json()) as { access_token?: string };
  if (!answer.access_token) throw new Error(`the gate answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer.access_token;
}
