/// <reference lib="dom" />
/** The gate's side of the console in Chromium, against the whole system, as its administrator uses it. */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { faultsInAllLooks, fillInLogin, openConsole, partsOf, signIn } from '@gatepost/testkit/console';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const { system, url: console, openPage } = stack.use(await openConsole());
const { issuer } = system;
const admin = await openPage();
const complaints: string[] = [];
admin.on('pageerror', (error) => complaints.push(error.message));
await signIn(admin, console, 'admin@example.com');

const { go, heading, panel } = partsOf(admin);
const look = async (page: Page): Promise<void> => expect(await faultsInAllLooks(page)).toEqual([]);

test('an administrator makes an application, sees code for it, and signs in with it', async () => {
  await admin.setViewportSize({ width: 1440, height: 900 });
  await go('Applications');
  await heading('Applications');
  await admin.getByLabel('Find by name or client ID').fill('react');
  await admin.getByRole('link', { name: /React Quick Start/ }).waitFor();
  expect(await panel('List of applications').getByRole('listitem').count()).toBe(1);
  await look(admin);

  await admin.getByRole('link', { name: 'New application' }).click();
  await heading('New application'); // not into the list's search, which is still there for a moment
  await admin.getByLabel('Name', { exact: true }).fill('Orchard');
  await admin.getByText('Single-page application').click();
  await admin.getByLabel('Allowed Callback URLs').fill('http://localhost:5173');
  await look(admin);
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Orchard');
  const clientId = new URL(admin.url()).pathname.split('/').at(-1)!;
  await admin.getByRole('button', { name: 'JavaScript' }).click();
  const code = panel('main.js');
  await code.getByText(`clientId: '${clientId}'`).waitFor();
  await code.getByText(`domain: '${issuer.replace(/\/$/, '')}'`).waitFor();
  await panel('Run').getByText('vite --port 5173').waitFor();
  await look(admin);

  await admin.getByRole('link', { name: 'Try sign-in' }).click();
  await admin.getByRole('button', { name: 'Allow this callback URL' }).click();
  const opened = admin.waitForEvent('popup');
  await admin.getByRole('button', { name: 'Try sign-in' }).click();
  await fillInLogin(await opened, 'admin@example.com');
  await admin.getByRole('heading', { name: 'The sign-in works' }).waitFor();
  await panel('Result').getByText('"sub": "auth0|admin"').first().waitFor();
  // In the ID token, from which the quick start's SDK reads who has signed in.
  await panel('Result').locator('pre').first().getByText('"email": "admin@example.com"').waitFor();
  await look(admin);
  await admin.getByRole('button', { name: 'Remove this callback URL' }).click();
  await admin.getByRole('button', { name: 'Allow this callback URL' }).waitFor();

  await admin.getByRole('link', { name: 'Settings', exact: true }).click();
  expect(await admin.getByLabel('Allowed Web Origins').inputValue()).toBe('http://localhost:5173');
  await admin.getByLabel('Allowed Logout URLs').fill('http://localhost:5173\nno-address');
  await admin.getByRole('button', { name: 'Save' }).click();
  await admin.getByText('no-address: Not the absolute URI of an application').waitFor(); // at the field
  const isFocused = () => admin.getByLabel('Allowed Logout URLs').evaluate((field) => field === document.activeElement);
  await until('it has the focus', isFocused);
  expect(await admin.getByText('The API refused the request').count()).toBe(0);
  await admin.getByLabel('Allowed Logout URLs').fill('http://localhost:5173');
  await admin.getByLabel('Rotation Overlap Period').fill('20');
  await admin.getByLabel('Claims about the user').selectOption('As in the standard: from userinfo');
  await admin.getByRole('button', { name: 'Save' }).click();
  await admin.getByText('Saved.').waitFor();
  await look(admin);
  await admin.reload();
  const claims = admin.getByLabel('Claims about the user').locator('option:checked');
  expect(await claims.textContent()).toBe('As in the standard: from userinfo');
  await admin.getByRole('button', { name: 'Delete' }).click();
  const confirming = admin.getByRole('button', { name: 'Delete the application' });
  await confirming.waitFor();
  await look(admin);
  await confirming.click();
  await heading('Applications');
  // The list of before is shown until it has been read again.
  await until('it is gone', async () => (await admin.getByText('Orchard').count()) === 0);
});

