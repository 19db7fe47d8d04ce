/** `stats`: how many people log in and sign up per day. */
import { z } from 'zod';
import { Prisma } from '../database.ts';
import { ok, operation } from './operation.ts';
import { badQuery } from './problem.ts';

/** How many people logged in during the last 30 days. */
export const getActiveUsers = operation({
  async run({ parts }) {
    const [row] = await parts.runSearch<{ count: string }>(
      Prisma.sql`SELECT count(*) AS count FROM accounts WHERE last_login > now() - interval '30 days' AND linked_to IS NULL`,
    );
    return ok(Number(row?.count ?? 0));
  },
});

const day = z
  .string()
  .regex(/^\d{8}$/, 'Not a day such as 20261231')
  .transform((text) => `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`)
  .refine((date) => isDay(date), 'Not a day such as 20261231')
  .optional();

/** PostgreSQL has no year 0. */
function isDay(date: string): boolean {
  return date >= '0001' && (new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date) ?? false);
}

type Row = { date: string; logins: string; signups: string; created_at: Date; updated_at: Date };

/** The days still covered by the log, in UTC; days without anybody are left out. */
export const getDailyStats = operation({
  query: z.strictObject({ from: day, to: day }),
  async run({ parts, query: { from, to } }) {
    if (from !== undefined && to !== undefined && from > to) throw badQuery('`from` is after `to`');
    const rows = await parts.runSearch<Row>(Prisma.sql`
      SELECT to_char(date AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, count(*) FILTER (WHERE type = 's') AS logins,
        count(*) FILTER (WHERE type = 'ss') AS signups, min(date) AS created_at, max(date) AS updated_at
      FROM logs
      WHERE type IN ('s', 'ss') AND (${from ?? null}::text IS NULL OR date >= (${from ?? null}::text || 'T00:00:00Z')::timestamptz)
        AND (${to ?? null}::text IS NULL OR date < (${to ?? null}::text || 'T00:00:00Z')::timestamptz + interval '1 day')
      GROUP BY 1 ORDER BY 1`);
    return ok(
      rows.map(({ date, logins, signups, created_at, updated_at }) => ({
        date: `${date}T00:00:00.000Z`,
        logins: Number(logins),
        signups: Number(signups),
        leaked_passwords: 0,
        created_at: created_at.toISOString(),
        updated_at: updated_at.toISOString(),
      })),
    );
  },
});
