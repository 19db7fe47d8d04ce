/** Connections to other providers: who links what, whose directories come in, and what is told of their secrets. */
import { generateKeyPairSync } from 'node:crypto';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { jwtVerify } from 'jose';
import { sessionsEnd } from '../../src/accounts/end-access.ts';
import type { Lies } from '../false-provider.ts';
import { linkIn } from '../gate.ts';
import { lockRow } from '../row-lock.ts';
import { bob } from '../seeds.ts';
import { claimsFor, type Form, manage } from '../upstream.ts';
import { at, errorOf, openTwoProviders } from './two-providers.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const ourDirectory = 'aaaabbbb-0000-cccc-1111-dddd2222eeee';
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' });
const { honest, gate, leave } = stack.use(
  await openTwoProviders((_, honest) => [
    { name: 'honest', strategy: 'oidc', options: at(honest) },
    {
      name: 'directories',
      strategy: 'waad',
      options: at(honest, { use_common_endpoint: true, allowed_tenants: [ourDirectory] }),
    },
    {
      name: 'keyed',
      strategy: 'oidc',
      options: {
        client_id: 'ours',
        discovery_url: honest,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        private_key: privateKey,
        kid: 'key-1',
      },
    },
  ]),
);
const { pool: db } = gate;
beforeEach(() => honest.lie({}));

const databaseName = 'Username-Password-Authentication';

/** Bob has left for the other provider to link what he is there. */
async function leaveToLink(sub: string) {
  await manage(gate, 'PATCH', 'users/auth0%7Cbob', { blocked: false });
  await manage(gate, 'PATCH', 'users/auth0%7Cbob', {
    password: bob.password,
    connection: databaseName,
  });
  const browser = new Browser(gate);
  const page = await browser.logIn(await browser.get('account/sign-ins'), bob.email);
  const { csrf } = page.forms.find(({ fields }) => fields.csrf)!.fields;
  const { location: left } = await browser.post('account/sign-ins', { csrf: csrf!, action: 'link', id: 'honest' });
  honest.state.nonce = left!.searchParams.get('nonce') ?? '';
  honest.lie({ claims: { sub, name: sub, email: `${sub}@example.com` } });
  const state = left!.searchParams.get('state') ?? '';
  return (given: Form = { code: 'c' }) =>
    browser.get(`${left!.searchParams.get('redirect_uri')}?${new URLSearchParams({ ...given, state })}`);
}

test.each([
  ['a new password has ended the session', { password: 'another right horse battery', connection: databaseName }],
  ['the account is blocked', { blocked: true }],
])('a linking that has begun is refused once %s', async (_, change) => {
  const answer = await leaveToLink('whoever');
  const changed = await manage(gate, 'PATCH', 'users/auth0%7Cbob', change);
  expect(changed.status).toBe(200);
  await answer();
  const { body } = await manage(gate, 'GET', 'users/auth0%7Cbob');
  expect(body.identities).toHaveLength(1);
});

test('a linking is refused if a new password ends the session just before the identity is written', async () => {
  const answer = await leaveToLink('in-between');
  await using change = await lockRow(
    db,
    "UPDATE accounts SET password_hash = 'new', sessions_not_before = $1 WHERE user_id = 'auth0|bob'",
    [sessionsEnd()],
  );
  const answered = answer();
  await change.waiting();
  await change.release();
  await answered;
  const { body } = await manage(gate, 'GET', 'users/auth0%7Cbob');
  expect(body.identities).toHaveLength(1);
});

