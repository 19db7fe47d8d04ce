/**
 * Carries replays out: counts what one is about, and then parks a few of its deliveries at a time, as their outcomes come, and only while this
 * dispatcher has nothing better to do. The pump lets them go after all else of their account (docs/decisions/0419-replays.md).
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import { inTransaction } from '@gatepost/runtime/transaction';
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
import type { PoolClient } from 'pg';
import type { Accounts } from '../accounts.ts';

/** How many deliveries of a replay wait or are in flight. */
const waitingMax = 50;
/** How many replays are looked at in one round. */
const replaysMax = 20;
/** How many deliveries one round hands over at most, of all replays. */
const biteMax = 15;
const idleMs = 1_000;
const roundMs = 50;
/** A round that begins so late finds a machine that has better things to do. */
const lateMs = 10;
/** Of a dispatcher that stands still, meanwhile nobody goes on with the replay. */
const settings = 'SET LOCAL idle_in_transaction_session_timeout = 5000';

type Parts = { pool: Pool; accounts: Pick<Accounts, 'ofId' | 'reload'>; log: Log };

/** Runs until disposed. Any number of dispatchers may: each step holds the row of its replay. `isBusy`: nothing is to be replayed now. */
export function openReplays(options: Parts & { isBusy: () => boolean }): AsyncDisposable {
  const stop = new AbortController();
  let afterId = '0';
  // Halved by each round that begins late, and one more with each that does not: never nothing.
  let bite = biteMax;
  let forgottenAt = 0;
  /** Answers when to look again. */
  const round = async (): Promise<number> => {
    if (performance.now() - forgottenAt > idleMs) {
      await forgetStopped(options.pool);
      forgottenAt = performance.now();
    }
    const running = await listRunning(options.pool, afterId, replaysMax);
    const isMore = running.length === replaysMax;
    afterId = isMore ? running.at(-1)!.id : '0';
    for (const { id, waiting } of running)
      if (waiting < waitingMax && !options.isBusy() && !stop.signal.aborted)
        await step(options, id, Math.max(1, Math.floor(bite / running.length)));
    return running.length > 0 || isMore ? roundMs : idleMs;
  };
  const carrying = (async () => {
    while (!stop.signal.aborted) {
      let pauseMs = idleMs;
      try {
        pauseMs = await round();
      } catch (error) {
        options.log.warn({ error }, 'could not go on with a replay, trying again');
      }
      const beginsAt = performance.now() + pauseMs * (0.75 + Math.random() / 2);
      await wait(beginsAt - performance.now(), undefined, { signal: stop.signal }).catch(() => {
        // disposed: the loop ends
      });
      bite = performance.now() - beginsAt > lateMs ? Math.max(1, bite >> 1) : Math.min(biteMax, bite + 1);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await carrying;
    },
  };
}

/** counting → running → done; or stopped, at any time, since somebody asked for it (then it is not found here) or its hook is not active any more. */
async function step({ pool, accounts, log }: Parts, id: string, most: number): Promise<void> {
  const ended = await inTransaction(
    pool,
    async (client) => {
      const replay = await lockReplay(client, id);
      if (!replay) return undefined;
      const hook = await findHook(accounts, replay);
      if (!hook?.deliverable) return { replay, how: 'hook_inactive' as const };
      if (replay.state === 'counting') await noteCounted(client, replay, await countNext(client, replay));
      else if (!hook.paused && (await handOver(client, replay, most)) === 'done')
        return { replay, how: 'done' as const };
      return undefined;
    },
    settings,
  );
  if (!ended) return;
  await endReplay(pool, ended.replay, ended.how);
  log.info({ 'replay.id': id, 'hook.id': ended.replay.hook_id, how: ended.how }, 'a replay has ended');
}

/** What is in memory may be older than the hook, or its activation: only what is read now proves that it is not active. */
async function findHook(accounts: Parts['accounts'], { account_id, hook_id }: Replay) {
  const known = (await accounts.ofId(account_id))?.hooks.get(hook_id);
  return known?.deliverable ? known : (await accounts.reload(account_id))?.hooks.get(hook_id);
}

async function handOver(client: PoolClient, replay: Replay, most: number): Promise<'done' | 'more'> {
  const { found, to, isEnd } = await findNext(client, replay, Math.max(1, Math.min(most, waitingMax - replay.waiting)));
  if (isEnd && found.length === 0 && replay.waiting === 0) return 'done';
  const unnumbered = replay.status === 'missed' ? found.filter(({ sequence }) => sequence === null) : [];
  let next = unnumbered.length > 0 ? await nextNumbers(client, replay.hook_id, unnumbered.length) : 0;
  const jobs = found.map((row) => toJob(replay, row, unnumbered.includes(row) ? next++ : row.sequence));
  await handOverNext(client, replay, jobs, to);
  return 'more';
}

/** The same event to the same hook, tried once: what fails can be replayed again. */
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
