/** What a dispatcher stores of events, hooks, attempts and what waits, for the organization `acme`. */
import type pg from 'pg';

export const day = 86_400_000;
export const ago = (ms: number) => new Date(Date.now() - ms);

export type HookSpec = {
  repository?: string | null;
  events?: string[];
  active?: boolean;
  app?: string;
  createdAt?: Date;
  updatedAt?: Date;
};

export type EventSpec = {
  login?: string | null;
  repository?: string | null;
  type?: string;
  source?: string;
  hooks?: number[];
  unmatched?: string;
  subject?: string;
  receivedAt?: Date;
  isRouted?: boolean;
};

type Parked = {
  event: { key: string; guid: string; received_on: string };
  hook: number;
  id?: number;
  attempt?: number;
  redelivery?: boolean;
};

/** @param sql the database of an API of `openApi` */
export function makeStored(sql: Pick<pg.Pool, 'query'>) {
  const idOf = async (table: 'accounts' | 'repositories', name: string): Promise<number> =>
    (await sql.query(`SELECT id FROM ${table} WHERE ${table === 'accounts' ? 'login' : 'name'} = $1`, [name])).rows[0]
      .id;

  async function addHook({ repository = 'widgets', ...spec }: HookSpec = {}): Promise<number> {
    const { rows } = await sql.query(
      `INSERT INTO hooks (account_id, repository_id, events, active, url, content_type, created_by, created_by_app, created_at, updated_at)
       SELECT a.id, (SELECT id FROM repositories WHERE account_id = a.id AND name = $1), $2, $3, 'https://example.com/', 'json', 'test', $4, $5, $6
         FROM accounts a WHERE login = 'acme' RETURNING id`,
      [
        repository,
        spec.events ?? ['push'],
        spec.active ?? true,
        spec.app ?? null,
        spec.createdAt ?? ago(day),
        spec.updatedAt ?? ago(day),
      ],
    );
    return rows[0].id;
  }

  /** As a dispatcher stores it. */
  async function storeEvent({ login = 'acme', repository = 'widgets', hooks = [], ...spec }: EventSpec = {}) {
    const receivedAt = spec.receivedAt ?? ago(60_000);
    const { rows } = await sql.query(
      `INSERT INTO events (key, guid, source, event_id, type, account_id, repository_id, occurred_at, received_at, routed_at, hook_ids, delivery_ids, unmatched, subject)
       VALUES (gen_random_uuid(), gen_random_uuid(), $9, 'x', $1, $2, $3, $4, $4, $5, $6,
               ARRAY(SELECT nextval('delivery_ids') FROM unnest($6::integer[])), $7, $8)
       RETURNING key, guid, received_on::text, delivery_ids`,
      [
        spec.type ?? 'push',
        login && (await idOf('accounts', login)),
        repository && (await idOf('repositories', repository)),
        receivedAt,
        spec.isRouted === false ? null : new Date(receivedAt.getTime() + 3),
        hooks,
        spec.unmatched ?? null,
        spec.subject ?? null,
        spec.source ?? 'urn:test',
      ],
    );
    const { delivery_ids, ...event } = rows[0];
    return { ...event, deliveryIds: delivery_ids.map(Number) } as {
      key: string;
      guid: string;
      received_on: string;
      deliveryIds: number[];
    };
  }

  async function park(
    { event, hook, id, attempt = 1, redelivery = false }: Parked,
    reason = 'throttle',
    due = 'infinity',
  ) {
    const accountId = await idOf('accounts', 'acme');
    const job = { guid: event.guid, hookId: hook, event: 'push', action: null, attempt, redelivery };
    const { rows } = await sql.query(
      `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
       VALUES (coalesce($1, nextval('delivery_ids')), $2, $3, $4, $5, $6, $7) RETURNING delivery_id`,
      [
        id ?? null,
        accountId,
        reason,
        due,
        event.key,
        event.received_on,
        JSON.stringify({ ...job, throttledAt: reason === 'throttle' ? '2026-11-22T10:00:01.000Z' : null }),
      ],
    );
    return Number(rows[0].delivery_id);
  }

  async function log(
    event: Parked['event'],
    hook: number,
    attempt: { id?: number; attempt?: number; redelivery?: boolean; status?: string; code?: number; error?: string },
  ) {
    const { rows } = await sql.query(
      `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event, attempt,
         redelivery, status, status_code, error, duration_ms, timings, url, request_headers)
       VALUES (coalesce($1, nextval('delivery_ids')), (now() AT TIME ZONE 'UTC')::date, now(), $2, $3, null, $4, $5, $6, 'push', $7, $8, $9, $10, $11, 12,
         '{"dns":null,"connect":1,"tls":null,"first_byte":10,"total":12}', 'https://example.com/', '{}') RETURNING id`,
      [
        attempt.id ?? null,
        hook,
        await idOf('accounts', 'acme'),
        event.guid,
        event.key,
        event.received_on,
        attempt.attempt ?? 1,
        attempt.redelivery ?? false,
        attempt.status ?? 'OK',
        attempt.code ?? 200,
        attempt.error ?? null,
      ],
    );
    return Number(rows[0].id);
  }

  /** The first job of the event's first delivery, to this hook. */
  const jobOf = async (event: Parked['event'] & { deliveryIds: number[] }, hookId: number) => ({
    deliveryId: event.deliveryIds[0]!,
    guid: event.guid,
    hookId,
    event: 'push',
    action: null,
    eventKey: event.key,
    eventOn: event.received_on,
    accountId: await idOf('accounts', 'acme'),
    repositoryId: null,
    occurredAt: new Date().toISOString(),
    attempt: 1,
    redelivery: false,
    throttledAt: null,
    retries: true,
  });

  return { idOf, addHook, storeEvent, park, log, jobOf };
}
