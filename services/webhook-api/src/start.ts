/** The webhook API’s parts, in the order in which they are opened; the stack closes them in reverse. */

import { readFileSync } from 'node:fs';
import { userOf } from '@gatepost/amqp/brokers';
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import { openPublisher, type Publisher } from '@gatepost/amqp/publisher';
import { reconnectCounter } from '@gatepost/amqp/reconnects';
import { deriveJobKey } from '@gatepost/contracts/delivery-job';
import { refuseDemo } from '@gatepost/contracts/demo-secrets';
import { listenersTopology } from '@gatepost/contracts/forwarding';
import { inSeedFile, parseSeed } from '@gatepost/contracts/seed';
import { publishersTopology } from '@gatepost/contracts/topology';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { listen } from '@gatepost/runtime/listen';
import { type Log, logOfModule } from '@gatepost/runtime/log';
import { openMetrics, type Registry } from '@gatepost/runtime/metrics';
import { openOps } from '@gatepost/runtime/ops';
import { checkPostgresWrites } from '@gatepost/runtime/postgres';
import type { Start } from '@gatepost/runtime/run';
import { makeSeal } from '@gatepost/runtime/seal';
import { type Certificate, createServerWith, readCertificate } from '@gatepost/runtime/tls';
import { checkMigrated } from '@gatepost/webhook-db/migrations';
import { openPool, type Pool } from '@gatepost/webhook-db/pool';
import { openReads } from '@gatepost/webhook-db/reads';
import { checkSecretsKey } from '@gatepost/webhook-db/secrets';
import { webhookDatabaseOf } from '@gatepost/webhook-db/urls';
import { type Keys, openKeys } from './access/keys.ts';
import { makeTokenCheck } from './access/token.ts';
import { applySeed } from './accounts/seed.ts';
import { makeApp } from './app.ts';
import type { Env } from './config.ts';
import { makeConsole } from './console/serve-console.ts';
import { makeDeadLetters } from './dead-letters/dead-letters.ts';
import { openReplica } from './deliveries/replica.ts';
import { readCatalog } from './hooks/catalog.ts';
import { makeLimits } from './http/limits.ts';
import { openRedis } from './http/redis.ts';
import { shouldUpgradeCallback, takeUpgrades } from './http/upgrade.ts';
import { openListeners } from './listeners/listeners.ts';
import { openOrganizations } from './organizations/consume.ts';
import type { Parts } from './parts.ts';
import { openStreams } from './streams/streams.ts';

export const name = 'webhook-api';

const patience = {
  // The head must arrive soon and the body not much later: an open connection costs memory.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the usual idle time of proxies, so that they close first and never write to a closed connection.
  keepAliveTimeout: 65_000,
};

