/** Pages of a hook's log, by its filters and in its orders. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { placeSql, placeValues } from '../access/place.ts';
import { visibleIn } from '../hooks/rows.ts';
import { firstAttemptOf, rowsOf } from './latest.ts';
import { deliveryJson } from './present.ts';
import { checkSeen, type EnteredRow, entryColumns, type LogOf } from './seen.ts';

/** One page of a log. */
export type DeliveryPage = {
  /** The deliveries as a JSON array. */
  json: string;
  /** Where the next page begins: an id, or a number and an id separated by `_`; null: there is none. Each a bigint below 2^53. */
  next: string | null;
};

/** `success` is a status code below 400, `failure` any other. */
export type Outcome = 'success' | 'failure' | undefined;

// Spelled out, so that each matches the condition of an index.
const outcomes = { success: 'AND d.status_code < 400', failure: 'AND d.status_code >= 400', any: '' };

/** Where a page begins: newest first, at an id; or by number or time and then id, at both. */
export type PageStart =
  | { order: 'newest'; id: number }
  | { order: 'sequence'; sequence: number; id: number }
  | { order: 'time'; at: Date; id: number };

/** Filters for a list of deliveries. `event`, `action`, `throttled` and `since` only when ordered by time. */
export type Filter = {
  outcome: Outcome;
  event?: string | undefined;
  action?: string | undefined;
  guid?: string | undefined;
  throttled?: boolean | undefined;
  since?: Date | undefined;
};

const timeKey = (id: string) => `concat('t', (extract(epoch FROM delivered_at) * 1000)::bigint, '_', ${id})`;

type Order = { from: string; by: string; next: string };

/** The statement's parameters by name. */
type Named = { id: string; place: string };

const orderOf = (start: PageStart, { id, place }: Named): Order =>
  ({
    newest: { from: `d.id <= ${id}`, by: 'd.id DESC', next: 'id::text' },
    sequence: {
      from: `d.sequence >= ${place} AND (d.sequence, d.id) >= (${place}, ${id})`,
      by: 'd.sequence, d.id',
      next: "concat(sequence, '_', id)",
    },
    time: {
      from: `(d.delivered_at, d.id) <= (${place}, ${id})`,
      by: 'd.delivered_at DESC, d.id DESC',
      next: timeKey('id'),
    },
  })[start.order];

const placeIn = (start: PageStart): (number | Date)[] =>
  start.order === 'newest' ? [] : [start.order === 'sequence' ? start.sequence : start.at];

/**
 * How many rows are examined for one page where no index has just the wanted ones: with ten million rows of one hook, an unlimited search
 * would time out in PostgreSQL.
 */
const lookedMax = 20_000;

/** Adds a value as a parameter. */
type Add = (value: unknown) => string;

/** SQL of a page: its deliveries `d` in order, their source, and where an incomplete search ended. */
type PageSql = { rows: string; from?: string; end?: string };

/** SQL: deliveries of a hook `h` by time. The functions are in webhook-db's migrations; omitted filters are NULL there, and match all. */
function pageByTime({ place, id, limit }: Named & { limit: string }, filter: Filter, add: Add): PageSql {
  const { outcome, event, action, throttled, since } = filter;
  const from = since ? add(since) : "'-infinity'";
  const [ofOutcome, ...others] = [outcome, event, action, throttled].map((value) =>
    value === undefined ? 'NULL' : add(value),
  );
  const isPlain = outcome !== 'success' && others.every((value) => value === 'NULL');
  // There is an index of all deliveries, and another of failed ones.
  if (isPlain)
    return {
      rows: rowsOf(
        `deliveries_by_time(h.id, ${place}, ${id}, ${from}, ${ofOutcome}, NULL, NULL, NULL, ${limit}, ${limit})`,
      ),
    };
  return {
    from: `found AS MATERIALIZED (SELECT * FROM deliveries_found(h.account_id, h.id, ${place}, ${id}, ${from},
                                                                 ${[ofOutcome, ...others].join(', ')}, ${lookedMax}, ${limit}))`,
    rows: rowsOf('(SELECT * FROM found WHERE is_found)'),
    // Just behind the last row examined.
    end: `(SELECT ${timeKey('id - 1')} FROM found WHERE NOT is_found)`,
  };
}

