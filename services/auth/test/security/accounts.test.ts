/** What an account leaves behind when its address, its password or the account itself goes: links, codes, sessions, tokens. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { sessionsEnd } from '../../src/accounts/end-access.ts';
import { openManager } from '../manager.ts';
import { lockRow } from '../row-lock.ts';
import { api } from '../seeds.ts';
import { callback, openTarget, password, passwordGrant, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate } = target;
const { pool: db } = gate;
const connection = 'Username-Password-Authentication';
const manage = await openManager(gate);

/** The password is right; where that leads to is kept for later. */
async function holdLogin(browser: Browser, page: Page): Promise<() => Promise<Page>> {
  const { action, fields } = page.forms[0]!;
  const url = new URL(action, page.url);
  const held = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: browser.cookieHeader(url) },
    body: new URLSearchParams({ ...fields, password }),
  });
  expect(held.status).toBe(303);
  return () => browser.get(held.headers.get('location')!);
}

let people = 0;
/** Somebody new with a password; `name` is what the id ends in. */
async function somebody(more: object = {}, name = `p${++people}`) {
  const email = `${name}@people.example`;
  const made = await manage('POST', 'users', { connection, user_id: name, email, password, ...more });
  expect(made.status).toBe(201);
  return { name, email, path: `users/auth0%7C${name}` };
}

/** What the mail to the address that fits brings; the newest one that was not there before `ask`. */
async function mailed(email: string, link: RegExp, ask: () => Promise<{ status: number }>): Promise<string> {
  const found = async () =>
    (await gate.mails(email)).map(({ text = '' }) => link.exec(text)?.[0]).filter((each) => each !== undefined);
  const before = (await found()).length;
  expect((await ask()).status).toBe(200);
  return until('the mail', async () => (await found())[before]);
}
const passwordLink = (email: string) =>
  mailed(email, /http\S+change-password\?ticket=[\w-]+/, () =>
    gate.post('dbconnections/change_password', { client_id: 'spa', connection, email }),
  );
const loginLink = (email: string) =>
  mailed(email, /http\S+passwordless\/link\?ticket=[\w-]+/, () =>
    gate.post('passwordless/start', { client_id: 'web', connection: 'email', send: 'link', email }),
  );
const code = (email: string) =>
  mailed(email, /\b\d{6}\b(?=\. It is valid)/, () =>
    gate.post('passwordless/start', { client_id: 'native', connection: 'email', send: 'code', email }),
  );
const redeemCode = (otp: string, username: string) =>
  gate.post('oauth/token', {
    grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
    client_id: 'native',
    realm: 'email',
    scope: 'openid email',
    username,
    otp,
  });

type Person = Awaited<ReturnType<typeof somebody>>;
const changes: [string, (person: Person) => Promise<unknown>][] = [
  ['the address was changed', ({ path, name }) => manage('PATCH', path, { email: `${name}@elsewhere.example` })],
  [
    'the address was changed and changed back',
    async ({ path, name, email }) => {
      await manage('PATCH', path, { email: `${name}@elsewhere.example` });
      await manage('PATCH', path, { email, email_verified: true });
    },
  ],
  ['an administrator set another password', ({ path }) => manage('PATCH', path, { password: 'words of an admin' })],
  ['an administrator gave another number', ({ path }) => manage('PATCH', path, { phone_number: '+15555550177' })],
  ['the address was said to be unproven', ({ path }) => manage('PATCH', path, { email_verified: false })],
  [
    'the account was blocked, and let in again',
    async ({ path }) => {
      await manage('PATCH', path, { blocked: true });
      await manage('PATCH', path, { blocked: false });
    },
  ],
  ['access was revoked', ({ path }) => manage('POST', `${path}/revoke-access`)],
  [
    'the account was deleted and made anew',
    async ({ path, name }) => {
      await manage('DELETE', path);
      await somebody({ email_verified: true }, name);
    },
  ],
];

