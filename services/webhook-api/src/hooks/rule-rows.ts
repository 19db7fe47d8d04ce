/** What the rules (rules.ts) count and compare in PostgreSQL: all hooks of a place, whoever may see them. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import type { Place } from '../access/place.ts';
import type { HookRow } from './rows.ts';

// Two texts, for the index.
const inPlace = ({ account, repository }: Place): { condition: string; values: unknown[] } => ({
  condition: `account_id = $1 AND ${repository ? 'repository_id = $2' : 'repository_id IS NULL AND $2::integer IS NULL'}`,
  values: [account.id, repository?.id ?? null],
});

/** How many hooks a place holds, counted up to `max`. */
export async function countHooks(db: Queryable, place: Place, max: number): Promise<number> {
  const { condition, values } = inPlace(place);
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (SELECT FROM hooks WHERE ${condition} LIMIT $3) h`,
    [...values, max],
  );
  return rows[0]!.count;
}

/** How many hooks of a place, except `exceptId`, name each event. */
export async function countByEvent(
  db: Queryable,
  place: Place,
  exceptId: number | null,
): Promise<ReadonlyMap<string, number>> {
  const { condition, values } = inPlace(place);
  const { rows } = await db.query<{ event: string; count: number }>(
    `SELECT event, count(*)::integer AS count
       FROM hooks h, unnest(CASE WHEN '*' = ANY (h.events) THEN ARRAY['*'] ELSE h.events END) AS event
      WHERE ${condition} AND h.id IS DISTINCT FROM $3::integer GROUP BY event`,
    [...values, exceptId],
  );
  return new Map(rows.map(({ event, count }) => [event, count]));
}

const twinsMax = 100;

/** The sealed columns, which PostgreSQL cannot compare. */
export type Twin = Pick<HookRow, 'secret' | 'credentials'>;

/** Other hooks of a place that equal `hook` except in sealed columns, and share an event; at most a hundred at a time. */
export async function* twinsInParts(
  db: Queryable,
  place: Place,
  hook: { id: number | null; url: string; contentType: string; insecureSsl: boolean; events: string[] },
): AsyncGenerator<Twin[]> {
  if (hook.events.length === 0) return;
  const { condition, values } = inPlace(place);
  for (let afterId = 0; ; ) {
    const { rows } = await db.query<Twin & { id: number }>(
      `SELECT id, secret, credentials FROM hooks
        WHERE ${condition} AND id IS DISTINCT FROM $3::integer AND url = $4 AND content_type = $5 AND insecure_ssl = $6
          AND events <> '{}' AND ('*' = ANY ($7::text[]) OR '*' = ANY (events) OR events && $7::text[]) AND id > $8
        ORDER BY id LIMIT $9`,
      [...values, hook.id, hook.url, hook.contentType, hook.insecureSsl, hook.events, afterId, twinsMax],
    );
    yield rows;
    if (rows.length < twinsMax) return;
    afterId = rows.at(-1)!.id;
  }
}
