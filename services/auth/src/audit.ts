/** The audit log (`api/v2/logs`): rows gathered for a moment and written together, so that a token costs no statement of its own. */
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Pool } from './database.ts';

/** `type` is Auth0's code: s (login), f (failed login), seccft (machine token), … */
export type AuditEntry = {
  type: string;
  clientId?: string | undefined;
  userId?: string | undefined;
  ip?: string | undefined;
  details?: Record<string, unknown>;
};

export type Audit = AsyncDisposable & { add(entry: AuditEntry): void };

const flushMs = 250;
const batchMax = 1_000;
/** While PostgreSQL is away, so many wait; older ones go first. */
const waitingMax = 20_000;

export function openAudit(pool: Pool, log: Log): Audit {
  let waiting: (AuditEntry & { date: Date })[] = [];
  let writing: Promise<void> | undefined;
  let dropped = 0;

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      await pool.query({
        name: 'audit insert',
        text: `INSERT INTO logs (date, type, client_id, user_id, ip, details)
               SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[])`,
        values: [
          batch.map((entry) => entry.date),
          batch.map((entry) => entry.type),
          batch.map((entry) => entry.clientId ?? null),
          batch.map((entry) => entry.userId ?? null),
          batch.map((entry) => entry.ip ?? null),
          batch.map((entry) => JSON.stringify(entry.details ?? {})),
        ],
      });
      waiting = waiting.slice(batch.length);
    }
  };
  const flush = () => {
    if (writing || waiting.length === 0) return;
    writing = write()
      .catch((error) =>
        log.warn({ error: describeError(error), waiting: waiting.length, dropped }, 'the audit log waits'),
      )
      .finally(() => {
        writing = undefined;
      });
  };
  const timer = setInterval(flush, flushMs);

  return {
    add(entry) {
      waiting.push({ ...entry, date: new Date() });
      if (waiting.length > waitingMax) {
        waiting.shift();
        dropped += 1;
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await writing;
      await write().catch((error) => log.error({ error: describeError(error) }, 'the end of the audit log is lost'));
    },
  };
}