describe('/account does not link', () => {
  const text = ({ html }: Page) => html.replace(/<[^>]+>/g, ' ');
  /** Somebody who has signed in there before. */
  const known = (sub: string, factors: string[] = []) =>
    db.query(
      'INSERT INTO accounts (user_id, connection, name, email, factors, updated_at) VALUES ($1, $2, $3, $4, $5, now())',
      [`oidc|honest|${sub}`, 'honest', sub, `${sub}@example.com`, factors],
    );
  const linked = async () => (await manage(gate, 'GET', 'users/auth0%7Cbob')).body.identities.length - 1;

  test('an account with a second factor after the first factor alone', async () => {
    await known('two-steps', ['totp']);
    const page = await (await leaveToLink('two-steps'))();
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=second_factor`);
    expect(text(page)).toContain('two-factor methods of its own');
    expect(await linked()).toBe(0);
  });

  test('the account of the last administrator', async () => {
    await known('chief');
    const right = ['oidc|honest|chief', `${gate.issuer}api/v2/`];
    await db.query("INSERT INTO user_permissions VALUES ($1, $2, 'update:users')", right);
    const page = await (await leaveToLink('chief'))();
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=last_administrator`);
    expect(text(page)).toContain('the only administrator here');
    expect(await linked()).toBe(0);
    await db.query('DELETE FROM user_permissions WHERE user_id = $1 AND audience = $2', right);
  });

  test('an account without the person’s agreement there', async () => {
    const page = await (await leaveToLink('whoever'))({ error: 'access_denied' });
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=refused`);
    expect(text(page)).toContain('The sign-in was cancelled or refused');
  });

  test('an identity from a provider that does not work', async () => {
    const page = await (await leaveToLink('whoever'))({ error: 'server_error', error_description: 'out of order' });
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=failed`);
    expect(text(page)).toContain('The sign-in failed, so nothing was linked.');
    expect(text(page)).not.toContain('out of order');
    expect(await linked()).toBe(0);
  });

  test('anything once the tenant has closed /account, without asking the provider', async () => {
    const answer = await leaveToLink('late');
    const close = (enabled: boolean) =>
      manage(gate, 'PATCH', 'tenants/settings', { account_self_service: { enabled } });
    expect((await close(false)).status).toBe(200);
    expect((await answer()).status).toBe(404);
    expect(honest.asked).toEqual([]);
    await close(true);
    // It was not spent.
    expect((await answer()).url).toBe(`${gate.issuer}account/sign-ins?linked=honest`);
    expect(await linked()).toBe(1);
    // Its owner learns of the new way in.
    const told = await until('the mail', async () =>
      (await gate.mails(bob.email)).find(({ text: said }) => said?.includes('honest was added to your')),
    );
    expect(told.subject).toContain('A way to sign in was added');
    await manage(gate, 'DELETE', 'users/auth0%7Cbob/identities/oidc/honest%7Clate');
  });
});

test('a sign-in at a known provider still makes at most two requests to it', async () => {
  const signIn = async (sub: string) => {
    const { answer } = await leave('honest', honest);
    honest.lie({ claims: { sub, name: undefined }, userinfo: { sub } });
    expect((await answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
    return honest.asked.map(({ path }) => path);
  };
  await signIn('first');
  const asked = await signIn('second');
  expect(asked.length).toBeLessThanOrEqual(2);
  expect(asked[0]).toBe('/token');
});

describe('a connection to several Microsoft directories', () => {
  const other = 'bbbbbbbb-0000-cccc-1111-dddd2222eeee';
  const form = { issuer: `${honest.issuer}/{tenantid}/v2.0` };
  const of = (tid: unknown, iss = `${honest.issuer}/${tid}/v2.0`): Lies => ({ metadata: form, claims: { tid, iss } });
  test.each<[string, Lies, string | undefined]>([
    ['admits people of a listed directory', of(ourDirectory), undefined],
    ['refuses people of another directory', of(other), 'access_denied'],
    ['refuses a token whose tid and issuer differ', of(ourDirectory, `${honest.issuer}/${other}/v2.0`), 'server_error'],
    ['refuses a token without a tid', of(undefined), 'access_denied'],
    ['refuses a token whose issuer is the template itself', of(ourDirectory, form.issuer), 'server_error'],
    ['refuses a tid that is not a directory id', of('../x'), 'access_denied'],
  ])('%s', async (_, lies, error) => {
    honest.lie(lies);
    const { answer, asked } = await leave('directories', honest);
    const done = await answer();
    expect(errorOf(done) ?? undefined).toBe(error);
    if (!error)
      expect(await claimsFor(gate, asked, done)).toMatchObject({
        sub: 'waad|directories|mallory',
        email_verified: false,
      });
  });

  test('must list them or say that it is for everybody', async () => {
    const body = { name: 'open', strategy: 'waad', options: { client_id: 'x', tenant_domain: 'common' } };
    const refused = await manage(gate, 'POST', 'connections', body);
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('allowed_tenants') } });
    for (const allowed_tenants of [['*'], [other.toUpperCase()]]) {
      const made = await manage(gate, 'POST', 'connections', {
        ...body,
        options: { ...body.options, allowed_tenants },
      });
      expect(made.status).toBe(201);
      await manage(gate, 'DELETE', `connections/${made.body.id}`);
    }
    for (const tenant_domain of ['Common', 'ORGANIZATIONS', 'Consumers'])
      expect(
        await manage(gate, 'POST', 'connections', { ...body, options: { ...body.options, tenant_domain } }),
      ).toMatchObject({ status: 400 });
  });

  test('treats a first sign-in as a sign-up if personal accounts are allowed', async () => {
    const personal = '9188040d-6c67-4c5b-b112-36a304b66dad';
    const [connection] = (await manage(gate, 'GET', 'connections?name=directories')).body;
    const allowed_tenants = [ourDirectory, personal.toUpperCase()];
    const options = { ...connection.options, allowed_tenants };
    expect((await manage(gate, 'PATCH', `connections/${connection.id}`, { options })).status).toBe(200);
    const { claims, metadata } = of(personal);
    honest.lie({ metadata: metadata!, claims: { ...claims, sub: 'anybody' } });
    for (const [allow_signup, error] of [
      [false, 'access_denied'],
      [true, null],
    ]) {
      await manage(gate, 'PATCH', 'tenants/settings', { allow_signup });
      const { answer } = await leave('directories', honest);
      expect([allow_signup, errorOf(await answer())]).toEqual([allow_signup, error]);
    }
  });
});

