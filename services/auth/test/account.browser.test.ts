/** `/account` in Chromium, as a person walks: signs up with a passkey, loses it, recovers, links another provider, becomes an administrator, leaves. */
import { readFile } from 'node:fs/promises';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { TOTP } from 'otpauth';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { freePort, openGate, type TestGate } from './gate.ts';
import { alice, seed, settings, web } from './seeds.ts';
import { manage, openOurs } from './upstream.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** Somebody else's, at another host: cookies of one host are those of all its ports. */
async function openAcme(callback: string): Promise<TestGate> {
  const port = await freePort();
  const client = { ...web, client_id: 'ours', client_secret: 'our-secret', callbacks: [callback] };
  const env = { AUTH_PORT: String(port), ISSUER: `http://127.0.0.1:${port}/` };
  return openGate({ ...seed, settings: { oidc_conformant_claims: true }, clients: [client] }, env);
}

const passkeys = { authentication_methods: { passkey: { enabled: true } } };
const gate = stack.use(
  await openOurs(
    async (callback) => {
      const acme = stack.use(await openAcme(callback));
      const options = { client_id: 'ours', client_secret: 'our-secret', discovery_url: acme.issuer };
      return [{ name: 'acme', strategy: 'oidc', display_name: 'Acme', options }];
    },
    { seed: { settings: { ...settings, guardian_factors: ['otp', 'webauthn-roaming'] } } },
  ),
);
const { pool: db } = gate;
await db.query(`UPDATE connections SET options = $1 WHERE strategy = 'auth0'`, [passkeys]);
const browser = await chromium.launch(launchOptions);
stack.defer(() => browser.close());

/** A new device with an authenticator that knows its owner, and whether it is roaming. */
async function onDevice(transport: 'internal' | 'usb', work: (page: Page, context: BrowserContext) => Promise<void>) {
  const context = await browser.newContext();
  context.setDefaultTimeout(patienceMs);
  try {
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const isInternal = transport === 'internal';
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport,
        hasResidentKey: isInternal,
        hasUserVerification: isInternal,
        isUserVerified: isInternal,
        automaticPresenceSimulation: true,
      },
    });
    await work(page, context);
  } finally {
    await context.close();
  }
}

const open = (page: Page, path = 'account') => page.goto(`${gate.issuer}${path}`);
const title = (page: Page) => page.textContent('h1');
const code = (secret: string) => new TOTP({ secret }).generate();
const person = { email: 'walker@example.com', password: 'a walk in the wood at dawn' };

async function logIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.fill('[name=identifier]', email);
  await page.click('.gp-main');
  await page.fill('[name=password]', password);
  await page.click('.gp-main');
}

async function kept<Value>(page: Page, work: () => Promise<Value>): Promise<Value> {
  await page.waitForSelector('.gp-codes');
  const value = await work();
  await page.click('.gp-main');
  await page.waitForSelector('.gp-list');
  return value;
}