/** @returns the ports it listens on. */
export async function start({
  env,
  log,
  stack,
  stopping,
}: Start<Env>): Promise<{ port: number; tlsPort: number | undefined; opsPort: number }> {
  const last = stack.use(new AsyncDisposableStack()); // closed after everything else
  const seeds = env.SEED_FILE.map((file) => ({ file, seed: parseSeed(readFileSync(file, 'utf8'), file) }));
  if (env.NODE_ENV === 'production') for (const { file, seed } of seeds) await inSeedFile(file, () => refuseDemo(seed));
  const catalog = readCatalog(env.EVENT_CATALOG_FILE);
  const certificate = env.WEBHOOK_API_TLS_PORT === undefined ? undefined : readCertificate(env, 'WEBHOOK_API_TLS_PORT');
  const registry = openMetrics();
  const storesLog = logOfModule(log, 'stores');

  const postgres = await openPostgres(env, stack, storesLog);
  const { pool, replica } = postgres;
  for (const { seed } of seeds) await applySeed(pool, seed.organizations);
  const broker = { url: env.AMQP_URL, name, log: storesLog, reconnects: reconnectCounter(registry) };
  const confirming = { topology: publishersTopology, confirmTimeoutMs: env.STORE_TIMEOUT_MS * 0.75 };
  const publisher = stack.use(await openPublisher({ ...broker, ...confirming }));
  const keysUrl = new URL(env.JWKS_URL ?? `${baseUrlOf(env.ISSUER)}.well-known/jwks.json`);
  const keys = stack.use(openKeys({ url: keysUrl, log: logOfModule(log, 'keys') }));
  const counting = { url: env.REDIS_URL, name, storeTimeoutMs: env.STORE_TIMEOUT_MS, log: storesLog };
  const redis = env.RATE_LIMIT_PER_HOUR > 0 ? stack.use(await openRedis(counting)) : undefined;

  if (env.ORGANIZATION_ACCOUNTS === 'on') stack.use(await organizationsOf({ env, log, pool, keys }, broker));
  const lasting = { env, log, registry, pool };
  const listeners = listenersOf(lasting, broker);
  const streams = streamsOf(lasting, replica !== undefined);
  const own = partsOf(env);
  const deadLetters = makeDeadLetters({ ...own, pool, publisher });
  const opened = { ...postgres, publisher, deadLetters, listeners, streams };
  const parts: Parts = { ...own, ...opened, log: logOfModule(log, 'http'), catalog };
  const stores = storesOf(pool, publisher);
  const ready = { keys: () => keys.ready() };
  const app = makeApp({
    log: logOfModule(log, 'http'),
    registry,
    checkToken: makeTokenCheck({ keys, issuers: parts.issuers, audience: parts.audience }),
    limits: makeLimits({
      redis: redis?.client,
      prefix: env.REDIS_KEY_PREFIX,
      perHour: env.RATE_LIMIT_PER_HOUR,
      concurrent: env.RATE_LIMIT_CONCURRENT,
    }),
    parts,
    trustedProxies: env.TRUSTED_PROXIES,
    ownUrl: env.WEBHOOK_API_URL,
    issuer: env.ISSUER,
    audience: env.WEBHOOK_API_AUDIENCE,
    console: consoleOf(env, log),
    stores: { ...stores, ...ready },
  });
  const serving = { app, env, log, stack };
  const port = await serve(serving, env.WEBHOOK_API_PORT);
  const tlsPort = certificate && (await serve(serving, env.WEBHOOK_API_TLS_PORT!, certificate));
  // The stack closes these before the servers, which wait for their connections.
  stack.use(listeners);
  stack.use(streams);
  const opsAt = { host: env.HOST, port: env.WEBHOOK_API_OPS_PORT, token: env.OPS_TOKEN };
  const ops = last.use(await openOps({ ...opsAt, registry, log, ready, stores, stopping }));
  if (env.NODE_ENV === 'production' && !env.WEBHOOK_API_URL)
    log.warn('WEBHOOK_API_URL is not set: URLs in answers, and links to the next page, name this machine as localhost');
  return { port, tlsPort, opsPort: ops.port };
}

/** Its connections, one per purpose, after checking that it is migrated and sealed with our key. */
async function openPostgres(env: Env, stack: AsyncDisposableStack, log: Log) {
  const { url: databaseUrl, isPooled } = webhookDatabaseOf(env);
  const { STORE_TIMEOUT_MS: timeoutMs, WEBHOOK_READ_DATABASE_URL: replicaUrl } = env;
  const connecting = {
    databaseUrl,
    isPooled,
    name,
    connectTimeoutMs: timeoutMs / 2,
    statementTimeoutMs: timeoutMs,
    planOnce: true,
    onError: (error: Error) => log.warn({ error }, 'lost an idle connection to PostgreSQL'),
  };
  await checkMigrated(databaseUrl);
  const pool = stack.adopt(openPool({ ...connecting, max: 8 }), (opened) => opened.end());
  const reads = stack.use(openReads({ ...connecting, max: 2 }));
  // Given up on soon enough for the primary to answer in time.
  const soon = { connectTimeoutMs: timeoutMs / 4, statementTimeoutMs: timeoutMs / 4, max: 8 };
  const maxLagMs = env.WEBHOOK_READ_MAX_LAG_SECONDS * 1000;
  const replica =
    replicaUrl === undefined
      ? undefined
      : stack.use(
          openReplica({
            primary: pool,
            connecting: { ...connecting, databaseUrl: replicaUrl, mayBeStandby: true, ...soon },
            maxLagMs,
            log,
          }),
        );
  const seal = makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER);
  await checkSecretsKey(pool, seal);
  return { pool, reads, replica, seal };
}

