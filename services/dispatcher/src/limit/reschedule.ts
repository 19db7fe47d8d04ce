/** A changed limit: what waits in an account's name gets new times, in its order, within a second of the change. */
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Account, Accounts } from '../accounts.ts';
import type { Limit } from './slots.ts';
import type { Throttle } from './throttle.ts';

export type Reschedule = Disposable & ((accountId: number, accounts: Accounts) => void);

/** Reservations made under the old limit while it changed are parked a moment later. */
const againMs = [0, 1_000, 3_000];

/** Makes a function to be called on every change of an account; only one dispatcher at a time reschedules an account. */
export function makeReschedule(options: {
  pool: Pool;
  throttle: Throttle;
  limitOf: (account: Pick<Account, 'throttle'>) => Limit;
  log: Log;
}): Reschedule {
  const timers = new Set<NodeJS.Timeout>();
  /** How many reschedulings of an account have not ended. */
  const pending = new Map<number, number>();
  const after = (ms: number, work: () => Promise<void>) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work().catch((error) => options.log.warn({ error }, 'could not pace an account anew'));
    }, ms);
    timers.add(timer);
  };
  const count = (accountId: number, by: 1 | -1) => {
    const left = (pending.get(accountId) ?? 0) + by;
    if (left === 0) pending.delete(accountId);
    else pending.set(accountId, left);
  };
  const reschedule = (accountId: number, accounts: Accounts) => {
    after(0, async () => {
      const account = await accounts.ofId(accountId);
      if (!account || !options.throttle.isConnected()) return;
      const limit = options.limitOf(account);
      const inUse = await options.throttle.limitInUse(accountId);
      // An earlier change that is not carried out yet may still bring another limit into use.
      const isInUse = inUse && inUse.rate === limit.rate && inUse.burst === limit.burst;
      if (!inUse || (isInUse && !pending.has(accountId))) return;
      for (const ms of againMs) {
        count(accountId, 1);
        after(ms, () => rescheduleAll(options, accountId).finally(() => count(accountId, -1)));
      }
    });
  };
  return Object.assign(reschedule, {
    [Symbol.dispose]() {
      for (const timer of timers) clearTimeout(timer);
    },
  });
}

/** The limit is read under the lock: whoever comes last brings the last one. */
async function rescheduleAll(
  options: { pool: Pool; throttle: Throttle; limitOf: (account: Pick<Account, 'throttle'>) => Limit; log: Log },
  accountId: number,
): Promise<void> {
  const client = await options.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('gatepost repace', $1))", [accountId]);
    const { rows } = await client.query<Account['throttle']>(
      'SELECT throttle_rate AS rate, throttle_burst AS burst FROM accounts WHERE id = $1',
      [accountId],
    );
    if (!rows[0]) {
      await client.query('COMMIT');
      return;
    }
    const limit = options.limitOf({ throttle: rows[0] });
    const { rowCount } = await client.query(
      `WITH waiting AS (
         SELECT delivery_id, row_number() OVER (ORDER BY due_at, delivery_id) AS place FROM parked
          WHERE account_id = $1 AND published_at IS NULL AND reason = 'throttle' AND due_at > now()
       )
       UPDATE parked p SET due_at = now() + waiting.place * interval '1 s' / $2::double precision
         FROM waiting WHERE p.delivery_id = waiting.delivery_id AND p.published_at IS NULL`,
      [accountId, limit.rate],
    );
    await options.throttle.restart(accountId, limit, rowCount ?? 0);
    await client.query('COMMIT');
    options.log.info({ 'account.id': accountId, ...limit, deliveries: rowCount }, 'paced an account anew');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {
      // the connection is gone, and the transaction with it
    });
    throw error;
  } finally {
    client.release();
  }
}
