/** What the gate tells the post of its organizations: all that changed, signed with its keys. */
import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import {
  organizationSchema,
  organizationStatement,
  organizationsQueue,
  organizationsTopology,
} from '@gatepost/contracts/organizations';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { openGate } from './gate.ts';
import { managerSeed, managerToken } from './manager.ts';
import { alice, apis, bob, connections } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const vhost = stack.use(await freshVhost());
const scopes = ['organizations', 'organization_members', 'organization_member_roles'].flatMap((resource) =>
  ['create', 'delete'].map((verb) => `${verb}:${resource}`),
);
const further = [
  'update:organizations',
  'read:roles',
  'create:signing_keys',
  'read:signing_keys',
  'update:signing_keys',
];
const gate = stack.use(
  await openGate(
    {
      apis: [
        ...apis,
        { identifier: 'urn:post', scopes: ['admin:org'] },
        { identifier: 'urn:shop', scopes: ['admin:org'] },
      ],
      users: [alice, bob],
      connections,
      roles: [
        { name: 'Owner', permissions: [{ audience: 'urn:post' }] },
        { name: 'Shopkeeper', permissions: [{ audience: 'urn:shop' }] },
      ],
      clients: [managerSeed([...scopes, ...further])],
    },
    { ORGANIZATION_ACCOUNTS: 'on', AMQP_URL: vhost.url, WEBHOOK_API_AUDIENCE: 'urn:post' },
  ),
);
const token = await managerToken(gate);

async function ask(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${gate.issuer}api/v2/${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBeLessThan(300);
  const text = await answer.text();
  return text ? JSON.parse(text) : undefined;
}

test('an organization that is an account is announced with its members, their roles, and its deletion, and again without the key that signed it', async () => {
  const keys = createRemoteJWKSet(new URL(`${gate.issuer}.well-known/jwks.json`), { cooldownDuration: 0 });
  const told: unknown[] = [];
  const { audience, typ } = organizationStatement;
  const hear = async (message: Incoming) => {
    const { payload } = await jwtVerify(message.body.toString(), keys, { issuer: gate.issuer, audience, typ });
    const { version: _, ...organization } = organizationSchema.parse(payload.organization);
    told.push(organization);
    message.ack();
  };
  const broker = { url: vhost.url, name: 'test', log: openLog('test', 'silent'), topology: organizationsTopology };
  stack.use(
    await openConsumer({
      ...broker,
      queue: organizationsQueue,
      prefetch: 1,
      onMessage: (message) => void hear(message),
    }),
  );
  const tells = (expected: object) =>
    until('the gate has said so', () => JSON.stringify(told.at(-1)) === JSON.stringify(expected));

  const { id } = await ask('POST', 'organizations', { name: 'orchard', metadata: { gatepost_account: 'true' } });
  await ask('POST', `organizations/${id}/members`, { members: ['auth0|alice', 'auth0|bob'] });
  const roles: { id: string; name: string }[] = await ask('GET', 'roles');
  const [owner, shopkeeper] = ['Owner', 'Shopkeeper'].map((name) => roles.find((role) => role.name === name)!.id);
  // What another API calls admin:org makes nobody an admin here.
  await ask('POST', `organizations/${id}/members/auth0%7Cbob/roles`, { roles: [shopkeeper] });
  await ask('POST', `organizations/${id}/members/auth0%7Calice/roles`, { roles: [owner] });
  const said = { id, name: 'orchard', is_account: true };
  const member = { role: 'member', subject: 'auth0|bob' };
  await tells({
    ...said,
    members: [
      { subject: 'auth0|alice', role: 'admin' },
      { ...member, role: 'member' },
    ].map(({ subject, role }) => ({ subject, role })),
  });
  await ask('DELETE', `organizations/${id}/members`, { members: ['auth0|alice'] });
  await tells({ ...said, members: [{ subject: 'auth0|bob', role: 'member' }] });
  await ask('PATCH', `organizations/${id}`, { metadata: { gatepost_account: null } });
  await tells({ ...said, is_account: false, members: [] });
  await ask('PATCH', `organizations/${id}`, { metadata: { gatepost_account: 'true' } });
  await tells({ ...said, members: [{ subject: 'auth0|bob', role: 'member' }] });
  await ask('DELETE', `organizations/${id}`);
  const gone = { ...said, is_account: false, members: [] };
  await tells(gone);

  const meadow = await ask('POST', 'organizations', { name: 'meadow', metadata: { gatepost_account: 'true' } });
  const kept = { id: meadow.id, name: 'meadow', is_account: true, members: [] };
  await tells(kept);
  // What the post has not read by now, it could no longer check.
  const signing: { kid: string; current?: boolean }[] = await ask('GET', 'keys/signing');
  const { kid } = signing.find(({ current }) => current)!;
  await ask('POST', 'keys/signing/rotate');
  await ask('POST', 'keys/signing/rotate');
  const before = told.length;
  await ask('PUT', `keys/signing/${kid}/revoke`);
  const again = await until('both are said again', () => told.length >= before + 2 && told.slice(before));
  expect(again).toEqual(expect.arrayContaining([kept, gone]));
});