test('a connection with a private key signs its assertions with it, and hides the key from read-only clients', async () => {
  const { answer } = await leave('keyed', honest);
  expect((await answer()).location?.searchParams.has('code')).toBe(true);
  const { form } = honest.asked.find(({ path }) => path === '/token')!;
  expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  expect(form.has('client_secret')).toBe(false);
  const { payload, protectedHeader } = await jwtVerify(form.get('client_assertion')!, pair.publicKey, {
    audience: honest.issuer,
    issuer: 'ours',
    subject: 'ours',
  });
  expect(payload).toMatchObject({ jti: expect.any(String), exp: expect.any(Number) });
  expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'key-1' });
  const options = { ...at(honest.issuer), token_endpoint_auth_method: 'private_key_jwt' };
  // An EC key signs no RS256.
  for (const private_key of [undefined, 'no key', privateKey])
    expect(
      await manage(gate, 'POST', 'connections', {
        name: 'bad',
        strategy: 'oidc',
        options: { ...options, private_key },
      }),
    ).toMatchObject({ status: 400, body: { message: expect.stringContaining('options.private_key') } });
});

test.each<[string, object, string]>([
  ['an address in the clear', { discovery_url: 'http://provider.example' }, 'options.discovery_url'],
  ['an address that is not on the web', { discovery_url: 'file:///etc/passwd' }, 'options.discovery_url'],
  ['the front channel', { type: 'front_channel' }, 'options.type'],
  [
    'constant values for parameters of each request',
    { upstream_params: { redirect_uri: { value: 'https://evil.example' } } },
    'redirect_uri',
  ],
  ['no address at all', { discovery_url: undefined }, 'options.discovery_url'],
  ['no client', { client_id: '' }, 'options.client_id'],
])('a connection with %s is refused', async (_, options, says) => {
  const body = { name: 'bad', strategy: 'oidc', options: { ...at('https://provider.example'), ...options } };
  const answer = await manage(gate, 'POST', 'connections', body);
  expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(says) } });
});

test('secrets of a connection are sealed, and shown only to clients that may change it', async () => {
  const { rows } = await db.query(
    "SELECT options::text FROM connections WHERE name IN ('honest', 'keyed') ORDER BY name",
  );
  expect(rows[0].options).toContain('$sealed');
  expect(rows[0].options).not.toContain('our-secret');
  expect(rows[1].options).not.toContain('PRIVATE KEY');
});

test('somebody who signed up with another person’s address loses access when its owner sets a password by mail', async () => {
  const email = 'owner@elsewhere.example';
  const made = await manage(gate, 'POST', 'users', {
    connection: 'Username-Password-Authentication',
    user_id: 'taken',
    email,
    password: 'words of the one before',
  });
  const path = `users/${encodeURIComponent(made.body.user_id)}`;
  const signIn = async () => {
    const { answer, asked } = await leave('honest', honest);
    honest.lie({ claims: { sub: 'before' } });
    return (await claimsFor(gate, asked, await answer())).sub;
  };
  expect(await signIn()).toBe('oidc|honest|before');
  await manage(gate, 'POST', `${path}/identities`, { provider: 'oidc', user_id: 'honest|before' });
  expect(await signIn()).toBe('auth0|taken');
  await db.query(
    `INSERT INTO authentication_methods (id, user_id, type, credential_id, public_key, target) VALUES
       ('passkey|dev_before', 'auth0|taken', 'passkey', 'before', '\\x00', NULL), ('phone|dev_before', 'auth0|taken', 'phone', NULL, NULL, '+15555550170')`,
  );

  await gate.post('dbconnections/change_password', {
    client_id: 'web',
    connection: 'Username-Password-Authentication',
    email,
  });
  const mail = await until('the mail', async () =>
    (await gate.mails(email)).find(({ text: said }) => said?.includes('change-password?ticket=')),
  );
  const browser = new Browser(gate);
  const done = await browser.submit(await browser.get(linkIn(mail)), { password: 'words of the owner' });
  expect(done.status).toBe(200);
  expect(await signIn()).toBe('oidc|honest|before');
  const { rows } = await db.query(`SELECT type FROM authentication_methods WHERE user_id = 'auth0|taken'`);
  expect(rows).toEqual([{ type: 'phone' }]);
  await until('mails of what was taken away', async () => (await gate.mails(email)).length >= 3 || undefined);
});
