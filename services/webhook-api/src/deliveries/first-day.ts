import type { Queryable } from '@gatepost/webhook-db/pool';

/** The first day whose events and deliveries are kept, `YYYY-MM-DD` in UTC: that of the oldest daily table. */
export async function firstDayKept(pool: Queryable): Promise<string> {
  const { rows } = await pool.query<{ day: string }>({
    name: 'first day kept',
    text: `SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))::text AS day
             FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass`,
    values: [],
  });
  return rows[0]!.day;
}
