/**
 * Runs replays: counts the deliveries of each, then parks and publishes a few at a time as outcomes arrive, and only while this dispatcher has
 * nothing better to do, after everything else of their account (docs/decisions/0418-numbers-and-replays.md).
 */
import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryJob, jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Row } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import {
  countNext,
  endReplay,
  findNext,
  forgetStopped,
  handOverNext,
  listRunning,
  lockReplay,
  nextNumbers,
  noteCounted,
  type Replay,
  type Replayed,
} from '@gatepost/webhook-db/replays';
import { hasWaiting, returnToWaiting } from '@gatepost/webhook-db/waiting';
import type { PoolClient } from 'pg';
import type { Account, Accounts } from '../accounts.ts';
import type { Limit } from '../limit/bucket.ts';
import type { Throttle } from '../limit/throttle.ts';
import type { Metrics } from '../metrics.ts';
import { type Enqueue, Unconfirmed } from '../routing/enqueue.ts';
import type { WorkCounts } from '../work-counts.ts';
import { toOutgoing } from './pump.ts';
import { forReplays, type ReleasedRow, release } from './release.ts';
import { makePace } from './replay-pace.ts';

/** How many deliveries of a replay wait or are in flight. */
const waitingMax = 50;
/** How many replays are looked at in one round. */
const replaysMax = 20;
const idleMs = 1_000;
/**
 * The timeout is for hanging dispatchers, which would block the replay. Rows are read in index order: PostgreSQL expects few rows in a hook's
 * days, and would read and sort all that are left in each step.
 */
const settings =
  'SET LOCAL idle_in_transaction_session_timeout = 5000; SET LOCAL enable_sort = off; SET LOCAL jit = off';

type Parts = {
  pool: Pool;
  accounts: Pick<Accounts, 'ofId' | 'ofIdSince'>;
  throttle: Pick<Throttle, 'release'>;
  metrics: Metrics;
  limitOf: (account: Pick<Account, 'throttle'>) => Limit;
  enqueue: Enqueue;
  log: Log;
};

/**
 * Runs until disposed. Any number of dispatchers may run this: each step locks the row of its replay. `isBusy`: nothing is to be replayed
 * now; `workCounts` tells whether there are fresh deliveries.
 */