describe('a link for a new password', () => {
  test.each(changes)('is refused once %s', async (_what, change) => {
    const person = await somebody({ email_verified: true });
    const link = await passwordLink(person.email);
    const browser = new Browser(gate);
    const form = await browser.get(link);
    expect(form.status).toBe(200);
    await change(person);
    expect((await browser.get(link)).status).toBe(400);
    // Nor does the form that was open before.
    expect((await browser.submit(form, { password: 'words of a thief' })).status).toBe(400);
  });

  test('is refused once another one was used, and of eight concurrent uses of two links one works', async () => {
    const { email } = await somebody();
    const links = [await passwordLink(email), await passwordLink(email)];
    const forms: [Browser, Page][] = [];
    for (let index = 0; index < 8; index += 1) {
      const browser = new Browser(gate);
      forms.push([browser, await browser.get(links[index % 2]!)]);
    }
    const answers = await Promise.all(
      forms.map(([browser, form], index) => browser.submit(form, { password: `words of try ${index}` })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
    for (const link of links) expect((await new Browser(gate).get(link)).status).toBe(400);
  });

  test('mailed to one address never verifies another one', async () => {
    const { email, path, name } = await somebody();
    const browser = new Browser(gate);
    const form = await browser.get(await passwordLink(email));
    await manage('PATCH', path, { email: `victim-${name}@people.example` });
    await browser.submit(form, { password: 'words of a thief' });
    expect((await manage('GET', path)).json.email_verified).toBe(false);
  });

  test('leads back to the application that it was requested for, and to none that was deleted', async () => {
    const { email } = await somebody();
    const browser = new Browser(gate);
    const done = await browser.submit(await browser.get(await passwordLink(email)), { password: 'words of the owner' });
    expect(done.html).toContain('href="https://app.example/"');

    const made = await somebody();
    const client = await manage('POST', 'clients', { name: 'Left', callbacks: ['https://left.example/cb'] });
    const link = await mailed(made.email, /http\S+change-password\?ticket=[\w-]+/, () =>
      gate.post('dbconnections/change_password', {
        client_id: client.json.client_id as string,
        connection,
        email: made.email,
      }),
    );
    const form = await browser.get(link);
    await manage('DELETE', `clients/${client.json.client_id}`);
    const after = await browser.submit(form, { password: 'words of the owner' });
    expect([after.status, after.html.includes('left.example')]).toEqual([200, false]);
  });
});

describe('a sign-in link and a code', () => {
  test.each(changes)('are refused once %s', async (_what, change) => {
    const person = await somebody({ email_verified: true });
    const [link, digits] = [await loginLink(person.email), await code(person.email)];
    const browser = new Browser(gate);
    const form = await browser.get(link);
    expect(form.status).toBe(200);
    await change(person);
    expect((await browser.get(link)).status).toBe(400);
    expect((await browser.submit(form)).status).toBe(400);
    expect((await redeemCode(digits, person.email)).json.error).toBe('invalid_grant');
  });

  test('end a login that they made, but that is still waiting, when the password changes', async () => {
    const { email, path } = await somebody({ email_verified: true });
    const browser = new Browser(gate);
    const page = await browser.get(await loginLink(email));
    const { action, fields } = page.forms[0]!;
    const url = new URL(action, page.url);
    const headers = { cookie: browser.cookieHeader(url) };
    const body = new URLSearchParams(fields);
    const held = (await fetch(url, { method: 'POST', redirect: 'manual', headers, body })).headers.get('location')!;
    expect(held).toContain('login_ticket=');
    await manage('PATCH', path, { password: 'words of an admin' });
    const after = await browser.get(held);
    expect([after.location, after.html.includes('name="identifier"')]).toEqual([undefined, true]);
  });

  test('still work when nothing has changed', async () => {
    const { email } = await somebody({ email_verified: true });
    const browser = new Browser(gate);
    const digits = await code(email);
    expect((await browser.submit(await browser.get(await loginLink(email)))).location?.host).toBe('app.example');
    expect((await redeemCode(digits, email)).status).toBe(200);
  });
});

test('a changed phone number is unverified, unless the same request says otherwise', async () => {
  const { path } = await somebody({ phone_number: '+15555550180', phone_verified: true });
  const change = async (body: object) => (await manage('PATCH', path, body)).json.phone_verified;
  expect(await change({ phone_number: '+15555550180' })).toBe(true);
  expect(await change({ phone_number: '+15555550181' })).toBe(false);
  expect(await change({ phone_number: '+15555550182', phone_verified: true })).toBe(true);
  await change({ phone_number: null });
  expect(await change({ phone_number: '+15555550182' })).toBe(false);
});

describe('somebody who knew the password until now', () => {
  const request = { client_id: 'spa', redirect_uri: callback, scope: 'openid', response_type: 'code' };

  test.each([
    [
      'by its owner',
      async ({ email }: Person) => {
        const browser = new Browser(gate);
        const form = await browser.get(await passwordLink(email));
        expect((await browser.submit(form, { password: 'words of the owner' })).status).toBe(200);
      },
    ],
    ['by an administrator', ({ path }: Person) => manage('PATCH', path, { password: 'words of an admin' })],
  ])('cannot finish a pending login after the password was changed %s', async (_who, change) => {
    const person = await somebody();
    const browser = new Browser(gate);
    const page = await browser.submit(await browser.authorize({ ...request, ...pkce() }), { identifier: person.email });
    const resume = await holdLogin(browser, page);
    await change(person);
    const resumed = await resume();
    expect([resumed.location, resumed.html.includes('name="identifier"')]).toEqual([undefined, true]);
    const silent = await browser.authorize({ ...request, ...pkce(), prompt: 'none' });
    expect(silent.location!.search).toContain('login_required');
  });

  test('gets no token from requests that were under way', async () => {
    const { email, path } = await somebody();
    const asked = Array.from({ length: 8 }, () =>
      passwordGrant(gate, { username: email, scope: 'openid offline_access' }),
    );
    await Promise.race(asked);
    expect((await manage('PATCH', path, { password: 'words of an admin' })).status).toBe(200);
    const tokens = (await Promise.all(asked)).flatMap(({ json }) => (json.refresh_token as string | undefined) ?? []);
    const after = await Promise.all(
      tokens.map((token) => target.refresh('trusted', token, { client_secret: 'trusted-secret' })),
    );
    expect(after.map(({ json }) => json.error)).toEqual(tokens.map(() => 'invalid_grant'));
    expect(tokens.length).toBeGreaterThan(0);
  });
});

describe('a session', () => {
  const secondOf = (at: number) => Math.floor(at / 1_000);
  /** Is about to sign out everywhere else. */
  async function openDevices({ email }: Person) {
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.get('account/devices'), email, password);
    const { csrf } = page.forms.find(({ fields }) => fields.csrf)!.fields;
    const isOpen = async () => (await browser.get('account')).html.includes('<h1>Your account</h1>');
    return { endOthers: () => browser.post('account/devices', { csrf: csrf!, action: 'others' }), isOpen };
  }

  test('continues after signing out everywhere else', async () => {
    const { endOthers, isOpen } = await openDevices(await somebody());
    await endOthers();
    expect(await isOpen()).toBe(true);
  });

  test('that signs out everywhere else is not spared what an administrator ends meanwhile', async () => {
    const person = await somebody();
    const { endOthers, isOpen } = await openDevices(person);
    await using grant = await lockRow(
      db,
      "SELECT FROM artefacts WHERE model = 'Grant' AND account_id = $1 FOR UPDATE",
      [`auth0|${person.name}`],
    );
    const ending = endOthers();
    await grant.waiting();
    const revoking = manage('POST', `${person.path}/revoke-access`);
    await grant.waiting(2);
    const ended = secondOf(Date.now());
    await until('the second after that', async () => secondOf(Date.now()) > ended);
    await grant.release();
    expect((await revoking).status).toBe(202);
    await ending;
    expect(await isOpen()).toBe(false);
  });

  test('that has just been ended does not continue by signing out everywhere else', async () => {
    const person = await somebody();
    const { endOthers, isOpen } = await openDevices(person);
    await using administrator = await lockRow(db, 'UPDATE accounts SET sessions_not_before = $2 WHERE user_id = $1', [
      `auth0|${person.name}`,
      sessionsEnd(),
    ]);
    const ending = endOthers();
    await administrator.waiting();
    await administrator.release();
    await ending;
    expect(await isOpen()).toBe(false);
  });

  test('spared by one end of all sessions is not spared by another in the same second, or from a clock that is behind', async () => {
    const { name } = await somebody();
    const mark = sessionsEnd();
    const end = async (at: Date) => {
      const { rows } = await db.query<{ ended: Date; version: number }>(
        `UPDATE accounts SET sessions_not_before = $2 WHERE user_id = $1
           RETURNING sessions_not_before AS ended, credentials_version AS version`,
        [`auth0|${name}`, at],
      );
      return rows[0]!;
    };
    const first = await end(mark);
    expect(first.ended).toEqual(mark);
    for (const [index, at] of [mark, new Date(mark.getTime() - 5_000)].entries())
      expect(await end(at)).toEqual({
        ended: new Date(mark.getTime() + index + 1),
        version: first.version + index + 1,
      });
  });
});

describe('a new password', () => {
  type Change = (person: Person) => Promise<() => Promise<{ status: number }>>;
  test.each<[string, Change]>([
    [
      'by a mailed link',
      async ({ email }) => {
        const browser = new Browser(gate);
        const form = await browser.get(await passwordLink(email));
        return () => browser.submit(form, { password: 'words of the owner' });
      },
    ],
    [
      'at /account',
      async ({ email }) => {
        const browser = new Browser(gate);
        const form = await browser.logIn(await browser.get('account/password'), email, password);
        return () => browser.submit(form, { old_password: password, password: 'words of the owner' });
      },
    ],
    [
      'by an administrator',
      async ({ path }) =>
        () =>
          manage('PATCH', path, { password: 'words of an admin' }),
    ],
  ])('set %s is not set at all if PostgreSQL fails before the grants are ended', async (_by, prepare) => {
    const person = await somebody();
    const id = `auth0|${person.name}`;
    const change = await prepare(person);
    await db.query(
      `INSERT INTO authentication_methods (id, user_id, type, credential_id, public_key) VALUES ($1, $2, 'passkey', $1, '\\x00')`,
      [`passkey|dev_${person.name}`, id],
    );
    await db.query(
      `INSERT INTO artefacts (model, id, account_id, client_id, payload, expires_at)
         VALUES ('Grant', $1, $1, 'web', '{}', now() + interval '1 day')`,
      [id],
    );
    const state = async () =>
      (
        await db.query(
          `SELECT password_hash, email_verified, sessions_not_before, last_password_reset, array(
             SELECT type FROM authentication_methods WHERE user_id = $1) FROM accounts WHERE user_id = $1`,
          [id],
        )
      ).rows;
    const before = await state();
    await using grant = await lockRow(db, "SELECT FROM artefacts WHERE model = 'Grant' AND id = $1 FOR UPDATE", [id]);
    const changing = change();
    const [backend] = await grant.waiting();
    await db.query('SELECT pg_cancel_backend($1)', [backend]);
    expect((await changing).status).toBeGreaterThanOrEqual(500);
    expect(await state()).toEqual(before);
  });
});

describe('a deleted user', () => {
  const request = { client_id: 'spa', redirect_uri: callback, scope: 'openid offline_access' };
  const silent = async (browser: Browser) =>
    (await browser.authorize({ ...request, response_type: 'code', ...pkce(), prompt: 'none' })).location!.search;
  const recreate = async ({ path, name }: Person) => {
    expect((await manage('DELETE', path)).status).toBe(204);
    await somebody({}, name);
  };

  test('does not get back sessions, grants and tokens when the id is given to a new account', async () => {
    const person = await somebody();
    const browser = new Browser(gate);
    const { code_verifier, ...challenge } = pkce();
    const start = { ...request, response_type: 'code', ...challenge };
    const done = await browser.logIn(await browser.authorize(start), person.email);
    const own = { redirect_uri: callback, code_verifier };
    const redeem = (page: Page) => target.redeem('spa', { ...own, code: page.location!.searchParams.get('code')! });
    const tokens = (await redeem(done)).json as Tokens;
    const unused = await browser.authorize(start);
    const forApi = (await redeem(await browser.authorize({ ...start, scope: 'openid read:x', audience: api })))
      .json as Tokens;
    expect(await silent(browser)).toContain('code=');
    expect((await target.userinfo(forApi.access_token)).status).toBe(200);

    await recreate(person);
    expect(await silent(browser)).toContain('login_required');
    expect((await redeem(unused)).json.error).toBe('invalid_grant');
    expect((await target.refresh('spa', tokens.refresh_token)).json.error).toBe('invalid_grant');
    for (const token of [tokens.access_token, forApi.access_token, tokens.refresh_token]) {
      expect((await target.userinfo(token)).status).toBe(401);
      expect((await gate.post('oauth/introspect', { client_id: 'spa', token })).json).toEqual({ active: false });
    }
  });

  test('cannot finish a login that had begun', async () => {
    const person = await somebody();
    const browser = new Browser(gate);
    const start = { ...request, response_type: 'code', ...pkce() };
    const page = await browser.submit(await browser.authorize(start), { identifier: person.email });
    const resume = await holdLogin(browser, page);
    await recreate(person);
    const resumed = await resume();
    expect(resumed.location).toBeUndefined();
    expect(resumed.html).toContain('name="identifier"');
  });

  test('cannot consent in the name of the new account that has the same id', async () => {
    const person = await somebody();
    const browser = new Browser(gate);
    const start = { ...request, client_id: 'third', response_type: 'code', ...pkce(), audience: api };
    const consent = await browser.logIn(await browser.authorize({ ...start, scope: 'openid read:x' }), person.email);
    expect(consent.html).toContain(person.email);
    await manage('DELETE', person.path);
    const email = `not-his-${person.email}`;
    await somebody({ email }, person.name);
    // Nor is he told who that is.
    expect((await browser.get(consent.url)).html).not.toContain(email);
    expect((await browser.submit(consent, { action: 'default' })).status).toBe(400);
    const other = new Browser(gate);
    const asked = await other.logIn(await other.authorize({ ...start, scope: 'openid read:x' }), email);
    expect(asked.html).toContain('Third');
  });
});

describe('a username', () => {
  const signup = (form: Record<string, string>) =>
    gate.post('dbconnections/signup', { client_id: 'spa', connection, password: 'four unrelated words', ...form });
  const login = (username: string, secret: string) =>
    gate.post('oauth/token', {
      grant_type: 'password',
      client_id: 'trusted',
      client_secret: 'trusted-secret',
      scope: 'openid',
      username,
      password: secret,
    });

  test.each(['later@people.example', '+15555550190', '+1 (555) 555-0190', '15555550190', 'a b', 'x'.repeat(16), 'é'])(
    'cannot be %j, at any entry point',
    async (username) => {
      const refused = await signup({ email: `u${++people}@people.example`, username });
      expect(refused).toMatchObject({ status: 400, json: { code: 'invalid_username' } });
      const made = await manage('POST', 'users', {
        connection,
        email: `u${++people}@people.example`,
        password,
        username,
      });
      expect(made).toMatchObject({ status: 400, json: { errorCode: 'invalid_body' } });
      const { path } = await somebody();
      expect((await manage('PATCH', path, { username })).status).toBe(400);
    },
  );

  test('logs in in any case, and no address or number of another account finds it', async () => {
    const made = await signup({ email: 'named@people.example', username: 'Na.Med_1' });
    expect(made).toMatchObject({ status: 200, json: { username: 'na.med_1' } });
    expect((await login('NA.MED_1', 'four unrelated words')).status).toBe(200);
    const { path } = await somebody();
    expect((await manage('PATCH', path, { username: 'Changed' })).json.username).toBe('changed');
    expect((await manage('PATCH', path, { username: 'na.med_1' })).status).toBe(400);
  });

  test('is given to one of eight people who ask for it at once', async () => {
    const asked = Array.from({ length: 8 }, (_, index) =>
      signup({ email: `wanted${index}@people.example`, username: 'wanted' }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(7).fill(400)]);
  });
});

test('a common password is refused at every entry point', async () => {
  const common = 'Mustang1';
  const email = `u${++people}@people.example`;
  const signup = await gate.post('dbconnections/signup', { client_id: 'spa', connection, email, password: common });
  expect(signup).toMatchObject({ status: 400, json: { name: 'PasswordDictionaryError' } });
  const made = await manage('POST', 'users', { connection, email, password: common });
  expect(made).toMatchObject({ status: 400, json: { errorCode: 'invalid_password' } });
  const person = await somebody();
  expect((await manage('PATCH', person.path, { password: common })).status).toBe(400);
  const browser = new Browser(gate);
  const form = await browser.get(await passwordLink(person.email));
  expect((await browser.submit(form, { password: common })).status).toBe(400);
  const login = await browser.authorize({ client_id: 'spa', redirect_uri: callback, response_type: 'code', ...pkce() });
  const page = await browser.get(`${new URL(login.url).pathname}/signup`);
  expect((await browser.submit(page, { email, password: common })).status).toBe(400);
});
