/** What follows a form of the hosted pages: a redirect, a page that a reload only shows again, and what was typed kept. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { linkIn, openGate } from './gate.ts';
import { alice, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const dave = { ...alice, user_id: 'auth0|dave', email: 'dave@example.com', nickname: 'dave', phone_number: undefined };
const erin = { ...dave, user_id: 'auth0|erin', email: 'erin@example.com', nickname: 'erin' };
const people = { ...fullSeed, users: [...fullSeed.users, dave, erin] };
const gate = stack.use(await openGate(people));
const classic = stack.use(await openGate({ ...people, settings: { identifier_first: false } }));
const redis = new Redis(redisUrl());
stack.defer(() => void redis.disconnect());

const redirect_uri = 'https://app.example/cb';
const request = { client_id: 'spa', redirect_uri, scope: 'openid', response_type: 'id_token', nonce: 'n' };
const consented = { ...request, client_id: 'third', response_type: 'code' };
const password = 'correct horse battery staple';

/** Sends a page's form, and follows nothing. */
async function post(browser: Browser, page: Page, fields: Record<string, string>) {
  const { action, fields: hidden } = page.forms[0]!;
  const url = new URL(action, page.url);
  const answer = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams({ ...hidden, ...fields }),
    headers: { cookie: browser.cookieHeader(url), accept: 'text/html' },
    redirect: 'manual',
  });
  return { status: answer.status, to: new URL(answer.headers.get('location') ?? '', url).pathname.split('/')[3] ?? '' };
}
const fieldOf = ({ html }: Page, name: string) =>
  new RegExp(`name="${name}"[^>]*? value="([^"]*)"`).exec(html)?.[1] ?? '';
const stepOf = ({ url }: Page) => new URL(url).pathname.split('/')[3] ?? '';

describe('every form is answered by a redirect', () => {
  test('goes to an address that answers GET, whatever was posted', async () => {
    const browser = new Browser(gate);
    const first = await browser.authorize(request);
    expect(await post(browser, first, { identifier: '' })).toEqual({ status: 303, to: 'identifier' });
    expect(await post(browser, first, { identifier: alice.email })).toEqual({ status: 303, to: 'password' });
    const page = await browser.submit(first, { identifier: alice.email });
    expect(await post(browser, page, { password: '' })).toEqual({ status: 303, to: 'password' });
    expect(await post(browser, page, { password: 'wrong' })).toEqual({ status: 303, to: 'password' });
    expect(await post(browser, page, { action: 'code' })).toEqual({ status: 303, to: 'code' });
    const code = await browser.submit(page, { action: 'code' });
    expect(await post(browser, code, { code: '' })).toEqual({ status: 303, to: 'code' });
    const signup = await browser.submit(first, { action: 'signup' });
    expect(await post(browser, signup, { email: 'x', password: 'y' })).toEqual({ status: 303, to: 'signup' });
    const forgot = await browser.get(`${new URL(first.url).pathname}/forgot-password`);
    expect(await post(browser, forgot, { email: 'x' })).toEqual({ status: 303, to: 'forgot-password' });
    expect(await post(browser, forgot, { email: alice.email })).toEqual({ status: 303, to: 'password-mail' });
  });

  test.each([
    '',
    'identifier',
    'password',
    'code',
    'signup',
    'forgot-password',
    'password-mail',
    'too-many-attempts',
    'sign-in-as',
    'consent',
  ])('the login step /%s answers GET, also for a login that is over', async (step) => {
    const browser = new Browser(gate);
    const { pathname } = new URL((await browser.authorize(request)).url);
    const page = await browser.get(`${pathname}/${step}`);
    expect([page.status, page.forms.length]).toEqual([200, 1]);
    const over = await new Browser(gate).get(`${pathname}/${step}`);
    expect([over.status, over.html.includes('This page has expired')]).toEqual([400, true]);
  });

  test('a form of a login that is over leads to the page that says so', async () => {
    const browser = new Browser(gate);
    const page = await browser.submit(await browser.authorize(request), { identifier: alice.email });
    await browser.submit(page, { password });
    expect((await post(browser, page, { password })).status).toBe(303);
    const over = await browser.submit(page, { password });
    expect([over.status, over.html.includes('href="https://app.example/"')]).toEqual([400, true]);
  });
});