test('after trying the sign-in of the console itself, people still get into it', async () => {
  await admin.goto(`${console}gate/applications/gatepost-console?tab=try`);
  await admin.getByRole('button', { name: 'Allow this callback URL' }).click();
  await admin.getByRole('button', { name: 'Remove this callback URL' }).click();
  await admin.getByRole('button', { name: 'Allow this callback URL' }).waitFor();
  await admin.reload();
  await admin.getByRole('link', { name: 'Settings', exact: true }).click();
  const origins = (await admin.getByLabel('Allowed Web Origins').inputValue()).split('\n');
  expect(origins).toContain(new URL(console).origin);
});

test('trying a sign-in changes no sample code, and ends in any tab without a trace', async () => {
  await admin.goto(`${console}gate/applications/new`);
  await admin.getByLabel('Name', { exact: true }).fill('Bakery');
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Bakery');
  await admin.getByRole('link', { name: 'Try sign-in' }).click();
  await admin.getByRole('button', { name: 'Allow this callback URL' }).click();
  await admin.getByRole('button', { name: 'Remove this callback URL' }).waitFor();
  const other = await admin.context().newPage();
  await other.goto(admin.url());

  await admin.getByRole('link', { name: 'Quick start' }).click();
  await admin.getByRole('button', { name: 'FastAPI' }).click();
  await panel('main.py').getByText('@app.get("/callback")').waitFor();
  await panel('Run').getByText('uvicorn main:app --port 4706').waitFor();
  await admin.getByText('The code below needs http://localhost:4706/callback among').waitFor();

  await other.getByRole('button', { name: 'Remove this callback URL' }).click();
  await other.getByRole('button', { name: 'Allow this callback URL' }).waitFor();
  await other.getByRole('link', { name: 'Settings', exact: true }).click();
  expect(await other.getByLabel('Allowed Callback URLs').inputValue()).toBe('');
  expect(await other.getByLabel('Allowed Web Origins').inputValue()).toBe('');
  await other.close();
});

/** Runs the code shown on the page; resolves to its output. */
async function runCode(program: string, file: string): Promise<string> {
  const folder = folderOf(file, (await panel(file).locator('pre').textContent())!);
  const { stdout } = await promisify(execFile)(program, [file], { cwd: folder });
  return stdout;
}

function folderOf(file: string, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'quick-start-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  // As after `npm install`; there need be no package.json.
  const installed = fileURLToPath(new URL('../services/auth/node_modules', import.meta.url));
  symlinkSync(installed, join(folder, 'node_modules'));
  writeFileSync(join(folder, file), code);
  return folder;
}

test('a machine gets a secret, shown once, and scopes of an API; its sample code runs unchanged; its secret is replaced', async () => {
  await admin.goto(`${console}gate/applications/new`);
  await admin.getByLabel('Name', { exact: true }).fill('Night shift');
  await admin.getByText('Machine to machine application').click();
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Night shift');
  const id = new URL(admin.url()).pathname.split('/').at(-1)!;
  await admin.getByRole('link', { name: 'APIs', exact: true }).last().click();
  const example = panel('Example API');
  await example.getByRole('button', { name: 'Authorize' }).click();
  await example.getByText('read:things').click();
  await look(admin);
  await example.getByRole('button', { name: 'Authorize' }).click();
  await example.getByText('1 of 1 scopes').waitFor();
  await admin.getByRole('link', { name: 'Credentials' }).click();
  const first = (await panel('New secret').getByRole('code').textContent())!;
  const granted = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: first,
      audience: 'https://api.example/',
    }),
  });
  expect(await granted.json()).toMatchObject({ scope: 'read:things' });
  await admin.getByRole('link', { name: 'Quick start' }).click();
  await admin.getByRole('button', { name: 'Node' }).click();
  expect(await runCode(process.execPath, 'main.mjs')).toMatch(/^ey\S+ read:things$/m);
  await admin.getByRole('button', { name: 'Python' }).click();
  expect(await runCode('python3', 'main.py')).toMatch(/^ey\S+ read:things$/m);
  await admin.getByRole('link', { name: 'Credentials' }).click();
  await admin.getByRole('button', { name: 'Rotate' }).click();
  await admin.getByRole('button', { name: 'Create a new secret' }).click();
  await until('another secret', async () => (await panel('New secret').getByRole('code').textContent()) !== first);
});

