/** A world for one test file: a database, a vhost, and dispatchers as processes of their own, started through their entry. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openPublisher, type Publisher } from '@gatepost/amqp/publisher';
import { eventsExchange, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { makeSeal } from '@gatepost/runtime/seal';
import { freshDatabase, freshPrefix, freshVhost, redisUrl } from '@gatepost/testkit/stores';
import { inherited } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { listenForChanges } from '@gatepost/webhook-db/changes';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool, type Pool } from '@gatepost/webhook-db/pool';
import { hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const nodeOptions = ['--conditions=source', `--import=${import.meta.resolve('@gatepost/testkit/statement-names')}`];

export type Dispatcher = {
  pid: number;
  log: Record<string, unknown>[];
  /** Sends a signal and resolves with the exit code (null after a kill). */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** The status that `/readyz` answers. */
  readiness(): Promise<number>;
  metric(line: RegExp): Promise<number | undefined>;
  /** Asks its ops port. */
  ask(path: string, init?: RequestInit): Promise<Response>;
};

export type HookSpec = {
  url: string;
  repository?: string;
  events?: string[];
  secret?: string;
  contentType?: 'json' | 'form';
  insecureSsl?: boolean;
  active?: boolean;
  retry?: boolean;
  headers?: Record<string, string>;
  createdByApp?: string;
};

export type World = AsyncDisposable & {
  pool: Pool;
  databaseUrl: string;
  amqpUrl: string;
  publisher: Publisher;
  env: Record<string, string>;
  start(env?: Record<string, string>): Promise<Dispatcher>;
  addAccount(login: string, repositories?: string[]): Promise<number>;
  addHook(login: string, spec: HookSpec): Promise<number>;
  /** Publishes an event as a producer would; answers its guid. */
  publish(event: Partial<PublishedEvent>): Promise<string>;
  /** The log rows of an event, oldest first, once there are `count`. */
  deliveries(guid: string, count?: number): Promise<DeliveryRow[]>;
};

/** Starts dispatchers in a world, and kills those that still run. */
export function startsIn(world: () => World) {
  const running = new Set<Dispatcher>();
  return {
    async start(env?: Record<string, string>): Promise<Dispatcher> {
      const dispatcher = await world().start(env);
      running.add(dispatcher);
      return dispatcher;
    },
    async killAll(): Promise<void> {
      await Promise.all([...running].map((dispatcher) => dispatcher.stop('SIGKILL')));
      running.clear();
    },
  };
}

export type PublishedEvent = {
  id: string;
  source: string;
  type: string;
  subject: string;
  payload: object | string | Buffer;
  headers: Record<string, unknown>;
};

export type DeliveryRow = {
  id: string;
  hook_id: number;
  status: string;
  status_code: number;
  error: string | null;
  attempt: number;
  redelivery: boolean;
  throttled_at: Date | null;
  delivered_at: Date;
  duration_ms: number;
  timings: Record<string, number | null>;
  url: string;
  request_headers: Record<string, string>;
  response_headers: Record<string, string> | null;
  response_body: Buffer | null;
};