describe('reloading a login page', () => {
  test('never counts as another try, so that the tenth password is still accepted after nine wrong ones', async () => {
    const browser = new Browser(gate);
    let page = await browser.submit(await browser.authorize(request), { identifier: 'nobody@example.com' });
    for (let wrong = 1; wrong <= 9; wrong += 1) page = await browser.submit(page, { password: 'wrong' });
    expect([page.status, page.html.includes('Wrong email or password.')]).toEqual([400, true]);
    for (let reload = 1; reload <= 3; reload += 1) {
      const again = await browser.get(page.url);
      // What was wrong is said once.
      expect([again.status, again.html.includes('Wrong email')]).toEqual([200, false]);
      expect(fieldOf(again, 'identifier')).toBe('nobody@example.com');
    }
    expect((await browser.submit(page, { password: 'wrong' })).status).toBe(400);
    const closed = await browser.submit(page, { password: 'wrong' });
    expect([closed.status, stepOf(closed)]).toEqual([429, 'too-many-attempts']);
    const still = await browser.get(closed.url);
    expect([still.status, Number(still.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(still.html).toContain('/forgot-password');
  });

  test('sends no second code and no second mail', async () => {
    const browser = new Browser(gate);
    const first = await browser.authorize({ ...request, connection: 'email' });
    const code = await browser.submit(first, { identifier: 'reload@example.com' });
    for (let reload = 1; reload <= 3; reload += 1) expect((await browser.get(code.url)).html).toContain('reload@');
    const again = await browser.submit(code, { action: 'resend' });
    expect(again.html).toContain('We have sent a new code.');
    expect((await browser.get(again.url)).html).not.toContain('We have sent a new code.');
    await until('both mails', async () => (await gate.mails('reload@example.com')).length >= 2);
    expect(await gate.mails('reload@example.com')).toHaveLength(2);
  });
});

test('shows the same text for an unknown address and for a wrong password', async () => {
  const answers = ['alice@example.com', 'nobody.at.all@example.com'].map(async (identifier) => {
    const browser = new Browser(classic);
    const page = await browser.submit(await browser.authorize(request), { identifier, password: 'wrong' });
    return page.html.replaceAll(identifier, '').replace(/value="[\w-]{43}"|interaction\/[\w-]+/g, '');
  });
  const [known, unknown] = await Promise.all(answers);
  expect(known).toContain('Wrong email or password.');
  expect(unknown).toBe(known);
});

describe('the typed identifier', () => {
  test.each(['identifier-first', 'classic'])(
    'is kept through forgot-password, sign-up, change and back (%s)',
    async (kind) => {
      const browser = new Browser(kind === 'classic' ? classic : gate);
      const typed = 'Zoe@example.com';
      const first = await browser.authorize(request);
      const signup = await browser.submit(first, { identifier: typed, action: 'signup' });
      expect([stepOf(signup), fieldOf(signup, 'email')]).toEqual(['signup', typed]);
      const login = await browser.submit(signup, { email: typed, action: 'login' });
      expect([stepOf(login), fieldOf(login, 'identifier')]).toEqual(['identifier', typed]);
      const forgot =
        kind === 'classic'
          ? await browser.submit(login, { identifier: typed, action: 'forgot' })
          : await browser.get(
              `${new URL((await browser.submit(login, { identifier: typed })).url).pathname.replace(/password$/, 'forgot-password')}`,
            );
      expect(fieldOf(forgot, 'email').toLowerCase()).toBe(typed.toLowerCase());
      const back = await browser.submit(forgot, { email: 'zoe@elsewhere.example', action: 'login' });
      expect(fieldOf(back, 'identifier')).toBe('zoe@elsewhere.example');
      const sent = await browser.submit(await browser.get(forgot.url), { email: 'zoe@example.com' });
      expect(sent.html).toContain('zoe@example.com');
      expect(fieldOf(await browser.get(`${new URL(first.url).pathname}/identifier`), 'identifier')).toBe(
        'zoe@example.com',
      );
    },
  );

  test('is prefilled after change, and login_hint fills every page until something is typed', async () => {
    const browser = new Browser(gate);
    const first = await browser.authorize({ ...request, login_hint: 'hinted@example.com' });
    const { pathname } = new URL(first.url);
    expect(fieldOf(first, 'identifier')).toBe('hinted@example.com');
    for (const step of ['signup', 'forgot-password'])
      expect(fieldOf(await browser.get(`${pathname}/${step}`), 'email')).toBe('hinted@example.com');
    const page = await browser.submit(first, { identifier: 'typed@example.com' });
    const edit = /<a href="([^"]+)" aria-label="Change: typed@example.com"/.exec(page.html)![1]!;
    expect(fieldOf(await browser.get(edit), 'identifier')).toBe('typed@example.com');
  });

  test('survives the way from a requested sign-up to the login, but a password never does', async () => {
    const browser = new Browser(gate);
    const signup = await browser.authorize({ ...request, screen_hint: 'signup' });
    const faults = await browser.submit(signup, { email: 'zoe@', password: 'short' });
    expect([faults.status, fieldOf(faults, 'email')]).toEqual([400, 'zoe@']);
    // All at once.
    expect(faults.html).toContain('Enter an email address');
    expect(faults.html).toContain('Choose a longer password');
    expect(faults.html).not.toContain('"short"');
    const login = await browser.submit(faults, { action: 'login' });
    expect([stepOf(login), login.html.includes('name="identifier"')]).toEqual(['identifier', true]);
  });
});

test('is stored sealed and for one hour, since people type passwords into the wrong field', async () => {
  const browser = new Browser(gate);
  await browser.submit(await browser.authorize(request), { identifier: 'hunter2 in the wrong field' });
  const keys = await redis.keys(`${gate.redisPrefix}auth:page:*`);
  expect(keys.length).toBeGreaterThan(0);
  for (const key of keys) {
    expect(JSON.stringify(await redis.hgetall(key))).not.toMatch(/hunter2|example\.com/);
    expect(await redis.ttl(key)).toBeGreaterThan(0);
    expect(await redis.ttl(key)).toBeLessThanOrEqual(3_600);
  }
});

describe('a link for a new password', () => {
  const passwordLink = async (email: string, browser: Browser, more: Record<string, string> = {}) => {
    const before = (await gate.mails(email)).length;
    const first = await browser.authorize({ ...request, ...more });
    const forgot = await browser.get(`${new URL(first.url).pathname}/forgot-password`);
    const sent = await browser.submit(forgot, { email });
    return { sent, link: linkIn(await gate.mailTo(email, before)) };
  };

  test('that was used, has expired or is wrong says so in the reader’s language, and offers a new one', async () => {
    const browser = new Browser(gate);
    const { link } = await passwordLink(alice.email, browser);
    const form = await browser.get(link);
    expect((await post(browser, form, { password: 'short' })).status).toBe(303);
    const refused = await browser.submit(form, { password: 'short' });
    expect([refused.status, refused.html.includes('Choose a longer password')]).toEqual([400, true]);
    expect((await browser.get(refused.url)).status).toBe(200);
    const done = await browser.submit(form, { password });
    expect([done.status, done.html.includes('Password changed')]).toEqual([200, true]);
    for (const page of [done, await browser.get(done.url)])
      expect(page.html).toMatch(/href="https:\/\/app\.example\/">Back to Single Page/);

    const used = await new Browser(gate).get(link, { 'accept-language': 'de-AT' });
    expect([used.status, used.html.includes('Dieser Link wurde schon benutzt')]).toEqual([400, true]);
    // An old link does not tell whose it was.
    expect([used.html.includes('alice'), used.html.includes('href="https://app.example/"')]).toEqual([false, true]);

    const { link: lost } = await passwordLink('bob@example.com', browser);
    await redis.del(...(await redis.keys(`${gate.redisPrefix}auth:password-ticket:*`)));
    const reader = new Browser(gate);
    const expired = await reader.get(lost);
    expect([expired.status, expired.html.includes('This link has expired')]).toEqual([400, true]);
    const before = (await gate.mails('bob@example.com')).length;
    const sent = await reader.submit(expired);
    expect([sent.status, sent.html.includes('same address'), sent.html.includes('bob@')]).toEqual([200, true, false]);
    const mail = await gate.mailTo('bob@example.com', before);
    expect((await reader.get(linkIn(mail))).html).toContain('Choose a new password');

    const wrong = await reader.get('change-password?ticket=made-up');
    expect([wrong.status, wrong.html.includes('This link doesn’t work')]).toEqual([400, true]);
    const typo = await reader.submit(wrong, { email: 'bob@' });
    expect([typo.status, fieldOf(typo, 'email')]).toEqual([400, 'bob@']);
    const texts: string[] = [];
    for (const email of ['bob@example.com', 'nobody@example.com'])
      texts.push((await reader.submit(wrong, { email })).html);
    expect(texts[0]).toContain('If there is an account for <bdi>bob@example.com</bdi>');
    expect(texts[1]!.replaceAll('nobody@', 'bob@')).toBe(texts[0]);
  });

  test('leads to pages in the language that the application asked for, and so does the one that replaces it', async () => {
    const { link } = await passwordLink(erin.email, new Browser(gate), { ui_locales: 'de' });
    const reader = new Browser(gate);
    const form = await reader.get(link, { 'accept-language': 'fr' });
    await redis.del(...(await redis.keys(`${gate.redisPrefix}auth:password-ticket:*`)));
    const expired = await reader.get(link);
    const sent = await reader.submit(expired);
    const next = await reader.get(linkIn(await gate.mailTo(erin.email, 1)));
    const done = await reader.submit(next, { password });
    const languages = [form, expired, sent, next, done].map(({ html }) => /<html lang="(\w+)"/.exec(html)?.[1]);
    expect(languages).toEqual(['de', 'de', 'de', 'de', 'de']);
    expect(done.url).toContain('/change-password/done');
  });

  test('can be sent again a few times, and looks the same for an unknown address', async () => {
    for (const email of [dave.email, 'nobody@example.com']) {
      const browser = new Browser(gate);
      const first = await browser.authorize(request);
      const forgot = await browser.get(`${new URL(first.url).pathname}/forgot-password`);
      let page = await browser.submit(forgot, { email });
      for (let mail = 2; mail <= 6; mail += 1) page = await browser.submit(page, { action: 'again' });
      expect([page.status, page.html.includes('Sent again.')]).toEqual([200, true]);
      page = await browser.submit(page, { action: 'again' });
      expect([page.status, page.html.includes('already sent several emails')]).toEqual([429, true]);
      expect((await browser.get(page.url)).status).toBe(200);
    }
    await until('the mails', async () => (await gate.mails(dave.email)).length >= 6);
    expect(await gate.mails(dave.email)).toHaveLength(6);
  });

  test('ends the pause after too many wrong passwords, on the network where it was used', async () => {
    const browser = new Browser(gate);
    let page = await browser.submit(await browser.authorize(request), { identifier: dave.email });
    const form = page;
    for (let wrong = 1; wrong <= 11; wrong += 1) page = await browser.submit(form, { password: 'wrong' });
    expect(page.status).toBe(429);
    const reset = /<a class="gp-button" href="([^"]+)">Choose a new password/.exec(page.html)![1]!;
    const forgot = await browser.get(reset);
    expect(fieldOf(forgot, 'email')).toBe(dave.email);
    const { length } = await gate.mails(dave.email);
    await browser.submit(forgot);
    const mail = await gate.mailTo(dave.email, length);
    await browser.submit(await browser.get(linkIn(mail)), { password: 'another set of words' });
    const done = await browser.submit(form, { password: 'another set of words' });
    expect(done.location?.host).toBe('app.example');
  });
});

