/** The settings of hooks that decide whether they get an event, as they are now. */

import { hookOfJob } from '@gatepost/webhook-db/paused';
import type { Queryable } from '@gatepost/webhook-db/pool';
import { isRestricted } from '@gatepost/webhook-db/restricted-apps';
import { placeSql, placeValues } from '../access/place.ts';
import { checkSeen, type EnteredRow, entryColumns, type LogOf } from '../deliveries/seen.ts';
import { visibleIn } from '../hooks/rows.ts';

export type HookSettings =
  | { id: number; isGone: true }
  | {
      id: number;
      isGone: false;
      /** null: an organization hook. */
      repositoryId: number | null;
      /** `/repos/{owner}/{repo}/hooks/{id}` or `/orgs/{org}/hooks/{id}`. */
      path: string;
      active: boolean;
      restricted: boolean;
      events: string[];
      retries: boolean;
      hasSecret: boolean;
      /** It has request headers or a user name. */
      hasSenderProof: boolean;
      createdAt: Date;
      updatedAt: Date;
      paused: { what: 'hook' | 'organization'; at: Date } | undefined;
    };

type HookRow = {
  id: number;
  repository_id: number | null;
  repository: string | null;
  login: string;
  active: boolean;
  restricted: boolean;
  events: string[];
  retry: boolean;
  has_secret: boolean;
  has_sender_proof: boolean;
  created_at: Date;
  updated_at: Date;
  paused_at: Date | null;
  account_paused_at: Date | null;
};

const columns = `h.id, h.repository_id, a.login, h.active, h.events, h.retry, h.secret IS NOT NULL AS has_secret,
  (h.headers IS NOT NULL OR h.credentials IS NOT NULL) AS has_sender_proof, h.created_at, h.updated_at, h.paused_at, a.paused_at AS account_paused_at,
  ${isRestricted('a.oauth_app_restrictions', 'h.account_id', 'h.created_by_app')} AS restricted,
  (SELECT r.name FROM repositories r WHERE r.id = h.repository_id) AS repository`;

export type AskedHook = { hook: HookSettings; account: AskedAccount; asked: AskedDelivery | undefined };
export type AskedAccount = { id: number; login: string; throttle_rate: number | null };
/** Identifies the event: its guid, and where its row is. */
type AskedDelivery = { guid: string; eventKey: string; eventOn: string };

/**
 * A hook as requested by its caller and, if a delivery is given, that delivery's event, whether the delivery is in the log or waiting.
 * @throws ApiError 404 or 403 when the caller may not enter, or may not see the hook.
 */
export async function findAskedHook(
  db: Queryable,
  { token, wanted, hookId }: LogOf,
  deliveryId?: number,
): Promise<AskedHook> {
  const seen = visibleIn(wanted);
  const { rows } = await db.query<
    EnteredRow &
      HookRow & { account_id: number; throttle_rate: number | null } & Record<
        'guid' | 'event_key' | 'event_on',
        string | null
      >
  >({
    name: `hook to explain ${seen.kind}`,
    text: `WITH p AS (${placeSql})
           SELECT ${entryColumns}, a.id AS account_id, a.throttle_rate, ${columns}, d.guid, d.event_key, d.event_on::text
             FROM p JOIN accounts a ON a.id = p.account_id LEFT JOIN hooks h ON ${seen.condition} AND h.id = $5
             LEFT JOIN LATERAL (
               SELECT guid, event_key, event_on FROM deliveries WHERE id = $6 AND hook_id = h.id
                UNION ALL
               SELECT substring(job from '"guid":"([0-9a-f-]{36})"')::uuid, event_key, event_on FROM parked p
                WHERE delivery_id = $6 AND account_id = h.account_id AND ${hookOfJob} = h.id LIMIT 1) d ON true`,
    values: [...placeValues(token, wanted), hookId, deliveryId ?? null],
  });
  const row = rows[0];
  checkSeen(row, wanted);
  const { guid, event_key: eventKey, event_on: eventOn } = row;
  return {
    hook: settingsOf(row),
    account: { id: row.account_id, login: row.login, throttle_rate: row.throttle_rate },
    asked: guid && eventKey && eventOn ? { guid, eventKey, eventOn } : undefined,
  };
}

/** Up to `most` hooks for an event: first those it went to, existing or not, then the others of its place. */
export async function findHooksOf(
  db: Queryable,
  event: { account_id: number | null; repository_id: number | null; hook_ids: number[] },
  most: number,
): Promise<HookSettings[]> {
  const { rows } = await db.query<HookRow>({
    name: 'hooks to explain',
    text: `SELECT ${columns} FROM hooks h JOIN accounts a ON a.id = h.account_id
            WHERE h.account_id = $1 AND (h.id = ANY ($2::integer[]) OR h.repository_id = $3 OR h.repository_id IS NULL)
            ORDER BY h.id = ANY ($2) DESC, h.id LIMIT $4`,
    values: [event.account_id, event.hook_ids, event.repository_id, most],
  });
  const gone = event.hook_ids.slice(0, most).filter((id) => !rows.some((row) => row.id === id));
  return [...gone.map((id): HookSettings => ({ id, isGone: true })), ...rows.map(settingsOf)].slice(0, most);
}

function settingsOf(row: HookRow): HookSettings {
  const place = row.repository === null ? `/orgs/${row.login}` : `/repos/${row.login}/${row.repository}`;
  const since = (what: 'hook' | 'organization', at: Date | null) => (at ? { what, at } : undefined);
  return {
    id: row.id,
    isGone: false,
    repositoryId: row.repository_id,
    path: `${place}/hooks/${row.id}`,
    active: row.active,
    restricted: row.restricted,
    events: row.events,
    retries: row.retry,
    hasSecret: row.has_secret,
    hasSenderProof: row.has_sender_proof,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    paused: since('organization', row.account_paused_at) ?? since('hook', row.paused_at),
  };
}
