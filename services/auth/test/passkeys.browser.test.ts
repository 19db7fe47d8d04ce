/** Passkeys and security keys in Chromium, with its virtual authenticator. */
import { Browser } from '@gatepost/testkit/browser';
import { patienceMs } from '@gatepost/testkit/chromium';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { CDPSession, Page } from 'playwright-core';
import { openBrowserOfApplication } from './chromium.ts';
import { openGate } from './gate.ts';
import { alice, bob, connections, settings, spa } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const multiFactor = 'http://schemas.openid.net/pape/policies/2007/06/multi-factor';
const gate = stack.use(
  await openGate({
    settings: { ...settings, guardian_factors: ['webauthn-roaming'] },
    clients: [spa, { ...spa, client_id: 'strict', mfa_policy: 'always' }],
    users: [alice, bob],
    connections,
  }),
);
const { pool: db } = gate;
const { browser } = stack.use(await openBrowserOfApplication());

const addressFor = (more: Record<string, string> = {}) =>
  `${gate.issuer}authorize?${new URLSearchParams({
    client_id: 'spa',
    redirect_uri: 'https://app.example/cb',
    scope: 'openid',
    response_type: 'id_token',
    nonce: 'n',
    ...more,
  })}`;

/** Switches passkeys on or off, and waits until the gate has heard of it. */
async function offerPasskeys(enabled: boolean): Promise<void> {
  const options = { authentication_methods: { passkey: { enabled } } };
  await db.query("UPDATE connections SET options = $1 WHERE strategy = 'auth0'", [options]);
  const isOffered = async () => (await new Browser(gate).get(addressFor())).html.includes('value="passkey"');
  await until(`passkeys: ${enabled}`, async () => (await isOffered()) === enabled);
}

type Device = { page: Page; cdp: CDPSession; authenticatorId: string };

/** Gives the test a tab of a person whose device has an authenticator. */
async function onDevice(
  options: { transport: 'internal' | 'usb'; isUserVerified: boolean },
  work: (device: Device) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  try {
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const { transport, isUserVerified } = options;
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport,
        hasResidentKey: transport === 'internal',
        hasUserVerification: isUserVerified,
        isUserVerified,
        automaticPresenceSimulation: true,
      },
    });
    await work({ page, cdp, authenticatorId });
  } finally {
    await context.close();
  }
}

/** The ID token with which the browser has come to the application. */
async function arrived(page: Page) {
  await page.waitForURL('https://app.example/**');
  return decodeJwt(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('id_token')!);
}

async function logIn(page: Page, email: string): Promise<void> {
  await page.fill('[name=identifier]', email);
  await page.click('.gp-main');
  await page.fill('[name=password]', alice.password);
  await page.click('.gp-main');
}

test('a passkey is created after a login by password, and then signs in by itself', async () => {
  await offerPasskeys(true);
  await onDevice({ transport: 'internal', isUserVerified: true }, async ({ page, cdp, authenticatorId }) => {
    await page.goto(addressFor());
    await page.waitForSelector('[data-passkey]:not([hidden])');
    expect(await page.getAttribute('[name=identifier]', 'autocomplete')).toBe('username webauthn');
    await logIn(page, alice.email);
    expect(await page.textContent('h1')).toBe('Sign in without a password?');
    await page.click('.gp-main');
    expect(await arrived(page)).toMatchObject({ sub: 'auth0|alice', amr: ['pwd'] });
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
    expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }]);

    await page.context().clearCookies();
    await page.goto(addressFor({ acr_values: multiFactor }));
    // The browser offers it in the field, or a button asks for it: here whichever comes first.
    await page.click('[data-passkey]', { timeout: 5_000 }).catch(() => {});
    // Whoever uses it was verified by the device: no second factor is asked for.
    expect(await arrived(page)).toMatchObject({ sub: 'auth0|alice', amr: ['hwk', 'user', 'mfa'], acr: multiFactor });
    const { rows } = await db.query(`SELECT sign_count::int, last_used_at FROM authentication_methods`);
    expect([rows.length, rows[0].sign_count > 0, rows[0].last_used_at]).toEqual([1, true, expect.any(Date)]);

    // A copy of the key counts from where it was made.
    await db.query('UPDATE authentication_methods SET sign_count = 1000');
    await page.context().clearCookies();
    await page.goto(addressFor());
    await page.click('[data-passkey]', { timeout: 5_000 }).catch(() => {});
    await page.waitForSelector('[role=alert]');
    expect(await page.textContent('[role=alert]')).toContain('do not recognize this passkey');
  });
});

test('"not now" skips the passkey and is remembered in that browser, with and without JavaScript', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, ignoreHTTPSErrors: true });
  context.setDefaultTimeout(patienceMs);
  try {
    const page = await context.newPage();
    await page.goto(addressFor());
    await logIn(page, bob.email);
    await page.click('[name=action][value=skip]');
    expect(await arrived(page)).toMatchObject({ sub: 'auth0|bob', amr: ['pwd'] });
    await page.goto(addressFor({ prompt: 'login' }));
    await logIn(page, bob.email);
    expect((await arrived(page)).sub).toBe('auth0|bob');
  } finally {
    await context.close();
  }
});

test('a security key is set up as a second factor, and asked for at the next login', async () => {
  await offerPasskeys(false);
  await onDevice({ transport: 'usb', isUserVerified: false }, async ({ page }) => {
    await page.goto(addressFor({ client_id: 'strict' }));
    await logIn(page, bob.email);
    expect(await page.textContent('h1')).toBe('Add a security key');
    await page.click('.gp-main');
    await page.waitForSelector('.gp-codes');
    await page.click('.gp-main');
    expect(await arrived(page)).toMatchObject({ sub: 'auth0|bob', amr: ['pwd', 'hwk', 'mfa'] });

    await page.context().clearCookies();
    await page.goto(addressFor());
    await logIn(page, bob.email);
    expect(await page.textContent('h1')).toBe('Verify it’s you');
    await page.click('.gp-main');
    expect(await arrived(page)).toMatchObject({ amr: ['pwd', 'hwk', 'mfa'], sub: 'auth0|bob' });
  });
  // Another device has no such key: the page says so, and there are other ways.
  await onDevice({ transport: 'usb', isUserVerified: false }, async ({ page }) => {
    await page.goto(addressFor());
    await logIn(page, bob.email);
    await page.click('.gp-main');
    await page.waitForSelector('[role=alert]');
    expect(await page.textContent('[role=alert]')).toContain('did not work');
    await page.click('[name=action][value=other]');
    expect(
      await page.locator('[name=factor]').evaluateAll((all) => all.map((each) => each.getAttribute('value'))),
    ).toEqual(['roaming', 'recovery']);
  });
});