test('a person signs up with a passkey, loses it, recovers the account, links a provider, is made an administrator and leaves', async () => {
  let codes: string[] = [];
  await onDevice('internal', async (page, context) => {
    // Signs up on the way to the account, and makes a passkey when it is offered.
    await open(page);
    await page.click('[name=action][value=signup]');
    await page.fill('[name=email]', person.email);
    await page.fill('[name=password]', person.password);
    await page.click('.gp-main');
    expect(await title(page)).toBe('Sign in without a password?');
    await page.click('.gp-main');
    await page.waitForURL(`${gate.issuer}account`);
    expect(await title(page)).toBe('Your account');

    await context.clearCookies();
    await open(page, 'account/security');
    // The browser offers it in the field, or a button asks for it: here whichever comes first.
    const pressed = page.click('[data-passkey]', { timeout: 5_000 }).catch(() => {});
    await Promise.race([pressed.then(() => page.waitForSelector('.gp-list')), page.waitForSelector('.gp-list')]);
    await page.click('summary');
    await page.fill('details [name=name]', 'My laptop');
    await page.click('[value=rename]');
    await page.waitForSelector('[role=status]');
    expect(await page.textContent('.gp-list')).toContain('My laptop');

    await page.click('a[href="/account/security/otp"]');
    const secret = (await page.textContent('.gp-key code'))!.replaceAll(' ', '');
    await page.fill('[name=code]', code(secret));
    await page.click('.gp-main');
    const saved = page.waitForEvent('download');
    codes = await kept(page, async () => {
      await page.click('text=Download them');
      return page.locator('.gp-codes code').allTextContents();
    });
    expect(codes).toHaveLength(10);
    expect(await readFile(await (await saved).path(), 'utf8')).toBe(`${codes.join('\n')}\n`);
  });

  // The laptop is lost, with the app on it. On another one a password and a recovery code are left.
  await onDevice('usb', async (page) => {
    await open(page, 'account/security');
    await logIn(page, person);
    await page.click('[name=action][value=other]');
    await page.click('[name=factor][value=recovery]');
    await page.fill('[name=code]', codes[0]!);
    await page.click('.gp-main');
    await page.waitForSelector('.gp-list');
    // What was on it goes; a key of its own comes.
    await page.click('[aria-label="Remove: My laptop"]');
    await page.click('.gp-danger');
    await page.waitForSelector('[role=status]');
    await page.click('a[href="/account/security/roaming"]');
    await page.click('.gp-main');
    await page.waitForSelector('[role=status]');
    await page.click('[aria-label="Remove: Authenticator app"]');
    await page.click('.gp-danger');
    await until('the app to be gone', async () => !(await page.content()).includes('Remove: Authenticator app'));
    const { rows } = await db.query(`SELECT type FROM authentication_methods`);
    expect(rows).toEqual([{ type: 'webauthn-roaming' }]);

    // Links Acme, where this person is alice.
    await open(page, 'account/sign-ins');
    await page.click('[name=action][value=link]');
    await logIn(page, alice);
    await page.waitForURL(/account\/sign-ins/);
    expect(await page.textContent('[role=status]')).toContain('Linked.');
    expect(await page.textContent('.gp-list')).toContain('Acme');

    // Is made an administrator, and sees it in the file.
    const { rows: accounts } = await db.query("SELECT user_id FROM accounts WHERE email = 'walker@example.com'");
    const walker = encodeURIComponent(accounts[0].user_id);
    await db.query("INSERT INTO roles (id, name) VALUES ('rol_admin', 'Administrator')");
    await db.query("INSERT INTO role_permissions VALUES ('rol_admin', $1, 'update:users')", [`${gate.issuer}api/v2/`]);
    expect((await manage(gate, 'POST', `users/${walker}/roles`, { roles: ['rol_admin'] })).status).toBe(204);
    await open(page, 'account/data');
    const [file] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')]);
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({
      user: { email: person.email },
      identities: [{}, { connection: 'acme' }],
      roles: ['Administrator'],
    });

    // The last one cannot go; once there is another, they leave.
    await page.click('.gp-danger');
    await page.check('[name=confirm]');
    await page.click('.gp-main');
    expect(await page.textContent('[role=alert]')).toContain('You are the only administrator here.');
    await manage(gate, 'POST', 'users/auth0%7Cbob/roles', { roles: ['rol_admin'] });
    await page.check('[name=confirm]');
    await page.click('.gp-main');
    expect(await title(page)).toBe('Your account has been deleted');
    expect((await manage(gate, 'GET', `users/${walker}`)).status).toBe(404);
    await open(page);
    expect(await title(page)).toBe('Sign in');
  });
});

test('everything at /account except passkeys works without JavaScript', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  context.setDefaultTimeout(patienceMs);
  try {
    const page = await context.newPage();
    await open(page, 'account/profile');
    await logIn(page, { email: 'bob@example.com', password: alice.password });
    if ((await title(page))?.startsWith('Sign in without')) await page.click('[value=skip]');
    await page.fill('[name=name]', 'Bob Builder');
    await page.click('.gp-main');
    expect(await page.textContent('[role=status]')).toBe('Saved.');
    await page.goto(`${gate.issuer}account/devices`);
    await page.click('[aria-label^="Sign out: "]');
    await page.waitForSelector('[name=identifier]');
  } finally {
    await context.close();
  }
});
