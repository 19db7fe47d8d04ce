/** Decides which parked rows may continue: those that wait for their account's limit, as far as it allows, and those that are due. */
import { type DeliveryJob, jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { inTransaction } from '@gatepost/runtime/transaction';
import { claimDue, type Row } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import { claimWaiting, lockWaiting, returnToWaiting } from '@gatepost/webhook-db/waiting';
import type { PoolClient } from 'pg';
import type { Account } from '../accounts.ts';
import { slowed } from '../limit/admit.ts';
import type { Limit } from '../limit/bucket.ts';
import type { Grant, Throttle } from '../limit/throttle.ts';
import type { Metrics } from '../metrics.ts';

export type ReleasedRow = { row: Row; grant: Grant };
export type Released = { rows: ReleasedRow[]; isMoreLeft: boolean };
/** Claims up to `most` rows in the client's transaction, marked as published. */
export type Release = (client: PoolClient, most: number) => Promise<Released>;

type Parts = {
  pool: Pool;
  throttle: Pick<Throttle, 'releasable' | 'release'>;
  limitOf: (account: Pick<Account, 'throttle'>) => Limit;
  metrics: Metrics;
};

const accountsMax = 100;

/**
 * Goes through the accounts in turn. Asks how much each limit has room for before touching rows, and takes from it once the number of rows is
 * known. Accounts are locked in a transaction of their own, which ends before publishing, so that the next rows need not wait for that.
 */
export function makeReleaseWaiting({ pool, throttle, limitOf, metrics }: Parts): Release {
  let afterId = 0;
  const releaseLocked = async (locking: PoolClient, client: PoolClient, most: number): Promise<Released> => {
    const waiting = await lockWaiting(locking, afterId, accountsMax);
    const asked = await Promise.all(
      waiting
        .filter(({ isMine }) => isMine)
        .map(async ({ id, first, ...account }) => {
          const limit = shareOf[first](limitOf(account));
          return { id, limit, room: await throttle.releasable(id, limit) };
        }),
    );
    const ready = asked.filter(({ room }) => room > 0).slice(0, most);
    // An account that has used its share gets more in the next round, which follows at once.
    const share = Math.floor(most / Math.max(1, ready.length));
    const counts = new Map(ready.map(({ id, room }) => [id, Math.min(room, share)]));
    const claimed = ready.length > 0 ? await claimWaiting(client, counts, jobBodyMaxBytes) : new Map<number, Row[]>();
    const released = await Promise.all(
      ready.map(async ({ id, limit }) => release({ throttle, metrics }, limit, id, claimed.get(id) ?? [])),
    );
    const isCut = ready.length === most;
    const isEnd = waiting.length < accountsMax && !isCut;
    afterId = isCut ? ready.at(-1)!.id : isEnd ? 0 : waiting.at(-1)!.id;
    const isShort = ready.some(({ id, room }) => room > share && claimed.get(id)?.length === share);
    await returnToWaiting(
      client,
      released.flatMap(({ refused }) => refused),
    );
    return { rows: released.flatMap(({ rows }) => rows), isMoreLeft: isCut || isShort || !isEnd };
  };
  return (client, most) => inTransaction(pool, (locking) => releaseLocked(locking, client, most));
}

/** Releases retries, and deliveries that found their receiver busy; those beyond their account's limit wait for it. */
export function makeReleaseDue({ throttle, limitOf, metrics }: Parts): Release {
  return async (client, most) => {
    const rows = await claimDue(client, most, jobBodyMaxBytes);
    const released = await Promise.all(
      [...Map.groupBy(rows, (row) => row.account_id)].map(([id, own]) =>
        release({ throttle, metrics }, forRetries(limitOf({ throttle: own[0]! })), id, own),
      ),
    );
    await returnToWaiting(
      client,
      released.flatMap(({ refused }) => refused),
    );
    return { rows: released.flatMap((one) => one.rows), isMoreLeft: rows.length === most };
  };
}

/** Leaves half the burst to first deliveries, so that they need not wait for retries. */
const forRetries = ({ rate, burst }: Limit): Limit => ({ rate, burst: burst / 2 });
/** Leaves another quarter to retries, so that they need not wait for replays. */
export const forReplays = ({ rate, burst }: Limit): Limit => ({ rate, burst: burst / 4 });
/** By the kind of delivery that the account sends first. */
const shareOf = { throttle: (limit: Limit) => limit, retry: forRetries, busy: forRetries, again: forReplays };

/** Asks an account's limit for claimed rows; refused ones must wait. Those that it slows are stamped. */
export async function release(
  { throttle, metrics }: { throttle: Pick<Throttle, 'release'>; metrics: Metrics },
  limit: Limit,
  accountId: number,
  claimed: Row[],
): Promise<{ rows: ReleasedRow[]; refused: Row[] }> {
  const grants = claimed.length > 0 ? await throttle.release(accountId, limit, claimed.length) : [];
  const rows: ReleasedRow[] = [];
  const refused: Row[] = [];
  for (const [index, row] of claimed.entries()) {
    const grant = grants[index];
    const job = !grant || grant.isSlowed ? parse(row.job) : undefined;
    const own = job ? { ...row, job: JSON.stringify(slowed(job, metrics).job) } : row;
    if (job && !grant) refused.push(own);
    else rows.push({ row: own, grant: grant ?? {} });
  }
  return { rows, refused };
}

/** Undefined for an invalid job: it is published like any other, fails by itself and is buried. */
function parse(job: string): DeliveryJob | undefined {
  try {
    return JSON.parse(job) as DeliveryJob;
  } catch {
    return undefined;
  }
}
