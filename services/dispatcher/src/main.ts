/** The dispatcher's parts list. */

import { readFileSync } from 'node:fs';
import { findShards } from '@gatepost/amqp/find-shards';
import { openPublisher } from '@gatepost/amqp/publisher';
import { reconnectCounter } from '@gatepost/amqp/reconnects';
import { deriveJobKey } from '@gatepost/contracts/delivery-job';
import { listenersTopology } from '@gatepost/contracts/forwarding';
import { anyProducer, type Producers, parseProducers } from '@gatepost/contracts/producers';
import { topologyOf } from '@gatepost/contracts/shards';
import { dispatcherStopMs, handsEmptyMs } from '@gatepost/contracts/stopping';
import { deadEventsQueue, deliveriesQueue, eventsQueue } from '@gatepost/contracts/topology';
import { makeGuard } from '@gatepost/runtime/address';
import { type Log, logOfModule } from '@gatepost/runtime/log';
import { openMetrics, type Registry } from '@gatepost/runtime/metrics';
import { openOps } from '@gatepost/runtime/ops';
import { checkPostgresWrites } from '@gatepost/runtime/postgres';
import { run } from '@gatepost/runtime/run';
import { makeSeal } from '@gatepost/runtime/seal';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { makeStoreEvents } from '@gatepost/webhook-db/events';
import { checkMigrated } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { checkSecretsKey } from '@gatepost/webhook-db/secrets';
import { countTakers, openTaker } from '@gatepost/webhook-db/takers';
import { webhookDatabaseOf } from '@gatepost/webhook-db/urls';
import { type Account, openAccounts } from './accounts.ts';
import { type Env, variables } from './config.ts';
import { type Consumers, openConsumers } from './consume.ts';
import { makeForward } from './delivering/forward.ts';
import { makeInbox } from './delivering/inbox.ts';
import { makePayloads } from './delivering/payloads.ts';
import { makePost } from './delivering/post.ts';
import { type FailingHooks, makeFailingHooks } from './failing-hooks.ts';
import { makeBackpressure } from './fairness/backpressure.ts';
import { makeAdmit } from './limit/admit.ts';
import { openThrottle } from './limit/throttle.ts';
import { type Metrics, makeMetrics } from './metrics.ts';
import { openPump } from './parked/pump.ts';
import { makeReleaseDue, makeReleaseWaiting } from './parked/release.ts';
import { openReplays } from './parked/replay.ts';
import { openRescue } from './parked/rescue.ts';
import { watchWaiting } from './parked/watch.ts';
import { keepPartitions } from './partitions.ts';
import { watchDispatcher } from './progress.ts';
import { lengthOfShards, watchQueues } from './queues.ts';
import { makeEnqueue } from './routing/enqueue.ts';
import { openLargeEvents } from './routing/large-events.ts';
import { makeRoute, type Route } from './routing/route.ts';
import { makePersist, type Persist } from './settling/persist.ts';
import { makeSettle } from './settling/settle.ts';
import { makeWorkCounts, type WorkCounts } from './work-counts.ts';

// Names are looked up on half of libuv's threads, which are four by default.
process.env.UV_THREADPOOL_SIZE ??= '32';
const lookupThreads = Math.floor(((Number.parseInt(process.env.UV_THREADPOOL_SIZE, 10) || 1) + 1) / 2);
/** How many of these may look up names of receivers; the others are left for the names of our own stores. */
const lookupsAtOnce = Math.max(1, Math.floor(lookupThreads * 0.75));

/** While more events than this wait to be routed here, nothing is replayed. */
const eventsWaitingMax = 200;

const service = {
  name: 'dispatcher',
  stopDeadlineMs: ({ DELIVERY_TIMEOUT_MS }: Env) => dispatcherStopMs(DELIVERY_TIMEOUT_MS),
};

await run(service, variables, async ({ env, log, stack, stopping }) => {
  const logs = {
    stores: logOfModule(log, 'stores'),
    limit: logOfModule(log, 'limit'),
    routing: logOfModule(log, 'routing'),
    delivering: logOfModule(log, 'delivering'),
    parked: logOfModule(log, 'parked'),
  };
  const registry = openMetrics();
  const failing = makeFailingHooks();
  const metrics = makeMetrics(logs, registry, failing);
  const giveUp = new AbortController();
  const persist = makePersist({ log: logs.stores, giveUp: giveUp.signal, troubleOf });
  const producers = env.PRODUCERS_FILE ? parseProducers(readFileSync(env.PRODUCERS_FILE, 'utf8')) : anyProducer;
  const common = {
    env,
    log,
    logs,
    stack,
    last: stack.use(new AsyncDisposableStack()),
    stopping,
    registry,
    failing,
    metrics,
    giveUp,
    persist,
    producers,
    workCounts: makeWorkCounts(),
  };

  const stores = await openStores(common);
  const broker = await openBroker(common);
  const delivering = await openDelivering(common, stores, broker);
  const { route, routeAhead, backpressure } = await makeRouting(common, stores, delivering);
  const consumers = stack.use(
    await openConsumers({
      ...common,
      ...broker,
      ...delivering,
      route,
      routeAhead,
      backpressure,
      log: logs.routing,
      stopDeadlineMs: handsEmptyMs(env.DELIVERY_TIMEOUT_MS),
    }),
  );
  // The stack closes these before the consumers: jobs pumped while those stop go to other dispatchers.
  openParked(common, stores, broker, { ...delivering, route });
  await openOperations(common, stores, { ...broker, ...delivering, consumers, routes: [route, routeAhead] });
});

