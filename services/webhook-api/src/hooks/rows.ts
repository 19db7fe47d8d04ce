/** Hooks in PostgreSQL: rows in, rows out. */
import type { HookColumns } from '@gatepost/webhook-db/hooks';
import type { Queryable } from '@gatepost/webhook-db/pool';
import { isRestricted } from '@gatepost/webhook-db/restricted-apps';
import {
  checkEntry,
  type EntryRow,
  type Place,
  type PlaceNames,
  placeSql,
  placeValues,
  type Wanted,
} from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { notFound } from '../http/errors.ts';

export type HookRow = HookColumns & {
  active: boolean;
  created_by_app: string | null;
  created_at: Date;
  updated_at: Date;
  /** The organization restricts the application that created it: nothing is delivered. */
  restricted: boolean;
  /** Its newest delivery; null: none within retention, or not asked for. */
  last_status: string | null;
  last_status_code: number | null;
  last_at: Date | null;
  /** Attempts in the last day; null: none. */
  day_delivered: number | null;
  day_failed: number | null;
};

/** `account` is the alias of the table with the account's `oauth_app_restrictions`. */
const columnsFrom = (account: string, headers = 'h.headers') => `
  h.id, h.name, h.active, h.events, h.url, h.credentials, h.content_type, h.insecure_ssl, h.secret, h.previous_secret, h.previous_secret_until,
  h.retry, ${headers}, h.created_by_app,
  h.created_at, h.updated_at,
  ${isRestricted(`${account}.oauth_app_restrictions`, 'h.account_id', 'h.created_by_app')} AS restricted`;

/**
 * Which hooks of a place the caller may see, as a condition on `h` whose parameters are the first two. A repository's hooks are visible to all
 * its admins. Of an organization's, an OAuth app sees its own, and users and machines see those that no app made
 * (docs/reference/webhooks-api.md#scopes-and-roles). Two texts, since only conditions this plain use the index.
 */
function visibleTo(token: Token, place: Place): { kind: string; condition: string; values: unknown[] } {
  const { account, repository } = place;
  if (repository)
    return {
      kind: 'of a repository',
      condition: 'h.account_id = $1 AND h.repository_id = $2',
      values: [account.id, repository.id],
    };
  return {
    kind: 'of an organization',
    condition: 'h.account_id = $1 AND h.repository_id IS NULL AND h.created_by_app IS NOT DISTINCT FROM $2::text',
    values: [account.id, token.app],
  };
}

/** The same, for a statement that also looks up the place: `p` is `placeSql`'s row, and $4 the caller's application. */
export const visibleIn = ({ repository }: Wanted): { kind: string; condition: string } =>
  repository === undefined
    ? {
        kind: 'of an organization',
        condition:
          'h.account_id = p.account_id AND h.repository_id IS NULL AND h.created_by_app IS NOT DISTINCT FROM $4::text',
      }
    : { kind: 'of a repository', condition: 'h.account_id = p.account_id AND h.repository_id = p.repository_id' };

const healthColumns = 'last_status, last_status_code, last_at, day_delivered, day_failed';

/**
 * SQL: the latest delivery of `h`, in the order of an index that includes the outcome. Each day is searched separately, and only for hooks with
 * no later delivery; otherwise ten thousand hooks would be looked up in each day of the log.
 */
const newest = (columns: string): string => {
  const of = (days: string) =>
    `(SELECT ${columns} FROM deliveries d WHERE d.hook_id = h.id AND d.delivered_on ${days} ORDER BY d.delivered_at DESC, d.id DESC LIMIT 1)`;
  const today = "(now() AT TIME ZONE 'UTC')::date";
  return `(${of(`= ${today}`)} UNION ALL ${of(`= ${today} - 1`)} UNION ALL ${of(`< ${today} - 1`)} LIMIT 1)`;
};

/** Its newest delivery, and the statistics of the last day. */
const health = `
  LEFT JOIN LATERAL ${newest('status AS last_status, status_code AS last_status_code, delivered_at AS last_at')} d ON true
  LEFT JOIN LATERAL (
    SELECT sum(delivered)::integer AS day_delivered, sum(failed)::integer AS day_failed FROM delivery_stats s
     WHERE s.account_id = h.account_id AND s.hook_id = h.id AND s.minute > now() - interval '1 day') s ON true`;

/**
 * A hook in a list: tells whether it has custom headers but does not contain them, since a page of hooks may have many megabytes of them.
 */
export type ListedHook = Omit<HookRow, 'headers'> & { has_headers: boolean };

