/** Logging in by what a mail brings: the link of `passwordless/start`, and the code that `verify_redirect` takes. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Email } from 'postal-mime';
import { linkIn, openGate } from './gate.ts';
import { seed, web } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const folder = stack.adopt(await mkdtemp(join(tmpdir(), 'actions-')), (path) => rm(path, { recursive: true }));
await mkdir(join(folder, 'pre-user-registration'));
await writeFile(
  join(folder, 'pre-user-registration', 'own.js'),
  `exports.onExecutePreUserRegistration = async (event, api) => {
     const { email } = event.user;
     const { ip, user_agent, language, method, hostname } = event.request;
     if (email.endsWith('@told.example'))
       api.access.deny(email, [ip, user_agent, language, method, hostname].join(' - '));
     if (email.endsWith('@blocked.example')) api.access.deny('domain', 'Use your own address.'); };`,
);
// A machine with much to do starts processes slowly.
const grant_type = 'http://auth0.com/oauth/grant-type/passwordless/otp';
const clients = [
  { ...web, grant_types: ['authorization_code', grant_type], is_token_endpoint_ip_header_trusted: true },
];
const gate = stack.use(await openGate({ ...seed, clients }, { ACTIONS_DIR: folder, ACTIONS_TIMEOUT_MS: '20000' }));
const { pool: db } = gate;
const redirect_uri = 'https://app.example/cb';
const authParams = { response_type: 'code', redirect_uri, scope: 'openid email', state: 'the state' };

const start = async (body: object) => {
  const response = await fetch(`${gate.issuer}passwordless/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'web', connection: 'email', ...body }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const mailsTo = async (email: string, send: 'code' | 'link') => {
  const word = send === 'code' ? 'code is' : 'passwordless/link';
  return (await gate.mails(email)).filter(({ text }) => text?.includes(word));
};
/** The mail that the request brings. */
const mailOf = async (email: string, send: 'code' | 'link', params?: object) => {
  const before = (await mailsTo(email, send)).length;
  expect((await start({ email, send, authParams: params })).status).toBe(200);
  return until('the mail', async () => (await mailsTo(email, send))[before]);
};
const linkTo = async (email: string, params: object = authParams) => {
  return linkIn(await mailOf(email, 'link', params));
};
const codeIn = ({ text = '' }: Email) => /code is (\d{6})/.exec(text)![1]!;
const subjectOf = async (code: string) => {
  const form = { grant_type: 'authorization_code', client_id: 'web', client_secret: 'web-secret', code, redirect_uri };
  const { json } = await gate.post('oauth/token', form);
  const userinfo = await gate.get('userinfo', { authorization: `Bearer ${json.access_token}` });
  return userinfo.json.sub;
};

test('a mailed login link leads to a form, and the form to the application with its state', async () => {
  const browser = new Browser(gate);
  const link = await linkTo('alice@example.com');
  const page = await browser.get(link);
  expect(page.status).toBe(200);
  expect(page.html).toContain('alice@example.com');
  expect(page.html).toContain('Web App');
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  const done = await browser.submit(page);
  expect(done.location?.href).toMatch(/^https:\/\/app\.example\/cb\?/);
  expect(done.location?.searchParams.get('state')).toBe('the state');
  expect(await subjectOf(done.location!.searchParams.get('code')!)).toBe('auth0|alice');

  // The same link says that it was used, logs nobody in, and has another one sent.
  const later = new Browser(gate);
  const again = await later.get(link);
  expect([again.status, again.html.includes('This link has already been used')]).toEqual([400, true]);
  expect([again.html.includes('alice@'), again.html.includes('href="https://app.example/"')]).toEqual([false, true]);
  const sent = await later.submit(again);
  expect([sent.url.endsWith('/passwordless/link/sent'), sent.html.includes('same address')]).toEqual([true, true]);
  const [, newest] = await until('another mail', async () => {
    const links = (await mailsTo('alice@example.com', 'link')).map(linkIn);
    return links.at(-1) !== link && links.slice(-2);
  });
  const renewed = await later.submit(await later.get(newest!));
  expect(renewed.location?.searchParams.get('state')).toBe('the state');
});

