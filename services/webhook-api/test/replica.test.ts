/** The log of deliveries read from a standby that may lag behind, be away or be promoted. */
import { openCuttable } from '@gatepost/testkit/cut';
import { openPostgresPair } from '@gatepost/testkit/postgres-server';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { recordDelivery } from './support/jobs.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const pair = stack.use(await openPostgresPair());
const address = stack.use(await openCuttable(pair.primary.url));
const api = stack.use(
  await openApi(
    {
      DATABASE_URL: pair.primary.url,
      WEBHOOK_READ_DATABASE_URL: pair.standby.url,
      WEBHOOK_READ_MAX_LAG_SECONDS: '5',
    },
    async () => ({ DATABASE_URL: address.url }),
  ),
);
const hooks = '/repos/acme/widgets/hooks';
const asOf = (answer: { headers: Headers }) => answer.headers.get('x-gatepost-as-of');
let alice: string;
let hookId: number;
let log: string;
const list = () => call(api, alice, 'GET', log);
const idsOf = ({ body }: { body: { id: number }[] }) => body.map(({ id }) => id);

beforeAll(async () => {
  alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
  const { body } = await call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/' }, events: ['push'] });
  hookId = body.id;
  log = `${hooks}/${hookId}/deliveries`;
});

test('deliveries are listed and shown from the standby, as of a time that the answer names', async () => {
  const id = await recordDelivery(api.sql, { hookId });
  const recordedAt = Date.now();
  const answer = await until('an answer from the standby that is as new', async () => {
    const listed = await list();
    return Date.parse(asOf(listed) ?? '') > recordedAt && listed;
  });
  expect(idsOf(answer)).toEqual([id]);
  // On a busy machine the limit may be over for a moment.
  const shown = await until('it is shown from the standby', async () => {
    const answer = await call(api, alice, 'GET', `${log}/${id}`);
    return asOf(answer) !== null && answer;
  });
  expect([shown.status, shown.body.id]).toEqual([200, id]);
});

test('a delivery that the standby lacks is shown by the primary, never 404; a list says how old it is, and comes from the primary beyond the limit', async () => {
  await until('the standby is used', async () => asOf(await list()));
  await pair.standby.replay(false);
  const id = await recordDelivery(api.sql, { hookId });
  const recordedAt = Date.now();
  const shown = await call(api, alice, 'GET', `${log}/${id}`);
  expect([shown.status, shown.body.id, asOf(shown)]).toEqual([200, id, null]);
  const listed = await list();
  // On a slow machine the limit may be over by now.
  if (asOf(listed))
    expect([idsOf(listed).includes(id), Date.parse(asOf(listed)!) <= recordedAt]).toEqual([false, true]);
  const late = await until('an answer from the primary', async () => {
    const answer = await list();
    return asOf(answer) === null && answer;
  });
  expect(idsOf(late)).toContain(id);
  await pair.standby.replay(true);
  await until('the standby is used again', async () => asOf(await list()));
});

test('permission to see a log is checked at the primary', async () => {
  const bob = await api.tokens.user('auth0|bert', 'repo');
  await api.sql.query("INSERT INTO memberships SELECT id, 'auth0|bert', 'admin' FROM accounts WHERE login = 'acme'");
  await until('bert sees it in the standby', async () => asOf(await call(api, bob, 'GET', log)));
  await pair.standby.replay(false);
  await api.sql.query("DELETE FROM memberships WHERE subject = 'auth0|bert'");
  expect(await call(api, bob, 'GET', log)).toMatchObject({ status: 404 });
  await pair.standby.replay(true);
});

test('an API that is led to a standby in place of the primary is not ready, and goes on at the primary once it is led there', async () => {
  const isReady = async () => (await fetch(`${api.opsBase}/readyz`)).status === 200;
  const create = () => call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/after' } });
  await until('readiness', isReady);
  await address.cut();
  address.lead(pair.standby.url);
  await address.restore();
  expect(await isReady()).toBe(false);
  expect([await create(), await call(api, alice, 'GET', hooks)]).toMatchObject([{ status: 503 }, { status: 503 }]);
  address.lead(pair.primary.url);
  await until('readiness', isReady);
  expect(await create()).toMatchObject({ status: 201 });
  expect(await call(api, alice, 'GET', hooks)).toMatchObject({ status: 200, body: { length: 2 } });
});

test('the primary answers when the standby is away or has been promoted', async () => {
  await until('the standby is used', async () => asOf(await list()));
  // Else no commit would end without it.
  await api.sql.query("ALTER SYSTEM SET synchronous_standby_names = ''");
  await api.sql.query('SELECT pg_reload_conf()');
  await pair.standby.promote();
  await until('an answer from the primary', async () => asOf(await list()) === null);
  await pair.standby.kill();
  expect(await list()).toMatchObject({ status: 200 });
});