/**
 * The hooks of a place that the caller may see, oldest first, and their total number.
 * @throws ApiError 404 or 403 when the caller may not enter.
 */
export async function listRows(
  pool: Queryable,
  token: Token,
  wanted: Wanted,
  page: { limit: number; offset: number },
): Promise<{ place: PlaceNames; rows: ListedHook[]; total: number }> {
  const { kind, condition } = visibleIn(wanted);
  const { rows } = await pool.query<ListedRow>({
    name: `hooks ${kind}`,
    text: `WITH p AS (${placeSql})
           SELECT p.login, p.role, p.app_restricted, p.visibility, p.repository_id, p.repository_name, h.* FROM p LEFT JOIN LATERAL (
             SELECT ${columnsFrom('p', 'h.headers IS NOT NULL AS has_headers')}, total, ${healthColumns}
               FROM (SELECT *, count(*) OVER ()::integer AS total FROM hooks h WHERE ${condition}
                      ORDER BY id LIMIT $5 OFFSET $6) h ${health}) h ON true
            ORDER BY h.id`,
    values: [...placeValues(token, wanted), page.limit, page.offset],
  });
  const entry = rows[0];
  checkEntry(entry, wanted);
  const { login, repository_name: name, total: counted } = entry;
  const place = { account: { login }, repository: name === null ? null : { name } };
  const found = rows.filter((row): row is Extract<ListedRow, ListedHook> => row.id !== null);
  if (found.length > 0 || page.offset === 0) return { place, rows: found, total: counted ?? 0 };
  // A page beyond the last has no row to carry the count.
  const { total } = await listRows(pool, token, wanted, { limit: 1, offset: 0 });
  return { place, rows: [], total };
}

type ListedRow = EntryRow & { repository_name: string | null; total: number | null } & (ListedHook | { id: null });

/** Which of an account's hooks are wanted: those of its repositories, and of the organization itself those that `app` (null: no app) made. */
export type HooksWanted = {
  ofRepositories: boolean;
  ofOrganization: { app: string | null } | 'all' | 'none';
  /** Part of the URL, or the whole id. */
  text: string | undefined;
  repository: string | undefined;
  /** The outcome of their newest delivery. */
  status: 'success' | 'failure' | undefined;
};

export type AccountHook = ListedHook & { repository: { id: number; name: string } | null };

/** Hooks of an account and its repositories, oldest first, and their total number. */
export async function listAccountRows(
  db: Queryable,
  accountId: number,
  { ofRepositories, ofOrganization: own, text, repository, status }: HooksWanted,
  page: { limit: number; offset: number },
): Promise<{ rows: AccountHook[]; total: number }> {
  const wanted = [
    accountId,
    ofRepositories,
    typeof own === 'object' ? 'by_app' : own,
    typeof own === 'object' ? own.app : null,
    text ?? null,
    repository ?? null,
  ];
  // Part of the text only when asked for: its cost would mislead the planner about the rest.
  const ofStatus = status ? `AND ${newest('d.status_code BETWEEN 200 AND 299')} = ${status === 'success'}` : '';
  const { rows } = await db.query<{ total: number } & (AccountHook | { id: null })>({
    name: `hooks of an account ${status ?? ''}`.trim(),
    text: `WITH meant AS MATERIALIZED (
             SELECT h.id FROM hooks h
              WHERE h.account_id = $1
                AND CASE WHEN h.repository_id IS NOT NULL THEN $2::boolean
                         WHEN $3::text = 'by_app' THEN h.created_by_app IS NOT DISTINCT FROM $4::text ELSE $3 = 'all' END
                AND ($5::text IS NULL OR position(lower($5) IN lower(h.url)) > 0 OR h.id::text = $5)
                AND ($6::text IS NULL OR h.repository_id = (SELECT r.id FROM repositories r WHERE r.account_id = $1 AND lower(r.name) = lower($6)))
                ${ofStatus})
           SELECT c.total, h.* FROM (SELECT count(*)::integer AS total FROM meant) c LEFT JOIN LATERAL (
             SELECT ${columnsFrom('a', 'h.headers IS NOT NULL AS has_headers')}, ${healthColumns},
                    (SELECT json_build_object('id', r.id, 'name', r.name) FROM repositories r WHERE r.id = h.repository_id) AS repository
               FROM (SELECT id FROM meant ORDER BY id LIMIT $7 OFFSET $8) m JOIN hooks h ON h.id = m.id JOIN accounts a ON a.id = h.account_id
               ${health}) h ON true
            ORDER BY h.id`,
    values: [...wanted, page.limit, page.offset],
  });
  return { rows: rows.filter((row): row is { total: number } & AccountHook => row.id !== null), total: rows[0]!.total };
}

