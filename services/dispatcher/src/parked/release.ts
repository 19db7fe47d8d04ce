/** Which parked rows may go on: what waits for its account's limit, as far as that lets it, and what is due. */
import { type DeliveryJob, jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { inTransaction } from '@gatepost/runtime/transaction';
import { claimDue, type Row } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import { claimWaiting, letWait, lockWaiting } from '@gatepost/webhook-db/waiting';
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
 * Account by account, in turn. What the limit grants is asked for before rows are touched, and taken when it is known how many there are.
 * Accounts are locked in a transaction of their own, which ends before anything is published: the next rows need not wait for that.
 */
export function makeReleaseWaiting({ pool, throttle, limitOf }: Parts): Release {
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
    // Who has his share has more the next time round, which is at once.
    const share = Math.floor(most / Math.max(1, ready.length));
    const counts = new Map(ready.map(({ id, room }) => [id, Math.min(room, share)]));
    const claimed = ready.length > 0 ? await claimWaiting(client, counts, jobBodyMaxBytes) : new Map<number, Row[]>();
    const released = await Promise.all(
      ready.map(async ({ id, limit }) => release(throttle, limit, id, claimed.get(id) ?? [])),
    );
    const isCut = ready.length === most;
    const isEnd = waiting.length < accountsMax && !isCut;
    afterId = isCut ? ready.at(-1)!.id : isEnd ? 0 : waiting.at(-1)!.id;
    const isShort = ready.some(({ id, room }) => room > share && claimed.get(id)?.length === share);
    await letWait(
      client,
      released.flatMap(({ refused }) => refused),
    );
    return { rows: released.flatMap(({ rows }) => rows), isMoreLeft: isCut || isShort || !isEnd };
  };
  return (client, most) => inTransaction(pool, (locking) => releaseLocked(locking, client, most));
}

/** Retries, and what found its receiver busy: what goes beyond its account's limit waits for that. */
export function makeReleaseDue({ throttle, limitOf, metrics }: Parts): Release {
  return async (client, most) => {
    const rows = await claimDue(client, most, jobBodyMaxBytes);
    const released = await Promise.all(
      [...Map.groupBy(rows, (row) => row.account_id)].map(([id, own]) =>
        release(throttle, forRetries(limitOf({ throttle: own[0]! })), id, own),
      ),
    );
    const unreadable: Released['rows'] = [];
    const toWait = released.flatMap(({ refused }) =>
      refused.flatMap((row) => {
        const job = parse(row.job);
        if (job) return [{ ...row, job: JSON.stringify(slowed(job, metrics).job) }];
        unreadable.push({ row, grant: {} });
        return [];
      }),
    );
    await letWait(client, toWait);
    return { rows: [...released.flatMap((one) => one.rows), ...unreadable], isMoreLeft: rows.length === most };
  };
}

/** Half the burst is left to first deliveries, so that they need not wait for what is tried again. */
const forRetries = ({ rate, burst }: Limit): Limit => ({ rate, burst: burst / 2 });
/** And another quarter to those, which need not wait for what is replayed. */
export const forReplays = ({ rate, burst }: Limit): Limit => ({ rate, burst: burst / 4 });
/** By what goes first of an account. */
const shareOf = { throttle: (limit: Limit) => limit, retry: forRetries, busy: forRetries, again: forReplays };

/** Asks an account's limit for rows that are claimed; those that it refuses are to wait. */
export async function release(throttle: Pick<Throttle, 'release'>, limit: Limit, accountId: number, rows: Row[]) {
  const grants = rows.length > 0 ? await throttle.release(accountId, limit, rows.length) : [];
  return { rows: grants.map((grant, index) => ({ row: rows[index]!, grant })), refused: rows.slice(grants.length) };
}

/** Undefined for what is no job: it is published like any other, where it fails by itself and is buried. */
function parse(job: string): DeliveryJob | undefined {
  try {
    return JSON.parse(job) as DeliveryJob;
  } catch {
    return undefined;
  }
}
