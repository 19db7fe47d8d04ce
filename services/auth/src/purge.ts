/** Deletes expired rows in small batches, so that tables keep their size and nobody waits for a long delete. */
import { describeError, type Log } from '@gatepost/runtime/log';
import { Counter, type Registry } from '@gatepost/runtime/metrics';
import type { Pool } from './database.ts';

const batchMax = 5_000;

/** The condition for deleting a table's rows. Consumed tokens stay until they expire, so that their reuse is detected. */
const expired = {
  artefacts: "expires_at < now() - interval '1 minute'",
  row_writers: "at < now() - interval '1 day'",
  clients: 'unused_until < now()',
  logs: "date < now() - interval '30 days'",
  remembered_browsers: 'expires_at < now()',
  user_imports: "ended_at < now() - interval '1 day'",
  signing_keys: "retires_at < now() - interval '7 days'",
  organization_invitations: "expires_at < now() - interval '1 day'",
  former_organizations: "announced_key <> '' AND removed_at < now() - interval '30 days'",
};

export function startPurge(pool: Pool, log: Log, registry: Registry, everyMs = 30_000): AsyncDisposable {
  const purged = new Counter({
    name: 'auth_purged_rows_total',
    help: 'Expired rows deleted',
    labelNames: ['table'],
    registers: [registry],
  });
  let closed = false;
  const purge = async () => {
    for (const [table, condition] of Object.entries(expired)) {
      // A DELETE tells every process to forget what it knows of some tables, even if it finds nothing.
      const { rowCount: due } = await pool.query(`SELECT FROM ${table} WHERE ${condition} LIMIT 1`);
      if (due === 0) continue;
      let deleted = batchMax;
      while (deleted === batchMax && !closed) {
        // Concurrent processes each take different rows.
        const { rowCount } = await pool.query(
          `DELETE FROM ${table} WHERE ctid IN (SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${batchMax} FOR UPDATE SKIP LOCKED)`,
        );
        deleted = rowCount ?? 0;
        if (deleted > 0) purged.inc({ table }, deleted);
      }
    }
  };
  let working = Promise.resolve();
  const timer = setInterval(() => {
    working = working
      .then(purge)
      .catch((error) => log.warn({ error: describeError(error) }, 'could not delete expired rows'));
  }, everyMs);
  return {
    async [Symbol.asyncDispose]() {
      closed = true;
      clearInterval(timer);
      await working;
    },
  };
}