test('a login link that no longer works says so in the reader’s language, and leads back to the application', async () => {
  const german = { 'accept-language': 'de' };
  const browser = new Browser(gate);
  const unknown = await browser.get('passwordless/link?ticket=made-up', german);
  expect([unknown.status, unknown.html.includes('Dieser Link funktioniert nicht')]).toEqual([400, true]);
  // Which application it was for is not known, unless this browser was with one.
  expect([unknown.forms, unknown.html.includes('class="gp-button"')]).toEqual([[], false]);
  await browser.authorize({ client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid' });
  expect((await browser.get('passwordless/link?ticket=made-up')).html).toContain('href="https://app.example/"');
});

test('a login mail can be sent again only a few times', async () => {
  const browser = new Browser(gate);
  const link = await linkTo('bob@example.com');
  await browser.submit(await browser.get(link));
  let page = await browser.submit(await browser.get(link));
  for (let mail = 2; mail <= 5; mail += 1) page = await browser.submit(page, { action: 'again' });
  expect([page.status, page.html.includes('Sent again')]).toEqual([200, true]);
  page = await browser.submit(page, { action: 'again' });
  expect([page.status, page.html.includes('already sent several emails')]).toEqual([429, true]);
  expect((await browser.get(page.url)).status).toBe(200);
  // They leave in the background; the next test must not take one of them for its own.
  await until('the first mail and five more', async () => (await mailsTo('bob@example.com', 'link')).length === 6);
});

test('sec-068-scanner: opening a link, however often, spends nothing and logs nobody in', async () => {
  const link = await linkTo('alice@example.com');
  const scanner = new Browser(gate);
  for (const method of ['HEAD', 'GET', 'GET']) expect((await fetch(link, { method })).status).toBe(200);
  const asked = { client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid', prompt: 'none' };
  await scanner.get(link);
  expect((await scanner.authorize(asked)).location?.searchParams.get('error')).toBe('login_required');

  const person = new Browser(gate);
  const page = await person.get(link);
  const forged = await person.submit(page, { csrf: 'made up' });
  expect([forged.status, forged.location]).toEqual([400, undefined]);
  expect((await person.submit(page)).location?.searchParams.get('code')).toBeTruthy();
});

test('sec-068-other-device: a link opened in another browser does not log in the person who asked for it', async () => {
  const asker = new Browser(gate);
  const owner = new Browser(gate);
  const link = await linkTo('bob@example.com', { ...authParams, state: 'of the asker' });
  const done = await owner.submit(await owner.get(link));
  expect(done.location?.searchParams.get('state')).toBe('of the asker');
  const asked = { client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid', prompt: 'none' };
  expect((await asker.authorize(asked)).location?.searchParams.get('error')).toBe('login_required');
});

test('sec-075-link: a form that was shown to another browser logs nobody in', async () => {
  const attacker = new Browser(gate);
  const page = await attacker.get(await linkTo('bob@example.com'));
  const victim = new Browser(gate);
  const planted = await victim.submit(page);
  expect([planted.status, planted.location]).toEqual([400, undefined]);
  // Not even one who has such a page open himself.
  await victim.get(await linkTo('alice@example.com'));
  expect((await victim.submit(page)).status).toBe(400);
  expect((await attacker.submit(page)).location?.searchParams.get('code')).toBeTruthy();
});

test('sec-068-race: of eight parallel uses of one link one logs in', async () => {
  const browser = new Browser(gate);
  const page = await browser.get(await linkTo('alice@example.com'));
  const tabs = Array.from({ length: 8 }, () => new Browser(gate));
  for (const tab of tabs) for (const [name, cookie] of browser.cookies) tab.cookies.set(name, cookie);
  const answers = await Promise.all(tabs.map((tab) => tab.submit(page)));
  expect(answers.filter(({ location }) => location?.searchParams.has('code'))).toHaveLength(1);
});

test.each([
  ['another send', { send: 'pigeon' }, 'bad.send'],
  ['a link by text message', { send: 'link', connection: 'sms', phone_number: '+15555550100' }, 'bad.send'],
  [
    'a foreign callback',
    { send: 'link', authParams: { ...authParams, redirect_uri: 'https://evil.example/cb' } },
    'bad.redirect_uri',
  ],
  ['a heap of authParams', { send: 'link', authParams: { state: 'x'.repeat(3_000) } }, 'bad.authParams'],
])('passwordless/start refuses %s, and sends nothing', async (_what, body, code) => {
  const email = `refused-${code}@example.com`;
  expect(await start({ email, ...body })).toMatchObject({ status: 400, body: { code } });
  expect((await gate.outbox()).join('')).not.toContain(email);
});

test('verify_redirect logs in with the right code, and leads to the login page with a wrong one', async () => {
  const code = codeIn(await mailOf('alice@example.com', 'code'));
  const redirect = (verification_code: string, browser = new Browser(gate)) => {
    const query = { client_id: 'web', connection: 'email', email: 'alice@example.com', verification_code };
    return browser.get(`passwordless/verify_redirect?${new URLSearchParams({ ...query, ...authParams })}`);
  };
  const wrong = await redirect(code === '000000' ? '000001' : '000000');
  expect([wrong.status, wrong.location]).toEqual([200, undefined]);
  const browser = new Browser(gate);
  const right = await redirect(code, browser);
  expect(right.html).toContain('Sign in as <bdi>alice@example.com</bdi>');
  const done = await browser.submit(right, { action: 'default' });
  expect(await subjectOf(done.location!.searchParams.get('code')!)).toBe('auth0|alice');
});

test('a link reveals no more than a code about who has an account, and is mailed only to people who can log in', async () => {
  const known = await start({ send: 'link', email: 'alice@example.com', authParams });
  const unknown = await start({ send: 'link', email: 'stranger@example.com', authParams });
  expect(JSON.stringify(unknown)).toBe(JSON.stringify(known).replace('alice', 'stranger'));
});

test('a person whose account an action refuses sees its text, at a link and for a code, and the application gets it too', async () => {
  const email = 'eve@blocked.example';
  const words = 'Use your own address.';
  const byLink = new Browser(gate);
  const refused = await byLink.submit(await byLink.get(await linkTo(email)));
  expect([refused.status, refused.html.includes(words)]).toEqual([403, true]);

  const code = codeIn(await mailOf(email, 'code'));
  const client = { client_id: 'web', client_secret: 'web-secret' };
  const answer = await gate.post('oauth/token', { grant_type, ...client, otp: code, username: email, realm: 'email' });
  expect(answer).toMatchObject({ status: 403, json: { error: 'access_denied', error_description: words } });

  const another = codeIn(await mailOf(email, 'code'));
  const query = { client_id: 'web', connection: 'email', email, verification_code: another, ...authParams };
  const redirected = await new Browser(gate).get(`passwordless/verify_redirect?${new URLSearchParams(query)}`);
  expect([redirected.status, redirected.html.includes(words)]).toEqual([403, true]);
});

describe('an action that decides about a new account is told the address and the browser of the person who signs up', () => {
  const headers = { 'user-agent': 'Lynx', 'accept-language': 'de-AT,de;q=0.9' };
  const codeFor = async (email: string) => codeIn(await mailOf(email, 'code'));
  const send = (browser: Browser, { forms, url }: Page, fields: Record<string, string> = {}) =>
    browser.post(new URL(forms[0]!.action, url).href, { ...forms[0]!.fields, ...fields }, headers);
  const local = String.raw`(?:127\.0\.0\.1|::1)`;

  test.each([
    [
      'on the hosted page',
      'page@told.example',
      'POST',
      local,
      async (email: string) => {
        const browser = new Browser(gate);
        const request = { client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid', connection: 'email' };
        const page = await browser.submit(await browser.authorize(request), { identifier: email });
        const mail = await until('the mail', async () => (await mailsTo(email, 'code'))[0]);
        return (await send(browser, page, { code: codeIn(mail) })).html;
      },
    ],
    [
      'by a mailed link',
      'link@told.example',
      'POST',
      local,
      async (email: string) => {
        const browser = new Browser(gate);
        return (await send(browser, await browser.get(await linkTo(email)))).html;
      },
    ],
    [
      'by verify_redirect',
      'redirect@told.example',
      'GET',
      local,
      async (email: string) => {
        const query = { client_id: 'web', connection: 'email', email, verification_code: await codeFor(email) };
        const path = `passwordless/verify_redirect?${new URLSearchParams({ ...query, ...authParams })}`;
        return (await new Browser(gate).get(path, headers)).html;
      },
    ],
    [
      'by the grant, where a server states whose address it is',
      'grant@told.example',
      'POST',
      String.raw`198\.51\.100\.7`,
      async (email: string) => {
        const from = { 'auth0-forwarded-for': '198.51.100.7' };
        const client = { client_id: 'web', client_secret: 'web-secret', realm: 'email', username: email };
        // The code belongs to the network that asked for it.
        const asked = await fetch(`${gate.issuer}passwordless/start`, {
          method: 'POST',
          headers: { ...from, 'content-type': 'application/json' },
          body: JSON.stringify({ ...client, connection: 'email', email, send: 'code' }),
        });
        expect(asked.status).toBe(200);
        const mail = await until('the mail', async () => (await mailsTo(email, 'code'))[0]);
        const otp = codeIn(mail);
        return (await gate.post('oauth/token', { grant_type, ...client, otp }, { ...headers, ...from })).text;
      },
    ],
  ])('%s', async (_where, email, method, ip, signUp) => {
    const { hostname } = new URL(gate.issuer);
    expect(await signUp(email)).toMatch(new RegExp(`${ip} - Lynx - de-AT - ${method} - ${hostname}`));
    const entry = await until('the log', async () => {
      const { rows } = await db.query("SELECT ip FROM logs WHERE type = 'fs' AND details ->> 'description' = $1", [
        email,
      ]);
      return rows[0];
    });
    expect(entry.ip).toMatch(new RegExp(`^${ip}$`));
  });
});
