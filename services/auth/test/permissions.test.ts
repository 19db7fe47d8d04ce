/** What people may do shows in their tokens where an API enforces it (https://auth0.com/docs/get-started/apis/enable-role-based-access-control-for-apis). */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openGate } from './gate.ts';
import { managerSeed, openManager } from './manager.ts';
import { apiClient, fullSeed, api as open } from './seeds.ts';
import { recordStatements } from './statements.ts';

const api = 'https://enforcing.example/';
const quiet = 'https://quiet.example/';
const scopes = ['read:x', 'write:x', 'admin:x'];
const redirect_uri = 'https://app.example/cb';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { texts: statements } = stack.use(recordStatements());
const gate = stack.use(
  await openGate((issuer: string) => ({
    ...fullSeed,
    apis: [
      ...fullSeed.apis,
      {
        identifier: api,
        scopes,
        enforce_policies: true,
        token_dialect: 'access_token_authz',
        allow_offline_access: true,
      },
      { identifier: quiet, scopes, enforce_policies: true, token_dialect: 'rfc9068_profile' },
    ],
    clients: [
      ...fullSeed.clients,
      {
        ...managerSeed([]),
        client_grants: [
          { audience: `${issuer}api/v2/`, scope: ['update:users', 'read:clients', 'update:resource_servers'] },
          { audience: api, scope: ['admin:x'] },
        ],
      },
      // An API's own server, which exchanges what it is shown.
      { ...apiClient, client_id: 'exchanger', client_grants: [{ audience: api, scope: scopes }] },
    ],
    roles: [
      { name: 'Reader', permissions: [{ audience: api, scope: ['read:x'] }] },
      { name: 'Everybody', is_default: true, permissions: [{ audience: quiet, scope: ['read:x'] }] },
    ],
    users: [
      {
        ...fullSeed.users[0],
        roles: ['Reader'],
        permissions: [
          { audience: api, scope: ['write:x'] },
          { audience: 'api/v2/', scope: ['read:clients', 'update:users'] },
        ],
      },
      fullSeed.users[1],
    ],
  })),
);

type Form = Record<string, string>;
type Tokens = { scope: string; access_token: string; refresh_token: string; claims: Record<string, unknown> };

async function signIn(given: Form, email = 'alice@example.com'): Promise<Tokens> {
  const { code_verifier, ...challenge } = pkce();
  const request = { client_id: 'spa', redirect_uri, response_type: 'code', ...challenge, ...given };
  const browser = new Browser(gate);
  let page = await browser.logIn(await browser.authorize(request), email);
  if (!page.location) page = await browser.submit(page, { action: 'default' });
  const code = page.location!.searchParams.get('code')!;
  const form = { grant_type: 'authorization_code', client_id: 'spa', redirect_uri, code, code_verifier };
  return read((await gate.post('oauth/token', form)).json as Form);
}

const read = (json: Form) => ({ ...json, claims: decodeJwt(json.access_token!) }) as unknown as Tokens;
const refresh = async ({ refresh_token }: Tokens) =>
  read((await gate.post('oauth/token', { grant_type: 'refresh_token', client_id: 'spa', refresh_token })).json as Form);

const ask = await openManager(gate);
async function manage(method: string, path: string, body?: object) {
  expect((await ask(method, path, body)).status).toBeLessThan(300);
}

test('a token has those requested scopes that the person may have, and its permissions list all of them', async () => {
  const asked = { audience: api, scope: 'openid read:x admin:x' };
  const alice = await signIn(asked);
  expect(alice).toMatchObject({ scope: 'openid read:x' });
  expect(alice.claims).toMatchObject({ scope: 'openid read:x', permissions: ['read:x', 'write:x'], rbac: true });
  const bob = await signIn(asked, 'bob@example.com');
  expect(bob).toMatchObject({ scope: 'openid' });
  expect(bob.claims).toMatchObject({ scope: 'openid', permissions: [], rbac: true });
});

test('a role for everybody needs no assignment, and permissions are in the token only if the API’s dialect says so', async () => {
  const bob = await signIn({ audience: quiet, scope: 'read:x write:x' }, 'bob@example.com');
  expect(bob.claims).toMatchObject({ scope: 'read:x', rbac: true });
  expect(bob.claims).not.toHaveProperty('permissions');
});

test('an API that does not enforce policies grants everybody the scopes that they request', async () => {
  const { claims } = await signIn({ audience: open, scope: 'read:x admin:x' }, 'bob@example.com');
  expect(claims).toMatchObject({ scope: 'read:x admin:x' });
  expect(claims).not.toHaveProperty('rbac');
});