export async function openWorld(overrides: { amqpUrl?: string; databaseUrl?: string } = {}): Promise<World> {
  await using opening = new AsyncDisposableStack();
  const databaseUrl = overrides.databaseUrl ?? opening.use(await freshDatabase('migrated')).url;
  const amqpUrl = overrides.amqpUrl ?? opening.use(await freshVhost()).url;
  if (overrides.databaseUrl) await migrateWebhooks(databaseUrl);
  // Dozens of questions at once wait for these few connections.
  const pool = openPool({ databaseUrl, name: 'test', max: 4, connectTimeoutMs: 60_000, onError: () => {} });
  opening.defer(() => pool.end());
  const publisher = opening.use(
    await openPublisher({ url: amqpUrl, name: 'test', log: openLog('test', 'silent'), topology }),
  );
  const key = randomBytes(32);
  const seal = makeSeal(key);
  const env = {
    ...inherited,
    NODE_ENV: 'test',
    WEBHOOK_DATABASE_URL: databaseUrl,
    AMQP_URL: amqpUrl,
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshPrefix(),
    SECRETS_KEY: key.toString('base64'),
    DISPATCHER_OPS_PORT: '0',
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
    LOG_LEVEL: 'debug',
    MALLOC_MMAP_THRESHOLD_: '131072', // as the start script sets it
  };
  const running = new Set<Dispatcher>();
  opening.defer(async () => {
    await Promise.all([...running].map((dispatcher) => dispatcher.stop('SIGKILL')));
  });
  const closing = opening.move();

  // Dispatchers hear of changes a moment after the commit. Notifications reach all listeners in one order: when we hear one of our
  // own, those before it are on their way to everybody.
  let heard: (() => void) | undefined;
  const changes = await listenForChanges({
    databaseUrl,
    pool,
    log: openLog('test', 'silent'),
    name: 'test changes',
    onChange: (id) => id === 0 && heard?.(),
    onGap: () => heard?.(), // it will not come any more
  });
  closing.use(changes);
  let isChanged = false;
  let settling: Promise<void> | undefined;
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  Object.assign(pool, {
    query(...args: unknown[]) {
      if (/^\s*(INSERT|UPDATE|DELETE)/.test(String(args[0]))) isChanged = true;
      return query(...args);
    },
  });
  const changesAreHeard = async () => {
    if (settling) await settling;
    if (!isChanged) return;
    isChanged = false;
    settling = new Promise<void>((resolve) => {
      heard = resolve;
    }).finally(() => {
      settling = undefined;
    });
    await query("SELECT pg_notify('webhooks_changed', '0')");
    await settling;
  };

  const accountId = async (login: string) => {
    const { rows } = await pool.query('SELECT id FROM accounts WHERE lower(login) = lower($1)', [login]);
    return rows[0].id as number;
  };
  return {
    pool,
    databaseUrl,
    amqpUrl,
    publisher,
    env,
    async start(more = {}) {
      const started = startDispatcher({ ...env, ...more }, () =>
        started.then(
          (ended) => running.delete(ended),
          () => {},
        ),
      );
      const dispatcher = await started;
      running.add(dispatcher);
      return dispatcher;
    },
    async addAccount(login, repositories = []) {
      const { rows } = await pool.query('INSERT INTO accounts (login) VALUES ($1) RETURNING id', [login]);
      for (const name of repositories)
        await pool.query('INSERT INTO repositories (account_id, name) VALUES ($1, $2)', [rows[0].id, name]);
      return rows[0].id as number;
    },
    async addHook(login, spec) {
      const { rows } = await pool.query(
        `INSERT INTO hooks (account_id, repository_id, active, events, url, content_type, insecure_ssl, secret, retry,
                            headers, created_by, created_by_app)
         VALUES ($1, (SELECT id FROM repositories WHERE account_id = $1 AND lower(name) = lower($2)), $3, $4, $5, $6, $7, $8,
                 $9, $10, 'test', $11) RETURNING id`,
        [
          await accountId(login),
          spec.repository ?? null,
          spec.active ?? true,
          spec.events ?? ['*'],
          spec.url,
          spec.contentType ?? 'json',
          spec.insecureSsl ?? false,
          spec.secret === undefined ? null : seal.seal(spec.secret, hookSecretPurpose),
          spec.retry ?? true,
          spec.headers ? seal.seal(JSON.stringify(spec.headers), hookHeadersPurpose) : null,
          spec.createdByApp ?? null,
        ],
      );
      return rows[0].id as number;
    },
    async publish(event) {
      await changesAreHeard();
      const id = event.id ?? randomUUID();
      const type = event.type ?? 'issues';
      const payload = event.payload ?? { action: 'opened' };
      await publisher.publish({
        exchange: eventsExchange,
        routingKey: type,
        body: Buffer.isBuffer(payload)
          ? payload
          : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
        contentType: 'application/json',
        messageId: id,
        headers: {
          'cloudEvents:specversion': '1.0',
          'cloudEvents:id': id,
          'cloudEvents:source': event.source ?? 'urn:test',
          'cloudEvents:type': type,
          'cloudEvents:subject': event.subject ?? 'acme/widgets',
          'cloudEvents:time': new Date().toISOString(),
          ...event.headers,
        },
      });
      return id;
    },
    deliveries: (guid, count = 1) =>
      until(`${count} rows of ${guid} in the log`, async () => {
        const { rows } = await pool.query<DeliveryRow>('SELECT * FROM deliveries WHERE guid = $1 ORDER BY id', [guid]);
        return rows.length >= count && rows;
      }),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function startDispatcher(env: Record<string, string>, onExit: () => void): Promise<Dispatcher> {
  const child: ChildProcess = spawn(process.execPath, [...nodeOptions, main], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const log: Record<string, unknown>[] = [];
  let errors = '';
  let rest = '';
  child.stdout?.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) log.push(JSON.parse(line));
  });
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  void exited.then(onExit);
  let ready = false;
  child.once('message', () => {
    ready = true;
  });
  await until('the dispatcher is ready', () => {
    if (child.exitCode !== null)
      throw new Error(
        `the dispatcher ended: ${errors} ${JSON.stringify(log.findLast(({ level }) => level === 'error') ?? log.at(-1))}`,
      );
    return ready;
  });
  const ask = async (path: string, init?: RequestInit) => {
    // Its log may come later than the word that it is ready.
    const port = await until('the ops port', () => log.find((entry) => 'ops.port' in entry)?.['ops.port']);
    return fetch(`http://127.0.0.1:${port}${path}`, init);
  };
  return {
    pid: child.pid!,
    log,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
    ask,
    readiness: async () => (await ask('/readyz')).status,
    async metric(line) {
      const text = await (await ask('/metrics')).text();
      const match = text.split('\n').find((candidate) => line.test(candidate));
      return match === undefined ? undefined : Number(match.split(' ').at(-1));
    },
  };
}