test('the sample code of a native application signs a person in unchanged', async () => {
  await admin.goto(`${console}gate/applications/demo-native?tab=start`);
  const folder = folderOf('main.mjs', (await panel('main.mjs').locator('pre').textContent())!);
  const program = spawn(process.execPath, ['main.mjs'], { cwd: folder });
  stack.defer(() => void program.kill());
  let printed = '';
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (text) => (printed += String(text)));
  const address = await until('where to sign in', () => /http\S+authorize\S+/.exec(printed)?.[0]);
  const someone = await openPage();
  await someone.goto(address);
  await fillInLogin(someone, 'alice@example.com');
  await someone.getByText('Demo Native App').first().waitFor(); // applications on a computer are confirmed each time
  await someone.click('.gp-main');
  await someone.getByText('You can close this window').waitFor();
  await until('it knows who it is', () => printed.includes('Signed in as Alice Example'));
  await someone.context().close();
});

test('a request that the gate refuses is in the log at once, with the reason', async () => {
  await go('Log');
  await heading('Log');
  await admin.getByRole('button', { name: 'Refused' }).click();
  const elsewhere = 'https://elsewhere.example/callback';
  const asked = { client_id: 'demo-web', redirect_uri: elsewhere, response_type: 'code', scope: 'openid' };
  expect((await fetch(`${issuer}authorize?${new URLSearchParams(asked)}`)).status).toBe(400);
  const entry = admin.locator('.entries li', { hasText: 'Refused sign-in request' }).first();
  await entry.getByText(`requested: ${elsewhere}; registered: http://localhost:4599/callback`).waitFor();
  await entry.locator('summary').click();
  await entry.getByRole('link', { name: 'Demo Web App' }).waitFor();
  await look(admin);
  const form = { grant_type: 'client_credentials', client_id: 'demo-m2m', client_secret: 'wrong' };
  await fetch(`${issuer}oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  await admin.locator('.entries li', { hasText: 'Failed Exchange (Client Credentials' }).first().waitFor();
  const client = admin.getByLabel('Client ID');
  await client.fill('demo-web');
  await until('its own alone', async () => (await admin.locator('.entries li').count()) === 1);
  // What is typed within a text stays in its order.
  await client.press('Home');
  await client.pressSequentially('a-', { delay: 20 });
  await admin.waitForURL(/client=a-demo-web/);
  await client.pressSequentially('b-', { delay: 20 });
  await admin.waitForURL(/client=a-b-demo-web/);
});

test('a person is created, signs in, loses a device, is blocked and is let in again', async () => {
  await go('Users');
  await heading('Users');
  await admin.getByRole('button', { name: 'New user' }).click();
  const form = admin.getByRole('form', { name: 'New user' });
  await form.getByLabel('Email', { exact: true }).fill('mal@example.com');
  await form.getByLabel('Name', { exact: true }).fill('Mal');
  await form.getByLabel('Password').fill('short');
  await form.getByText('is confirmed').click();
  await look(admin);
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByText('Password is too short: it needs at least 8 characters').waitFor();
  await form.getByLabel('Password').fill(randomBytes(12).toString('hex'));
  await form.getByRole('button', { name: 'Create' }).click();
  await heading('Mal');
  await panel('Sessions').getByText('There are no sessions').waitFor();

  await admin.getByRole('button', { name: 'Edit', exact: true }).click();
  /** Fills in one of the forms and saves it. */
  const edit = async (name: string, label: string, text: string) => {
    const part = panel('Edit').getByRole('form', { name });
    await part.getByLabel(label, { exact: true }).fill(text);
    await part.getByRole('button', { name: 'Save' }).click();
    return part;
  };
  const saved = (part: Locator) => part.getByText('Saved.').waitFor();
  await saved(await edit('Change the name', 'Name', 'Mallory Example'));
  await heading('Mallory Example');
  const address = panel('Edit').getByRole('form', { name: 'Change the email address' });
  await address.getByLabel('Email', { exact: true }).fill('mallory@example.com');
  await address.getByText('The email address is confirmed').click();
  await address.getByRole('button', { name: 'Save' }).click();
  await saved(address);
  await panel('Profile').getByText('mallory@example.com confirmed').waitFor();
  const password = randomBytes(12).toString('hex');
  const weak = await edit('Set a new password', 'New password', 'short');
  await weak.getByText('Password is too short: it needs at least 8 characters').waitFor();
  await saved(await edit('Set a new password', 'New password', password));
  const metadata = ['Change user_metadata', 'user_metadata'] as const;
  await (await edit(...metadata, '{ "plan": "pro"')).getByText('It is not JSON: ').waitFor();
  await (await edit(...metadata, '["pro"]')).getByText('It must be a JSON object').waitFor();
  await look(admin);
  await saved(await edit(...metadata, '{ "plan": "pro", "seats": { "left": 2 } }'));
  await panel('Profile').getByText('{"plan":"pro","seats":{"left":2}}').waitFor();
  await saved(await edit(...metadata, '{ "seats": { "left": 1 } }'));
  await panel('Profile').getByText('{"seats":{"left":1}}').waitFor();
  await saved(await edit('Change app_metadata', 'app_metadata', '{ "tier": 1 }'));
  await panel('Profile').getByText('{"tier":1}').waitFor();
  await look(admin);

  const mallory = await openPage();
  await mallory.goto(console);
  await fillInLogin(mallory, 'mallory@example.com', password);
  await mallory.waitForSelector('#content');
  await admin.reload();
  await panel('Sessions').getByText('Gatepost Console').waitFor();
  await panel('Sessions').getByText('HeadlessChrome').waitFor(); // the browser's name
  await panel('Log').getByText('Success Login').waitFor();
  await look(admin);
  await panel('Devices').getByRole('button', { name: 'Revoke' }).click();
  await admin.getByRole('button', { name: 'Revoke it' }).click();
  await panel('Devices').getByText('No application has a refresh token').waitFor();

  await admin.getByRole('button', { name: 'Block' }).click();
  await admin.getByRole('button', { name: 'Block the user' }).click();
  await admin.getByText('blocked', { exact: true }).waitFor();
  await panel('Sessions').getByText('There are no sessions').waitFor();
  await mallory.goto(console);
  await fillInLogin(mallory, 'mallory@example.com', password);
  await mallory.locator('.gp-problem, [role=alert]').first().waitFor(); // refused
  await admin.getByRole('button', { name: 'Unblock' }).click();
  await admin.getByRole('button', { name: 'Block', exact: true }).waitFor(); // a link made before would be of the blocked account
  await admin.getByRole('button', { name: 'Create a password reset link' }).click();
  const link = await panel('Profile').getByRole('status').locator('code').textContent();
  await look(admin);
  await mallory.goto(link!);
  await mallory.fill('[name=password]', randomBytes(12).toString('hex'));
  await mallory.click('.gp-main');
  await mallory.getByText('Password changed').waitFor();
  await mallory.context().close();

  await go('Users');
  await admin.getByLabel('Find by name, email address, phone number or ID').fill('mallo');
  await admin.getByRole('link', { name: /Mallory Example/ }).waitFor();
  await until('one of them', async () => (await panel('List of users').getByRole('listitem').count()) === 1);
  await admin.getByRole('link', { name: /Mallory Example/ }).click();
  await heading('Mallory Example');
  const find = admin.getByLabel('Find by name, email address, phone number or ID');
  await admin.goBack(); // to what was found
  await heading('Users');
  expect(await find.inputValue()).toBe('mallo');
  await admin.getByRole('link', { name: /Mallory Example/ }).click();
  await heading('Mallory Example');
  await admin.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Users' }).click();
  await heading('Users');
  expect(await find.inputValue()).toBe('mallo');
  // A space at the end stays while the next word is thought of.
  await find.fill('Mallory ');
  await admin.waitForURL(/q=Mallory$/);
  await find.pressSequentially('Ex');
  await admin.waitForURL(/q=Mallory(\+|%20)Ex$/);
  await find.fill('nobody:x');
  await admin.getByText('names a field that cannot be searched').waitFor();
});

test('a person is created where nobody has a password', async () => {
  await admin.route(/\/api\/v2\/connections\?/, async (route) => {
    const response = await route.fetch();
    const all = (await response.json()) as { name: string }[];
    await route.fulfill({ response, json: all.filter(({ name }) => name === 'email') });
  });
  await admin.goto(`${console}gate/users`);
  await admin.getByRole('button', { name: 'New user' }).click();
  const form = admin.getByRole('form', { name: 'New user' });
  await until('its only connection', async () => (await form.getByLabel('Connection').inputValue()) === 'email');
  await form.getByLabel('Email', { exact: true }).fill('by-code@example.com');
  expect(await form.getByLabel('Password').count()).toBe(0);
  await form.getByRole('button', { name: 'Create' }).click();
  await heading('by-code@example.com');
  await admin.unrouteAll();
  await admin.reload(); // forgets the connections read meanwhile
});

test('APIs get scopes, and say who may use them; connections and settings are changed', async () => {
  await go('APIs');
  await admin.getByRole('button', { name: 'New API' }).click();
  await admin.getByLabel('Name', { exact: true }).fill('Apples');
  await admin.getByLabel('Identifier').fill('https://apples.example/');
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Apples');
  await admin.getByLabel('Scope', { exact: true }).fill('pick apples');
  await admin.getByRole('button', { name: 'Add' }).click();
  await admin.getByText('Not a scope such as read:things').waitFor();
  expect(await admin.getByText('The API refused the request').count()).toBe(0);
  await look(admin);
  await admin.getByLabel('Scope', { exact: true }).fill('pick:apples');
  await admin.getByRole('button', { name: 'Add' }).click();
  await panel('Scopes').getByText('pick:apples').waitFor();
  await look(admin);
  await panel('Demo Machine').getByRole('button', { name: 'Authorize' }).click();
  await panel('Demo Machine').getByRole('button', { name: 'All' }).click();
  await panel('Demo Machine').getByRole('button', { name: 'Authorize' }).click();
  await panel('Demo Machine').getByText('1 of 1 scopes').waitFor();

  await go('Connections');
  await panel('sms').getByRole('button', { name: 'Applications' }).click();
  await panel('sms').getByText('Demo Web App').waitFor();
  const names = await panel('sms').locator('.checkbox').allTextContents();
  expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b)));
  await panel('sms').getByText('Demo Web App').click();
  const box = panel('sms').getByRole('checkbox', { name: 'Demo Web App' });
  await until('it is not enabled', async () => !(await box.isChecked()));
  await look(admin);

  const database = panel('Username-Password-Authentication');
  await database.getByRole('button', { name: 'Settings' }).click();
  await database.getByLabel('Username: maximum length').fill('40');
  await database.getByRole('checkbox', { name: /^Passkeys/ }).press('Space');
  await database.getByRole('button', { name: 'Save' }).click();
  await database.getByText('Saved.').waitFor();
  await look(admin);
  await admin.reload();
  await database.getByRole('button', { name: 'Settings' }).click();
  expect(await database.getByLabel('Username: maximum length').inputValue()).toBe('40');
  expect(await database.getByLabel('Username: minimum length').inputValue()).toBe('');
  const passkeys = database.getByRole('checkbox', { name: /^Passkeys/ });
  expect(await passkeys.isChecked()).toBe(true);
  await passkeys.press('Space'); // other tests sign in without the offer
  await database.getByRole('button', { name: 'Save' }).click();
  await database.getByText('Saved.').waitFor();
  await database.getByRole('button', { name: 'Close settings' }).click();

  await admin.getByRole('button', { name: 'New connection' }).click();
  await admin.getByLabel('How users sign in').selectOption('An OpenID provider');
  await admin.getByLabel('Name', { exact: true }).fill('company');
  await admin.getByLabel('Discovery URL').fill('http://id.example/.well-known/openid-configuration');
  await admin.getByLabel('Client ID').fill('gatepost');
  await admin.getByLabel('Client Secret').fill('a secret of the company');
  await admin.getByRole('button', { name: 'Create' }).click();
  await admin.getByText('must be an https URL').waitFor();
  await admin.getByLabel('Discovery URL').fill('https://id.example/.well-known/openid-configuration');
  await admin.getByRole('button', { name: 'Create' }).click();
  await panel('company').getByRole('button', { name: 'Settings' }).click();
  await admin.getByLabel('Button label').fill('The company');
  await admin.getByRole('button', { name: 'Save' }).click();
  await admin.getByText('Saved.').waitFor();
  await look(admin);

  await go('Tenant settings');
  await admin.getByLabel('Friendly Name').fill('Orchard Inc');
  await admin.getByRole('button', { name: 'Save' }).click();
  await admin.getByText('Saved.').waitFor();
  await look(admin);
  expect(await (await fetch(`${issuer}activate`)).text()).toContain('Orchard Inc');

  // The default language changes only where somebody sees it.
  const language = admin.getByLabel('Default language');
  const shown = async () => (await (await fetch(`${issuer}activate`)).text()).match(/<html lang="(\w+)"/)?.[1];
  expect([await language.inputValue(), await shown()]).toEqual(['en', 'en']);
  const english = admin.getByRole('checkbox', { name: 'English' });
  await english.press('Space');
  await english.press('Space');
  expect(await language.inputValue()).toBe('de');
  await language.selectOption('English');
  await language.selectOption('Français');
  await look(admin);
  await admin.getByRole('button', { name: 'Save' }).click();
  await admin.getByText('Saved.').waitFor();
  expect(await shown()).toBe('fr');
  await language.selectOption('English');
  await admin.getByRole('button', { name: 'Save' }).click();
  await until('English again', async () => (await shown()) === 'en');
});

test('the sign-in page is previewed, and people see it once it is saved', async () => {
  await go('Sign-in page');
  await admin.getByLabel('Primary colour', { exact: true }).fill('#7a1fa2');
  const frame = admin.frameLocator('iframe.preview');
  await frame.getByRole('heading', { name: 'Sign in' }).waitFor();
  // The frame may be replaced while it is queried.
  const colour = () =>
    frame
      .locator('.gp-main')
      .evaluate((button) => getComputedStyle(button).backgroundColor)
      .catch(() => '');
  await until('the colour', async () => (await colour()) === 'rgb(122, 31, 162)');
  await admin.getByLabel('Page', { exact: true }).selectOption('consent');
  await frame.getByText('Read and ping repository hooks').waitFor();
  await look(admin);
  await admin.getByText('Use a custom page template').click();
  await admin.getByLabel('Template', { exact: true }).fill('<html><body>{%- auth0:widget -%}</body></html>');
  await panel('Preview').getByText('auth0:head').waitFor(); // the error
  await admin.getByText('Use a custom page template').click();
  const logo = admin.getByLabel('Logo', { exact: true });
  await logo.fill('nonsense');
  await admin.getByRole('button', { name: 'Save' }).click();
  await until('it is wrong, and has the focus', () =>
    logo.evaluate((field) => field === document.activeElement && field.matches('[aria-invalid=true]')),
  );
  expect(await admin.getByRole('form', { name: 'Appearance' }).getByRole('alert').count()).toBe(0);
  await logo.fill('');
  const before = await (await fetch(`${issuer}activate`)).text();
  expect(before).not.toContain('#7a1fa2');
  await admin.getByRole('button', { name: 'Save' }).click();
  await admin.getByText('Saved. Users see it now.').waitFor();
  expect(await (await fetch(`${issuer}activate`)).text()).toContain('#7a1fa2');
});

test('a part of the console that cannot be loaded takes nothing else away, and is there as soon as it can be', async () => {
  const missing = admin.getByRole('alert').filter({ hasText: 'This part of the console could not be loaded' });
  const isReloaded = () => admin.evaluate<boolean>('window.isOld !== true').catch(() => false);
  await admin.goto(`${console}accounts`);
  await heading('Accounts');
  await admin.getByRole('link', { name: 'Multi-factor' }).waitFor();
  await admin.evaluate('window.isOld = true');
  const all = '**/console/**';
  await admin.route(all, (route) => route.abort('internetdisconnected'));
  await go('Multi-factor');
  await missing.waitFor();
  await look(admin);
  expect(await isReloaded()).toBe(false);
  await admin.unroute(all);
  await heading('Multi-factor'); // by itself

  // As after an upgrade that does not reach every process at once: reloading does not help yet.
  await admin.evaluate("sessionStorage.removeItem('gatepost reloaded')"); // as if it was long ago
  const parts = '**/console/assets/connections-*.js';
  await admin.route(parts, (route) => route.fulfill({ status: 404 }));
  await admin.goto(`${console}accounts`);
  await heading('Accounts');
  await admin.evaluate('window.isOld = true');
  await go('Connections');
  await until('it is loaded anew', isReloaded);
  await missing.waitFor();
  await admin.evaluate('window.isOld = true');
  await go('Accounts');
  await heading('Accounts');
  await go('Connections');
  await missing.waitFor();
  expect(await isReloaded()).toBe(false); // once is enough
  await admin.unroute(parts);
  await missing.getByRole('button', { name: 'Try again' }).click();
  await heading('Connections');
  expect(await isReloaded()).toBe(true);
});

test('signing keys are rotated, and a key that is no longer used is revoked', async () => {
  await go('Signing keys');
  const keys = panel('RS256');
  await keys.getByText('current', { exact: true }).waitFor();
  await admin.getByRole('button', { name: 'Rotate' }).click();
  await admin.getByRole('button', { name: 'Create new keys' }).click();
  await keys.getByText('next', { exact: true }).waitFor();
  await admin.getByRole('button', { name: 'Use the next keys now' }).click();
  await admin.getByRole('button', { name: 'Use them now' }).click();
  await keys.getByText('previous', { exact: true }).waitFor();
  await look(admin);
  await keys.getByRole('button', { name: 'Revoke' }).click();
  await admin.getByRole('button', { name: 'Revoke the key' }).click();
  // The page's own tokens end with the key, and it gets others automatically.
  await keys.getByText('revoked', { exact: true }).waitFor();
  expect(complaints).toEqual([]);
});

test('a person who administers nothing sees nothing of the gate', async () => {
  const alice = await openPage();
  await signIn(alice, console);
  await alice.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Accounts' }).waitFor();
  await alice.goto(`${console}gate/applications`);
  await alice.getByText('Only administrators of the gate can see this page').waitFor();
  expect(await alice.getByText('The gate', { exact: true }).count()).toBe(0);
  await look(alice);
});

test('a gate that refuses requests for a moment ends no session', async () => {
  const tokens = `${issuer}oauth/token`;
  const headers = { 'access-control-allow-origin': '*' };
  const refusals = [
    { status: 503, contentType: 'application/json', body: '{"error":"temporarily_unavailable"}', headers },
    { status: 429, contentType: 'text/html', body: '<h1>Too many requests</h1>', headers },
  ];
  for (const [email, path] of [
    ['alice@example.com', 'accounts/acme'],
    ['admin@example.com', 'gate/applications'],
  ] as const) {
    const page = await openPage();
    await page.clock.install();
    await signIn(page, console + path, email);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await until('all is read', async () => (await page.getByText(/^Loading /).count()) === 0);
    for (const refusal of refusals) {
      await page.route(tokens, (route) => route.fulfill(refusal));
      const away = page.getByText('The gate is not responding').first();
      await until('it says so', async () => {
        await page.clock.fastForward('30:00:00'); // longer than any access token lives
        // Somebody comes back to it, again if a request was still being answered.
        await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
        return away.isVisible();
      });
      await page.unroute(tokens);
      await until('it answers', async () => {
        const pressed = page.getByRole('button', { name: 'Try again' }).click({ timeout: 1_000 });
        await pressed.catch(() => {});
        return !(await away.isVisible());
      });
    }
    await page.context().close();
  }
});

test('a gate that is away is reported in words, and is asked again', async () => {
  await go('Applications');
  await heading('Applications');
  await system.auth.end('SIGKILL');
  const old = admin.getByText('The gate is not responding. What you see may be out of date');
  await until('what was read before stays', async () => {
    await go('Log'); // data read a moment ago is not requested again
    await go('Applications');
    return old.isVisible();
  });
  await heading('Applications');
  await admin.getByRole('link', { name: /React Quick Start/ }).waitFor();
  await look(admin);
  await go('Multi-factor'); // not read before
  const away = admin.getByRole('alert').filter({ hasText: 'The gate is not responding' });
  await away.waitFor();
  const first = await away.elementHandle();
  await away.getByRole('button', { name: 'Try again' }).click();
  await first!.waitForElementState('hidden'); // it is replaced while the gate is asked
  await away.waitFor();
  await look(admin);
});
