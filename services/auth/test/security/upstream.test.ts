/** Other providers that lie, are slow, or are not the one that was asked; and browsers that did not ask. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { jwtVerify } from 'jose';
import pg from 'pg';
import PostalMime from 'postal-mime';
import { type Lies, serveOidc } from '../false-provider.ts';
import { bob } from '../seeds.ts';
import { claimsFor, type Form, manage, openOurs, request } from '../upstream.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const evil = stack.use(await serveOidc());
const honest = stack.use(await serveOidc());
const at = (issuer: string, more: object = {}) => ({
  client_id: 'ours',
  client_secret: 'our-secret',
  discovery_url: issuer,
  ...more,
});
const ourDirectory = 'aaaabbbb-0000-cccc-1111-dddd2222eeee';
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' });
const gate = stack.use(
  await openOurs(() => [
    { name: 'evil', strategy: 'oidc', options: at(evil.issuer) },
    { name: 'honest', strategy: 'oidc', options: at(honest.issuer) },
    { name: 'own', strategy: 'oidc', options: at(honest.issuer, { own_callback: true }) },
    {
      name: 'directories',
      strategy: 'waad',
      options: at(honest.issuer, { use_common_endpoint: true, allowed_tenants: [ourDirectory] }),
    },
    {
      name: 'keyed',
      strategy: 'oidc',
      options: {
        client_id: 'ours',
        discovery_url: honest.issuer,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        private_key: privateKey,
        kid: 'key-1',
      },
    },
    { name: 'inside', strategy: 'oidc', options: at('https://10.1.2.3') },
    ...['other-issuer', 'plain-http', 'huge-metadata', 'no-json', 'metadata-500', 'moved'].map((name) => ({
      name,
      strategy: 'oidc',
      options: at(evil.issuer),
    })),
  ]),
);
const db = new pg.Pool({ connectionString: gate.databaseUrl, options: '-c search_path=auth' });
stack.defer(() => db.end());
beforeEach(() => {
  evil.lie({});
  honest.lie({});
});

/** A sign-in that has left for the provider. */
async function leave(connection: string, provider = evil, browser = new Browser(gate), more: Form = {}) {
  const asked = request({ connection, ...more });
  const { code_verifier: _, ...params } = asked;
  const page = await browser.authorize(params as Form);
  const left = page.location!;
  provider.state.nonce = left.searchParams.get('nonce') ?? '';
  const state = left.searchParams.get('state') ?? '';
  const answer = (given: Form = {}, by = browser): Promise<Page> =>
    by.get(`${left.searchParams.get('redirect_uri')}?${new URLSearchParams({ code: 'c', state, ...given })}`);
  return { asked, browser, left, state, answer };
}

const errorOf = (page: Page) => page.location?.searchParams.get('error');
const adviceOf = (page: Page) => page.location?.searchParams.get('error_description');

async function lastFailure(): Promise<Record<string, unknown>> {
  const { body } = await manage(gate, 'GET', 'logs?q=type:f&per_page=1');
  return body[0]?.details;
}

const big = 'x'.repeat(200_000);
const unsigned = (token: string) => {
  const [, claims] = token.split('.');
  return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
};

