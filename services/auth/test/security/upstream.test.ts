/** Other providers that lie, are slow, or are not the one that was asked; and browsers that did not ask. */
import { createHash } from 'node:crypto';
import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Lies } from '../false-provider.ts';
import { lockRow } from '../row-lock.ts';
import { claimsFor, type Form, manage, request } from '../upstream.ts';
import { adviceOf, at, errorOf, openTwoProviders } from './two-providers.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { evil, honest, gate, leave } = stack.use(
  await openTwoProviders((evil, honest) => [
    { name: 'evil', strategy: 'oidc', options: at(evil) },
    { name: 'honest', strategy: 'oidc', options: at(honest) },
    { name: 'own', strategy: 'oidc', options: at(honest, { own_callback: true }) },
    { name: 'inside', strategy: 'oidc', options: at('https://10.1.2.3') },
    ...['other-issuer', 'plain-http', 'huge-metadata', 'no-json', 'metadata-500', 'moved'].map((name) => ({
      name,
      strategy: 'oidc',
      options: at(evil),
    })),
  ]),
);
const { pool: db } = gate;
beforeEach(() => {
  evil.lie({});
  honest.lie({});
});

async function lastFailure(): Promise<Record<string, unknown>> {
  const { body } = await manage(gate, 'GET', 'logs?q=type:f&per_page=1');
  return body[0]?.details;
}

const big = 'x'.repeat(200_000);
const unsigned = (token: string) => {
  const [, claims] = token.split('.');
  return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
};

describe('ID tokens from a provider', () => {
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
    ['that is missing', { token: (_asked, _response, { ...body }) => ({ body: { ...body, id_token: undefined } }) }],
    ['that cannot be parsed', { idToken: () => 'abc' }],
    ['whose sub cannot be stored', { claims: { sub: 'mal\u0000lory' } }],
    ['whose sub is too long', { claims: { sub: 'm'.repeat(300) } }],
    ['whose userinfo has another sub', { claims: { name: undefined }, userinfo: { sub: 'alice' } }],
  ])('an ID token %s is refused', async (_, lies) => {
    const { answer, browser } = await leave('evil');
    evil.lie(lies);
    const done = await answer();
    expect(errorOf(done)).toBe('server_error');
    expect(done.location?.searchParams.get('code')).toBeNull();
    expect(adviceOf(done)).toMatch(/^Sign-in with evil failed: .*administrator/);
    const silent = await browser.authorize(request({ prompt: 'none' }));
    expect(errorOf(silent)).toBe('login_required');
  });

  test('an ID token signed by another key with the same id is refused', async () => {
    const { answer } = await leave('evil');
    evil.lie({}, evil.foreignKey);
    expect(errorOf(await answer())).toBe('server_error');
    await until('the log', async () => (await lastFailure())?.connection === 'evil' || undefined);
  });
});

describe('a provider that was told to ask for the password again', () => {
  const ago = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;
  test.each<[string, Form, () => Lies, string | null]>([
    ['is not believed without an auth_time', { max_age: '60' }, () => ({}), 'access_denied'],
    [
      'is not believed with an auth_time that is too old',
      { max_age: '60' },
      () => ({ claims: { auth_time: ago(600) } }),
      'access_denied',
    ],
    [
      'is not believed with an auth_time that is not a number',
      { max_age: '60' },
      () => ({ claims: { auth_time: 'now' as never } }),
      'server_error',
    ],
    [
      'is not believed for prompt=login with an auth_time from before the request',
      { prompt: 'login' },
      () => ({ claims: { auth_time: ago(600) } }),
      'access_denied',
    ],
    [
      'is not believed for prompt=login after prompt=select_account with an auth_time from before the request',
      { prompt: 'select_account login' },
      () => ({ claims: { auth_time: ago(600) } }),
      'access_denied',
    ],
    ['is believed with a current auth_time', { max_age: '1' }, () => ({ claims: { auth_time: ago(0) } }), null],
    [
      'is believed with an auth_time within max_age',
      { max_age: '3600' },
      () => ({ claims: { auth_time: ago(600) } }),
      null,
    ],
    [
      'is believed with any auth_time where it was only to let the person choose an account',
      { prompt: 'select_account' },
      () => ({ claims: { auth_time: ago(600) } }),
      null,
    ],
  ])('%s', async (_, more, lies, error) => {
    const { answer, left } = await leave('evil', evil, new Browser(gate), more);
    expect(left.searchParams.get('max_age')).toBe(more.max_age ?? null);
    evil.lie(lies());
    const done = await answer();
    expect(errorOf(done) ?? null).toBe(error);
    if (error === 'access_denied') expect(adviceOf(done)).toContain('did not ask the person to sign in again');
    else expect(done.location?.searchParams.has('code')).toBe(error === null);
  });
});