type Common = {
  env: Env;
  log: Log;
  logs: Record<'stores' | 'limit' | 'routing' | 'delivering' | 'parked', Log>;
  stack: AsyncDisposableStack;
  /** Closed after everything else in the stack. */
  last: AsyncDisposableStack;
  stopping: AbortSignal | undefined;
  registry: Registry;
  failing: FailingHooks;
  metrics: Metrics;
  giveUp: AbortController;
  persist: Persist;
  producers: Producers;
  workCounts: WorkCounts;
};

/** PostgreSQL and Redis, and what is built on them. */
async function openStores({ env, logs, stack, registry }: Common) {
  const { url: databaseUrl, directUrl, isPooled } = webhookDatabaseOf(env);
  await checkMigrated(databaseUrl);
  const pool = openPool({
    databaseUrl,
    isPooled,
    name: 'gatepost dispatcher',
    max: 12,
    keeps: 12,
    byIndexOnly: true,
    onError: (error) => logs.stores.warn({ error }, 'lost a connection to PostgreSQL'),
  });
  stack.defer(() => pool.end());
  const kept = { days: env.DELIVERY_RETENTION_DAYS, statsDays: env.STATS_RETENTION_DAYS };
  stack.use(await keepPartitions(pool, kept, logs.stores));
  const waiting = stack.use(watchWaiting(pool, registry));
  const seal = makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER);
  await checkSecretsKey(pool, seal);
  const onLost = () =>
    logs.stores.warn('others may take what is in hand here for abandoned: lost a lock in PostgreSQL');
  const taker = stack.use(await openTaker({ databaseUrl: directUrl, name: 'gatepost dispatcher lives', onLost }));
  // After the taker: without Redis it counts the takers at once, and ours is one of them.
  const throttle = stack.use(
    await openThrottle({
      redisUrl: env.REDIS_URL,
      prefix: env.REDIS_KEY_PREFIX,
      countDispatchers: () => countTakers(pool),
      log: logs.limit,
      registry,
    }),
  );
  const limitOf = ({ throttle: own }: Pick<Account, 'throttle'>) => ({
    rate: own.rate ?? env.THROTTLE_RATE,
    burst: own.burst ?? env.THROTTLE_BURST,
  });
  const accounts = stack.use(await openAccounts({ pool, directUrl, seal, log: logs.routing }));
  return { pool, databaseUrl, isPooled, directUrl, waiting, taker, throttle, limitOf, accounts };
}
type Stores = Awaited<ReturnType<typeof openStores>>;

/** RabbitMQ: the publishers, and the lengths of our queues. */
async function openBroker({ env, logs, stack, stopping, registry }: Common) {
  const shards = await findShards(env.AMQP_URL, { events: env.EVENT_SHARDS, deliveries: env.DELIVERY_SHARDS });
  const topology = topologyOf(shards);
  const broker = { url: env.AMQP_URL, log: logs.stores, registry, reconnects: reconnectCounter(registry), topology };
  const publishing = { name: 'gatepost dispatcher publishing', outlastsAlarmsUntil: stopping };
  const publisher = stack.use(await openPublisher({ ...broker, ...publishing }));
  return {
    broker,
    shards,
    publisher,
    eventsWaiting: () => lengthOfShards(publisher, eventsQueue, shards.events),
    jobsWaiting: () => lengthOfShards(publisher, deliveriesQueue, shards.deliveries),
  };
}
type Broker = Awaited<ReturnType<typeof openBroker>>;