describe('an ID token is refused', () => {
  test.each<[string, Lies]>([
    ['of another issuer', { claims: { iss: 'https://accounts.example.com' } }],
    ['for another client', { claims: { aud: 'somebody-else' } }],
    ['for several clients, of which another one may use it', { claims: { aud: ['ours', 'other'], azp: 'other' } }],
    ['with another nonce', { claims: { nonce: 'another' } }],
    ['without a nonce', { claims: { nonce: undefined } }],
    ['that has expired', { claims: { iat: 1_000_000, exp: 1_000_060 } }],
    ['that is not signed (alg none)', { idToken: unsigned }],
    ['whose signature is cut off', { idToken: (token) => token.slice(0, -20) }],
    ['of a key that the provider does not have', { header: { kid: 'other' } }],
    ['that is not there', { token: (_asked, _response, { ...body }) => ({ body: { ...body, id_token: undefined } }) }],
    ['that is no token', { idToken: () => 'abc' }],
    ['whose person has no name that we could keep', { claims: { sub: 'mal\u0000lory' } }],
    ['whose person is called by too much', { claims: { sub: 'm'.repeat(300) } }],
    ['whose profile is somebody else’s', { claims: { name: undefined }, userinfo: { sub: 'alice' } }],
  ])('%s', async (_, lies) => {
    const { answer, browser } = await leave('evil');
    evil.lie(lies);
    const done = await answer();
    expect(errorOf(done)).toBe('server_error');
    expect(done.location?.searchParams.get('code')).toBeNull();
    expect(adviceOf(done)).toMatch(/^Sign-in with evil failed: .*administrator/);
    const silent = await browser.authorize(request({ prompt: 'none' }));
    expect(errorOf(silent)).toBe('login_required');
  });

  test('signed by another key under the same name', async () => {
    const { answer } = await leave('evil');
    evil.lie({}, evil.foreignKey);
    expect(errorOf(await answer())).toBe('server_error');
    await until('the log', async () => (await lastFailure())?.connection === 'evil' || undefined);
  });
});

const databaseName = 'Username-Password-Authentication';
test.each([
  ['a new password has ended the session', { password: 'another right horse battery', connection: databaseName }],
  ['the account is blocked', { blocked: true }],
])('nothing is linked once %s that began it', async (_, change) => {
  const browser = new Browser(gate);
  await manage(gate, 'PATCH', 'users/auth0%7Cbob', { blocked: false });
  await manage(gate, 'PATCH', 'users/auth0%7Cbob', { password: bob.password, connection: databaseName });
  const page = await browser.logIn(await browser.get('account/sign-ins'), bob.email);
  const { csrf } = page.forms.find(({ fields }) => fields.csrf)!.fields;
  const { location: left } = await browser.post('account/sign-ins', { csrf: csrf!, action: 'link', id: 'honest' });
  honest.state.nonce = left!.searchParams.get('nonce') ?? '';
  const changed = await manage(gate, 'PATCH', 'users/auth0%7Cbob', change);
  expect(changed.status).toBe(200);
  const state = left!.searchParams.get('state') ?? '';
  await browser.get(`${left!.searchParams.get('redirect_uri')}?${new URLSearchParams({ code: 'c', state })}`);
  const { body } = await manage(gate, 'GET', 'users/auth0%7Cbob');
  expect(body.identities).toHaveLength(1);
});

describe('of what another provider calls theirs, nobody links', () => {
  const text = ({ html }: Page) => html.replace(/<[^>]+>/g, ' ');
  /** Bob has left for the other provider to link what he is there. */
  async function leaveToLink(sub: string) {
    await manage(gate, 'PATCH', 'users/auth0%7Cbob', { blocked: false });
    await manage(gate, 'PATCH', 'users/auth0%7Cbob', { password: bob.password, connection: databaseName });
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
  /** Somebody who has signed in there before. */
  const known = (sub: string, factors: string[] = []) =>
    db.query(
      'INSERT INTO accounts (user_id, connection, name, email, factors, updated_at) VALUES ($1, $2, $3, $4, $5, now())',
      [`oidc|honest|${sub}`, 'honest', sub, `${sub}@example.com`, factors],
    );
  const linked = async () => (await manage(gate, 'GET', 'users/auth0%7Cbob')).body.identities.length - 1;

  test('an account with a second step by the first alone', async () => {
    await known('two-steps', ['totp']);
    const page = await (await leaveToLink('two-steps'))();
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=second_factor`);
    expect(text(page)).toContain('an account here with a second step of its own');
    expect(await linked()).toBe(0);
  });

  test('the account of the last administrator', async () => {
    await known('chief');
    const right = ['oidc|honest|chief', `${gate.issuer}api/v2/`];
    await db.query("INSERT INTO user_permissions VALUES ($1, $2, 'update:users')", right);
    const page = await (await leaveToLink('chief'))();
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=last_administrator`);
    expect(text(page)).toContain('the account of the last administrator here');
    expect(await linked()).toBe(0);
    await db.query('DELETE FROM user_permissions WHERE user_id = $1 AND audience = $2', right);
  });

  test('what they did not agree to there', async () => {
    const page = await (await leaveToLink('whoever'))({ error: 'access_denied' });
    expect(page.url).toBe(`${gate.issuer}account/sign-ins?link_error=refused`);
    expect(text(page)).toContain('The sign-in there was cancelled or refused');
  });

  test('anything once the tenant has closed /account; the provider is not asked', async () => {
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
      (await Promise.all((await gate.outbox()).map((raw) => PostalMime.parse(raw)))).find(
        ({ to, text: said }) => to?.[0]?.address === bob.email && said?.includes('honest was added to your'),
      ),
    );
    expect(told.subject).toContain('A way to sign in was added');
    await manage(gate, 'DELETE', 'users/auth0%7Cbob/identities/oidc/honest%7Clate');
  });
});

