import { kindsOf } from '@gatepost/webhook-db/stats';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { call } from './support/api.ts';
import { recordDelivery } from './support/jobs.ts';
import { hooks, openWithHook } from './support/with-hook.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { api, alice, newHook } = stack.use(await openWithHook());
let hookId: number;
let deliveries: string;
beforeEach(async () => {
  ({ hookId, deliveries } = await newHook());
});

const next = (link: string | null, rel = 'next') => new RegExp(`<([^>]+)>; rel="${rel}"`).exec(link ?? '')?.[1];
const follow = (url: string) => call({ base: '' }, alice, 'GET', url);

describe('the delivery log', () => {
  test('lists newest first, by cursor, unaffected by deliveries that arrive meanwhile', async () => {
    const ids: number[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift(await recordDelivery(api.sql, { hookId }));
    const first = await call(api, alice, 'GET', `${deliveries}?per_page=2`);
    expect(first.body.map(({ id }: { id: number }) => id)).toEqual(ids.slice(0, 2));
    expect(first.headers.get('link')).toBe(`<${api.base}${deliveries}?per_page=2&cursor=v1_${ids[2]}>; rel="next"`);

    await recordDelivery(api.sql, { hookId });
    const second = await follow(next(first.headers.get('link'))!);
    expect(second.body.map(({ id }: { id: number }) => id)).toEqual(ids.slice(2, 4));
    const third = await follow(next(second.headers.get('link'))!);
    expect(third.body.map(({ id }: { id: number }) => id)).toEqual(ids.slice(4));
    expect(third.headers.get('link')).toMatch(/^<[^>]+>; rel="prev"$/);
    const back = await follow(next(third.headers.get('link'), 'prev')!);
    expect(back.body).toEqual(second.body);
  });

  test('has no Link header when one page holds all', async () => {
    await recordDelivery(api.sql, { hookId });
    const { headers, body } = await call(api, alice, 'GET', deliveries);
    expect(body).toHaveLength(1);
    expect(headers.get('link')).toBeNull();
  });

  test('filters by outcome: below 400 is success, the rest failure', async () => {
    const ok = await recordDelivery(api.sql, { hookId });
    const redirect = await recordDelivery(api.sql, { hookId, status: 'Invalid HTTP response', statusCode: 302 });
    const refused = await recordDelivery(api.sql, { hookId, status: 'Failed to connect to network', statusCode: 502 });
    const idsOf = async (status: string) =>
      (await call(api, alice, 'GET', `${deliveries}?status=${status}`)).body.map(({ id }: { id: number }) => id);
    expect(await idsOf('success')).toEqual([redirect, ok]);
    expect(await idsOf('failure')).toEqual([refused]);
    expect(await call(api, alice, 'GET', `${deliveries}?status=other`)).toMatchObject({ status: 422 });
    expect(await call(api, alice, 'GET', `${deliveries}?cursor=nonsense`)).toMatchObject({ status: 422 });
    expect(await call(api, alice, 'GET', `${deliveries}?redelivery=true&per_page=1000`)).toMatchObject({ status: 200 });
  });

  test('filters by event, action, guid, time and limit, combined, by cursor', async () => {
    const add = async (more: Partial<Parameters<typeof recordDelivery>[1]> & { action?: string; ago?: number }) => {
      const id = await recordDelivery(api.sql, { hookId, ...more });
      const at = "(delivered_at - $2 * interval '1 minute')";
      await api.sql.query(
        `UPDATE deliveries SET action = $1, delivered_at = ${at}, delivered_on = (${at} AT TIME ZONE 'UTC')::date WHERE id = $3`,
        [more.action ?? null, more.ago ?? 0, id],
      );
      return id;
    };
    const push = await add({ ago: 20, throttledAt: new Date() });
    const opened = await add({ event: 'issues', action: 'opened', ago: 5, throttledAt: new Date() });
    const closed = await add({ event: 'issues', action: 'closed', ago: 10, statusCode: 502, status: 'Timed out' });
    const last = await add({ event: 'issues', action: 'opened' });
    const get = async (query: string) => call(api, alice, 'GET', `${deliveries}?${query}`);
    const idsAt = async (query: string) => (await get(query)).body.map(({ id }: { id: number }) => id);
    expect(await idsAt('event=issues')).toEqual([last, opened, closed]);
    expect(await idsAt('event=issues&action=opened')).toEqual([last, opened]);
    expect(await idsAt('throttled=true')).toEqual([opened, push]);
    expect(await idsAt('throttled=false&status=failure')).toEqual([closed]);
    expect(await idsAt('throttled=true&event=push&status=success')).toEqual([push]);
    const minutesAgo = (count: number) => new Date(Date.now() - count * 60_000).toISOString();
    expect(await idsAt(`since=${minutesAgo(12)}`)).toEqual([last, opened, closed]);
    expect(await idsAt(`until=${minutesAgo(3)}&throttled=true`)).toEqual([opened, push]);
    expect(await idsAt(`since=${minutesAgo(12)}&until=${minutesAgo(3)}&status=failure`)).toEqual([closed]);
    for (const query of ['event=issues', `since=${minutesAgo(12)}&event=issues`]) {
      const first = await get(`${query}&per_page=1`);
      const second = await follow(next(first.headers.get('link'))!);
      const third = await follow(next(second.headers.get('link'))!);
      const ids = [first, second, third].flatMap(({ body }) => body.map(({ id }: { id: number }) => id));
      expect(ids).toEqual(await idsAt(query));
      expect(next(third.headers.get('link'))).toBeUndefined();
    }
    for (const query of [
      'guid=nonsense',
      'since=yesterday',
      'throttled=maybe',
      'event=%00',
      'after_sequence=0&event=push',
      `since=${minutesAgo(1)}&cursor=v1_3`,
    ])
      expect(await get(query)).toMatchObject({ status: 422 });
  });

  test('finds all deliveries of an event by its guid, and those of a test among the newest', async () => {
    const id = await recordDelivery(api.sql, { hookId });
    await recordDelivery(api.sql, { hookId });
    const { guid } = (await call(api, alice, 'GET', `${deliveries}/${id}`)).body;
    const idsAt = async (query: string) =>
      (await call(api, alice, 'GET', `${deliveries}?${query}`)).body.map(({ id }: { id: number }) => id);
    // Its event does not name it, as with a test's.
    expect(await idsAt(`guid=${guid}`)).toEqual([id]);
    await api.sql.query(
      'UPDATE events SET hook_ids = ARRAY[$1::integer], delivery_ids = ARRAY[$2::bigint] WHERE guid = $3',
      [hookId, id, guid],
    );
    const again = await recordDelivery(api.sql, { hookId, statusCode: 502 });
    await api.sql.query('UPDATE deliveries SET guid = $1, redelivery = true WHERE id = $2', [guid, again]);
    expect(await idsAt(`guid=${guid.toUpperCase()}`)).toEqual([again, id]);
    expect(await idsAt(`guid=${guid}&status=success`)).toEqual([id]);
    const first = await call(api, alice, 'GET', `${deliveries}?guid=${guid}&per_page=1`);
    expect((await follow(next(first.headers.get('link'))!)).body).toMatchObject([{ id }]);
    expect(await idsAt('guid=00000000-0000-4000-8000-000000000000')).toEqual([]);
  });

  // Only the redelivery was found.
  test('finds a test by its guid also once it was redelivered', async () => {
    const id = await recordDelivery(api.sql, { hookId });
    await recordDelivery(api.sql, { hookId });
    const { guid } = (await call(api, alice, 'GET', `${deliveries}/${id}`)).body;
    const again = await recordDelivery(api.sql, { hookId });
    await api.sql.query('UPDATE deliveries SET guid = $1, redelivery = true WHERE id = $2', [guid, again]);
    const { body } = await call(api, alice, 'GET', `${deliveries}?guid=${guid}`);
    expect(body.map((delivery: { id: number }) => delivery.id)).toEqual([again, id]);
  });

  describe('of a hook with very many', () => {
    let rare: number;

    // All others have few: PostgreSQL takes each for one of these.
    beforeEach(async () => {
      rare = await recordDelivery(api.sql, { hookId, event: 'issues' });
      await api.sql.query(
        "UPDATE deliveries SET delivered_at = now() - interval '10 minutes', delivered_on = ((now() - interval '10 minutes') AT TIME ZONE 'UTC')::date",
      );
      const copies = (hook: string, count: number) =>
        api.sql.query(
          `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, guid, event_key, event_on, event, attempt, redelivery, status, status_code,
                                   duration_ms, timings, url, request_headers)
           SELECT nextval('delivery_ids'), (at AT TIME ZONE 'UTC')::date, at, ${hook}, account_id, guid, event_key, event_on, 'push', 1, false, 'OK', 200, 1, '{}', '', '{}'
             FROM deliveries, generate_series(1, $2) n, LATERAL (SELECT now() - n * interval '10 ms' AS at) a WHERE id = $1`,
          [rare, count],
        );
      await copies('hook_id', 20_001);
      await copies('1000000 + n', 5_000);
      await api.sql.query('ANALYZE deliveries');
    });

    test('looks at a bounded number for a page, which may be empty and link to the next', async () => {
      const since = new Date(Date.now() - 3_600_000).toISOString();
      for (const query of ['event=issues', `event=issues&since=${since}`]) {
        const first = await call(api, alice, 'GET', `${deliveries}?${query}`);
        expect(first.body).toEqual([]);
        const page = await follow(next(first.headers.get('link'))!);
        expect(page.body).toMatchObject([{ id: rare }]);
        expect(page.headers.get('link')).toBeNull();
      }
    });

    describe('with statistics of each minute', () => {
      beforeEach(async () => {
        await api.sql.query("UPDATE delivery_kinds_known SET since = '-infinity'");
        await api.sql.query(
          `INSERT INTO delivery_stats (account_id, hook_id, minute, part, kinds)
           SELECT account_id, hook_id, date_trunc('minute', delivered_at), 0, bit_or(${kindsOf('d')}) FROM deliveries d WHERE hook_id = $1 GROUP BY 1, 2, 3`,
          [hookId],
        );
      });
      afterEach(async () => {
        await api.sql.query(
          "DELETE FROM delivery_stats; UPDATE delivery_kinds_known SET since = now() + interval '1 day'",
        );
      });

      test('finds rare deliveries, or that there are none, on the first page', async () => {
        for (const [query, ids] of [
          ['event=issues', [rare]],
          ['event=deployment', []],
          ['action=opened', []],
          ['throttled=true', []],
          ['event=issues&status=success&throttled=false', [rare]],
          ['event=issues&status=failure', []],
        ] as const) {
          const { body, headers } = await call(api, alice, 'GET', `${deliveries}?${query}`);
          expect({ query, ids: body.map(({ id }: { id: number }) => id) }).toEqual({ query, ids });
          expect(headers.get('link')).toBeNull();
        }
      });

      test('reads nothing of the log if there are none, and one minute of it for a rare delivery', async () => {
        for (const [event, count] of [
          ['deployment', 0],
          ['issues', 1],
        ] as const) {
          const { shown, read } = await rowsRead(found(event));
          expect(shown).toBe(count);
          expect(read).toBeLessThan(50);
        }
      });

      test('reads minutes without statistics, and those from before statistics were kept', async () => {
        const found = async () => {
          const { body } = await call(api, alice, 'GET', `${deliveries}?event=issues`);
          return body.length;
        };
        await api.sql.query('UPDATE delivery_stats SET kinds = NULL WHERE kinds = $1', [await kindsAt(10)]);
        expect(await found()).toBe(1);
        await api.sql.query("DELETE FROM delivery_stats WHERE minute < now() - interval '8 minutes'");
        expect(await found()).toBe(0); // it is trusted
        await api.sql.query(
          "UPDATE delivery_kinds_known SET since = date_trunc('minute', now()) - interval '7 minutes'",
        );
        expect(await found()).toBe(1);
      });

      const kindsAt = async (minutesAgo: number) => {
        const { rows } = await api.sql.query(
          `SELECT kinds::text FROM delivery_stats WHERE minute < now() - interval '${minutesAgo - 1} minutes'`,
        );
        return rows[0].kinds as string;
      };
    });

    const rowsRead = async (list: string): Promise<{ shown: number | null; read: number }> => {
      const client = await api.sql.connect();
      const read = async () => {
        const { rows } = await client.query<{ read: string }>(
          "SELECT sum(seq_tup_read + idx_tup_fetch) AS read FROM pg_stat_xact_user_tables WHERE relname LIKE 'deliver%'",
        );
        return Number(rows[0]!.read);
      };
      // What was asked for often is planned for any hook.
      for (let count = 0; count < 8; count += 1) await client.query(list);
      await client.query('BEGIN');
      // What this connection did just before counts, too.
      const before = await read();
      const { rowCount: shown } = await client.query(list);
      const after = await read();
      await client.query('COMMIT');
      client.release();
      return { shown, read: after - before };
    };
    const listed = (outcome: string) =>
      `SELECT FROM deliveries_by_time(${hookId}, 'infinity', 0, '-infinity', ${outcome}, NULL, NULL, NULL, 50, 50)`;
    const found = (event: string) =>
      `SELECT f.* FROM hooks h, deliveries_found(h.account_id, h.id, 'infinity', 0, '-infinity', NULL, '${event}', NULL, NULL, 20000, 50) f WHERE h.id = ${hookId}`;

    // It read all of the hook's and sorted them: with half a million, two seconds for each page.
    test.each([
      ['all', () => listed('NULL'), 50],
      ['those that failed, where there are none', () => listed("'failure'"), 0],
      ['those of an event', () => found('push'), 50],
    ])('reads no more than it shows for a list by time: %s', async (_, list, shown) => {
      const counted = await rowsRead(list());
      expect(counted.shown).toBe(shown);
      expect(counted.read).toBeLessThan(500);
    });
  });

  test('lists the deliveries after a sequence number in order, by cursor', async () => {
    await recordDelivery(api.sql, { hookId });
    const third = await recordDelivery(api.sql, { hookId, sequence: 3 });
    const second = await recordDelivery(api.sql, { hookId, sequence: 2, statusCode: 502 });
    await recordDelivery(api.sql, { hookId, sequence: 1 });
    const secondAgain = await recordDelivery(api.sql, { hookId, sequence: 2 });
    const idsAt = async (query: string) =>
      (await call(api, alice, 'GET', `${deliveries}?${query}`)).body.map(({ id }: { id: number }) => id);
    expect(await idsAt('after_sequence=1')).toEqual([second, secondAgain, third]);
    expect(await idsAt('after_sequence=1&status=success')).toEqual([secondAgain, third]);
    expect(await idsAt('after_sequence=3')).toEqual([]);
    expect(await idsAt(`after_sequence=${Number.MAX_SAFE_INTEGER}`)).toEqual([]);
    const page = await call(api, alice, 'GET', `${deliveries}?after_sequence=1&per_page=2`);
    expect(page.body.map(({ sequence }: { sequence: number }) => sequence)).toEqual([2, 2]);
    expect(page.headers.get('link')).toBe(
      `<${api.base}${deliveries}?per_page=2&after_sequence=1&cursor=v1_3_${third}>; rel="next"`,
    );
    const last = await follow(next(page.headers.get('link'))!);
    expect(last.body).toMatchObject([{ id: third, sequence: 3 }]);
    expect(last.headers.get('link')).toBeNull();
    for (const wrong of ['-1', 'x', '', '99999999999999999', '1&cursor=v1_5', '1&cursor=v1_1_1_1', '1&cursor=v1_0_1'])
      expect(await call(api, alice, 'GET', `${deliveries}?after_sequence=${wrong}`)).toMatchObject({ status: 422 });
  });

  test('shows the request and the response of a delivery', async () => {
    const payload = '{"ref":"refs/heads/main","big":9007199254740993,"text":"ünï 🎉"}';
    const throttledAt = new Date('2026-08-21T20:52:55.855Z');
    const id = await recordDelivery(api.sql, {
      hookId,
      payload,
      status: 'Invalid HTTP response',
      statusCode: 500,
      responseBody: Buffer.from('boom\u0000 ünï'),
      error: 'HTTP 500',
      throttledAt,
    });
    const { status, body } = await call(api, alice, 'GET', `${deliveries}/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      redelivery: false,
      duration: 0.031,
      status: 'Invalid HTTP response',
      status_code: 500,
      event: 'push',
      action: null,
      installation_id: null,
      throttled_at: '2026-08-21T20:52:55.855Z',
      url: 'https://example.com/',
      attempt: 1,
      error: 'HTTP 500',
      timings: { dns: null, connect: 1, tls: null, first_byte: 20, total: 31 },
      request: {
        headers: { 'X-GitHub-Event': 'push', 'X-Hub-Signature-256': 'sha256=00' },
        payload: { text: 'ünï 🎉' },
      },
      response: { headers: { 'content-type': 'text/plain' }, payload: 'boom\u0000 ünï' },
    });
    // Numbers that JavaScript cannot hold stay what the producer wrote.
    const raw = await fetch(`${api.base}${deliveries}/${id}`, { headers: { authorization: `token ${alice}` } });
    expect(await raw.text()).toContain('9007199254740993');
    expect((await call(api, alice, 'GET', `${hooks}/${hookId}`)).body.last_response).toEqual({
      code: 500,
      status: 'misconfigured',
      message: 'Invalid HTTP response',
    });
  });

  test('answers 404 for a delivery of another hook and 422 for an invalid id', async () => {
    const id = await recordDelivery(api.sql, { hookId });
    const { body: other } = await call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/other' } });
    expect(await call(api, alice, 'GET', `${hooks}/${other.id}/deliveries/${id}`)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', `${deliveries}/${id + 1000}`)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', `${deliveries}/nonsense`)).toMatchObject({ status: 422 });
  });
});
