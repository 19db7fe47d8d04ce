/** The webhook API’s parts, in the order in which they are opened; the stack closes them in reverse. */

import { readFileSync } from 'node:fs';
import { userOf } from '@gatepost/amqp/brokers';
import { openPublisher } from '@gatepost/amqp/publisher';
import { reconnectCounter } from '@gatepost/amqp/reconnects';
import { deriveJobKey } from '@gatepost/contracts/delivery-job';
import { refuseDemo } from '@gatepost/contracts/demo-secrets';
import { listenersTopology } from '@gatepost/contracts/forwarding';
import { parseSeed } from '@gatepost/contracts/seed';
import { publishersTopology } from '@gatepost/contracts/topology';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { listen } from '@gatepost/runtime/listen';
import { type Log, logOfModule } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import { openOps } from '@gatepost/runtime/ops';
import type { Start } from '@gatepost/runtime/run';
import { makeSeal } from '@gatepost/runtime/seal';
import { type Certificate, createServerWith, readCertificate } from '@gatepost/runtime/tls';
import { openDatabase } from '@gatepost/webhook-db/client';
import { checkMigrated } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { openReads } from '@gatepost/webhook-db/reads';
import { checkSecretsKey } from '@gatepost/webhook-db/secrets';
import { webhookDatabaseOf } from '@gatepost/webhook-db/urls';
import { openKeys } from './access/keys.ts';
import { makeTokenCheck } from './access/token.ts';
import { applySeed } from './accounts/seed.ts';
import { makeApp } from './app.ts';
import type { Env } from './config.ts';
import { makeConsole } from './console/serve-console.ts';
import { openReplica } from './deliveries/replica.ts';
import { readCatalog } from './hooks/catalog.ts';
import { makeLimits } from './http/limits.ts';
import { openRedis } from './http/redis.ts';
import { shouldUpgradeCallback, takeUpgrades } from './http/upgrade.ts';
import { openListeners } from './listeners/listeners.ts';
import type { Parts } from './parts.ts';
import { openStreams } from './streams/streams.ts';

export const name = 'webhook-api';

const patience = {
  // A head must be there soon and a body not much later: an open connection costs memory.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the idle time of the usual proxies, so that they close first and never write into a closed connection.
  keepAliveTimeout: 65_000,
};

