/**
 * The audit log (`api/v2/logs`), written after the work that it records. Gates write one after the other: ids are drawn under a lock that
 * ends once they can be seen, so a collector that asks for what follows the last id it has seen misses nothing.
 */
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from './database.ts';
import type { LogType } from './log-types.ts';
import { openWriteBehind, withMark } from './write-behind.ts';

export type AuditEntry = {
  type: LogType;
  clientId?: string | undefined;
  userId?: string | undefined;
  ip?: string | undefined;
  details?: Record<string, unknown>;
};

export type Audit = AsyncDisposable & { add(entry: AuditEntry): void };

export function openAudit(pool: Pool, log: Log): Audit {
  const rows = openWriteBehind<AuditEntry & { date: Date }>({
    what: 'the audit log',
    log,
    write: (batch, { writer, numbers }) =>
      pool.query({
        name: 'audit insert',
        text: `${withMark}, turn AS MATERIALIZED (SELECT before, pg_advisory_xact_lock(hashtext('auth.logs')) FROM mark)
               INSERT INTO logs (date, type, client_id, user_id, ip, details)
               SELECT date, type, client_id, user_id, ip, details
                 FROM turn, unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[])
                   AS entry (number, date, type, client_id, user_id, ip, details)
                WHERE number > before`,
        values: [
          writer,
          numbers,
          batch.map((entry) => entry.date),
          batch.map((entry) => entry.type),
          batch.map((entry) => entry.clientId ?? null),
          batch.map((entry) => entry.userId ?? null),
          batch.map((entry) => entry.ip ?? null),
          batch.map((entry) => JSON.stringify(entry.details ?? {})),
        ],
      }),
  });
  return {
    add: (entry) => rows.add({ ...entry, date: new Date() }),
    [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
  };
}
