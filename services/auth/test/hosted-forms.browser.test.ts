/** The forms of the hosted pages in a real browser, without JavaScript: reloads, the way back, what was typed; and with it, a proof of work. */
import { patienceMs } from '@gatepost/testkit/chromium';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { logIn, openBrowserOfApplication } from './chromium.ts';
import { freePort, openGate } from './gate.ts';
import { alice, fullSeed, native } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const onIpv6 = { ...native, client_id: 'ipv6', callbacks: ['http://[::1]/callback'] };
const gate = stack.use(await openGate({ ...fullSeed, clients: [...fullSeed.clients, onIpv6] }));
const { browser } = stack.use(await openBrowserOfApplication());
const asked = { redirect_uri: 'https://app.example/cb', scope: 'openid email', response_type: 'id_token', nonce: 'n' };
const addressFor = (client_id: string, more: object = {}) =>
  `${gate.issuer}authorize?${new URLSearchParams({ client_id, ...asked, ...more })}`;

/** Gives the test a tab, and the paths of the forms that it has sent. */
async function inTab(
  locale: string,
  work: (page: Page, posts: string[]) => Promise<void>,
  javaScriptEnabled = false,
): Promise<void> {
  const context = await browser.newContext({ javaScriptEnabled, locale, ignoreHTTPSErrors: true });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const posts: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && posts.push(new URL(request.url()).pathname));
  try {
    await work(page, posts);
  } finally {
    await context.close();
  }
}

test.each([
  ['en', 'Wrong email or password.'],
  ['de', 'E-Mail-Adresse oder Passwort ist falsch.'],
])('a reload after a wrong password sends nothing again, and the login goes on (%s)', async (locale, wrong) => {
  await inTab(locale, async (page, posts) => {
    await page.goto(addressFor('spa'));
    await page.fill('[name=identifier]', alice.email);
    await page.click('.gp-main');
    await page.fill('[name=password]', 'wrong');
    await page.click('.gp-main');
    expect(await page.getByRole('alert').textContent()).toContain(wrong);
    const sent = posts.length;
    const { pathname } = new URL(page.url());
    for (let reload = 1; reload <= 2; reload += 1) await page.reload();
    expect([posts.length, new URL(page.url()).pathname, await page.getByRole('alert').count()]).toEqual([
      sent,
      pathname,
      0,
    ]);
    expect(await page.inputValue('[name=identifier]')).toBe(alice.email);
    // Nor does the way back through the history.
    await page.goBack();
    await page.goForward();
    expect(posts).toHaveLength(sent);
    await page.fill('[name=password]', alice.password);
    await page.click('.gp-main');
    await page.waitForURL('https://app.example/**');
  });
});

test('a typed address is carried over to the sign-up, and another person may answer at a consent page', async () => {
  await inTab('en', async (page) => {
    await page.goto(addressFor('third', { response_type: 'code' }));
    await page.fill('[name=identifier]', 'zoe@example.com');
    await page.getByRole('button', { name: 'Create an account' }).click();
    expect(await page.inputValue('[name=email]')).toBe('zoe@example.com');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.inputValue('[name=identifier]')).toBe('zoe@example.com');
    await logIn(page);
    expect(await page.textContent('.gp-who')).toContain(alice.email);
    await page.getByRole('button', { name: 'Use another account' }).click();
    expect(await page.inputValue('[name=identifier]')).toBe('');
    await page.reload();
    await page.fill('[name=identifier]', 'bob@example.com');
    await page.click('.gp-main');
    await page.fill('[name=password]', alice.password);
    await page.click('.gp-main');
    // Alice's session ends first; without JavaScript by a button.
    await page.getByRole('button', { name: 'Continue' }).click();
    expect(await page.textContent('.gp-who')).toContain('bob@example.com');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL('https://app.example/cb?code=**');
  });
});

test('a login comes back to a native application at a port of the IPv6 loopback address', async () => {
  await inTab('en', async (page) => {
    const redirect_uri = `http://[::1]:${await freePort()}/callback`;
    await page.goto(addressFor('ipv6', { response_type: 'code', redirect_uri, ...pkce() }));
    await logIn(page);
    // Nobody listens there, since not every machine has IPv6. What counts is that the browser goes.
    const back = page.waitForRequest((request) => request.url().startsWith(`${redirect_uri}?code=`));
    await page.getByRole('button', { name: 'Allow', exact: true }).click({ noWaitAfter: true });
    await back;
  });
});

test('a login that asks for proof of work continues with JavaScript, and without it says that it is needed', async () => {
  await gate.pool.query(
    `UPDATE auth.settings SET attack_protection = '{"bot-detection": {"challenge_password_policy": "always"}}'`,
  );
  // The gate hears of it in its own time.
  const isRequired = async () => (await gate.post('usernamepassword/challenge', { client_id: 'spa' })).json.required;
  await until('challenges to be required', async () => (await isRequired()) === true);
  const toPassword = async (page: Page) => {
    await page.goto(addressFor('spa'));
    await page.fill('[name=identifier]', alice.email);
    await page.click('.gp-main');
    await page.fill('[name=password]', alice.password);
  };
  await inTab('en', async (page) => {
    await toPassword(page);
    await page.getByText('This page needs JavaScript').waitFor();
    await page.click('.gp-main');
    expect(await page.getByRole('alert').textContent()).toContain('Turn on JavaScript');
  });
  await inTab(
    'en',
    async (page, posts) => {
      await toPassword(page);
      expect(await page.getByText('This page needs JavaScript').isVisible()).toBe(false);
      await page.click('.gp-main');
      await page.waitForURL('https://app.example/**');
      expect(posts).toHaveLength(2);
    },
    true,
  );
});