describe('an answer of a provider', () => {
  test('from another provider than the requested one signs nobody in (mix-up)', async () => {
    const { answer } = await leave('evil');
    const done = await answer({ iss: honest.issuer });
    expect(errorOf(done)).toBe('server_error');
    expect(adviceOf(done)).toContain('another provider');
    expect([...evil.asked, ...honest.asked].filter(({ path }) => path === '/token')).toEqual([]);
  });

  test('to another callback than the requested one signs nobody in', async () => {
    const { left, state, browser, answer } = await leave('own', honest);
    expect(left.searchParams.get('redirect_uri')).toBe(`${gate.callback}/own`);
    const stray = await browser.get(`${gate.callback}?${new URLSearchParams({ code: 'c', state })}`);
    expect([stray.status, stray.location]).toEqual([400, undefined]);
    expect((await answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
  });

  test('signs in once: the second time it is refused, and the provider is not asked again', async () => {
    const { answer } = await leave('honest', honest);
    expect((await answer()).location?.searchParams.get('code')).toEqual(expect.any(String));
    const again = await answer();
    expect([again.status, again.location]).toEqual([400, undefined]);
    expect(honest.asked.filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  test('works once when given many times at the same moment', async () => {
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

  test('with a code of another sign-in is refused by PKCE', async () => {
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
    expect(adviceOf(done)).toContain('does not accept its own code');
    expect((await owner.answer({ code: 'of-owner' })).location?.searchParams.get('code')).toEqual(expect.any(String));
  });

  test('for a connection that was disabled or deleted meanwhile is refused', async () => {
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

  test.each([
    ['deleted', false],
    ['replaced by another one of the same name', true],
  ])('that comes after its connection was %s creates no account', async (_, isReplaced) => {
    const connection = (issuer: string) => ({ name: 'late', strategy: 'oidc', options: at(issuer) });
    const made = await manage(gate, 'POST', 'connections', connection(evil.issuer));
    const { answer, browser } = await leave('late');
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<() => void>();
    evil.lie({
      claims: { sub: 'former-user' },
      token: (_asked, response, honest) => {
        isAsked(() => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(honest)));
        return undefined;
      },
    });
    const done = answer();
    const reply = await asked;
    await manage(gate, 'DELETE', `connections/${made.body.id}`);
    const other = isReplaced ? await manage(gate, 'POST', 'connections', connection(honest.issuer)) : undefined;
    reply();
    const page = await done;
    expect(errorOf(page)).toBe('access_denied');
    expect(adviceOf(page)).toContain('not enabled');
    expect((await manage(gate, 'GET', 'users/oidc%7Clate%7Cformer-user')).status).toBe(404);
    expect(errorOf(await browser.authorize(request({ prompt: 'none' })))).toBe('login_required');
    if (other) await manage(gate, 'DELETE', `connections/${other.body.id}`);
  });

  test('that signed a person in through a link stops working when the connection is deleted', async () => {
    const made = await manage(gate, 'POST', 'connections', {
      name: 'former',
      strategy: 'oidc',
      options: at(evil.issuer),
    });
    const signIn = async () => {
      const { answer, asked, browser } = await leave('former');
      evil.lie({ claims: { sub: 'linked' } });
      return { browser, sub: (await claimsFor(gate, asked, await answer())).sub };
    };
    await signIn();
    await manage(gate, 'POST', 'users/auth0%7Calice/identities', { provider: 'oidc', user_id: 'former|linked' });
    const { browser, sub } = await signIn();
    expect(sub).toBe('auth0|alice');
    await manage(gate, 'DELETE', `connections/${made.body.id}`);
    const silent = await browser.authorize(request({ prompt: 'none' }));
    expect(errorOf(silent)).toBe('login_required');
  });

  test('leaves no grant to whoever uses it while the connection is being deleted', async () => {
    const made = await manage(gate, 'POST', 'connections', {
      name: 'leaving',
      strategy: 'oidc',
      options: at(evil.issuer),
    });
    await db.query(
      "INSERT INTO accounts (user_id, connection, linked_to, updated_at) VALUES ('oidc|leaving|bob', 'leaving', 'auth0|bob', now())",
    );
    // As an authorization does (adapter/postgres.ts): the account is locked, then the grant is written.
    await using writing = await lockRow(db, "SELECT FROM accounts WHERE user_id = 'auth0|bob' FOR SHARE");
    const deleted = manage(gate, 'DELETE', `connections/${made.body.id}`);
    await writing.waiting();
    await writing.query(
      `INSERT INTO artefacts (model, id, account_id, client_id, payload, expires_at)
         VALUES ('Grant', 'meanwhile', 'auth0|bob', 'web', '{}', now() + interval '1 day')`,
    );
    await writing.release();
    expect((await deleted).status).toBe(204);
    const { rows } = await db.query("SELECT id FROM artefacts WHERE id = 'meanwhile' AND expires_at > now()");
    expect(rows).toEqual([]);
  });

  test('with an error reports it to the application, without the provider’s own text', async () => {
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
    'without a known state shows a page: %s',
    async (query) => {
      const page = await new Browser(gate).get(`${gate.callback}${query}`);
      expect([page.status, page.location]).toEqual([400, undefined]);
    },
  );
});

describe('an upstream provider', () => {
  test.each<[string, Lies, string]>([
    ['whose token is huge', { claims: { big } }, 'server_error'],
    ['whose answer has no end of members', { token: () => ({ body: { access_token: big } }) }, 'server_error'],
    ['that answers no JSON', { token: () => ({ body: '<html>' }) }, 'server_error'],
    [
      'that redirects',
      { token: () => ({ status: 307, body: {}, headers: { location: honest.issuer } }) },
      'server_error',
    ],
    ['that answers 503', { token: () => ({ status: 503, body: 'later' }) }, 'temporarily_unavailable'],
    ['that hangs up', { token: (_asked, response) => void response.destroy() }, 'temporarily_unavailable'],
    ['that refuses our client', { token: () => ({ status: 401, body: { error: 'invalid_client' } }) }, 'server_error'],
  ])('a provider %s is given up', async (_, lies, error) => {
    const { answer } = await leave('evil');
    evil.lie(lies);
    const done = await answer();
    expect(errorOf(done)).toBe(error);
    expect(honest.asked).toEqual([]);
  });

  test('a provider that answers slowly is waited for a few seconds, while others are signed in', async () => {
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
  ])('with false metadata is not used: %s', async (name, lies) => {
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

  test('at an address in our own network is not asked', async () => {
    const page = await new Browser(gate).authorize(request({ connection: 'inside' }));
    expect(errorOf(page)).toBe('temporarily_unavailable');
    expect(adviceOf(page)).toContain('OUTBOUND_ALLOWED_NETWORKS');
  });
});

describe('an address that a provider calls verified', () => {
  const victim = { email: 'alice@example.com', email_verified: true };
  test('opens no existing account with that address', async () => {
    const { answer, asked } = await leave('evil');
    evil.lie({ claims: victim });
    const claims = await claimsFor(gate, asked, await answer());
    expect(claims).toMatchObject({ sub: 'oidc|evil|mallory', email: 'alice@example.com' });
    const { body } = await manage(gate, 'GET', 'users/auth0%7Calice');
    expect(body.identities).toHaveLength(1);
  });

  test('does not lead its real owner into the account of whoever claimed it', async () => {
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

  test('may belong to two accounts', async () => {
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

test('a blocked person stays out, whatever the provider says', async () => {
  const first = await leave('evil');
  evil.lie({ claims: { sub: 'banned' } });
  await first.answer();
  await manage(gate, 'PATCH', `users/${encodeURIComponent('oidc|evil|banned')}`, { blocked: true });
  const again = await leave('evil');
  evil.lie({ claims: { sub: 'banned' } });
  const done = await again.answer();
  expect([errorOf(done), adviceOf(done)]).toEqual(['access_denied', expect.stringContaining('user is blocked')]);
});

test('a provider’s profile is bounded, and its picture is a web address', async () => {
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