/** The API is ready only while these answer. */
const storesOf = (pool: Pool, publisher: Publisher) => ({
  postgresql: () => checkPostgresWrites(pool),
  rabbitmq() {
    if (!publisher.isConnected()) throw new Error('cannot publish');
  },
});

/** Keeps the gate's organizations as accounts here. */
function organizationsOf({ env, log, pool, keys }: Omit<Lasting, 'registry'> & { keys: Keys }, broker: Broker) {
  return openOrganizations({
    broker: { ...broker, name: `${name} organizations` },
    pool,
    keys,
    issuers: [env.ISSUER, ...env.ISSUER_ALIASES],
    log: logOfModule(log, 'organizations'),
  });
}

type Broker = Omit<ConnectionOptions, 'topology'>;
type Lasting = { env: Env; log: Log; registry: Registry; pool: Pool };

function listenersOf({ env, log, registry, pool }: Lasting, broker: Broker) {
  return openListeners({
    pool,
    broker: { ...broker, name: `${name} listeners`, topology: listenersTopology, initialRetries: 0 },
    brokerTimeoutMs: env.STORE_TIMEOUT_MS * 0.75,
    perCaller: env.LISTENERS_PER_CALLER,
    most: env.LISTENERS_MAX,
    registry,
    log: logOfModule(log, 'listeners'),
  });
}

function streamsOf({ env, log, registry, pool }: Lasting, readsStandby: boolean) {
  return openStreams({
    pool,
    perCaller: env.STREAMS_PER_CALLER,
    most: env.STREAMS_MAX,
    deliveryTimeoutMs: env.DELIVERY_TIMEOUT_MS,
    lagMs: readsStandby ? env.WEBHOOK_READ_MAX_LAG_SECONDS * 1000 : 0,
    registry,
    log: logOfModule(log, 'streams'),
  });
}

/** The parts of the environment that routes need. */
function partsOf(env: Env) {
  const keys = [env.SECRETS_KEY, ...(env.SECRETS_KEY_OTHER ? [env.SECRETS_KEY_OTHER] : [])];
  const jobKeys = keys.map((key) => deriveJobKey(key));
  return {
    issuers: [env.ISSUER, ...env.ISSUER_ALIASES],
    audience: env.WEBHOOK_API_AUDIENCE,
    storeTimeoutMs: env.STORE_TIMEOUT_MS,
    jobKey: jobKeys[0]!,
    jobKeys,
    amqpUrl: env.AMQP_URL,
    amqpUser: userOf(env.AMQP_URL),
    allowedNetworks: env.DELIVERY_ALLOWED_NETWORKS,
    egressCidrs: env.DELIVERY_EGRESS_CIDRS,
    throttleDefaults: { rate: env.THROTTLE_RATE, burst: env.THROTTLE_BURST },
    deliveryTimeoutMs: env.DELIVERY_TIMEOUT_MS,
  };
}

/** @returns the port. */
async function serve(
  { app, env, log, stack }: Pick<Start<Env>, 'env' | 'log' | 'stack'> & { app: ReturnType<typeof makeApp> },
  port: number,
  certificate?: Certificate,
): Promise<number> {
  const server = createServerWith(certificate, { ...patience, shouldUpgradeCallback }, app);
  takeUpgrades(server, app);
  const listening = stack.use(await listen(server, { host: env.HOST, port, closeWithinMs: 6_000 }));
  log.info({ url: `${certificate ? 'https' : 'http'}://${env.HOST}:${listening.port}` }, 'listening');
  return listening.port;
}

function consoleOf(env: Env, log: Log) {
  if (env.CONSOLE === 'off') return undefined;
  const { ISSUER: issuer, CONSOLE_CLIENT_ID: clientId, WEBHOOK_API_AUDIENCE: audience } = env;
  const made = makeConsole({ issuer, clientId, audience });
  if (!made) log.info('/console/ is not served: it was not built (pnpm --filter @gatepost/console build)');
  return made;
}
