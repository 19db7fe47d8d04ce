/** The whole run: stores, system, accounts; then kills during a stream of events; then the comparison. */
import { setMaxListeners } from 'node:events';
import { openProducer } from '@gatepost/producer';
import { openApi } from '@gatepost/testkit/api';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import type { Context } from '../local/commands/command.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { storeKinds } from '../local/stores/stores.ts';
import { openOwnStores } from '../tests/own-stores.ts';
import { createHooks, writeSeed } from './accounts.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { drain } from './drain.ts';
import { makeFaults, type Struck, strikeInTurn } from './faults.ts';
import { openFleet } from './fleet.ts';
import { publishSteadily } from './load.ts';
import { judge, type Verdict } from './proof.ts';
import { makeRandom } from './random.ts';
import { openRecord } from './record.ts';

export type ChaosOptions = {
  accounts: number;
  /** How long to publish and kill. */
  seconds: number;
  eventsPerSecond: number;
  /** Share of requests that the receiver answers with 503, causing another attempt. */
  failingShare: number;
  /** Whether stores are also frozen for up to 20 s. */
  freezes: boolean;
  /** RabbitMQ is a cluster of three nodes, which are killed and cut off from each other one at a time: a new one, or this. */
  cluster?: boolean | Cluster;
  /** Further variables for the services. */
  env?: Record<string, string>;
  /** Names of the only faults to strike. Default: all. */
  only?: string[];
  seed: number;
};

// Short, so that the last attempts end soon after the last kill; there are enough attempts to leave nothing to luck.
const retryScheduleSeconds = '1,1,2,2,4,4,8,8';
const dispatchers = 2;
// Longer than it takes a client to notice a silent server.
const goOnMs = 60_000;

export async function runChaos(context: Context, options: ChaosOptions): Promise<Verdict> {
  const { say, signal, stack } = context;
  setMaxListeners(0, signal);
  const random = makeRandom(options.seed);
  const kinds = storeKinds.filter(({ name }) => !(options.cluster && name === 'RabbitMQ'));
  const own = await openOwnStores(context, 'chaos', kinds);
  const cluster = options.cluster === true ? await openCluster(own.options) : options.cluster || undefined;
  const record = stack.use(await openRecord(options.failingShare, random));
  const system = await say.step('system', 'auth, webhook-api and the first dispatcher are ready', async () =>
    stack.use(
      await openSystem({
        seedFile: writeSeed(context.home, options),
        databaseUrl: own.urls.PostgreSQL,
        amqpUrl: cluster?.url ?? own.urls.RabbitMQ,
        redisUrl: own.urls.Redis,
        env: { RETRY_SCHEDULE_SECONDS: retryScheduleSeconds, ...options.env },
      }),
    ),
  );
  const fleet = stack.use(await openFleet(system, dispatchers));
  const api = await openApi(system);
  const places = await createHooks(api, record.url, options);

  const end = performance.now() + options.seconds * 1_000;
  const isOver = () => performance.now() > end;
  const faults = makeFaults(own.stores, cluster?.nodes ?? [], fleet, { freezes: options.freezes, signal }).filter(
    ({ name }) => options.only?.includes(name) ?? true,
  );
  if (faults.length === 0) throw new Trouble(`There is no fault ${options.only?.join(', ')}.`);
  await using producer = await openProducer({
    url: system.amqpUrl,
    source: 'urn:gatepost:chaos',
    maxInFlight: 20_000,
  });
  const struckAll = new AbortController();
  let latest = 0;
  const isWorking = async () => {
    const before = latest;
    return until('a later event', () => record.latest() > before, goOnMs, signal).catch(() => {
      signal.throwIfAborted();
      return false;
    });
  };
  const onStrike = (name: string, text: string) => say.about(name, text);
  const strikes = { random, isOver, isWorking, onStrike, signal };
  const [struck, published] = await orStopped(
    signal,
    Promise.all([
      strikeInTurn(faults, strikes).finally(() => struckAll.abort()),
      publishSteadily(producer, places, {
        perSecond: options.eventsPerSecond,
        over: struckAll.signal,
        onPublish(number) {
          latest = number;
        },
      }),
    ]),
  );

  const from = performance.now();
  const expected = published.events.reduce((sum, event) => sum + event.place.hooks.length, 0);
  await say.step(
    'drain',
    () => `${record.acceptedOnce()} of ${expected} deliveries accepted`,
    () => drain(record, expected, { signal }),
  );
  const drainSeconds = (performance.now() - from) / 1_000;
  return await say.step('proof', 'the three records are compared', () =>
    judge({ published, record, api, places, fleet, system, struck, drainSeconds }),
  );
}

/** Stops waiting for work in progress when the run is stopped: a dispatcher may not come up while its broker is down. */
function orStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, stopped]);
}

export type { Struck };