test('a sign-in at a provider that is known already asks it twice at most', async () => {
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

describe('of several directories of Microsoft at once', () => {
  const other = 'bbbbbbbb-0000-cccc-1111-dddd2222eeee';
  const form = { issuer: `${honest.issuer}/{tenantid}/v2.0` };
  const of = (tid: unknown, iss = `${honest.issuer}/${tid}/v2.0`): Lies => ({ metadata: form, claims: { tid, iss } });
  test.each<[string, Lies, string | undefined]>([
    ['the people of one that is listed come in', of(ourDirectory), undefined],
    ['those of another one do not', of(other), 'access_denied'],
    ['nor whoever names one and comes of another', of(ourDirectory, `${honest.issuer}/${other}/v2.0`), 'server_error'],
    ['nor of none', of(undefined), 'access_denied'],
    ['nor of the form itself', of(ourDirectory, form.issuer), 'server_error'],
    ['nor of what is no directory', of('../x'), 'access_denied'],
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

  test('a connection lists them, or says that it is for everybody', async () => {
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

  test('where the personal accounts are among them, a first sign-in is a sign-up', async () => {
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

test('a connection with a key of its own signs for itself, and shows the key to nobody who may only read', async () => {
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

describe('a provider that was to ask anew', () => {
  const ago = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;
  test.each<[string, Form, () => Lies, string | null]>([
    ['and says nothing of when it did', { max_age: '60' }, () => ({}), 'access_denied'],
    ['and did so too long ago', { max_age: '60' }, () => ({ claims: { auth_time: ago(600) } }), 'access_denied'],
    ['and says it in words', { max_age: '60' }, () => ({ claims: { auth_time: 'now' as never } }), 'server_error'],
    [
      'for prompt=login, and did so before',
      { prompt: 'login' },
      () => ({ claims: { auth_time: ago(600) } }),
      'access_denied',
    ],
    ['and did', { max_age: '1' }, () => ({ claims: { auth_time: ago(0) } }), null],
    ['some time ago, as was enough', { max_age: '3600' }, () => ({ claims: { auth_time: ago(600) } }), null],
  ])('%s', async (_, more, lies, error) => {
    const { answer, left } = await leave('evil', evil, new Browser(gate), more);
    expect(left.searchParams.get('max_age')).toBe(more.max_age ?? null);
    evil.lie(lies());
    const done = await answer();
    expect(errorOf(done) ?? null).toBe(error);
    if (error === 'access_denied') expect(adviceOf(done)).toContain('did not ask the person to sign in anew');
    else expect(done.location?.searchParams.has('code')).toBe(error === null);
  });
});

describe('an answer', () => {
  test('of another provider than the one that was asked goes to nobody (mix-up)', async () => {
    const { answer } = await leave('evil');
    const done = await answer({ iss: honest.issuer });
    expect(errorOf(done)).toBe('server_error');
    expect(adviceOf(done)).toContain('another provider');
    expect([...evil.asked, ...honest.asked].filter(({ path }) => path === '/token')).toEqual([]);
  });

  test('to another address than the one that was sent is nobody’s', async () => {
    const { left, state, browser, answer } = await leave('own', honest);
    expect(left.searchParams.get('redirect_uri')).toBe(`${gate.callback}/own`);
    const stray = await browser.get(`${gate.callback}?${new URLSearchParams({ code: 'c', state })}`);
    expect([stray.status, stray.location]).toEqual([400, undefined]);
    expect((await answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
  });

  test('counts once', async () => {
    const { answer } = await leave('honest', honest);
    expect((await answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
    const again = await answer();
    expect([again.status, again.location]).toEqual([400, undefined]);
    expect(honest.asked.filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  test('counts once, given many times at once', async () => {
    const { answer } = await leave('honest', honest);
    await Promise.all(Array.from({ length: 20 }, () => answer()));
    expect(honest.asked.filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  test('in another browser signs nobody in, and spends nothing (login CSRF)', async () => {
    const attacker = await leave('honest', honest);
    const victim = new Browser(gate);
    const shown = await attacker.answer({}, victim);
    expect([shown.status, shown.location]).toEqual([400, undefined]);
    expect(errorOf(await victim.authorize(request({ prompt: 'none' })))).toBe('login_required');
    // Nor in the midst of a sign-in of his own.
    const own = await leave('honest', honest, victim);
    expect((await attacker.answer({}, victim)).status).toBe(400);
    expect((await own.answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
    honest.state.nonce = attacker.left.searchParams.get('nonce')!;
    expect((await attacker.answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
  });

  test('with a code of another sign-in is refused by the proof key', async () => {
    const challenges = new Map<string, string>();
    const thief = await leave('honest', honest);
    const owner = await leave('honest', honest);
    challenges.set('of-owner', owner.left.searchParams.get('code_challenge')!);
    honest.lie({
      token: ({ form }, _response, body) => {
        const proven = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        const isRight = challenges.get(form.get('code')!) === proven;
        return isRight ? { body } : { status: 400, body: { error: 'invalid_grant' } };
      },
    });
    const done = await thief.answer({ code: 'of-owner' });
    expect(errorOf(done)).toBe('server_error');
    expect(adviceOf(done)).toContain('does not take its own code back');
    expect((await owner.answer({ code: 'of-owner' })).location?.searchParams.get('code')).toEqual(expect.any(String));
  });

  test('of a connection that is closed meanwhile, or deleted, is refused', async () => {
    const made = await manage(gate, 'POST', 'connections', {
      name: 'brief',
      strategy: 'oidc',
      options: at(honest.issuer),
    });
    const closed = await leave('brief', honest);
    await manage(gate, 'PATCH', `connections/${made.body.id}`, { enabled_clients: ['spa'] });
    expect(errorOf(await closed.answer())).toBe('access_denied');
    await manage(gate, 'PATCH', `connections/${made.body.id}`, { enabled_clients: ['web'] });
    const gone = await leave('brief', honest);
    await manage(gate, 'DELETE', `connections/${made.body.id}`);
    expect(errorOf(await gone.answer())).toBe('access_denied');
    expect(honest.asked.filter(({ path }) => path === '/token')).toEqual([]);
  });

  test('that refuses tells the application what, and not in its own words', async () => {
    const { answer } = await leave('evil');
    const words = '<script>"alert(1)"</script>';
    const done = await answer({ error: 'access_denied', error_description: words });
    expect(errorOf(done)).toBe('access_denied');
    expect(adviceOf(done)).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(adviceOf(done)).not.toContain('script');
    const failure = await until('the log', async () => {
      const found = await lastFailure();
      return String(found?.detail).includes('script') ? found : undefined;
    });
    expect(failure).toMatchObject({ reason: 'refused_there', detail: expect.stringContaining(words) });
  });

  test.each(['', '?state=x', '?code=c&state=nobody', '?error=access_denied', '?code=c&code=d&state=x'])(
    'that is nobody’s shows a page: %s',
    async (query) => {
      const page = await new Browser(gate).get(`${gate.callback}${query}`);
      expect([page.status, page.location]).toEqual([400, undefined]);
    },
  );
});

describe('a provider', () => {
  test.each<[string, Lies, string]>([
    ['whose token is huge', { claims: { big } }, 'server_error'],
    ['whose answer has no end of members', { token: () => ({ body: { access_token: big } }) }, 'server_error'],
    ['that answers no JSON', { token: () => ({ body: '<html>' }) }, 'server_error'],
    [
      'that leads elsewhere',
      { token: () => ({ status: 307, body: {}, headers: { location: honest.issuer } }) },
      'server_error',
    ],
    ['that is out of order', { token: () => ({ status: 503, body: 'later' }) }, 'temporarily_unavailable'],
    ['that hangs up', { token: (_asked, response) => void response.destroy() }, 'temporarily_unavailable'],
    ['that does not know us', { token: () => ({ status: 401, body: { error: 'invalid_client' } }) }, 'server_error'],
  ])('%s is given up', async (_, lies, error) => {
    const { answer } = await leave('evil');
    evil.lie(lies);
    const done = await answer();
    expect(errorOf(done)).toBe(error);
    expect(honest.asked).toEqual([]);
  });

  test('that answers slowly is waited for a few seconds, while others are signed in', async () => {
    const slow = await leave('evil');
    evil.lie({
      token: (_asked, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const drip = setInterval(() => response.write(' '), 100);
        response.once('close', () => clearInterval(drip));
        return undefined;
      },
    });
    const waiting = slow.answer();
    const other = await leave('honest', honest);
    expect((await other.answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
    const done = await waiting;
    expect(errorOf(done)).toBe('temporarily_unavailable');
    expect(adviceOf(done)).toContain('in time');
  });

  test.each<[string, Lies]>([
    ['other-issuer', { metadata: { issuer: 'https://accounts.example.com' } }],
    ['plain-http', { metadata: { token_endpoint: 'http://192.0.2.1/token' } }],
    ['huge-metadata', { metadata: { big } }],
    ['no-json', { discovery: () => ({ body: '<html>' }) }],
    ['metadata-500', { discovery: () => ({ status: 500, body: {} }) }],
    [
      'moved',
      {
        discovery: () => ({
          status: 302,
          body: {},
          headers: { location: `${honest.issuer}/.well-known/openid-configuration` },
        }),
      },
    ],
  ])('that says false things of itself is not asked: %s', async (name, lies) => {
    evil.lie(lies);
    const page = await new Browser(gate).authorize(request({ connection: name }));
    expect(page.location?.origin).toBe('https://app.example');
    expect(errorOf(page)).toBe(name === 'metadata-500' ? 'temporarily_unavailable' : 'server_error');
    expect(honest.asked).toEqual([]);
    // Nobody asks again at once.
    const before = evil.asked.length;
    await new Browser(gate).authorize(request({ connection: name }));
    expect(evil.asked).toHaveLength(before);
  });

  test('at an address of our own network is not asked', async () => {
    const page = await new Browser(gate).authorize(request({ connection: 'inside' }));
    expect(errorOf(page)).toBe('temporarily_unavailable');
    expect(adviceOf(page)).toContain('OUTBOUND_ALLOWED_NETWORKS');
  });
});

describe('an address that a provider calls proven', () => {
  const victim = { email: 'alice@example.com', email_verified: true };
  test('opens no account that has it', async () => {
    const { answer, asked } = await leave('evil');
    evil.lie({ claims: victim });
    const claims = await claimsFor(gate, asked, await answer());
    expect(claims).toMatchObject({ sub: 'oidc|evil|mallory', email: 'alice@example.com' });
    const { body } = await manage(gate, 'GET', 'users/auth0%7Calice');
    expect(body.identities).toHaveLength(1);
  });

  test('does not lead whoever owns it into the account of whoever said so', async () => {
    const { answer } = await leave('evil');
    evil.lie({ claims: { sub: 'trap', email: 'later@example.com', email_verified: true } });
    await answer();
    const browser = new Browser(gate);
    const asked = request({ connection: 'email' });
    const page = await browser.authorize(asked);
    const sent = (await gate.outbox()).length;
    const code = await browser.submit(page, { identifier: 'later@example.com' });
    const mail = await until('the code', async () => (await gate.outbox())[sent]);
    const done = await browser.submit(code, { code: /code is (\d{6})/.exec(mail)![1]! });
    expect((await claimsFor(gate, asked, done)).sub).toMatch(/^email\|/);
  });

  test('may be two people’s', async () => {
    const subs = [];
    for (const sub of ['one', 'two']) {
      const { answer, asked } = await leave('evil');
      evil.lie({ claims: { ...victim, sub } });
      subs.push((await claimsFor(gate, asked, await answer())).sub);
    }
    expect(subs).toEqual(['oidc|evil|one', 'oidc|evil|two']);
  });
});

test('a subject with bars in it names nobody of another connection', async () => {
  const { answer, asked } = await leave('evil');
  evil.lie({ claims: { sub: '../honest|mallory' } });
  expect((await claimsFor(gate, asked, await answer())).sub).toBe('oidc|evil|../honest|mallory');
});

test('whoever is blocked stays out, whatever the provider says', async () => {
  const first = await leave('evil');
  evil.lie({ claims: { sub: 'banned' } });
  await first.answer();
  await manage(gate, 'PATCH', `users/${encodeURIComponent('oidc|evil|banned')}`, { blocked: true });
  const again = await leave('evil');
  evil.lie({ claims: { sub: 'banned' } });
  const done = await again.answer();
  expect([errorOf(done), adviceOf(done)]).toEqual(['access_denied', expect.stringContaining('user is blocked')]);
});

test('a profile is bounded, and holds nothing that is no picture', async () => {
  const { answer, asked } = await leave('evil');
  evil.lie({
    claims: {
      sub: 'odd',
      name: 'n'.repeat(5_000),
      nickname: 'a\u0000b',
      picture: 'javascript:alert(1)',
      email: 'no address',
    },
  });
  const claims = await claimsFor(gate, asked, await answer());
  expect(claims).toMatchObject({ sub: 'oidc|evil|odd', name: 'n'.repeat(300) });
  expect(claims).not.toHaveProperty('picture');
  expect(claims).not.toHaveProperty('email');
});

test.each<[string, object, string]>([
  ['an address in the clear', { discovery_url: 'http://provider.example' }, 'options.discovery_url'],
  ['an address that is none', { discovery_url: 'file:///etc/passwd' }, 'options.discovery_url'],
  ['the front channel', { type: 'front_channel' }, 'options.type'],
  [
    'parameters that are each request’s own',
    { upstream_params: { redirect_uri: { value: 'https://evil.example' } } },
    'redirect_uri',
  ],
  ['no address at all', { discovery_url: undefined }, 'options.discovery_url'],
  ['no client', { client_id: '' }, 'options.client_id'],
])('a connection is refused with %s', async (_, options, says) => {
  const body = { name: 'bad', strategy: 'oidc', options: { ...at('https://provider.example'), ...options } };
  const answer = await manage(gate, 'POST', 'connections', body);
  expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(says) } });
});

test('what a connection holds in secret is sealed, and shown to those who may change it', async () => {
  const pg = await import('pg');
  const client = new pg.default.Client({ connectionString: gate.databaseUrl });
  await client.connect();
  const { rows } = await client.query(
    `SELECT options::text FROM auth.connections WHERE name IN ('evil', 'keyed') ORDER BY name`,
  );
  await client.end();
  expect(rows[0].options).toContain('$sealed');
  expect(rows[0].options).not.toContain('our-secret');
  expect(rows[1].options).not.toContain('PRIVATE KEY');
});