/** @returns the ports it listens on. */
export async function start({
  env,
  log,
  stack,
  stopping,
}: Start<Env>): Promise<{ port: number; tlsPort: number | undefined; opsPort: number }> {
  const { url: databaseUrl, isPooled } = webhookDatabaseOf(env);
  const seeds = env.SEED_FILE.map((file) => parseSeed(readFileSync(file, 'utf8'), file));
  if (env.NODE_ENV === 'production') seeds.forEach(refuseDemo);
  const catalog = readCatalog(env.EVENT_CATALOG_FILE);
  const certificate = env.WEBHOOK_API_TLS_PORT === undefined ? undefined : readCertificate(env, 'WEBHOOK_API_TLS_PORT');
  const registry = openMetrics();
  const storesLog = logOfModule(log, 'stores');

  const { STORE_TIMEOUT_MS: storeTimeoutMs } = env;
  const connecting = {
    databaseUrl,
    isPooled,
    name,
    connectTimeoutMs: storeTimeoutMs / 2,
    statementTimeoutMs: storeTimeoutMs,
    planOnce: true,
    onError: (error: Error) => storesLog.warn({ error }, 'lost an idle connection to PostgreSQL'),
  };
  await checkMigrated(databaseUrl);
  const pool = stack.adopt(openPool({ ...connecting, max: 8 }), (opened) => opened.end());
  const reads = stack.use(openReads({ ...connecting, max: 2 }));
  const replica =
    env.WEBHOOK_READ_DATABASE_URL === undefined
      ? undefined
      : stack.use(
          openReplica({
            primary: pool,
            // It is given up on soon enough for the primary to answer in time.
            connecting: {
              ...connecting,
              databaseUrl: env.WEBHOOK_READ_DATABASE_URL,
              connectTimeoutMs: storeTimeoutMs / 4,
              statementTimeoutMs: storeTimeoutMs / 4,
              max: 8,
            },
            maxLagMs: env.WEBHOOK_READ_MAX_LAG_SECONDS * 1000,
            log: storesLog,
          }),
        );
  const seal = makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER);
  await checkSecretsKey(pool, seal);
  const database = stack.adopt(openDatabase({ ...connecting, max: 4 }), (opened) => opened.$disconnect());
  for (const seed of seeds) await applySeed(database, seed.organizations);
  const broker = { url: env.AMQP_URL, name, log: storesLog, reconnects: reconnectCounter(registry) };
  const publisher = stack.use(
    await openPublisher({
      ...broker,
      topology: publishersTopology,
      confirmTimeoutMs: storeTimeoutMs * 0.75,
    }),
  );
  const keys = stack.use(
    openKeys({
      url: new URL(env.JWKS_URL ?? `${baseUrlOf(env.ISSUER)}.well-known/jwks.json`),
      log: logOfModule(log, 'keys'),
    }),
  );
  const redis =
    env.RATE_LIMIT_PER_HOUR > 0 ? stack.use(await openRedis({ url: env.REDIS_URL, name, log: storesLog })) : undefined;

  const listeners = openListeners({
    pool,
    broker: { ...broker, name: `${name} listeners`, topology: listenersTopology, initialRetries: 0 },
    perCaller: env.LISTENERS_PER_CALLER,
    most: env.LISTENERS_MAX,
    registry,
    log: logOfModule(log, 'listeners'),
  });
  const streams = openStreams({
    pool,
    perCaller: env.STREAMS_PER_CALLER,
    most: env.STREAMS_MAX,
    lagMs: replica ? env.WEBHOOK_READ_MAX_LAG_SECONDS * 1000 : 0,
    registry,
    log: logOfModule(log, 'streams'),
  });
  const jobKey = deriveJobKey(env.SECRETS_KEY);
  const parts: Parts = {
    log: logOfModule(log, 'http'),
    reads,
    replica,
    pool,
    database,
    publisher,
    issuers: [env.ISSUER, ...env.ISSUER_ALIASES],
    audience: env.WEBHOOK_API_AUDIENCE,
    listeners,
    streams,
    storeTimeoutMs,
    jobKey,
    jobKeys: [jobKey, ...(env.SECRETS_KEY_OTHER ? [deriveJobKey(env.SECRETS_KEY_OTHER)] : [])],
    amqpUrl: env.AMQP_URL,
    amqpUser: userOf(env.AMQP_URL),
    seal,
    catalog,
    allowedNetworks: env.DELIVERY_ALLOWED_NETWORKS,
    egressCidrs: env.DELIVERY_EGRESS_CIDRS,
    throttleDefaults: { rate: env.THROTTLE_RATE, burst: env.THROTTLE_BURST },
    deliveryTimeoutMs: env.DELIVERY_TIMEOUT_MS,
  };
  const stores = {
    postgresql: () => pool.query('SELECT'),
    rabbitmq() {
      if (!publisher.isConnected()) throw new Error('not connected');
    },
    keys: () => keys.ready(),
  };
  const app = makeApp({
    log: logOfModule(log, 'http'),
    registry,
    checkToken: makeTokenCheck({
      keys,
      issuers: parts.issuers,
      audience: parts.audience,
    }),
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
    stores,
  });
  const serve = async (port: number, certificate?: Certificate) => {
    const server = createServerWith(certificate, { ...patience, shouldUpgradeCallback }, app);
    takeUpgrades(server, app);
    const listening = stack.use(await listen(server, { host: env.HOST, port, closeWithinMs: 6_000 }));
    log.info({ url: `${certificate ? 'https' : 'http'}://${env.HOST}:${listening.port}` }, 'listening');
    return listening.port;
  };
  const port = await serve(env.WEBHOOK_API_PORT);
  const tlsPort = certificate && (await serve(env.WEBHOOK_API_TLS_PORT!, certificate));
  // Before the servers, which wait for their connections, in the stack's order of closing.
  stack.use(listeners);
  stack.use(streams);
  const ops = stack.use(
    await openOps({
      host: env.HOST,
      port: env.WEBHOOK_API_OPS_PORT,
      registry,
      log,
      token: env.OPS_TOKEN,
      ready: stores,
      stopping,
    }),
  );
  if (env.NODE_ENV === 'production' && !env.WEBHOOK_API_URL)
    log.warn('WEBHOOK_API_URL is not set: URLs in answers, and links to the next page, name this machine as localhost');
  return { port, tlsPort, opsPort: ops.port };
}

function consoleOf(env: Env, log: Log) {
  if (env.CONSOLE === 'off') return undefined;
  const { ISSUER: issuer, CONSOLE_CLIENT_ID: clientId, WEBHOOK_API_AUDIENCE: audience } = env;
  const made = makeConsole({ issuer, clientId, audience });
  if (!made) log.info('/console/ is not served: it was not built (pnpm --filter @gatepost/console build)');
  return made;
}