const headersMax = 10;

/** Loads listed hooks as whole rows, at most ten at a time, to bound the headers held at once. */
export async function* wholeRowsInParts<H extends ListedHook>(
  db: Queryable,
  listed: H[],
): AsyncGenerator<(H & Pick<HookRow, 'headers'>)[]> {
  for (let start = 0; start < listed.length; start += headersMax) {
    const part = listed.slice(start, start + headersMax);
    const ids = part.filter((hook) => hook.has_headers).map(({ id }) => id);
    const headers = ids.length === 0 ? [] : await loadHeaders(db, ids);
    yield part.map((hook) => ({ ...hook, headers: headers.find(({ id }) => id === hook.id)?.headers ?? null }));
  }
}

async function loadHeaders(db: Queryable, ids: number[]): Promise<{ id: number; headers: Buffer | null }[]> {
  const { rows } = await db.query<{ id: number; headers: Buffer | null }>({
    name: 'headers of hooks',
    text: 'SELECT id, headers FROM hooks WHERE id = ANY ($1)',
    values: [ids],
  });
  return rows;
}

/** One hook of a place, if it exists and the caller may see it. */
export async function findHook(db: Queryable, place: Place, token: Token, id: number): Promise<HookRow | undefined> {
  const { kind, condition, values } = visibleTo(token, place);
  const { rows } = await db.query<HookRow>({
    name: `hook ${kind}`,
    text: `SELECT ${columnsFrom('a')}, ${healthColumns}
             FROM hooks h JOIN accounts a ON a.id = h.account_id ${health}
            WHERE ${condition} AND h.id = $3`,
    values: [...values, id],
  });
  return rows[0];
}

/** The same. @throws ApiError 404. */
export async function loadHook(db: Queryable, place: Place, token: Token, id: number): Promise<HookRow> {
  const hook = await findHook(db, place, token, id);
  if (!hook) throw notFound();
  return hook;
}

/** The values written for a hook. */
export type HookValues = Pick<
  HookRow,
  'active' | 'events' | 'url' | 'credentials' | 'content_type' | 'insecure_ssl' | 'secret' | 'retry' | 'headers'
>;

/** The previous secret, and until when it signs as well. */
export type PreviousSecret = Pick<HookRow, 'previous_secret' | 'previous_secret_until'>;

export async function insertRow(
  db: Queryable,
  place: Place,
  token: Token,
  hook: HookValues & Pick<HookRow, 'name'>,
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `INSERT INTO hooks (active, events, url, content_type, insecure_ssl, secret, retry, headers, credentials, name,
                        account_id, repository_id, created_by_app, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id`,
    [...written(hook), hook.name, place.account.id, place.repository?.id ?? null, token.app, token.subject],
  );
  return rows[0]!.id;
}

/** Until the end of the transaction nobody else changes or deletes the hook, even without the place's lock, as its listener and `DELETE` do. */
export async function lockHook(db: Queryable, place: Place, token: Token, id: number): Promise<void> {
  const { condition, values } = visibleTo(token, place);
  await db.query(`SELECT FROM hooks h WHERE ${condition} AND h.id = $3 FOR NO KEY UPDATE`, [...values, id]);
}

/** Takes the time of now, not of the transaction's start: it may have waited for others, and an event may have been made up meanwhile. */
export async function updateRow(db: Queryable, id: number, hook: HookValues & PreviousSecret): Promise<void> {
  await db.query(
    `UPDATE hooks SET active = $1, events = $2, url = $3, content_type = $4, insecure_ssl = $5, secret = $6, retry = $7,
                      headers = $8, credentials = $9, previous_secret = $10, previous_secret_until = $11, updated_at = clock_timestamp()
      WHERE id = $12`,
    [...written(hook), hook.previous_secret, hook.previous_secret_until, id],
  );
}

/** @returns whether it existed. */
export async function deleteRow(db: Queryable, place: Place, token: Token, id: number): Promise<boolean> {
  const { condition, values } = visibleTo(token, place);
  const { rowCount } = await db.query(`DELETE FROM hooks h WHERE ${condition} AND h.id = $3`, [...values, id]);
  return rowCount === 1;
}

const written = (hook: HookValues) => [
  hook.active,
  hook.events,
  hook.url,
  hook.content_type,
  hook.insecure_ssl,
  hook.secret,
  hook.retry,
  hook.headers,
  hook.credentials,
];
