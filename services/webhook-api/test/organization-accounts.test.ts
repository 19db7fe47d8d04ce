/** Organizations of the gate as accounts: what it says of them counts, and what others say does not. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openPublisher, type Publisher } from '@gatepost/amqp/publisher';
import {
  organizationStatement,
  organizationsExchange,
  organizationsQueue,
  organizationsTopology,
} from '@gatepost/contracts/organizations';
import { openLog } from '@gatepost/runtime/log';
import { openIssuer } from '@gatepost/testkit/tokens';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, call, openApi } from './support/api.ts';

const stack = new AsyncDisposableStack();
let api: Api;
let publisher: Publisher;

beforeAll(async () => {
  api = stack.use(await openApi({ ORGANIZATION_ACCOUNTS: 'on' }));
  const log = openLog('test', 'silent');
  publisher = stack.use(await openPublisher({ url: api.amqpUrl, name: 'test', log, topology: organizationsTopology }));
});
afterAll(() => stack.disposeAsync().then(() => undefined));

type Said = { id?: string; name: string; version: number; is_account?: boolean; members?: object[] };
const { typ, audience: aud } = organizationStatement;

const send = (body: string) =>
  publisher.publish({
    exchange: organizationsExchange,
    routingKey: '',
    messageId: crypto.randomUUID(),
    body: Buffer.from(body),
  });
async function say(
  { id = `org_${'a'.repeat(16)}`, is_account = true, members = [], ...rest }: Said,
  issuer = api.issuer,
) {
  const organization = { id, is_account, members, ...rest };
  await send(await issuer.sign({ aud, organization }, { typ }));
}
const alice = { subject: 'auth0|alice', role: 'admin' };
const carol = { subject: 'auth0|carol', role: 'member' };

async function peopleOf(login: string): Promise<string[] | undefined> {
  const { rows } = await api.sql.query<{ people: string[] }>(
    `SELECT ARRAY(SELECT subject || ' ' || role FROM memberships m WHERE m.account_id = a.id ORDER BY 1) AS people
       FROM accounts a WHERE login = $1`,
    [login],
  );
  return rows[0]?.people;
}
const become = (login: string, people: string[] | undefined) =>
  until(`${login} has its people`, async () => JSON.stringify(await peopleOf(login)) === JSON.stringify(people));
/** All that was said before has been heard. */
const heard = async () => {
  const id = `org_${crypto.randomUUID()}`;
  await say({ id, name: id, version: 1 });
  await become(id, []);
};

test('an organization becomes an account and its members are kept up to date; late messages change nothing', async () => {
  await say({ name: 'orchard', version: 2, members: [alice, carol] });
  await become('orchard', ['auth0|alice admin', 'auth0|carol member']);
  const token = await api.tokens.user('auth0|carol', 'read:org');
  expect((await call(api, token, 'GET', '/orgs/orchard')).status).toBe(200);
  await api.sql.query(`INSERT INTO memberships SELECT id, 'robot', 'admin' FROM accounts WHERE login = 'orchard'`);
  await say({ name: 'orchard', version: 4, members: [{ ...alice, role: 'member' }] });
  await become('orchard', ['auth0|alice member', 'robot admin']);
  await say({ name: 'orchard', version: 3, members: [alice, carol] });
  await heard();
  expect(await peopleOf('orchard')).toEqual(['auth0|alice member', 'robot admin']);
  expect((await call(api, token, 'GET', '/orgs/orchard')).status).toBe(404);
  await say({ name: 'grove', version: 5, members: [alice] });
  await become('grove', ['auth0|alice admin', 'robot admin']);
  await say({ name: 'grove', version: 6, is_account: false });
  await become('grove', ['robot admin']);
});