async function openDelivering(common: Common, stores: Stores, { broker, publisher, shards }: Broker) {
  const { env, logs, stack, metrics, giveUp, persist, workCounts } = common;
  const { pool, databaseUrl, isPooled, taker, throttle, limitOf, accounts } = stores;
  const post = stack.use(
    makePost({
      timeoutMs: env.DELIVERY_TIMEOUT_MS,
      guard: makeGuard(env.DELIVERY_ALLOWED_NETWORKS),
      lookupsAtOnce,
      extraRoots: env.DELIVERY_CA_FILE && readFileSync(env.DELIVERY_CA_FILE, 'utf8'),
      proxyUrl: env.DELIVERY_PROXY_URL,
    }),
  );
  const forward = stack.use(
    makeForward({
      timeoutMs: env.DELIVERY_TIMEOUT_MS,
      broker: { ...broker, topology: listenersTopology, name: 'gatepost dispatcher forwarding', initialRetries: 0 },
    }),
  );
  const jobKey = deriveJobKey(env.SECRETS_KEY);
  const enqueue = makeEnqueue(publisher, jobKey, shards.deliveries.used);
  const admit = makeAdmit(throttle, limitOf, metrics);
  const settle = makeSettle({ publisher, persist, metrics, log: logs.routing, giveUp: giveUp.signal });
  const largeEvents = stack.use(openLargeEvents({ databaseUrl, isPooled }));
  const payloads = makePayloads(pool, largeEvents, persist);
  const inbox = makeInbox({
    pool,
    accounts,
    jobKeys: [jobKey, ...(env.SECRETS_KEY_OTHER ? [deriveJobKey(env.SECRETS_KEY_OTHER)] : [])],
    post,
    forward,
    payloads,
    admit,
    settle,
    persist,
    workCounts,
    metrics,
    log: logs.delivering,
    userAgent: env.DELIVERY_USER_AGENT,
    concurrency: env.DELIVERY_CONCURRENCY,
    lockedBy: taker.lockedBy,
    retryScheduleSeconds: env.RETRY_SCHEDULE_SECONDS,
  });
  return { enqueue, admit, settle, largeEvents, payloads, inbox };
}
type Delivering = Awaited<ReturnType<typeof openDelivering>>;

async function makeRouting(common: Common, { pool, taker, accounts }: Stores, delivering: Delivering) {
  const { inbox } = delivering;
  const storeEvents = await makeStoreEvents(pool);
  const parts = {
    ...common,
    ...delivering,
    pool,
    taker,
    accounts,
    storeEvents,
    taken: inbox.taken,
    log: common.logs.routing,
  };
  const backpressure = makeBackpressure();
  // Beside a flood nobody waits for the places it takes: a delivery without one becomes a job.
  const routeAhead = makeRoute(parts, { atOnce: 4, isAhead: true });
  const route = makeRoute(parts, {
    ahead: routeAhead,
    async before() {
      await backpressure.lifted();
      await inbox.taken.roomSoon();
    },
  });
  return { route, routeAhead, backpressure };
}

/** The background jobs that bring parked deliveries back. */
function openParked(
  common: Common,
  stores: Stores,
  broker: Broker,
  { enqueue, inbox, route }: Delivering & { route: Route },
): void {
  const { env, logs, stack, registry, metrics, workCounts } = common;
  const { pool } = stores;
  const { publisher, eventsWaiting, jobsWaiting } = broker;
  const isBehind = () => inbox.waitingForRoom() > env.DELIVERY_CONCURRENCY / 2;
  const deadLetters = () => publisher.waiting(deadEventsQueue);
  stack.use(watchQueues({ events: eventsWaiting, deliveries: jobsWaiting, dead: deadLetters }, registry));
  const releaseParts = { ...stores, metrics };
  stack.use(
    openPump({
      pool,
      enqueue,
      publisher,
      releaseWaiting: makeReleaseWaiting(releaseParts),
      releaseDue: makeReleaseDue(releaseParts),
      jobsWaiting,
      isBehind,
      hasRoom: () => inbox.waiting() < env.DELIVERY_CONCURRENCY / 2,
      metrics,
      workCounts,
      log: logs.parked,
    }),
  );
  const isBusy = () => isBehind() || route.waiting() > eventsWaitingMax;
  stack.use(openReplays({ ...releaseParts, enqueue, isBusy, workCounts, log: logs.parked }));
  stack.use(openRescue({ pool, jobsWaiting, afterMs: env.RESCUE_AFTER_SECONDS * 1000, log: logs.parked }));
}

/** What operators and the process supervisor see. */
async function openOperations(
  { env, log, stack, last, stopping, registry, failing, workCounts }: Common,
  { pool, waiting, accounts }: Stores,
  {
    publisher,
    eventsWaiting,
    jobsWaiting,
    inbox,
    consumers,
    routes,
  }: Broker & Delivering & { consumers: Consumers; routes: Route[] },
): Promise<void> {
  const { DELIVERY_TIMEOUT_MS: deliveryTimeoutMs } = env;
  const waits = { eventsWaiting, jobsWaiting, deliveryTimeoutMs };
  const progress = stack.use(watchDispatcher({ workCounts, routes, inbox, ...waits, registry, log }));
  // The attempts that end while it stops are counted too, and scraped.
  const ops = last.use(
    await openOps({
      host: env.HOST,
      port: env.DISPATCHER_OPS_PORT,
      registry,
      log,
      token: env.OPS_TOKEN,
      stopping,
      reports: { '/top': () => ({ waiting: waiting.latest() ?? null, failing: failing.top() }) },
      ready: { progress: progress.check },
      stores: {
        database: () => checkPostgresWrites(pool),
        changes() {
          if (!accounts.isHearing()) throw new Error('nothing is heard of changes in PostgreSQL');
        },
        broker: () => {
          if (!consumers.areConnected()) throw new Error('not connected to RabbitMQ');
          if (!publisher.isConnected()) throw new Error('cannot publish to RabbitMQ');
        },
      },
    }),
  );
  log.info({ 'ops.port': ops.port }, 'ops port open');
}