test('an API that does not enforce policies costs no statement about permissions', async () => {
  const tokens = await signIn({ audience: open, scope: 'openid read:x offline_access' }); // what is remembered is known from here on
  const from = statements.length;
  await refresh(tokens);
  const asked = { audience: open, scope: 'openid read:x offline_access' };
  const again = await signIn(asked);
  await refresh(again);
  const made = statements.slice(from);
  expect(made.length).toBeGreaterThan(5);
  // The statement that writes a grant looks at memberships where the grant names an organization, which this one does not.
  const asking = made.filter(
    (text) => /role|permission|organization/i.test(text) && !/INSERT INTO artefacts/.test(text),
  );
  expect(asking).toEqual([]);
  const enforced = statements.length;
  await refresh(await signIn({ ...asked, audience: api }));
  const more = statements.slice(enforced).filter((text) => /permission/.test(text));
  expect(more.map((text) => text.slice(0, 17))).toEqual(Array(2).fill('SELECT permission'));
});

test('a machine has the scopes of its client grant, whatever people may do', async () => {
  const form = { grant_type: 'client_credentials', client_id: 'manager', client_secret: 'manager-secret' };
  const { json } = await gate.post('oauth/token', { ...form, audience: api });
  const claims = decodeJwt(json.access_token as string);
  expect(claims).toMatchObject({ scope: 'admin:x', permissions: ['admin:x'] });
  expect(claims).not.toHaveProperty('rbac');
});

test('a changed permission takes effect with the next refresh', async () => {
  const asked = { audience: api, scope: 'read:x admin:x offline_access' };
  let tokens = await signIn(asked);
  expect(tokens.claims.scope).toBe('read:x offline_access');
  const permissions = [{ resource_server_identifier: api, permission_name: 'admin:x' }];
  await manage('POST', 'users/auth0%7Calice/permissions', { permissions });
  tokens = await refresh(tokens);
  expect(tokens.claims).toMatchObject({
    scope: 'read:x admin:x offline_access',
    permissions: ['admin:x', 'read:x', 'write:x'],
  });
  await manage('DELETE', 'users/auth0%7Calice/permissions', { permissions });
  tokens = await refresh(tokens);
  expect(tokens.claims).toMatchObject({ scope: 'read:x offline_access', permissions: ['read:x', 'write:x'] });
});

test.each([
  [
    'the implicit flow',
    async () => {
      const browser = new Browser(gate);
      const request = {
        client_id: 'spa',
        redirect_uri,
        response_type: 'id_token token',
        nonce: 'n',
        scope: 'openid read:x admin:x',
      };
      const page = await browser.logIn(await browser.authorize({ ...request, audience: api }));
      return Object.fromEntries(new URLSearchParams(page.location!.hash.slice(1)));
    },
  ],
  [
    'the password grant',
    async () => {
      const form = {
        grant_type: 'password',
        client_id: 'trusted',
        client_secret: 'trusted-secret',
        username: 'alice@example.com',
        password: 'correct horse battery staple',
      };
      return (await gate.post('oauth/token', { ...form, audience: api, scope: 'openid read:x admin:x' })).json as Form;
    },
  ],
  [
    'a token exchange',
    async () => {
      const alice = await signIn({ audience: open, scope: 'openid read:x admin:x' });
      const { json } = await gate.post('oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        client_id: 'exchanger',
        client_secret: apiClient.client_secret,
        subject_token: alice.access_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        audience: api,
      });
      return json as Form;
    },
  ],
] as [string, () => Promise<Form>][])('%s gives no scope that the person may not have', async (_, get) => {
  const { scope, access_token } = await get();
  expect(scope).toBe('openid read:x');
  expect(decodeJwt(access_token!)).toMatchObject({ scope, rbac: true });
});

describe('the management API', () => {
  const management = `${gate.issuer}api/v2/`;
  const ask = (path: string, token: string, method = 'GET', body?: object) =>
    fetch(`${management}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: 'https://app.example' },
      ...(body && { body: JSON.stringify(body) }),
    });

  test('gives a person their permissions through an application of ours, and names them in the log', async () => {
    const alice = await signIn({ audience: management, scope: 'openid read:clients read:users update:users' });
    expect(alice.claims).toMatchObject({ sub: 'auth0|alice', scope: 'openid read:clients update:users' });
    const token = alice.access_token;
    const clients = await ask('clients', token);
    expect([clients.status, clients.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
    expect((await ask('users', token)).status).toBe(403);
    expect((await ask('users/auth0%7Cbob', token, 'PATCH', { nickname: 'bobby' })).status).toBe(200);
  });

  test('gives a person without permissions a token that opens nothing', async () => {
    const bob = await signIn({ audience: management, scope: 'openid read:clients' }, 'bob@example.com');
    expect(bob.claims.scope).toBe('openid');
    expect((await ask('clients', bob.access_token)).status).toBe(403);
  });
});