/** A hook's deliveries of an event: from its row and the index of later attempts; the first of a guid that names no event, from the latest. */
const ofGuid = (guid: string) => `(
  WITH found AS MATERIALIZED (
    SELECT d.* FROM deliveries d WHERE d.guid = ${guid} AND (d.attempt > 1 OR d.redelivery) AND d.hook_id = h.id
    UNION ALL
    SELECT d.* FROM events e CROSS JOIN LATERAL unnest(e.hook_ids, e.delivery_ids) AS u (hook_id, id)
      JOIN deliveries d ON d.id = u.id AND d.hook_id = h.id AND d.attempt = 1 AND NOT d.redelivery
     WHERE e.guid = ${guid} AND u.hook_id = h.id
  )
  SELECT * FROM found
  UNION ALL
  ${firstAttemptOf(guid, 'h.id')} AND NOT EXISTS (SELECT FROM found f WHERE f.attempt = 1 AND NOT f.redelivery))`;

/** SQL of a page of a hook `h`. */
function pageOf(filter: Filter, start: PageStart, named: Named & { limit: string }, add: Add): PageSql {
  const { from, by } = orderOf(start, named);
  const { limit } = named;
  const outcome = outcomes[filter.outcome ?? 'any'];
  if (filter.guid !== undefined) {
    const of = ofGuid(add(filter.guid));
    return {
      rows: `SELECT * FROM ${of} d WHERE ${from} ${outcome} ${othersOf(filter, add)} ORDER BY ${by} LIMIT ${limit}`,
    };
  }
  if (start.order === 'time') return pageByTime(named, filter, add);
  return {
    rows: `SELECT * FROM deliveries d WHERE d.hook_id = h.id ${outcome} AND ${from} ORDER BY ${by} LIMIT ${limit}`,
  };
}

/** Conditions for the few deliveries with a guid. */
function othersOf({ event, action, throttled, since }: Filter, add: Add): string {
  const conditions: string[] = [];
  if (throttled !== undefined) conditions.push(`AND d.throttled_at IS ${throttled ? 'NOT ' : ''}NULL`);
  if (event !== undefined) conditions.push(`AND d.event = ${add(event)}`);
  if (action !== undefined) conditions.push(`AND d.action = ${add(action)}`);
  if (since) conditions.push(`AND d.delivered_at >= ${add(since)}`);
  return conditions.join(' ');
}

/** A short name that identifies a statement: its order and its filters. */
const kindOf = ({ outcome, throttled, ...others }: Filter, start: PageStart) => {
  const filters = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : name[0]!));
  if (throttled !== undefined) filters.push(throttled ? 't' : 'f');
  return `${start.order} ${outcome ?? 'any'} ${filters.sort().join('')}`.trim();
};

/**
 * At most `limit` deliveries of a hook, in order. A page may be short and still have a next one: `lookedMax`.
 * @throws ApiError 404 or 403 when the caller may not enter, or may not see the hook.
 */
export async function loadPage(
  reads: Queryable,
  { token, wanted, hookId }: LogOf,
  filter: Filter,
  start: PageStart,
  limit: number,
): Promise<DeliveryPage> {
  const seen = visibleIn(wanted);
  const values = [...placeValues(token, wanted), hookId, start.id, limit, ...placeIn(start)];
  const add = (value: unknown) => `$${values.push(value)}`;
  const named = { id: '$6', place: '$8', limit: '$7::integer + 1' };
  const order = orderOf(start, named);
  const page = pageOf(filter, start, named, add);
  const { rows } = await reads.query<EnteredRow & DeliveryPage>({
    name: `deliveries ${kindOf(filter, start)} ${seen.kind}`,
    text: `WITH p AS (${placeSql})
           SELECT ${entryColumns}, page.*
             FROM p LEFT JOIN hooks h ON ${seen.condition} AND h.id = $5
             LEFT JOIN LATERAL (
               ${page.from ? `WITH ${page.from}` : ''}
               SELECT concat('[', string_agg(json, ',') FILTER (WHERE place <= $7), ']') AS json,
                      coalesce(min(${order.next}) FILTER (WHERE place > $7), ${page.end ?? 'NULL'}) AS next
                 FROM (SELECT d.id, d.sequence, d.delivered_at, row_number() OVER () AS place, ${deliveryJson} AS json
                         FROM (${page.rows}) d) d) page ON true`,
    values,
  });
  const row = rows[0];
  checkSeen(row, wanted);
  return row;
}

/** The id that begins the page before the one beginning at `fromId`, if there is one. */
export async function findPreviousId(
  reads: Queryable,
  hookId: number,
  outcome: Outcome,
  fromId: number,
  limit: number,
): Promise<string | undefined> {
  const kind = outcome ?? 'any';
  const { rows } = await reads.query<{ id: string | null }>({
    name: `deliveries before ${kind}`,
    text: `SELECT max(id) AS id FROM (
             SELECT d.id FROM deliveries d WHERE d.hook_id = $1 ${outcomes[kind]} AND d.id > $2
              ORDER BY d.id LIMIT $3) page`,
    values: [hookId, fromId, limit],
  });
  return rows[0]?.id ?? undefined;
}