test('the device code pages have an address for each answer, and a reload enters nothing again', async () => {
  const browser = new Browser(gate);
  const addressOf = ({ url }: Page) => new URL(url).pathname + new URL(url).search;
  const entry = await browser.get('activate');
  expect((await post(browser, entry, { user_code: 'BBBB-BBBB' })).status).toBe(303);
  const wrong = await browser.submit(await browser.get('activate'), { user_code: 'BBBB-BBBB' });
  expect([wrong.status, addressOf(wrong), fieldOf(wrong, 'user_code')]).toEqual([400, '/activate', 'BBBB-BBBB']);
  const again = await browser.get('activate');
  expect([again.status, fieldOf(again, 'user_code')]).toEqual([200, '']);

  const deviceCode = async () =>
    String((await gate.post('oauth/device/code', { client_id: 'native', scope: 'openid' })).json.user_code);
  const user_code = await deviceCode();
  const confirm = await browser.submit(again, { user_code: user_code.toLowerCase() });
  expect([confirm.status, addressOf(confirm)]).toEqual([200, '/activate?step=confirm']);
  const reloaded = await browser.get(confirm.url);
  expect(reloaded.html).toContain(`>${user_code}<`);
  const done = await browser.logIn(await browser.submit(reloaded, { confirm: 'yes' }));
  expect([addressOf(done), done.html.includes('Device connected')]).toEqual(['/activate?step=connected', true]);
  // What was confirmed is not asked again.
  expect((await browser.get(confirm.url)).html).toContain('name="user_code"');

  const other = await browser.submit(await browser.get('activate'), { user_code: await deviceCode() });
  const denied = await browser.submit(other, { abort: 'yes' });
  expect([addressOf(denied), denied.html.includes('Device not connected')]).toEqual(['/activate?step=denied', true]);
});

test('"Not you?" on the consent page lets another person log in, and asks them for consent', async () => {
  const browser = new Browser(gate);
  const asked = await browser.logIn(await browser.authorize(consented));
  expect(asked.html).toContain('alice@example.com');
  expect(await post(browser, asked, { action: 'other' })).toEqual({ status: 303, to: '' });
  const again = await browser.get(asked.url);
  expect([again.status, again.html.includes('name="identifier"'), again.html.includes('alice')]).toEqual([
    200,
    true,
    false,
  ]);
  const leaving = await browser.logIn(again, 'bob@example.com');
  const bobs = await browser.submit(leaving);
  expect(bobs.html).toContain('bob@example.com');
  const done = await browser.submit(bobs, { action: 'default' });
  expect(done.location?.searchParams.get('code')).toBeTruthy();
});
