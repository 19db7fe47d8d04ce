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
  limitOf: (account: Account) => Limit;
  log: Log;
}): Reschedule {
  const timers = new Set<NodeJS.Timeout>();
  const after = (ms: number, work: () => Promise<void>) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work().catch((error) => options.log.warn({ error }, 'could not pace an account anew'));
    }, ms);
    timers.add(timer);
  };
  const reschedule = (accountId: number, accounts: Accounts) => {
    after(0, async () => {
      const account = await accounts.ofId(accountId);
      if (!account || !options.throttle.isConnected()) return;
      const limit = options.limitOf(account);
      const inUse = await options.throttle.limitInUse(accountId);
      if (!inUse || (inUse.rate === limit.rate && inUse.burst === limit.burst)) return;
      for (const ms of againMs) after(ms, () => rescheduleAll(options, accountId, limit));
    });
  };
  return Object.assign(reschedule, {
    [Symbol.dispose]() {
      for (const timer of timers) clearTimeout(timer);
    },
  });
}

async function rescheduleAll(
  options: { pool: Pool; throttle: Throttle; log: Log },
  accountId: number,
  limit: Limit,
): Promise<void> {
  const client = await options.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('gatepost repace', $1))", [accountId]);
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
