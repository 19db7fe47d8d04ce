/// <reference lib="dom" />
/** Permissions in the console: roles, organizations and second factors, and how it looks to somebody with read access only. */
import { faultsInAllLooks, fillInLogin, openConsole, partsOf, signIn } from '@gatepost/testkit/console';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

// A machine adds people's second factors, in place of the people themselves, and changes what another administrator would.
const machineScopes = [
  ...['create:authentication_methods', 'read:resource_servers', 'create:resource_servers', 'update:resource_servers'],
  ...['read:roles', 'create:roles', 'update:roles', 'read:attack_protection', 'update:attack_protection'],
  ...['read:organizations', 'create:organizations', 'update:organizations'],
  ...['read:branding', 'update:branding', 'delete:branding', 'read:actions', 'create:actions', 'update:actions'],
  ...['create:connections', 'update:connections'],
  ...['read:email_templates', 'create:email_templates', 'update:email_templates'],
];
const adaptSeed = (yaml: string) =>
  yaml.replace(
    /(\s+- )"update:encryption_keys"/,
    (one, dash) => one + machineScopes.map((each) => `${dash}"${each}"`).join(''),
  );
const { system, url: console, openPage } = stack.use(await openConsole({ adaptSeed }));
const { issuer } = system;
const admin = await openPage({ viewport: { width: 1440, height: 900 } });
const complaints: string[] = [];
admin.on('pageerror', (error) => complaints.push(error.message));
await signIn(admin, `${console}gate/applications/demo-web`, 'admin@example.com');

const { go, heading, panel } = partsOf(admin);
const tab = (name: string, page = admin) =>
  page
    .getByRole('navigation', { name: /^(Application|Organization)$/ })
    .getByRole('link', { name, exact: true })
    .click();
const confirm = (name: string) => admin.getByRole('alertdialog').getByRole('button', { name, exact: true }).click();
const look = async (page: Page): Promise<void> => expect(await faultsInAllLooks(page)).toEqual([]);

