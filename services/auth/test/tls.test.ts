/** The gate's port with TLS of its own: a second issuer before the same clients, people and tokens. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { openLog } from '@gatepost/runtime/log';
import { makeSeal } from '@gatepost/runtime/seal';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { ManagementClient } from 'auth0';
import { AuthenticationClient } from 'auth0/legacy';
import { decodeJwt } from 'jose';
import { openDatabase } from '../src/database.ts';
import { rotateSigningKeys } from '../src/keys/rotate.ts';
import { openGate } from './gate.ts';
import { managerSeed } from './manager.ts';
import { api, fullSeed } from './seeds.ts';
import { openTlsGate } from './tls-gate.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const manager = managerSeed(['read:clients', 'read:client_grants']);
const gate = stack.use(await openTlsGate({ ...fullSeed, clients: [...fullSeed.clients, manager] }));
const { domain, issuer, tlsIssuer } = gate;

async function tokenAt(base: string, form: Record<string, string>): Promise<string> {
  const response = await fetch(`${base}oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  return ((await response.json()) as { access_token: string }).access_token;
}
const ofManager = { grant_type: 'client_credentials', client_id: 'manager', client_secret: 'manager-secret' };

test('each port uses its own issuer in discovery, in tokens, and in every address', async () => {
  for (const base of [issuer, tlsIssuer]) {
    const discovery = await (await fetch(`${base}.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({
      issuer: base,
      authorization_endpoint: `${base}authorize`,
      jwks_uri: `${base}.well-known/jwks.json`,
    });
    const machine = { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' };
    const token = await tokenAt(base, { ...machine, audience: api });
    expect(decodeJwt(token)).toMatchObject({ iss: base, aud: api });
  }
  expect(await (await fetch(`${issuer}.well-known/jwks.json`)).json()).toEqual(
    await (await fetch(`${tlsIssuer}.well-known/jwks.json`)).json(),
  );
});

test('a new signing key is published at both', async () => {
  await using opened = openDatabase({ url: gate.databaseUrl, isPooled: false }, 30_000, openLog('test', 'silent'));
  const seal = makeSeal(Buffer.from(gate.env.SECRETS_KEY!, 'base64'));
  const [made] = await rotateSigningKeys(opened.pool, seal, ['RS256']);
  for (const base of [issuer, tlsIssuer])
    await until(`the new key at ${base}`, async () =>
      (await (await fetch(`${base}.well-known/jwks.json`)).text()).includes(made!.kid),
    );
});

test('auth0 for Node works with its domain alone: machine tokens, and the management API with the domain’s audience', async () => {
  const credentials = { domain, clientId: 'manager', clientSecret: 'manager-secret' };
  const management = new ManagementClient({ ...credentials, maxRetries: 0 });
  expect((await management.clients.get('web')).client_id).toBe('web');
  // It is the one management API, which has the name of the first issuer.
  const grants = await management.clientGrants.list({ audience: `${tlsIssuer}api/v2/` });
  expect(grants.data).toMatchObject([{ client_id: 'manager', audience: `${issuer}api/v2/` }]);
  const auth0 = new AuthenticationClient({ domain, clientId: 'machine', clientSecret: 'machine-secret' });
  const { data } = await auth0.oauth.clientCredentialsGrant({ audience: api });
  expect(decodeJwt(data.access_token).iss).toBe(tlsIssuer);
});

test('a token of one issuer opens the management API, userinfo and introspection at the other', async () => {
  const person = { grant_type: 'password', client_id: 'trusted', client_secret: 'trusted-secret' };
  const alice = { username: 'alice@example.com', password: 'correct horse battery staple', scope: 'openid' };
  for (const [from, to] of [
    [issuer, tlsIssuer],
    [tlsIssuer, issuer],
  ] as const) {
    const managing = await tokenAt(from, { ...ofManager, audience: `${from}api/v2/` });
    expect(decodeJwt(managing)).toMatchObject({ iss: from, aud: `${issuer}api/v2/` });
    const clients = await fetch(`${to}api/v2/clients/web`, { headers: { authorization: `Bearer ${managing}` } });
    expect(clients.status).toBe(200);

    const token = await tokenAt(from, { ...person, ...alice, audience: api });
    const info = await fetch(`${to}userinfo`, { headers: { authorization: `Bearer ${token}` } });
    expect(await info.json()).toMatchObject({ sub: 'auth0|alice' });
    const asked = { token, client_id: 'trusted', client_secret: 'trusted-secret' };
    const introspected = await fetch(`${to}oauth/introspect`, { method: 'POST', body: new URLSearchParams(asked) });
    expect(await introspected.json()).toMatchObject({ active: true, sub: 'auth0|alice', iss: from });
  }
});

test('a browser has a separate session at each port, although cookies ignore ports, and no page forces localhost to https', async () => {
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', ...pkce() };
  const browser = new Browser({ issuer: tlsIssuer });
  const form = await browser.authorize({ ...request, scope: 'openid' });
  expect(form.headers.get('strict-transport-security')).toBeNull();
  const secure = await browser.logIn(form);
  expect(secure.location?.searchParams.get('iss')).toBe(tlsIssuer);

  const plain = new Browser({ issuer });
  for (const [key, cookie] of browser.cookies) plain.cookies.set(key, cookie);
  const stranger = await plain.authorize({ ...request, scope: 'openid', prompt: 'none' });
  expect(stranger.location?.searchParams.get('error')).toBe('login_required');
  const there = await plain.logIn(await plain.authorize({ ...request, scope: 'openid' }));
  expect(there.location?.searchParams.get('iss')).toBe(issuer);

  for (const [key, cookie] of plain.cookies) browser.cookies.set(key, cookie);
  const again = await browser.authorize({ ...request, scope: 'openid', prompt: 'none' });
  expect(again.location?.searchParams.get('code')).toEqual(expect.any(String));
});

test('a TLS port without a valid certificate is refused by name, without showing its value', async () => {
  await expect(openGate({}, { AUTH_TLS_PORT: '1' })).rejects.toMatchObject({
    problems: ['AUTH_TLS_PORT is set: it needs TLS_CERT_FILE and TLS_KEY_FILE too'],
  });
  const { TLS_KEY_FILE = '' } = gate.env;
  await expect(openGate({}, { AUTH_TLS_PORT: '1', TLS_CERT_FILE: TLS_KEY_FILE, TLS_KEY_FILE })).rejects.toMatchObject({
    problems: [expect.stringMatching(/^TLS_CERT_FILE, TLS_KEY_FILE: [\w\s,-]*$/)],
  });
  await expect(openGate({}, { TLS_ISSUER: 'http://localhost:1/' })).rejects.toMatchObject({
    problems: [expect.stringMatching(/^TLS_ISSUER: must be an https URL/)],
  });
});

// One at each port was enough: the second was waited for after the first, and then there was no time left for mails and the audit log.
test('a gate that stops waits for slow clients of both ports at the same time', async () => {
  const stopped = await openTlsGate(fullSeed);
  const [host, tlsPort] = stopped.domain.split(':') as [string, string];
  const ports = [Number(new URL(stopped.issuer).port), Number(tlsPort)];
  const clients = [connect(ports[0]!, 'localhost'), connectTls({ host, port: ports[1]!, servername: host })];
  await Promise.all(clients.map((client, index) => once(client, index === 0 ? 'connect' : 'secureConnect')));
  const head = 'Host: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100';
  // An answer on the connection, and the head of a request whose body never comes.
  const ask = `GET /.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /oauth/token HTTP/1.1\r\n${head}\r\n\r\ng`;
  for (const client of clients) client.write(ask);
  await Promise.all(clients.map((client) => once(client, 'data')));
  const ended: number[] = [];
  for (const [index, client] of clients.entries()) client.once('close', () => ended.push(index));
  const stopping = stopped[Symbol.asyncDispose]();
  await until('both ports to be closed', async () => (await Promise.all(ports.map(isClosed))).every(Boolean));
  expect(ended).toEqual([]); // the second was closed while the client of the first was still waited for
  for (const client of clients) client.destroy();
  await stopping;
});

async function isClosed(port: number): Promise<boolean> {
  const client = connect(port, 'localhost');
  const refused = await once(client, 'connect').then(
    () => false,
    () => true,
  );
  client.destroy();
  return refused;
}