export function openReplays(
  options: Parts & { isBusy: () => boolean; workCounts: Pick<WorkCounts, 'events'> },
): AsyncDisposable {
  const stop = new AbortController();
  const { pace, began } = makePace(options.workCounts);
  let afterId = '0';
  let forgottenAt = 0;
  /** Answers how long to wait before looking again. */
  const round = async (): Promise<number> => {
    if (performance.now() - forgottenAt > idleMs) {
      await forgetStopped(options.pool);
      forgottenAt = performance.now();
    }
    const { most, roundMs } = pace();
    const running = await listRunning(options.pool, afterId, replaysMax);
    const each = Math.max(1, Math.floor(most / running.length));
    let left = most;
    let [isMore, from] = [running.length === replaysMax, afterId];
    for (const { id, waiting } of running) {
      // The remaining replays come first in the next round.
      if (left <= 0) isMore = true;
      if (left <= 0) break;
      from = id;
      if (waiting >= waitingMax || options.isBusy() || stop.signal.aborted) continue;
      await step(options, id, each);
      left -= each;
    }
    afterId = isMore ? from : '0';
    return running.length > 0 || isMore ? roundMs : idleMs;
  };
  const carrying = (async () => {
    while (!stop.signal.aborted) {
      let pauseMs = idleMs;
      try {
        pauseMs = await round();
      } catch (error) {
        options.log.warn({ error }, 'could not continue a replay, trying again');
      }
      const beginsAt = performance.now() + pauseMs * (0.75 + Math.random() / 2);
      await wait(beginsAt - performance.now(), undefined, { signal: stop.signal }).catch(() => {
        // disposed: the loop ends
      });
      began(performance.now() - beginsAt);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await carrying;
    },
  };
}

/** counting → running → done; or stopped at any time, by request (then it is not found here) or because its hook is no longer active. */
async function step(parts: Parts, id: string, most: number): Promise<void> {
  const { pool, accounts, log } = parts;
  const { ended, released = [] } = await inTransaction(
    pool,
    async (client): Promise<Stepped> => {
      const replay = await lockReplay(client, id);
      if (!replay) return {};
      const account = await findAccount(accounts, replay);
      const hook = account?.hooks.get(replay.hook_id);
      if (!account || !hook?.deliverable) return { ended: { replay, how: 'hook_inactive' } };
      if (replay.state === 'counting') await noteCounted(client, replay, await countNext(client, replay));
      else if (!hook.paused) return handOver(parts, client, replay, parts.limitOf(account), most);
      return {};
    },
    settings,
  );
  if (released.length > 0) await publish(parts, released);
  if (!ended) return;
  await endReplay(pool, ended.replay, ended.how);
  log.info({ 'replay.id': id, 'hook.id': ended.replay.hook_id, how: ended.how }, 'a replay has ended');
}

type Stepped = { ended?: { replay: Replay; how: 'done' | 'hook_inactive' }; released?: ReleasedRow[] };

/** Unpublished deliveries wait again; the rescue finds those we leave behind if we die. */
async function publish({ pool, enqueue }: Parts, released: ReleasedRow[]): Promise<void> {
  try {
    await enqueue(released.map(toOutgoing));
  } catch (error) {
    const rows = released.map(({ row }) => row);
    await returnToWaiting(pool, error instanceof Unconfirmed ? unconfirmedOf(rows, error) : rows);
    throw error;
  }
}

/** RabbitMQ may have them all the same, so their jobs say that an attempt may be a repetition. */
function unconfirmedOf(rows: Row[], { jobs }: Unconfirmed): Row[] {
  const ids = new Set(jobs.map(({ job }) => job.deliveryId));
  const failed = rows.filter((row) => ids.has(Number(row.delivery_id)));
  return failed.map((row) => ({ ...row, job: JSON.stringify({ ...JSON.parse(row.job), mayRepeat: true }) }));
}

/** The cached account may be older than the hook or its activation: only a fresh read proves that the hook is not active. */
async function findAccount(accounts: Parts['accounts'], { account_id, hook_id }: Replay): Promise<Account | undefined> {
  const momentMs = performance.now();
  const known = await accounts.ofId(account_id);
  return known?.hooks.get(hook_id)?.deliverable ? known : accounts.ofIdSince(account_id, momentMs);
}

/**
 * Parks the next deliveries, unless others of the account wait for its limit: those go first. They count as published, and are once this is
 * committed, except those that the limit refuses, which the pump brings back.
 */
async function handOver(
  parts: Parts,
  client: PoolClient,
  replay: Replay,
  limit: Limit,
  most: number,
): Promise<Stepped> {
  if (await hasWaiting(client, replay.account_id)) return {};
  const { found, to, isEnd } = await findNext(client, replay, Math.max(1, Math.min(most, waitingMax - replay.waiting)));
  if (isEnd && found.length === 0 && replay.waiting === 0) return { ended: { replay, how: 'done' } };
  const unnumbered = replay.status === 'missed' ? found.filter(({ sequence }) => sequence === null) : [];
  let next = unnumbered.length > 0 ? await nextNumbers(client, replay.hook_id, unnumbered.length) : 0;
  const jobs = found.map((row) => toJob(replay, row, unnumbered.includes(row) ? next++ : row.sequence));
  const rows = await handOverNext(client, replay, jobs, to, jobBodyMaxBytes);
  const { rows: released, refused } = await release(parts, forReplays(limit), replay.account_id, rows);
  await returnToWaiting(client, refused);
  return { released };
}

/** The same event to the same hook, tried once: a failed one can be replayed again. */
function toJob(replay: Replay, row: Replayed, sequence: number | string | null): Omit<DeliveryJob, 'deliveryId'> {
  return {
    guid: row.guid,
    hookId: replay.hook_id,
    event: row.event,
    action: row.action,
    eventKey: row.event_key,
    eventOn: row.event_on,
    accountId: replay.account_id,
    repositoryId: row.repository_id,
    occurredAt: row.occurred_at.toISOString(),
    attempt: 1,
    ...(sequence !== null && { sequence: Number(sequence) }),
    redelivery: true,
    throttledAt: null,
    retries: false,
    replayId: Number(replay.id),
  };
}