/** Asks the management API, as somebody else would meanwhile. */
async function manage<T>(method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: object): Promise<T> {
  const granted = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-admin',
      client_secret: 'demo-admin-secret',
      audience: `${issuer}api/v2/`,
    }),
  });
  const { access_token: token } = (await granted.json()) as { access_token: string };
  const answer = await fetch(`${issuer}api/v2/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? (undefined as T) : JSON.parse(text);
}

// Before she has permissions: nobody can decide how somebody with more permissions signs in.
const factorsOfAlice = `users/${encodeURIComponent('auth0|alice')}/authentication-methods`;
await manage('POST', factorsOfAlice, { type: 'phone', phone_number: '+15555550100', name: 'Her telephone' });
await manage('POST', factorsOfAlice, { type: 'email', email: 'alice@example.com' });

test('a role gets permissions and is given to a person', async () => {
  await go('Roles');
  await heading('Roles');
  await look(admin);
  await admin.getByRole('button', { name: 'New role' }).click();
  await admin.getByLabel('Name').fill('Auditor');
  await admin.getByLabel('Description').fill('Reads all of the gate');
  await look(admin);
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Auditor');
  await panel('Permissions').getByText('There are no permissions yet.').waitFor();
  await panel('Users').getByText('No users have it yet.').waitFor();

  await admin.getByLabel('Add permissions of').selectOption('Management API');
  await admin.getByLabel('Find a permission').fill('read:');
  await admin.getByRole('button', { name: 'All', exact: true }).click();
  await look(admin);
  await admin.getByRole('button', { name: 'Save permissions' }).click();
  const management = panel('Management API');
  await management.getByText('read:users', { exact: true }).waitFor();
  expect(await management.getByText(/^(create|update|delete):/).count()).toBe(0);

  await admin.getByLabel('Assign to').fill('alice');
  await admin.getByRole('button', { name: 'Add Alice Example' }).press('Enter');
  await panel('Users').getByRole('link', { name: 'Alice Example' }).waitFor();
  await look(admin);
  await admin.getByLabel('Description').fill('Reads all of it');
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await admin.getByText('Saved.').waitFor();
});

test('names without a space are broken where the page ends, and what failed on the server is not called a refusal', async () => {
  await go('Roles');
  await admin.getByRole('button', { name: 'New role' }).click();
  await admin.getByLabel('Name').fill('Auditor_of_everything_'.repeat(8));
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading(/^Auditor_of_everything_/);
  await look(admin);
  await admin.getByLabel('Description').fill('Reads');
  const alert = admin.getByRole('alert');
  const roles = `${issuer}api/v2/roles/*`;
  for (const [status, said] of [
    [500, 'Something failed on the server'],
    [429, 'Too many requests'],
  ] as const) {
    await admin.route(roles, (route) =>
      route.fulfill({ status, headers: { 'access-control-allow-origin': '*' }, json: {} }),
    );
    await admin.getByRole('button', { name: 'Save', exact: true }).click();
    await alert.getByText(said).waitFor();
    await alert.getByText(`The gate answered ${status}. Try again`).waitFor();
    await admin.unroute(roles);
  }
  await go('Roles');
  const question = admin.getByRole('alertdialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Leave without saving' }).click();
  const row = panel('List of roles').getByRole('listitem').filter({ hasText: 'Auditor_of_everything_' });
  await row.waitFor();
  await look(admin);
  await row.getByRole('link').click();
  await admin.getByLabel('Description').fill('Deleted with it, without a question');
  await admin.getByRole('button', { name: 'Delete', exact: true }).click();
  await confirm('Delete the role');
  await heading('Roles');
});

test('an organization gets a member with a role, an invitation is sent, and a connection is enabled', async () => {
  await go('Applications');
  await admin.getByRole('link', { name: /Demo Web App/ }).click();
  await admin.getByLabel('Who signs in').selectOption('allow');
  await admin.getByLabel('Application Login URI').fill('https://app.example.com/login');
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await admin.getByText('Saved.').waitFor();

  await go('Organizations');
  await admin.getByRole('link', { name: 'Harbour Ltd' }).waitFor();
  await look(admin);
  await admin.getByRole('button', { name: 'New organization' }).click();
  await admin.getByLabel('Name', { exact: true }).fill('Orchard Inc');
  await admin.getByRole('button', { name: 'Create' }).click();
  await admin.getByText('Not a name').waitFor(); // the API's own words
  await admin.getByLabel('Name', { exact: true }).fill('orchard');
  await admin.getByLabel('Display Name').fill('Orchard Inc');
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Orchard Inc');
  await admin.getByLabel('Primary colour').fill('#7a1fa2');
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await admin.getByText('Saved.').waitFor();
  await look(admin);

  await tab('Members');
  await panel('Members').getByText('There are no members yet.').waitFor();
  await admin.getByLabel('Add a member').fill('alice');
  await admin.getByRole('button', { name: 'Add Alice Example' }).click();
  await admin.getByRole('button', { name: 'Roles of Alice Example' }).click();
  await panel('Members').getByRole('group').getByText('Everybody').click();
  await panel('Members').locator('.tag', { hasText: 'Everybody' }).waitFor();
  await look(admin);

  await tab('Invitations');
  await panel('Invitations').getByText('There are no pending invitations').waitFor();
  await admin.getByLabel('Email', { exact: true }).fill('bob@example.com');
  await admin.getByLabel('Application', { exact: true }).selectOption('Demo Web App'); // the others have no address for invitations
  await admin.getByRole('button', { name: 'Invite' }).click();
  await admin.getByText('https://app.example.com/login?invitation=').waitFor();
  await panel('Invitations').getByText('bob@example.com').waitFor();
  await look(admin);
  await panel('Invitations').getByRole('button', { name: 'Revoke' }).click();
  await confirm('Revoke invitation');
  await panel('Invitations').getByText('There are no pending invitations').waitFor();

  await tab('Connections');
  await admin.getByLabel('Another connection').selectOption('Username-Password-Authentication');
  await admin.getByRole('button', { name: 'Enable' }).click();
  await admin.getByText('Membership On Authentication').click();
  const joins = admin.getByRole('checkbox', { name: /Membership On Authentication/ });
  await until('it is so', async () => joins.isChecked());
  await look(admin);
});

test('a person’s page shows their permissions and where they come from, and removes a second factor', async () => {
  await go('Users');
  await admin.getByRole('link', { name: /Alice Example/ }).click();
  await heading('Alice Example');
  await panel('Roles').getByRole('link', { name: 'Auditor' }).waitFor();
  const another = panel('Roles').getByLabel('Another role');
  expect(await another.locator('option:checked').textContent()).toBe('Choose a role …');
  expect(await panel('Roles').getByRole('button', { name: 'Give' }).isDisabled()).toBe(true);
  await another.selectOption('Organization Admin');
  await panel('Roles').getByRole('button', { name: 'Give' }).click();
  const given = panel('Roles').getByRole('listitem').filter({ hasText: 'Organization Admin' });
  await given.getByRole('button', { name: 'Remove Organization Admin', exact: true }).click();
  await confirm('Remove the role');
  await given.waitFor({ state: 'detached' });
  // It has permissions that the console's application may not use.
  await another.selectOption('Administrator');
  await panel('Roles').getByRole('button', { name: 'Give' }).click();
  await panel('Roles').getByText('This takes permissions that you, or the console, do not have.').waitFor();
  expect(await panel('Roles').getByText('Insufficient scope').isVisible()).toBe(false);
  await look(admin);
  await panel('Roles').getByText('Which', { exact: true }).click();
  await panel('Roles').getByText('Insufficient scope').waitFor();
  await panel('Management API').getByText('from Auditor').waitFor();
  await panel('Organizations').getByRole('link', { name: 'Orchard Inc' }).waitFor();
  await panel('Example API').waitFor({ state: 'detached' });
  await admin.getByLabel('Add permissions of').selectOption('Example API');
  await panel('Example API').getByText('read:things').click();
  await admin.getByRole('button', { name: 'Save permissions' }).click();
  await panel('Example API').getByText('assigned directly').waitFor();
  await look(admin);

  const factors = panel('Second factors and passkeys');
  await factors.getByText('Her telephone').waitFor();
  const rows = factors.getByRole('listitem');
  const telephone = rows.filter({ hasText: 'Her telephone' });
  await telephone.getByRole('button', { name: 'Remove' }).click();
  await look(admin);
  await confirm('Remove it');
  await until('one is left', async () => (await rows.count()) === 1);
  await factors.getByRole('button', { name: 'Forget remembered browsers' }).click();
  await factors.getByText('The user is asked again in every browser.').waitFor();
  await factors.getByRole('button', { name: 'Remove all' }).click();
  await confirm('Remove all of them');
  await factors.getByText('None are set up.').waitFor();

  // All of a person's sessions at once.
  for (let browsers = 0; browsers < 2; browsers += 1) {
    const page = await openPage();
    await signIn(page, console);
    await page.context().close();
  }
  await admin.reload();
  await panel('Devices').getByRole('button', { name: 'Revoke all devices' }).click();
  await confirm('Revoke access');
  await panel('Devices').getByText('No application has a refresh token').waitFor();
  await panel('Sessions').getByRole('button', { name: 'End all sessions' }).click();
  await confirm('End sessions');
  await panel('Sessions').getByText('There are no sessions').waitFor();
});

test('second factors are switched on, and an API starts to require permissions', async () => {
  await go('Multi-factor');
  await admin.getByText('One-time Password').click();
  const otp = admin.getByRole('checkbox', { name: /One-time Password/ });
  await until('it is on', async () => (await otp.isChecked()) && (await otp.isEnabled()));
  await admin.getByText('Always: everybody sets one up').click();
  await until('everybody is asked', async () => admin.getByRole('radio', { name: /^Always/ }).isChecked());
  await look(admin);
  const someone = await openPage();
  await someone.goto(console);
  await fillInLogin(someone, 'alice@example.com');
  await someone.getByText('Set up your authenticator app').waitFor();
  await admin.getByText('If a user has set one up').click();
  await until('no longer', async () => admin.getByRole('radio', { name: /^If a user has set/ }).isChecked());

  await go('APIs');
  await admin.getByRole('link', { name: /Example API/ }).click();
  await admin.getByText('Enable RBAC').click();
  await admin.getByText('Add Permissions in the Access Token').click();
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await admin.getByText('Saved.').waitFor();
  await admin.reload();
  await until('it is kept', async () => admin.getByRole('checkbox', { name: /Enable RBAC/ }).isChecked());
  expect(await admin.getByRole('checkbox', { name: /Add Permissions/ }).isChecked()).toBe(true);
  await look(admin);
});

test('an action is written, tried, deployed and bound to a trigger', async () => {
  await go('Actions');
  await panel('Library').getByText('There are no actions yet').waitFor();
  await look(admin);
  await admin.getByRole('button', { name: 'New action' }).click();
  await admin.getByRole('form', { name: 'New action' }).getByLabel('Name').fill('Says where');
  await admin.getByRole('button', { name: 'Create' }).click();
  await heading('Says where');
  await admin
    .getByLabel('Code')
    .fill(
      "exports.onExecutePostLogin = async (event, api) => api.idToken.setCustomClaim('where', event.secrets.where);",
    );
  await admin.getByRole('button', { name: 'Add a secret' }).click();
  await admin.getByLabel('Secret name').fill('where');
  await admin.getByLabel('Value').fill('in the console');
  await look(admin);
  await admin.getByRole('button', { name: 'Save draft' }).click();
  await admin.getByText('Saved.').waitFor();
  await admin.getByRole('button', { name: 'Run', exact: true }).click();
  await admin.getByRole('log', { name: 'Result' }).getByText('where').waitFor();
  await admin.getByRole('button', { name: 'Deploy', exact: true }).click();
  await admin.getByText('deployed', { exact: true }).first().waitFor();
  await panel('Versions').getByText('Version 1').waitFor();
  await panel('Versions').getByText('deployed', { exact: true }).waitFor();
  const unbound = admin.getByText('It does not run yet');
  await unbound.waitFor();
  await look(admin);
  await unbound.getByRole('link', { name: 'add it to “Login / Post Login”' }).click();
  const flow = panel('Login / Post Login');
  await flow.getByRole('button', { name: 'Add action' }).click();
  await flow.getByRole('link', { name: 'Says where' }).waitFor();
  await look(admin);

  // A failing run: the log says what and why, and the run can be found.
  await flow.getByRole('link', { name: 'Says where' }).click();
  await admin.getByLabel('Code').fill("exports.onExecutePostLogin = async () => { throw new Error('out of order') };");
  const question = admin.getByRole('alertdialog', { name: 'Leave without saving?' });
  await go('Log');
  await question.getByRole('button', { name: 'Stay here' }).click();
  await admin.getByRole('button', { name: 'Run', exact: true }).click();
  const result = admin.getByRole('log', { name: 'Result' });
  await result.getByText('where').waitFor(); // of the saved draft
  await admin.getByRole('button', { name: 'Save draft' }).click();
  await admin.getByText('undeployed changes').waitFor();
  await result.waitFor({ state: 'detached' });
  const code = await admin.getByLabel('Code').inputValue();
  await admin.getByLabel('Code').fill('exports.onExecutePostLogin = async (');
  await admin.getByRole('button', { name: 'Save draft' }).click();
  await admin.getByText('Saved.').waitFor();
  await admin.getByRole('button', { name: 'Deploy', exact: true }).click();
  const alert = admin.getByRole('form', { name: 'Draft' }).getByRole('alert');
  await alert.getByText('SyntaxError').waitFor();
  expect(await admin.getByText('Saved.').count()).toBe(0);
  await admin.getByLabel('Code').fill(code);
  await alert.waitFor({ state: 'detached' });
  await admin.getByRole('button', { name: 'Save draft' }).click();
  await admin.getByText('Saved.').waitFor();
  await admin.getByRole('button', { name: 'Deploy', exact: true }).click();
  await panel('Versions').getByText('Version 2').waitFor();
  expect(await unbound.count()).toBe(0);
  const someone = await openPage();
  await someone.goto(console);
  await fillInLogin(someone, 'alice@example.com');
  await go('Log');
  const entry = panel('Entries').getByRole('listitem').filter({ hasText: 'Says where: it threw an error' }).first();
  await entry.locator('summary').first().click();
  await entry.getByText('Action execution', { exact: true }).click();
  await entry.getByRole('listitem').getByText('out of order').waitFor();
  await look(admin);
  await someone.context().close();
  await go('Actions');
  await flow.getByRole('button', { name: 'Remove: Says where' }).click();
  await flow.getByText('No actions run here.').waitFor();
});

test('the number of wrong passwords that pause an account is set', async () => {
  await go('Attack protection');
  const force = panel('Brute-force protection');
  await force.getByLabel('IP AllowList').fill('192.0.2.1\nnowhere');
  await force.getByLabel('Maximum attempts').fill('5');
  await force.getByRole('button', { name: 'Save' }).click();
  await force.getByText('Not an IP address').waitFor(); // the API's own words
  const most = force.getByLabel('Maximum attempts');
  const isRefused = () =>
    most.evaluate((field) => field === document.activeElement && field.matches(':invalid, [aria-invalid=true]'));
  for (const typed of ['', '0']) {
    await force.getByLabel('IP AllowList').fill('192.0.2.1');
    await most.fill(typed);
    await force.getByRole('button', { name: 'Save' }).click();
    await until('it is wrong, and has the focus', isRefused);
    expect(await force.getByRole('alert').count()).toBe(0);
  }
  await most.fill('5');
  await force.getByLabel('IP AllowList').fill('192.0.2.1\n198.51.100.0/24');
  await force.getByRole('button', { name: 'Save' }).click();
  await force.getByText('Saved.').waitFor();
  await look(admin);
  await go('Multi-factor');
  await go('Attack protection');
  await until('it is kept', async () => (await force.getByLabel('Maximum attempts').inputValue()) === '5');
});

test('the response to breached passwords is set, and who must solve a challenge when', async () => {
  await go('Attack protection');
  const breached = panel('Breached password detection');
  await breached.getByText('Enabled', { exact: true }).click();
  await breached.getByRole('button', { name: 'Save' }).click();
  await breached.getByText('until BREACHED_PASSWORDS says where').waitFor(); // the API's own words
  await breached.getByText('Enabled', { exact: true }).click();
  await breached.getByRole('group', { name: 'At password change' }).getByText('Refuse the password').click();
  await breached.getByRole('button', { name: 'Save' }).click();
  await breached.getByText('Saved.').waitFor();

  const bots = panel('Bot detection');
  await bots.getByLabel('Before sending a password reset email').selectOption('always');
  await bots.getByLabel('Risky after').selectOption('high');
  await bots.getByRole('button', { name: 'Save' }).click();
  await bots.getByText('Saved.').waitFor();
  const asked = await fetch(`${issuer}dbconnections/change_password/challenge`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'demo-web' }),
  });
  expect(await asked.json()).toMatchObject({ required: true });
  await look(admin);
  await go('Multi-factor');
  await go('Attack protection');
  await until('it is kept', async () => (await bots.getByLabel('Risky after').inputValue()) === 'high');
  const refuses = breached.getByRole('group', { name: 'At password change' }).getByRole('checkbox').first();
  expect(await refuses.isChecked()).toBe(true);
});

test('an email is written in one’s own words, and previewed before people get it', async () => {
  await go('Email templates');
  const mail = admin.frameLocator('iframe.preview');
  await mail.getByText('Confirm your email address').first().waitFor(); // ours
  await look(admin);
  await admin.getByLabel('Subject').fill('Welcome, {{ user.given_name }}');
  await admin.getByLabel('Message').fill('<p>Dear {{ user.name }}, <a href="{{ url }}">come in</a></p>');
  await mail.getByText('Dear Jane Example').waitFor();
  await panel('Preview').getByText('Welcome, Jane').waitFor();
  await admin.getByLabel('Message').fill('<script>alert(1)</script>');
  await panel('Preview').getByText('The API refused the request').waitFor(); // what is wrong with it
  await admin.getByLabel('Message').fill('<p>Dear {{ user.name }}</p>');
  await admin.getByLabel('Template', { exact: true }).selectOption('Welcome Email');
  await admin.getByRole('alertdialog').getByRole('button', { name: 'Stay here' }).click();
  expect(await admin.getByLabel('Message').inputValue()).toContain('Dear');
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await admin.getByText('Saved. The next email').waitFor();
  await admin.getByLabel('Template', { exact: true }).selectOption('Sign-in by Code');
  await mail.getByText('314159').waitFor();
  // Only the fields that a mail heeds, each with its own default.
  const fields = ['Redirect To', 'URL Lifetime', 'Include email address'];
  const shown = async () => (await Promise.all(fields.map((label) => admin.getByLabel(label).count()))).join(' ');
  for (const [template, wanted, lifetime] of [
    ['Sign-in by Code', '0 0 0', undefined],
    ['Welcome Email', '1 0 0', undefined],
    ['Change Password (using Link)', '1 1 1', 'an hour'],
    ['User Invitation', '0 1 0', 'a week'],
    ['Blocked Account Email', '1 1 1', 'an hour'],
    ['Verification Email (using Link)', '1 1 1', 'five days'],
  ] as const) {
    await admin.getByLabel('Template', { exact: true }).selectOption(template);
    await until(`the fields of ${template}`, async () => (await shown()) === wanted);
    if (lifetime) await admin.getByText(`Leave empty for ${lifetime}.`).waitFor();
  }
  await until('it is kept', async () => (await admin.getByLabel('Message').inputValue()).includes('Dear'));
});

test('saving an email template keeps what somebody else changed in it meanwhile, also where there was none', async () => {
  const path = 'email-templates/verify_email';
  await admin.goto(`${console}gate/email-templates?template=verify_email`);
  const saved = async (subject: string) => {
    await admin.getByLabel('Subject').fill(subject);
    await admin.getByRole('button', { name: 'Save', exact: true }).click();
    await admin.getByText('Saved. The next email').waitFor();
  };
  await admin.getByLabel('Subject').waitFor();
  await manage('PATCH', path, { from: 'them@example.com' });
  await saved('Ours');
  expect(await manage('GET', path)).toMatchObject({ from: 'them@example.com', subject: 'Ours' });
  expect(await admin.getByLabel('From').inputValue()).toBe('them@example.com');

  await admin.goto(`${console}gate/email-templates?template=blocked_account`);
  await admin.getByLabel('Subject').waitFor();
  await manage('POST', 'email-templates', { template: 'blocked_account', body: '<p>Theirs</p>', syntax: 'liquid' });
  await saved('Also ours');
  const both = { body: '<p>Theirs</p>', subject: 'Also ours' };
  expect(await manage('GET', 'email-templates/blocked_account')).toMatchObject(both);
});

test('saving permissions gives none back that somebody else took meanwhile', async () => {
  const identifier = 'https://pears.example/';
  const scopes = ['pick:pears', 'sell:pears', 'eat:pears'].map((value) => ({ value }));
  await manage('POST', 'resource-servers', { name: 'Pears', identifier, scopes });
  const { id } = await manage<{ id: string }>('POST', 'roles', { name: 'Gardener' });
  const change = (method: 'POST' | 'DELETE', names: string[]) =>
    manage(method, `roles/${id}/permissions`, {
      permissions: names.map((permission_name) => ({ resource_server_identifier: identifier, permission_name })),
    });
  await change('POST', ['pick:pears', 'sell:pears']);
  await admin.goto(`${console}gate/roles/${id}`);
  const pears = panel('Pears');
  await pears.getByRole('button', { name: 'Change' }).click();
  await change('DELETE', ['sell:pears']);
  const comeBack = () => admin.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await until('it is read again', async () => {
    await comeBack();
    return pears.getByText('1 permission', { exact: true }).isVisible();
  });

  await pears.getByText('eat:pears').click();
  await admin.getByRole('button', { name: 'Save permissions' }).click();
  await pears.getByText('2 permissions').waitFor();
  expect((await pears.getByRole('code').allTextContents()).sort()).toEqual(['eat:pears', 'pick:pears']);
});

test('“All” and “None” change the scopes of a machine that are shown, and saving gives none back that was taken meanwhile', async () => {
  const audience = 'https://grapes.example/';
  const presses = Array.from({ length: 11 }, (_, index) => `press:grapes${index}`);
  const scopes = ['pick:grapes', 'sell:grapes', 'eat:grapes', ...presses].map((value) => ({ value }));
  const grapes = { name: 'Grapes', identifier: audience, scopes };
  const { id } = await manage<{ id: string }>('POST', 'resource-servers', grapes);
  const machine = { name: 'Vintner', app_type: 'non_interactive' };
  const { client_id } = await manage<{ client_id: string }>('POST', 'clients', machine);
  const given = { client_id, audience, scope: ['pick:grapes', 'sell:grapes'] };
  const { id: grantId } = await manage<{ id: string }>('POST', 'client-grants', given);
  const change = (scope: string[]) => manage('PATCH', `client-grants/${grantId}`, { scope });
  await admin.goto(`${console}gate/apis/${id}`);
  const vintner = panel('Vintner');
  const chosen = async () => (await vintner.locator('label:has(:checked) code').allTextContents()).sort().join(' ');
  await vintner.getByRole('button', { name: 'Change' }).click();
  await vintner.getByLabel('Find a scope').fill('press:grapes1');
  await vintner.getByRole('button', { name: 'All', exact: true }).click();
  await look(admin);
  await vintner.getByLabel('Find a scope').fill('');
  expect(await chosen()).toBe('pick:grapes press:grapes1 press:grapes10 sell:grapes');
  await vintner.getByLabel('Find a scope').fill('press:grapes10');
  await vintner.getByRole('button', { name: 'None', exact: true }).click();
  await vintner.getByLabel('Find a scope').fill('');
  expect(await chosen()).toBe('pick:grapes press:grapes1 sell:grapes');

  // What is chosen stays when the list cannot be read again, and is not left without a question.
  const grants = `${issuer}api/v2/client-grants?**`;
  await admin.route(grants, (route) => route.abort());
  await until('it is not read', async () => {
    await admin.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    return admin.getByText('The gate is not responding. What you see may be out of date').isVisible();
  });
  await admin.unroute(grants);
  expect(await chosen()).toBe('pick:grapes press:grapes1 sell:grapes');
  await go('Roles');
  await admin.getByRole('alertdialog').getByRole('button', { name: 'Stay here' }).click();

  await change(['sell:grapes', 'eat:grapes']);
  await vintner.getByRole('button', { name: 'Save' }).click();
  await vintner.getByText('3 of 14 scopes').waitFor();
  const { scope } = await manage<{ scope: string[] }>('GET', `client-grants/${grantId}`);
  expect(scope.sort()).toEqual(['eat:grapes', 'press:grapes1', 'sell:grapes']);
  await go('Roles');
  await heading('Roles');
});

test('permissions of one API stay selected while those of another are added', async () => {
  const { id } = await manage<{ id: string }>('POST', 'roles', { name: 'Librarian' });
  await admin.goto(`${console}gate/roles/${id}`);
  await admin.getByLabel('Add permissions of').selectOption('Example API');
  await panel('Example API').getByText('read:things').click();
  await admin.getByLabel('Add permissions of').selectOption('Pears');
  await panel('Pears').getByText('pick:pears').waitFor();
  expect(
    await panel('Example API')
      .getByRole('checkbox', { name: /read:things/ })
      .isChecked(),
  ).toBe(true);
});

test('saving settings keeps what somebody else changed in them meanwhile', async () => {
  const api = { name: 'Plums', identifier: 'https://plums.example/' };
  const { id: apiId } = await manage<{ id: string }>('POST', 'resource-servers', api);
  const { id: roleId } = await manage<{ id: string }>('POST', 'roles', { name: 'Picker' });
  const plums = { name: 'plums', display_name: 'Plums' };
  const { id: organizationId } = await manage<{ id: string }>('POST', 'organizations', plums);
  const icon = 'https://plums.example/icon.svg';
  type Case = { at: string; path: string; theirs: object; label: string; text: string; after: object; within?: string };
  const cases: Case[] = [
    {
      at: `apis/${apiId}`,
      path: `resource-servers/${apiId}`,
      theirs: { enforce_policies: true, token_lifetime: 600 },
      label: 'Name',
      text: 'Plums Ltd',
      after: { enforce_policies: true, token_lifetime: 600, name: 'Plums Ltd' },
    },
    {
      at: `roles/${roleId}`,
      path: `roles/${roleId}`,
      theirs: { is_default: true },
      label: 'Description',
      text: 'Picks plums',
      after: { is_default: true, name: 'Picker', description: 'Picks plums' },
    },
    {
      at: `organizations/${organizationId}`,
      path: `organizations/${organizationId}`,
      theirs: { display_name: 'Plums Ltd', branding: { colors: { primary: '#123456' } } },
      label: 'Logo',
      text: icon,
      after: { display_name: 'Plums Ltd', branding: { colors: { primary: '#123456' }, logo_url: icon } },
    },
    {
      at: 'attack-protection',
      path: 'attack-protection/suspicious-ip-throttling',
      theirs: { shields: ['admin_notification'], stage: { 'pre-login': { max_attempts: 7 } } },
      within: 'Suspicious IP throttling',
      label: 'Sign-ups: maximum at once',
      text: '8',
      after: {
        shields: ['admin_notification'],
        stage: { 'pre-login': { max_attempts: 7 }, 'pre-user-registration': { max_attempts: 8 } },
      },
    },
    {
      at: 'sign-in-page',
      path: 'branding',
      theirs: { colors: { primary: '#123456' } },
      label: 'Favicon',
      text: icon,
      after: { colors: { primary: '#123456' }, favicon_url: icon },
    },
  ];
  for (const { at, path, theirs, label, text, after, within } of cases) {
    await admin.goto(`${console}gate/${at}`);
    const form = within === undefined ? admin.locator('#content') : panel(within);
    const field = form.getByLabel(label, { exact: true });
    await field.waitFor();
    await manage('PATCH', path, theirs);
    await field.fill(text);
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByText('Saved.').waitFor();
    expect(await manage('GET', path)).toMatchObject(after);
  }
  await admin.goto(`${console}gate/attack-protection`);
  const throttling = panel('Suspicious IP throttling');
  const sign = throttling.getByLabel('Failed sign-ins: maximum at once');
  await until('theirs', async () => (await sign.inputValue()) === '7');
  await manage('PATCH', 'attack-protection/suspicious-ip-throttling', { stage: { 'pre-login': { max_attempts: 9 } } });
  await throttling.getByRole('button', { name: 'Save' }).click();
  await throttling.getByText('Saved.').waitFor();
  expect(await sign.inputValue()).toBe('9');
});

test('what is typed while settings are being saved stays, and is saved next', async () => {
  const { id } = await manage<{ id: string }>('POST', 'roles', { name: 'Typist' });
  await admin.goto(`${console}gate/roles/${id}`);
  const [name, description] = [admin.getByLabel('Name'), admin.getByLabel('Description')];
  const answer = Promise.withResolvers<void>();
  const path = `${issuer}api/v2/roles/${id}`;
  await admin.route(path, async (route) => {
    if (route.request().method() === 'PATCH') await answer.promise;
    await route.continue();
  });
  await description.fill('Types');
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await admin.getByRole('button', { name: 'Saving …' }).waitFor();
  await name.fill('Fast typist');
  const answered = admin.waitForResponse((response) => response.request().method() === 'PATCH');
  answer.resolve();
  await answered;
  await heading('Typist'); // it is read again
  expect(await name.inputValue()).toBe('Fast typist');
  await admin.getByRole('button', { name: 'Save', exact: true }).click();
  await heading('Fast typist');
  expect(await manage('GET', `roles/${id}`)).toMatchObject({ name: 'Fast typist', description: 'Types' });
  await admin.unroute(path);
});

test('changing a scope or an option of a connection keeps what somebody else changed meanwhile', async () => {
  const pick = { value: 'pick:figs' };
  const figs = { name: 'Figs', identifier: 'https://figs.example/', scopes: [pick] };
  const { id: apiId } = await manage<{ id: string }>('POST', 'resource-servers', figs);
  await admin.goto(`${console}gate/apis/${apiId}`);
  await panel('Scopes').getByText('pick:figs').waitFor();
  await manage('PATCH', `resource-servers/${apiId}`, { scopes: [pick, { value: 'sell:figs' }] });
  await admin.getByLabel('Scope', { exact: true }).fill('eat:figs');
  await admin.getByRole('button', { name: 'Add', exact: true }).click();
  await panel('Scopes').getByText('eat:figs').waitFor();
  const { scopes } = await manage<{ scopes: { value: string }[] }>('GET', `resource-servers/${apiId}`);
  expect(scopes.map(({ value }) => value).sort()).toEqual(['eat:figs', 'pick:figs', 'sell:figs']);

  const options = { client_id: 'gatepost', client_secret: 'a secret of figs', scope: 'openid' };
  const discovery_url = 'https://figs.example/.well-known/openid-configuration';
  const made = { name: 'figs', strategy: 'oidc', options: { ...options, discovery_url } };
  const { id } = await manage<{ id: string }>('POST', 'connections', made);
  await admin.goto(`${console}gate/connections`);
  await panel('figs').getByRole('button', { name: 'Settings' }).click();
  const theirs = { ...options, client_id: 'another', discovery_url, set_user_root_attributes: 'on_first_login' };
  await manage('PATCH', `connections/${id}`, { display_name: 'Figs Ltd', options: theirs });
  await panel('figs').getByLabel('Scope').fill('openid profile');
  await panel('figs').getByRole('button', { name: 'Save' }).click();
  await panel('figs').getByText('Saved.').waitFor();
  expect(await manage('GET', `connections/${id}`)).toMatchObject({
    display_name: 'Figs Ltd',
    options: { client_id: 'another', scope: 'openid profile', set_user_root_attributes: 'on_first_login' },
  });
  expect(await panel('figs').getByLabel('Client ID').inputValue()).toBe('another');
});

test('refresh tokens without an end get one when a lifetime is set, or that they expire', async () => {
  const endless = { infinite_token_lifetime: true, token_lifetime: 31_557_600, idle_token_lifetime: 1_200 };
  const made = { name: 'Endless', app_type: 'regular_web', refresh_token: { expiration_type: 'expiring', ...endless } };
  const { client_id: id } = await manage<{ client_id: string }>('POST', 'clients', made);
  const saved = async () => {
    await admin.getByRole('button', { name: 'Save', exact: true }).click();
    await admin.getByText('Saved.').waitFor();
    return (await manage<{ refresh_token: object }>('GET', `clients/${id}`)).refresh_token;
  };
  await admin.goto(`${console}gate/applications/${id}`);
  const lifetime = admin.getByLabel('Maximum Refresh Token Lifetime');
  await admin.getByText('After the sign-in. Not limited now').waitFor();
  expect(await lifetime.inputValue()).toBe('');
  await admin.getByLabel('Rotation Overlap Period').fill('5');
  expect(await saved()).toMatchObject({ ...endless, leeway: 5 });
  await lifetime.fill('3600');
  const limited = await saved();
  expect(limited).toMatchObject({ token_lifetime: 3_600, idle_token_lifetime: 1_200 });
  expect(limited).not.toMatchObject({ infinite_token_lifetime: true });

  const never = { expiration_type: 'expiring', ...endless, infinite_idle_token_lifetime: true };
  await manage('PATCH', `clients/${id}`, { refresh_token: never });
  await admin.reload();
  const expires = admin.getByRole('checkbox', { name: 'Refresh tokens expire' });
  await expires.waitFor({ state: 'attached' });
  expect(await expires.isChecked()).toBe(false);
  await admin.getByText('Refresh tokens expire').click();
  expect(await lifetime.inputValue()).toBe('31557600');
  const ending = await saved();
  expect(ending).toMatchObject({ expiration_type: 'expiring', token_lifetime: 31_557_600 });
  expect(JSON.stringify(ending)).not.toContain('true');
});

test('a password reset link is for the identity that has a password', async () => {
  type Made = { user_id: string };
  const person = { connection: 'email', email: 'first@example.com', email_verified: true };
  const { user_id: first } = await manage<Made>('POST', 'users', person);
  const password = 'a few unrelated words';
  const other = { connection: 'Username-Password-Authentication', email: 'second@example.com', password };
  const { user_id: second } = await manage<Made>('POST', 'users', other);
  const identity = { provider: 'auth0', user_id: second.split('|')[1]! };
  await manage('POST', `users/${encodeURIComponent(first)}/identities`, identity);
  await admin.goto(`${console}gate/users/${encodeURIComponent(first)}`);
  await admin.getByRole('button', { name: 'Create a password reset link' }).click();
  const link = await panel('Profile').getByRole('status').locator('code').textContent();
  const someone = await openPage();
  await someone.goto(link!);
  await someone.getByText('second@example.com').first().waitFor();
  await someone.context().close();
});

test('saving the sign-in page keeps a template that somebody else saved meanwhile', async () => {
  const path = 'branding/templates/universal-login';
  const template = '<!DOCTYPE html><html><head>{%- auth0:head -%}</head><body>{%- auth0:widget -%}</body></html>';
  await go('Sign-in page');
  const colour = admin.getByLabel('Primary colour', { exact: true });
  await colour.waitFor();
  await manage('PUT', path, { template });
  for (const one of ['#7a1fa2', '#0d5f50']) {
    await colour.fill(one);
    await admin.getByRole('button', { name: 'Save', exact: true }).click();
    await admin.getByText('Saved. Users see it now.').waitFor(); // and everything is read again
  }
  expect(await manage('GET', path)).toEqual({ body: template });
  await manage('DELETE', path);
});

test('what a button has changed in a form is not lost without a question', async () => {
  const question = admin.getByRole('alertdialog', { name: 'Leave without saving?' });
  const leave = async () => {
    await go('Roles');
    await question.getByRole('button', { name: 'Leave without saving' }).click();
    await heading('Roles');
  };
  await go('Sign-in page');
  await admin.getByRole('button', { name: 'Reset' }).click();
  await confirm('Clear all fields');
  await leave();
  const code = 'exports.onExecutePostLogin = async () => {};';
  const secrets = [{ name: 'kept', value: 'for now' }];
  const supported_triggers = [{ id: 'post-login', version: 'v3' }];
  const made = { name: 'Keeper', code, secrets, supported_triggers };
  const { id } = await manage<{ id: string }>('POST', 'actions/actions', made);
  await admin.goto(`${console}gate/actions/${id}`);
  await admin.getByRole('button', { name: 'Remove', exact: true }).click();
  await leave();
});

test('saving secrets of an action keeps code that somebody else saved meanwhile', async () => {
  const [first, second] = ['first', 'second'].map((text) => `exports.onExecutePostLogin = async () => {}; // ${text}`);
  const supported_triggers = [{ id: 'post-login', version: 'v3' }];
  const made = { name: 'Together', code: first, supported_triggers };
  const { id } = await manage<{ id: string }>('POST', 'actions/actions', made);
  await admin.goto(`${console}gate/actions/${id}`);
  const code = admin.getByLabel('Code');
  await until('its code', async () => (await code.inputValue()) === first);
  await manage('PATCH', `actions/actions/${id}`, { code: second! });
  await admin.getByRole('button', { name: 'Add a secret' }).click();
  await admin.getByLabel('Secret name').fill('where');
  await admin.getByLabel('Value').fill('in the console');
  await admin.getByRole('button', { name: 'Save draft' }).click();
  await admin.getByText('Saved.').waitFor();
  expect(await code.inputValue()).toBe(second);
  const saved = { code: second, secrets: [{ name: 'where' }] };
  expect(await manage('GET', `actions/actions/${id}`)).toMatchObject(saved);
});

test('a person with read access is offered nothing that the API would refuse', async () => {
  const alice = await openPage({ viewport: { width: 1440, height: 900 } });
  const refused: string[] = [];
  alice.on('response', (response) => {
    const isRead = response.request().method() === 'GET';
    if (response.url().includes('/api/v2/') && (!isRead || response.status() === 403))
      refused.push(`${response.request().method()} ${response.url()} ${response.status()}`);
  });
  alice.on('pageerror', (error) => complaints.push(error.message));
  const hers = partsOf(alice);
  await signIn(alice, console);
  const main = alice.getByRole('navigation', { name: 'Main' });
  await main.getByRole('link', { name: 'Applications', exact: true }).waitFor();
  const names = await main.getByRole('list', { name: 'The gate' }).getByRole('link').allTextContents();
  expect(names).toEqual(expect.arrayContaining(['Users', 'Roles', 'Organizations', 'Multi-factor', 'Tenant settings']));
  const seen: Record<string, string[]> = {};
  const check = async (name: string) => {
    await until(`${name} is read`, async () => (await alice.getByText(/^Loading /).count()) === 0);
    const offered = await alice.locator('#content').evaluate((content) => [
      ...[...content.querySelectorAll('button:not(:disabled), a.button')]
        .filter((button) => !button.closest('.filters, .tabs'))
        .map((button) => button.textContent),
      // Search and filter fields are not form fields.
      ...[...content.querySelectorAll('form :is(input, textarea, select):not(:disabled)')].map(
        (field) => field.outerHTML,
      ),
    ]);
    const deeds = offered.filter((text) => !/^(Copy.*|Next|Previous|Older)$/.test(text));
    if (deeds.length > 0) seen[name] = deeds;
  };
  for (const name of names) {
    await hers.go(name);
    await hers.heading(name);
    await check(name);
  }
  const details: [string, RegExp, string[]][] = [
    ['Applications', /Demo Web App/, ['Quick start', 'Credentials', 'APIs', 'Try sign-in']],
    ['APIs', /Example API/, []],
    ['APIs', /Management API/, []],
    ['Users', /Ada Administrator/, []],
    ['Roles', /Auditor/, []],
    ['Actions', /Says where/, []],
    ['Organizations', /Orchard Inc/, ['Members', 'Invitations', 'Connections']],
  ];
  for (const [list, row, tabs] of details) {
    await hers.go(list);
    await alice.locator('.rows').getByRole('link', { name: row }).first().click();
    await hers.heading(row);
    await check(`${list} ${row.source}`);
    await look(alice);
    for (const name of tabs) {
      await tab(name, alice);
      await check(`${list} ${row.source} ${name}`);
    }
  }
  expect(seen).toEqual({});
  expect(refused).toEqual([]);
  expect(complaints).toEqual([]);
});

test('an API with more machines than it shows says so', async () => {
  for (let made = 0; made < 51; made += 1)
    await manage('POST', 'clients', { name: `Machine ${made}`, app_type: 'non_interactive' });
  await go('APIs');
  await admin.getByRole('link', { name: /Example API/ }).click();
  await admin.getByText('Only the first 50 are shown').waitFor();
  await admin.getByLabel('Find an application').fill('Machine 5');
  await panel('Machine 50').waitFor();
  await admin.getByText('Only the first 50 are shown').waitFor({ state: 'detached' });
  await admin.getByLabel('Find an application').fill('no such machine');
  await admin.getByText('No applications match').waitFor();
  expect(complaints).toEqual([]);
});
