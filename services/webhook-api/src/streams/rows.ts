/** The delivery log in the order of attempts. That is not the order of ids: a delivery that waited got its id hours earlier. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { deliveryJson } from '../deliveries/present.ts';

export type Attempted = { hook_id: number; id: string };
export type Shown = Attempted & { json: string };

/** For one hook, per look; more than any hook has in the minutes that an attempt takes until it is recorded. */
const lookMax = 50_000;

// Uses an index, whatever the planner believes about a partition created today.
const since = (parameter: string) => `now() - ${parameter} * interval '1 millisecond'`;
const day = (parameter: string) => `delivered_on >= ((${since(parameter)}) AT TIME ZONE 'UTC')::date`;

/** Recorded deliveries of hooks that began within the last milliseconds. */
export async function findLatest(db: Queryable, hookIds: readonly number[], withinMs: number): Promise<Attempted[]> {
  const { rows } = await db.query<Attempted>({
    name: 'deliveries lately',
    text: `SELECT h.hook_id, d.id FROM unnest($1::integer[]) AS h (hook_id)
            CROSS JOIN LATERAL (SELECT id FROM deliveries
                                 WHERE hook_id = h.hook_id AND delivered_at > ${since('$2::float8')} AND ${day('$2::float8')}
                                 ORDER BY delivered_at DESC, id DESC LIMIT ${lookMax}) d`,
    values: [hookIds, withinMs],
  });
  return rows;
}

/** The same deliveries as JSON, earliest first. */
export async function loadShown(db: Queryable, some: readonly Attempted[], withinMs: number): Promise<Shown[]> {
  const { rows } = await db.query<Shown>({
    name: 'deliveries shown',
    text: `SELECT d.hook_id, d.id, ${deliveryJson} AS json FROM unnest($1::integer[], $2::bigint[]) AS h (hook_id, id)
            CROSS JOIN LATERAL (SELECT * FROM deliveries
                                 WHERE id = h.id AND hook_id = h.hook_id AND ${day('$3::float8')} LIMIT 1) d
            ORDER BY d.delivered_at, d.id`,
    values: [some.map((one) => one.hook_id), some.map((one) => one.id), withinMs],
  });
  return rows;
}

/** How long ago a delivery of a hook began, in milliseconds; undefined: the hook's log does not have it. */
export async function findAge(db: Queryable, hookId: number, id: number): Promise<number | undefined> {
  const { rows } = await db.query<{ age: number }>({
    name: 'age of a delivery',
    text: `SELECT (extract(epoch FROM now() - delivered_at) * 1000)::float8 AS age FROM deliveries
            WHERE hook_id = $1 AND id = $2 LIMIT 1`,
    values: [hookId, id],
  });
  return rows[0]?.age;
}

/** Pages of a hook's deliveries that began within the last milliseconds, earliest first, up to a maximum. */
export async function* loadSince(
  db: Queryable,
  hookId: number,
  withinMs: number,
  { page, most }: { page: number; most: number },
): AsyncGenerator<Shown[]> {
  // The first page tells, in the database's time, where it began.
  const { rows: begin } = await db.query<{ at: string }>({
    name: 'stream begins',
    text: `SELECT (${since('$1::float8')})::text AS at`,
    values: [withinMs],
  });
  let after = { at: begin[0]!.at, id: '0' };
  for (let sent = 0; sent < most; sent += page) {
    const { rows } = await db.query<Shown & { at: string }>({
      name: 'deliveries since',
      text: `SELECT d.hook_id, d.id, d.delivered_at::text AS at, ${deliveryJson} AS json
               FROM (SELECT * FROM deliveries WHERE hook_id = $1 AND (delivered_at, id) > ($2::timestamptz, $3::bigint)
                        AND delivered_on >= ($2::timestamptz AT TIME ZONE 'UTC')::date
                      ORDER BY delivered_at, id LIMIT $4) d ORDER BY d.delivered_at, d.id`,
      values: [hookId, after.at, after.id, page],
    });
    yield rows;
    if (rows.length < page) return;
    after = rows.at(-1)!;
  }
}
