/** An event that somebody made up is signed like a real one: so nobody gets one signed under a secret that he does not know. */
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type pg from 'pg';
import { type Api, type Called, call, openApi } from '../support/api.ts';
import { type Jobs, openJobs, recordDelivery } from '../support/jobs.ts';

let api: Api;
let jobs: Jobs;
let admin: string;

beforeAll(async () => {
  api = await openApi();
  jobs = await openJobs(api);
  admin = await api.tokens.user('auth0|alice', 'write:repo_hook admin:org_hook');
});
afterAll(async () => {
  await jobs?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const repo = '/repos/acme/widgets/hooks';
let made = 0;
async function create(
  place: string,
  more: { secret?: string; events?: string[]; active?: boolean } = {},
): Promise<string> {
  made += 1;
  const { secret, ...rest } = { events: ['issues', 'push'], ...more };
  const config = { url: `https://receiver.example/${made}`, ...(secret && { secret }) };
  const { status, body } = await call(api, admin, 'POST', place, { config, ...rest });
  expect(status).toBe(201);
  return `${place}/${body.id}`;
}
const payload = { action: 'opened', issue: { number: 7 }, text: 'Grüße' };
const trigger = (hook: string, more: object = {}, token = admin): Promise<Called> =>
  call(api, token, 'POST', `${hook}/triggers`, { event: 'issues', payload, ...more });
const messageOf = ({ status, body }: Called) => [status, body.errors?.[0]?.field, body.errors?.[0]?.message];

test.each([repo, '/orgs/acme/hooks'])(
  'an administrator can send a made-up event to a hook of %s, once',
  async (place) => {
    const hook = await create(place, { secret: 'known' });
    const { status, body } = await trigger(hook, { secret: 'known' });
    expect([status, body]).toEqual([201, { id: expect.any(Number), guid: expect.any(String) }]);
    const taken = await jobs.next(({ job }) => job.deliveryId === body.id);
    expect(taken.payload).toEqual(payload);
    expect(taken.job).toMatchObject({
      guid: body.guid,
      event: 'issues',
      action: 'opened',
      retries: false,
      redelivery: false,
    });
    const { rows } = await api.sql.query('SELECT action, source FROM events WHERE guid = $1', [body.guid]);
    expect(rows).toEqual([{ action: 'opened', source: 'urn:gatepost:webhook-api' }]);
  },
);

test('a hook with a secret gets made-up events only from somebody who sends that secret', async () => {
  const hook = await create(repo, { secret: 'kept from the others' });
  expect(messageOf(await trigger(hook))).toEqual([422, 'secret', expect.stringContaining('must know it')]);
  expect(messageOf(await trigger(hook, { secret: 'guess' }))).toEqual([
    422,
    'secret',
    'This is not the secret of the hook',
  ]);
  expect(messageOf(await trigger(hook, { secret: '' }))).toEqual([422, 'secret', 'This is not the secret of the hook']);
  // Whoever may change the hook may set another secret, while the one before signs too.
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await call(api, admin, 'PATCH', `${hook}/config`, { secret: 'mine', previous_secret_until: until });
  expect(messageOf(await trigger(hook, { secret: 'mine' }))).toEqual([
    422,
    'secret',
    expect.stringContaining('also signs'),
  ]);
  expect((await trigger(await create(repo))).status).toBe(201);
});

/** Sends it while another transaction has the repository, and waits until it stands in line or is answered. `first` and `last` happen in that transaction, before and after. */
async function whileHeld(
  send: () => Promise<Called>,
  { first, last }: Partial<Record<'first' | 'last', (db: pg.PoolClient) => Promise<unknown>>>,
): Promise<Called> {
  const db = await api.sql.connect();
  try {
    await db.query('BEGIN');
    await db.query("SELECT FROM repositories WHERE name = 'widgets' FOR NO KEY UPDATE");
    await first?.(db);
    let isAnswered = false;
    const answered = send().finally(() => {
      isAnswered = true;
    });
    await until('it waits, or has its answer', async () => {
      // Only here: in other databases other tests wait.
      const { rows } = await db.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return isAnswered || rows.length > 0 || undefined;
    });
    await last?.(db);
    await db.query('COMMIT');
    return await answered;
  } finally {
    db.release(true);
  }
}

// Whoever asked in the moment of the change knew the secret before, and the receiver was told by the next.
test('a made-up event is not sent while the hook gets another secret', async () => {
  const hook = await create(repo, { secret: 'before' });
  const next = (await create(repo, { secret: 'next' })).split('/').at(-1);
  const text =
    'UPDATE hooks SET secret = (SELECT secret FROM hooks WHERE id = $2), updated_at = clock_timestamp() WHERE id = $1';
  const answer = await whileHeld(() => trigger(hook, { secret: 'before' }), {
    first: (db) => db.query(text, [hook.split('/').at(-1), next]),
  });
  expect(messageOf(answer)).toEqual([422, 'secret', 'This is not the secret of the hook']);
});

test('a change of the secret that had to wait counts from when it was made, not from when it was asked for', async () => {
  const hook = await create(repo, { secret: 'before' });
  let madeUp: Date | undefined;
  const { status } = await whileHeld(() => call(api, admin, 'PATCH', `${hook}/config`, { secret: 'next' }), {
    async last(db) {
      madeUp = (await db.query('SELECT clock_timestamp() AS now')).rows[0].now;
    },
  });
  expect(status).toBe(200);
  const { rows } = await api.sql.query('SELECT updated_at FROM hooks WHERE id = $1', [hook.split('/').at(-1)]);
  expect(rows[0].updated_at.getTime()).toBeGreaterThanOrEqual(madeUp!.getTime());
});

test('a made-up event is not signed with a later secret, and does not count as the latest push', async () => {
  const hook = await create(repo);
  const { body } = await trigger(hook, { event: 'push', payload: { forged: true } });
  const { job } = await jobs.next(({ job }) => job.deliveryId === body.id);
  const id = await recordDelivery(api.sql, { hookId: job.hookId, job, status: 'Timed out', statusCode: 504 });
  const explained = async () => {
    await api.sql.query('DELETE FROM parked'); // as a dispatcher would
    return (await call(api, admin, 'GET', `${hook}/deliveries/${id}/explain`)).body;
  };
  const advice = async () => (await explained()).next;
  expect((await explained()).sentence).toContain('no automatic further attempt: tests are not retried');
  expect(await advice()).toContain(`POST ${hook}/deliveries/${id}/attempts`);
  const again = () => call(api, admin, 'POST', `${hook}/deliveries/${id}/attempts`);
  expect((await again()).status).toBe(202);
  await call(api, admin, 'PATCH', `${hook}/config`, { secret: 'of somebody else' });
  expect((await again()).status).toBe(422);
  expect(await advice()).toContain(`POST ${hook}/triggers`);
  expect(await advice()).not.toContain('/attempts');

  const other = await create(repo, { secret: 'unknown', events: ['push'] });
  expect((await call(api, admin, 'POST', `${other}/tests`)).status).toBe(204);
  const ping = await call(api, admin, 'POST', `${other}/pings`);
  expect(ping.status).toBe(204);
  const otherId = Number(other.split('/').at(-1));
  await jobs.next(({ job }) => job.hookId === otherId && job.event === 'ping');
  expect(jobs.all.filter(({ job, payload }) => job.hookId === otherId && payload.forged)).toEqual([]);
});

// Pings are delivered again under whatever secret the hook has by then, and the log shows what that signed.
test('nobody can make up a ping, to have it signed with a later secret', async () => {
  const hook = await create(repo, { events: ['*'] });
  const { status, body } = await trigger(hook, { event: 'ping', payload: { ref: 'refs/heads/main', forged: true } });
  if (status === 201) {
    const { job } = await jobs.next(({ job }) => job.deliveryId === body.id);
    const id = await recordDelivery(api.sql, { hookId: job.hookId, job, status: 'Timed out', statusCode: 504 });
    await call(api, admin, 'PATCH', `${hook}/config`, { secret: 'of somebody else' });
    expect((await call(api, admin, 'POST', `${hook}/deliveries/${id}/attempts`)).status).toBe(422);
  }
  expect(messageOf({ status, body } as Called)).toEqual([422, 'event', expect.stringContaining('/pings')]);
});

test.each([
  ['request headers', { request_headers: { Authorization: 'Bearer of-the-receiver' } }, 'request_headers'],
  ['a user name in its URL', { config: { url: 'https://user:word@receiver.example/own' } }, 'url'],
])('a hook that has %s gets no made-up event with them', async (_, own, field) => {
  const hook = await create(repo);
  const { body } = await trigger(hook);
  const { job } = await jobs.next(({ job }) => job.deliveryId === body.id);
  const id = await recordDelivery(api.sql, { hookId: job.hookId, job, status: 'Timed out', statusCode: 504 });
  await api.sql.query('DELETE FROM parked'); // as a dispatcher would
  expect((await call(api, admin, 'PATCH', hook, own)).status).toBe(200);
  expect(messageOf(await trigger(hook))).toEqual([422, field, expect.stringContaining('in their name')]);
  // Nor with a secret of one's own.
  await call(api, admin, 'PATCH', `${hook}/config`, { secret: 'mine' });
  expect((await trigger(hook, { secret: 'mine' })).status).toBe(422);
  expect((await call(api, admin, 'POST', `${hook}/deliveries/${id}/attempts`)).status).toBe(422);
  const { next } = (await call(api, admin, 'GET', `${hook}/deliveries/${id}/explain`)).body;
  expect(next).toContain('neither request headers');
});

test('only somebody who may change the hook can send it a made-up event, of a type that it takes', async () => {
  const hook = await create(repo);
  const reader = await api.tokens.user('auth0|alice', 'read:repo_hook');
  const member = await api.tokens.user('auth0|bob', 'admin:repo_hook');
  expect([(await trigger(hook, {}, reader)).status, (await trigger(hook, {}, member)).status]).toEqual([404, 404]);
  expect(messageOf(await trigger(hook, { event: 'release' }))).toEqual([422, 'event', expect.any(String)]);
  expect(messageOf(await trigger(await create(repo, { active: false })))).toEqual([
    422,
    'active',
    'The hook is not active',
  ]);
  expect((await trigger(hook, { payload: 'text' })).status).toBe(422);
});

test.each([
  ['a line break in the type', { event: 'issues\r\nX-Forged: 1' }],
  ['a NUL in the type', { event: 'issues\0' }],
  ['a type as long as a book', { event: 'i'.repeat(300) }],
  ['a type that is no header value', { event: 'Grüße\u{1f600}' }],
  ['no type', { event: '' }],
])('a made-up event for a hook with all events is refused if it has %s', async (_, more) => {
  const hook = await create(repo, { events: ['*'] });
  expect((await trigger(hook, more)).status).toBe(422);
});

test.each([
  ['no more of it than of a published one', 'o'.repeat(100), 'o'.repeat(64)],
  ['none that no database could hold', 'open\0ed', null],
])('of its action a made-up event keeps %s', async (_, action, kept) => {
  const { status, body } = await trigger(await create(repo), { payload: { action } });
  expect(status).toBe(201);
  const taken = await jobs.next(({ job }) => job.deliveryId === body.id);
  expect([taken.job.action, taken.payload]).toEqual([kept, { action }]);
});