test('what the gate says waits for a change of the people that is being written, and counts after it', async () => {
  const organization = { id: `org_${'m'.repeat(16)}`, name: 'marsh' };
  await say({ ...organization, version: 1, members: [alice] });
  await become('marsh', ['auth0|alice admin']);
  const writer = await api.sql.connect();
  try {
    await writer.query('BEGIN');
    const { rows } = await writer.query<{ id: number; pid: number }>(
      "SELECT id, pg_backend_pid() AS pid FROM accounts WHERE login = 'marsh' FOR NO KEY UPDATE",
    );
    const { id, pid } = rows[0]!;
    await writer.query("INSERT INTO memberships (account_id, subject, role) VALUES ($1, 'auth0|eve', 'admin')", [id]);
    await say({ ...organization, version: 2, members: [carol] });
    const blocked = 'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))';
    await until('it to wait', async () => ((await api.sql.query(blocked, [pid])).rowCount ?? 0) > 0);
    await writer.query('COMMIT');
  } finally {
    writer.release();
  }
  await become('marsh', ['auth0|carol member']);
});

test('a late message about an organization that was deleted changes nothing, even if it was unknown', async () => {
  await say({ id: 'org_brief', name: 'brief', version: 2, is_account: false });
  await heard();
  await say({ id: 'org_brief', name: 'brief', version: 1, members: [alice] });
  await heard();
  expect(await peopleOf('brief')).toBeUndefined();
  await say({ id: 'org_brief', name: 'brief', version: 3, members: [alice] });
  await become('brief', ['auth0|alice admin']);
});

test('an organization takes over no existing account and no name of another', async () => {
  const before = await peopleOf('acme');
  await say({ id: 'org_thief', name: 'acme', version: 1, members: [carol] });
  await say({ id: 'org_other', name: 'meadow', version: 1, members: [carol] });
  await become('meadow', ['auth0|carol member']);
  await say({ id: 'org_other', name: 'Acme', version: 2, members: [] });
  await become('meadow', []);
  expect(await peopleOf('acme')).toEqual(before);
});

test('an organization is heard although it is signed with a key that the gate has had for a moment only', async () => {
  await say({ id: 'org_mill', name: 'mill', version: 1, members: [alice] });
  await become('mill', ['auth0|alice admin']);
  // The keys are read for an unknown one, and then not again for some seconds.
  const madeUp = await api.issuer.sign({ aud: 'http://localhost:4500/', sub: 'auth0|alice' }, { kid: 'made-up' });
  expect((await call(api, madeUp, 'GET', '/orgs/mill')).status).toBe(401);
  await api.issuer.rotate();
  await say({ id: 'org_mill', name: 'mill', version: 2, members: [] });
  await become('mill', []);
});

test('an organization waits while something else answers in place of the keys of the gate', async () => {
  let keys: (() => Promise<object>) | undefined;
  let asked = 0;
  await using server = createServer(async (_request, response) => {
    asked += 1;
    response.end(JSON.stringify((await keys?.()) ?? { status: 'ok' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using own = await openApi({ ORGANIZATION_ACCOUNTS: 'on', JWKS_URL: `http://127.0.0.1:${port}/` });
  const log = openLog('test', 'silent');
  await using gate = await openPublisher({ url: own.amqpUrl, name: 'test', log, topology: organizationsTopology });
  const organization = { id: 'org_early', name: 'early', version: 1, is_account: true, members: [] };
  const body = Buffer.from(await own.issuer.sign({ aud, organization }, { typ }));
  await gate.publish({ exchange: organizationsExchange, routingKey: '', messageId: crypto.randomUUID(), body });
  const before = asked;
  await until('the keys are asked for, and again', () => asked > before + 2);
  keys = async () => (await (await fetch(own.issuer.jwksUrl)).json()) as object;
  await until('it is an account', async () => {
    const { rowCount } = await own.sql.query("SELECT FROM accounts WHERE login = 'early'");
    return rowCount === 1;
  });
});

test('a message that the gate did not sign for this purpose is ignored', async () => {
  await using stranger = await openIssuer();
  const organization = { id: 'org_forged', name: 'forged', version: 1, is_account: true, members: [alice] };
  await say(organization, stranger);
  await send(await stranger.sign({ iss: api.issuer.issuer, aud, organization }, { typ }));
  await send(await api.issuer.sign({ aud, organization }));
  await send(await api.issuer.sign({ aud: 'http://localhost:4500/', organization }, { typ }));
  await send(await api.issuer.sign({ aud, organization: { ...organization, version: 'x' } }, { typ }));
  await send('{}');
  await send('\0');
  await heard();
  expect(await peopleOf('forged')).toBeUndefined();
  expect(await publisher.waiting(organizationsQueue)).toBe(0);
});
