/**
 * Login CSRF (RFC 9700 section 4.7.1): nobody ends up in somebody else's session by an address, picture or form that he was
 * sent. A link with the sender's own login used to put whoever opened it into the sender's session.
 */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { afterAll, describe, expect, test } from '@jest/globals';
import { linkIn, openGate } from '../gate.ts';
import { alice, seed } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const carol = { ...alice, user_id: 'auth0|carol', email: 'carol@example.com', phone_number: undefined };
const gate = stack.use(await openGate({ ...seed, users: [...seed.users, carol] }));
const redirect_uri = 'https://app.example/cb';
const authParams = { response_type: 'code', redirect_uri, scope: 'openid email', state: 'the state' };

/** What the mail that `passwordless/start` sends to Bob holds. */
async function mailed(send: 'code' | 'link'): Promise<string> {
  const email = 'bob@example.com';
  const { length } = await gate.mails(email);
  await fetch(`${gate.issuer}passwordless/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'web', connection: 'email', email, send, authParams }),
  });
  const mail = await gate.mailTo(email, length);
  return /code is (\d{6})/.exec(mail.text!)?.[1] ?? linkIn(mail);
}

/** Where the attacker's own login by a link leads: an authorization request with a login ticket, not yet followed. */
async function ticketOfLink(attacker = new Browser(gate)): Promise<string> {
  const page = await attacker.get(await mailed('link'));
  return redirectOf(await postRaw(attacker, page));
}
/** The same by a code. */
async function ticketOfCode(): Promise<string> {
  const query = { client_id: 'web', connection: 'email', email: 'bob@example.com', ...authParams };
  const verification_code = await mailed('code');
  const path = `${gate.issuer}passwordless/verify_redirect?${new URLSearchParams({ ...query, verification_code })}`;
  return redirectOf(await fetch(path, { redirect: 'manual' }));
}
const redirectOf = (response: Response) => new URL(response.headers.get('location')!, gate.issuer).href;
function postRaw(browser: Browser, { forms, url }: Page): Promise<Response> {
  const action = new URL(forms[0]!.action, url);
  const body = new URLSearchParams(forms[0]!.fields);
  return fetch(action, {
    method: 'POST',
    body,
    headers: { cookie: browser.cookieHeader(action) },
    redirect: 'manual',
  });
}

/** Whose session the browser has, if any. */
async function sessionOf(browser: Browser): Promise<string | undefined> {
  const request = { client_id: 'spa', redirect_uri, response_type: 'id_token', scope: 'openid', nonce: 'n' };
  const answer = await browser.authorize({ ...request, prompt: 'none' });
  const token = new URLSearchParams(answer.location!.hash.slice(1)).get('id_token');
  return token ? JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sub : undefined;
}
async function loggedIn(): Promise<Browser> {
  const browser = new Browser(gate);
  const request = { client_id: 'spa', redirect_uri, response_type: 'id_token', scope: 'openid', nonce: 'n' };
  await browser.logIn(await browser.authorize(request));
  return browser;
}

describe.each([
  ['a link', ticketOfLink],
  ['a code', ticketOfCode],
])('the address behind a ticket from %s, opened in another browser,', (_what, ticketed) => {
  test('asks "sign in as …?" with the account’s name, and logs nobody in by itself', async () => {
    const victim = new Browser(gate);
    const page = await victim.get(await ticketed());
    expect(page.status).toBe(200);
    expect(page.html).toContain('Sign in as <bdi>bob@example.com</bdi>');
    expect(page.html).toContain('Web App');
    expect(await sessionOf(victim)).toBeUndefined();
  });

  test('keeps the session of the signed-in person until they agree', async () => {
    const victim = await loggedIn();
    const page = await victim.get(`${await ticketed()}&ui_locales=de`);
    expect(page.html).toContain('Als <bdi>bob@example.com</bdi> anmelden');
    expect(page.html).toContain('alice@example.com');
    expect(await sessionOf(victim)).toBe('auth0|alice');

    // Who says yes leaves the one session before the other begins, as with any login; no page of it can be framed.
    const leaving = await victim.submit(page, { action: 'default' });
    expect(leaving.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const done = await victim.submit(leaving);
    expect(done.location?.searchParams.get('state')).toBe('the state');
    expect(await sessionOf(victim)).toBe('auth0|bob');
  });

  test('lets a person who declines log in as themselves, and spends the ticket', async () => {
    const address = await ticketed();
    const victim = new Browser(gate);
    const login = await victim.submit(await victim.get(address), { action: 'other' });
    const done = await victim.logIn(login);
    expect(done.location?.searchParams.get('state')).toBe('the state');
    expect(await sessionOf(victim)).toBe('auth0|alice');
    expect((await new Browser(gate).get(address)).html).not.toContain('bob@example.com');
  });

  test('is not answered by another site’s form, which lacks the token of the interaction', async () => {
    const victim = new Browser(gate);
    const page = await victim.get(await ticketed());
    for (const csrf of ['', 'made up'])
      expect((await victim.submit(page, { action: 'default', csrf })).status).toBe(403);
    expect(await sessionOf(victim)).toBeUndefined();
    // The attacker's own page of the same kind does not help: the browser has no such interaction.
    const attacker = new Browser(gate);
    const own = await attacker.get(await ticketed());
    expect((await victim.submit(own, { action: 'default' })).status).toBe(400);
    expect(await sessionOf(victim)).toBeUndefined();
  });

  test('gives login_required with prompt=none', async () => {
    const victim = new Browser(gate);
    const answer = await victim.get(`${await ticketed()}&prompt=none`);
    expect(answer.location?.searchParams.get('error')).toBe('login_required');
    expect(await sessionOf(victim)).toBeUndefined();
  });

  test('asks all the same when another site’s form posts it to authorize', async () => {
    const victim = new Browser(gate);
    const query = Object.fromEntries(new URL(await ticketed()).searchParams);
    const page = await victim.post('authorize', query, {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-dest': 'document',
    });
    expect(page.html).toContain('Sign in as <bdi>bob@example.com</bdi>');
    expect(await sessionOf(victim)).toBeUndefined();
  });
});

test.each(['image', 'iframe', 'script', 'empty'])(
  'a request from an %s establishes no session, not even in the browser that proved the login',
  async (destination) => {
    const headers = { 'sec-fetch-dest': destination, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
    const owner = new Browser(gate);
    const address = await ticketOfLink(owner);
    for (const browser of [new Browser(gate), owner]) {
      await browser.get(address, headers);
      expect(await sessionOf(browser)).toBeUndefined();
    }
    // Nor does the address behind the mail's code, which is a GET.
    const victim = new Browser(gate);
    await victim.get(await ticketOfCode(), headers);
    expect(await sessionOf(victim)).toBeUndefined();
  },
);

describe('forms of our pages posted by another site', () => {
  const request = { client_id: 'third', redirect_uri, response_type: 'code', scope: 'openid email' };
  /** A page with its form, its browser, and what a person would fill in. */
  const pages: Record<string, () => Promise<[Browser, Page, Record<string, string>?]>> = {
    async login() {
      const browser = new Browser(gate);
      return [browser, await browser.authorize(request), { identifier: 'alice@example.com' }];
    },
    async password() {
      const browser = new Browser(gate);
      const page = await browser.submit(await browser.authorize(request), { identifier: 'alice@example.com' });
      return [browser, page, { password: 'correct horse battery staple', action: 'default' }];
    },
    async consent() {
      const browser = new Browser(gate);
      return [browser, await browser.logIn(await browser.authorize(request)), { action: 'default' }];
    },
    async link() {
      const browser = new Browser(gate);
      return [browser, await browser.get(await mailed('link'))];
    },
    async 'sign in as'() {
      const browser = new Browser(gate);
      return [browser, await browser.get(await ticketOfCode()), { action: 'default' }];
    },
    async device() {
      const browser = await loggedIn();
      return [browser, await browser.get('activate'), { user_code: 'WDJB-MJHT' }];
    },
    async logout() {
      const browser = await loggedIn();
      return [browser, await browser.get('oidc/logout'), { logout: 'yes' }];
    },
    async 'link that does not work'() {
      const browser = new Browser(gate);
      return [browser, await browser.get('change-password?ticket=x'), { email: 'alice@example.com' }];
    },
    async 'new password'() {
      const browser = new Browser(gate);
      const { length } = await gate.mails('alice@example.com');
      const form = { client_id: 'web', connection: 'Username-Password-Authentication', email: 'alice@example.com' };
      await gate.post('dbconnections/change_password', form);
      const link = linkIn(await gate.mailTo('alice@example.com', length));
      return [browser, await browser.get(link), { password: 'another horse battery staple' }];
    },
  };

  test.each(Object.keys(pages))(
    'are refused with 403 on the page %s, whatever token they hold, and the page still works',
    async (name) => {
      const [browser, page, fields = {}] = await pages[name]!();
      const [form] = page.forms;
      const action = new URL(form!.action, page.url).href;
      for (const site of ['cross-site', 'same-site']) {
        const refused = await browser.post(action, { ...form!.fields, ...fields }, { 'sec-fetch-site': site });
        expect([name, site, refused.status]).toEqual([name, site, 403]);
        expect(refused.html).toContain('access_denied');
      }
      const done = await browser.post(action, { ...form!.fields, ...fields }, { 'sec-fetch-site': 'same-origin' });
      expect(done.status).not.toBe(403);
    },
  );

  test('the form to send a failed link again sends nothing without the token of its own browser', async () => {
    const [attacker, page] = await pages['link that does not work']!();
    const victim = new Browser(gate);
    await victim.get('change-password?ticket=x');
    const email = 'csrf@example.com';
    for (const browser of [victim, new Browser(gate)]) {
      const shown = await browser.submit(page, { email });
      expect([shown.status, new URL(shown.url).pathname]).toEqual([400, '/change-password']);
    }
    expect(new URL((await attacker.submit(page, { email })).url).pathname).toBe('/change-password/sent');
  });

  test('the protocol’s own endpoints accept posts from other sites', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const page = await new Browser(gate).post('authorize', request, headers);
    expect([page.status, page.html.includes('name="identifier"')]).toEqual([200, true]);
    expect((await (await loggedIn()).post('oidc/logout', {}, headers)).status).toBe(200);
    const form = { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' };
    const token = await gate.post('oauth/token', { ...form, audience: 'https://api.example.com/' }, headers);
    expect(token.status).toBe(200);
  });
});

test('a form of another step than the current one is refused without an error', async () => {
  const request = { client_id: 'third', redirect_uri, response_type: 'code', scope: 'openid email' };
  const browser = new Browser(gate);
  const login = await browser.authorize(request);
  const at = (page: Page, step: string) => page.forms[0]!.action.replace(/[^/]+$/, step);
  const { csrf } = login.forms[0]!.fields;
  expect((await browser.post(at(login, 'consent'), { csrf: csrf!, action: 'default' })).status).toBe(400);
  const consent = await browser.logIn(login, 'bob@example.com');
  const fields = { csrf: consent.forms[0]!.fields.csrf!, identifier: 'bob@example.com', action: 'default' };
  const other = { ...fields, password: 'correct horse battery staple' };
  expect((await browser.post(at(consent, 'password'), other)).status).toBe(400);
  expect(await sessionOf(browser)).toBe('auth0|bob');
});

test('a device login in a browser without its session leads back to the entry of the code', async () => {
  const answer = await gate.get('activate/x', { accept: 'text/html' });
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/activate']);
});

test('a device code in the address is entered by a page that cannot be framed', async () => {
  const browser = new Browser(gate);
  const page = await browser.get('activate?user_code=WDJB-MJHT');
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(page.forms[0]!.fields.user_code).toBe('WDJB-MJHT');
  expect((await browser.submit(page)).html).toContain('That code is wrong');
});

test('a link in the browser that requested it needs one click and one form', async () => {
  const owner = new Browser(gate);
  const page = await owner.get(await mailed('link'));
  const done = await owner.submit(page);
  expect(done.location?.searchParams.get('state')).toBe('the state');
  expect(await sessionOf(owner)).toBe('auth0|bob');
});

test('a link for another person ends the session of its browser, and a form of theirs that is still open changes nothing', async () => {
  const browser = new Browser(gate);
  const open = await browser.logIn(await browser.get('account/profile'), carol.email);
  const cookie = browser.cookieHeader(new URL(gate.issuer));
  const hers = () => fetch(`${gate.issuer}account`, { headers: { cookie }, redirect: 'manual' });
  expect((await hers()).status).toBe(200);
  await browser.submit(await browser.get(await mailed('link')));
  expect(await sessionOf(browser)).toBe('auth0|bob');
  expect((await browser.submit(open, { name: 'Mallory' })).status).toBe(403);
  expect((await hers()).status).toBe(303);
  const { rows } = await gate.pool.query("SELECT user_id FROM auth.accounts WHERE name = 'Mallory'");
  expect(rows).toEqual([]);
});
