/** `/account` over HTTP, in a browser without JavaScript: people see to their own account. */
import { setImmediate } from 'node:timers/promises';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { TOTP } from 'otpauth';
import { hashPassword } from '../src/accounts/password.ts';
import { networkOf } from '../src/http/network.ts';
import { ageSessions } from './aged.ts';
import { openGate } from './gate.ts';
import { alice, bob, seed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const people = 'carol dave erin frank grace heidi ivan judy mallory niaj olivia kate peggy rupert trent wendy'
  .split(' ')
  .map((name) => ({
    ...alice,
    user_id: `auth0|${name}`,
    email: `${name}@example.com`,
    nickname: name,
    name,
    phone_number: undefined,
  }));
const gate = stack.use(
  await openGate({
    ...seed,
    users: [alice, bob, ...people],
    settings: { ...seed.settings, guardian_factors: ['otp', 'email'] },
  }),
);
const { pool: db } = gate;

const request = {
  client_id: 'third',
  redirect_uri: 'https://app.example/cb',
  response_type: 'code',
  scope: 'openid profile offline_access',
};
const agent = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

/** Comes to a page below `/account`, by way of the sign-in. */
async function visit(
  who: string,
  path = 'account',
  browser = new Browser(gate),
): Promise<{ browser: Browser; page: Page }> {
  return { browser, page: await browser.logIn(await browser.get(path, agent), `${who}@example.com`) };
}
const titleOf = ({ html }: Page) => /<h1>(.*?)<\/h1>/.exec(html)?.[1];
const noticeIn = ({ html }: Page) => /role="status">(.*?)<\/p>/.exec(html)?.[1];
const problemIn = ({ html }: Page) =>
  /role="alert"[\s\S]*?<div>([\s\S]*?)<\/div>/
    .exec(html)?.[1]
    ?.replace(/<[^>]+>/g, '')
    .trim();
const formWith = (page: Page, fields: Record<string, string>) => {
  const index = page.forms.findIndex((form) =>
    Object.entries(fields).every(([key, value]) => form.fields[key] === value),
  );
  expect(index).toBeGreaterThanOrEqual(0);
  return index;
};
const logsOf = async (who: string) =>
  (
    await db.query("SELECT type, details ->> 'operation' AS operation FROM logs WHERE user_id = $1 ORDER BY id", [
      `auth0|${who}`,
    ])
  ).rows.map(({ type, operation }) => operation ?? type);
/** The newest code that was sent there. */
const codeIn = async (to: string) =>
  until(`a code for ${to}`, async () => {
    const mail = (await gate.outbox()).findLast((each) => each.includes(to) && /code is \d{6}/.test(each));
    return mail && /code is (\d{6})/.exec(mail)![1];
  });

/** What a mail says of a change of that account, to the address that it had. */
const noticeOf = async (to: string, subject: string) =>
  until(`"${subject}" to ${to}`, async () => {
    return (await gate.mails(to)).find((mail) => mail.subject === subject)?.text;
  });

test('a visitor who is not signed in signs in first, and then reaches the page that they wanted', async () => {
  const { browser, page } = await visit('alice', 'account/devices');
  expect(titleOf(page)).toBe('Your devices');
  const overview = await browser.get('account');
  expect(overview.html).toContain('Signed in as <bdi>alice@example.com</bdi>');
  const paths = [...overview.html.matchAll(/<li><a href="(\/account\/[\w-]+)"/g)].map(([, path]) => path!);
  for (const path of paths) expect([path, (await browser.get(path.slice(1))).status]).toEqual([path, 200]);
  // Whoever signs out is asked again.
  await browser.get('v2/logout');
  expect(titleOf(await browser.get('account'))).toBe('Sign in');
});

describe('the profile', () => {
  test('can be changed where the tenant allows it, and nothing else can', async () => {
    const { browser, page } = await visit('carol', 'account/profile');
    const saved = await browser.submit(page, {
      name: ' Carol Example ',
      nickname: '',
      picture: 'https://pictures.example.com/carol.png',
      app_metadata: '{"admin":true}',
      email: 'mallory@example.com',
      email_verified: 'true',
      blocked: 'false',
    });
    expect([titleOf(saved), noticeIn(saved)]).toEqual(['Profile', 'Saved.']);
    const { rows } = await db.query("SELECT * FROM accounts WHERE user_id = 'auth0|carol'");
    expect(rows[0]).toMatchObject({
      name: 'Carol Example',
      nickname: null,
      picture: 'https://pictures.example.com/carol.png',
      email: 'carol@example.com',
      app_metadata: {},
    });
    const typed = { name: 'Carol <b>', given_name: '', picture: 'javascript:alert(1)' };
    const refused = await browser.submit(saved, typed);
    expect([refused.status, problemIn(refused)]).toEqual([400, 'Enter a URL that begins with https://.']);
    // Nothing of it is stored, and nothing is to be typed again.
    expect(refused.forms[0]!.fields).toMatchObject(typed);
    expect((await browser.get('account/profile')).forms[0]!.fields).toMatchObject({ name: 'Carol Example' });
  });

  test('gets a new address once the code that was mailed to it is entered', async () => {
    const { browser, page } = await visit('dave', 'account/email');
    const mistyped = await browser.submit(page, { email: 'dave.elsewhere.example' });
    expect(problemIn(mistyped)).toBe('Enter an email address such as name@example.com.');
    expect(mistyped.forms[0]!.fields).toMatchObject({ email: 'dave.elsewhere.example' });
    const asked = await browser.submit(mistyped, { email: 'dave@elsewhere.example' });
    expect(asked.html).toContain('<bdi>dave@elsewhere.example</bdi>');
    expect(noticeIn(asked)).toBeUndefined();
    const first = await codeIn('dave@elsewhere.example');
    const again = await browser.submit(asked, { action: 'resend' });
    expect(noticeIn(again)).toBe('We have sent a new code. Earlier codes no longer work.');
    await until('another code', async () => (await codeIn('dave@elsewhere.example')) !== first);
    const code = await codeIn('dave@elsewhere.example');
    const wrong = await browser.submit(asked, { code: code === '000000' ? '000001' : '000000' });
    expect(problemIn(wrong)).toBe('That code is wrong. Check it and try again.');
    const { rows: before } = await db.query("SELECT email FROM accounts WHERE user_id = 'auth0|dave'");
    expect(before).toEqual([{ email: 'dave@example.com' }]);
    const done = await browser.submit(wrong, { code });
    expect(noticeIn(done)).toBe('Your email address has changed.');
    const { rows } = await db.query("SELECT email, email_verified FROM accounts WHERE user_id = 'auth0|dave'");
    expect(rows).toEqual([{ email: 'dave@elsewhere.example', email_verified: true }]);
    await until('the log', async () => (await logsOf('dave')).includes('sce'));
    // Who reads mail at the old one learns of it, and not where the account went.
    const notice = await noticeOf('dave@example.com', 'Your Gatepost email address was changed');
    expect(notice).toMatch(
      /is no longer dave@example\.com\. It was changed on .+ UTC by .+ from the IP address [\d.:]+/,
    );
    expect(notice).toContain('somebody else has access to your account');
    expect(notice).not.toMatch(/elsewhere\.example|https?:/);
    // Somebody else's cannot be taken, even by who reads it.
    const other = await browser.submit(await browser.get('account/email'), { email: 'bob@example.com' });
    const taken = await browser.submit(other, { code: await codeIn('bob@example.com') });
    expect(problemIn(taken)).toBe('This address cannot be used. Try another one.');
  });

  test('announces a new address in the language of the account, not of the person who changes it', async () => {
    const { browser, page } = await visit('carol', 'account/email');
    const asked = await browser.submit(page, { email: 'carol@elsewhere.example' });
    const { action, fields } = asked.forms[0]!;
    const code = await codeIn('carol@elsewhere.example');
    await db.query(`UPDATE accounts SET user_metadata = '{"lang": "es"}' WHERE user_id = 'auth0|carol'`);
    await browser.post(new URL(action, asked.url).href, { ...fields, code }, { 'accept-language': 'ja' });
    const notice = await noticeOf('carol@example.com', 'Se ha cambiado tu correo electrónico de Gatepost');
    expect(notice).toContain('ya no es carol@example.com');
  });
});

describe('the password', () => {
  test('is changed by entering the current one, which ends every other session and application', async () => {
    const elsewhere = await visit('erin');
    const { browser, page } = await visit('erin', 'account/password');
    const wrong = await browser.submit(page, { old_password: 'not it at all', password: 'quite another long one' });
    expect([wrong.status, problemIn(wrong)]).toEqual([400, 'That is not your current password.']);
    const weak = await browser.submit(wrong, { old_password: alice.password, password: 'short' });
    expect(problemIn(weak)).toBe('Choose a longer password.');
    const done = await browser.submit(weak, { old_password: alice.password, password: 'quite another long one' });
    expect(noticeIn(done)).toContain('Your password has changed.');
    expect(titleOf(await browser.get('account'))).toBe('Your account');
    expect(titleOf(await elsewhere.browser.get('account'))).toBe('Sign in');
    const again = new Browser(gate);
    const page2 = await again.logIn(await again.get('account'), 'erin@example.com', 'quite another long one');
    expect(titleOf(page2)).toBe('Your account');
    expect(await noticeOf('erin@example.com', 'Your Gatepost password was changed')).toContain('from the IP address');
    await until('the log', async () => ['fcp', 'scp'].every(async (type) => (await logsOf('erin')).includes(type)));
  });

  test('says when to try again while too many passwords are waiting to be checked', async () => {
    const { browser, page } = await visit('trent', 'account/password');
    let isOver = false;
    const crowd = Array.from({ length: 80 }, async (_, index) => {
      const asker = { network: networkOf('127.0.0.1'), account: `crowd-${index}` };
      while (!isOver) await hashPassword('a long enough password', asker).catch(() => setImmediate());
    });
    const refused = await until('a full queue', async () => {
      const answer = await browser.submit(page, { old_password: 'not it', password: 'quite another long one' });
      return answer.status === 503 && answer;
    });
    isOver = true;
    await Promise.all(crowd);
    expect(problemIn(refused)).toBe('We are busy right now. Please try again in a moment.');
    expect(refused.headers.get('retry-after')).toBe('2');
  });

  test('can be set by mail where the account has none', async () => {
    await db.query("UPDATE accounts SET password_hash = NULL WHERE user_id = 'auth0|frank'");
    const browser = new Browser(gate);
    const sent = await browser.submit(await browser.get('account/password'), { identifier: 'frank@example.com' });
    const code = await browser.submit(sent, { action: 'code', identifier: 'frank@example.com' });
    const page = await browser.submit(code, { code: await codeIn('frank@example.com') });
    expect(page.html).toContain('Your account has no password yet.');
    const done = await browser.submit(page, { action: 'mail' });
    expect(noticeIn(done)).toContain('We have sent you an email with a link.');
    await until('the mail', async () => (await gate.outbox()).some((mail) => mail.includes('change-password?ticket=')));
  });
});

test('devices are listed with browser and address, and can be signed out singly or all but this one', async () => {
  const first = await visit('grace');
  const second = await visit('grace');
  const { browser, page } = await visit('grace', 'account/devices');
  expect(page.html.match(/<strong><bdi>(?:Unknown browser|Firefox · Linux)</g)).toHaveLength(3);
  expect(page.html).toMatch(/127\.0\.0\.1|::1/);
  expect(page.html.match(/this device/g)).toHaveLength(1);
  const ids = page.forms.filter(({ fields }) => fields.id).map(({ fields }) => fields.id!);
  expect(ids).toHaveLength(3);
  for (const { browser: each } of [first, second])
    for (const { value } of each.cookies.values()) for (const id of ids) expect(value).not.toContain(id);
  const own = /this device[\s\S]*?name="id" value="([^"]+)"/.exec(page.html)![1];
  const target = ids.find((id) => id !== own)!;
  const ended = await browser.submit(page, { action: 'end' }, formWith(page, { id: target }));
  expect(noticeIn(ended)).toBe('Signed out there.');
  const alive = async ({ browser: each }: { browser: Browser }) =>
    titleOf(await each.get('account')) === 'Your account';
  expect([await alive(first), await alive(second)].filter(Boolean)).toHaveLength(1);
  const only = await browser.submit(ended, { action: 'others' }, ended.forms.length - 1);
  expect(noticeIn(only)).toBe('Signed out there.');
  expect([await alive(first), await alive(second), await alive({ browser })]).toEqual([false, false, true]);
});

test('applications are listed with their access, which can be withdrawn', async () => {
  const browser = new Browser(gate);
  const asked = { ...request, ...pkce() };
  const { code_verifier, ...params } = asked;
  const consent = await browser.logIn(await browser.authorize(params), 'heidi@example.com');
  const done = await browser.submit(consent, { action: 'default' });
  const { json } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'third',
    client_secret: 'third-secret',
    code: done.location!.searchParams.get('code')!,
    redirect_uri: request.redirect_uri,
    code_verifier,
  });
  const page = await browser.get('account/applications');
  expect(page.html).toContain('Third &lt;b&gt;Party');
  expect(page.html).not.toContain('gatepost-account');
  const gone = await browser.submit(page, { action: 'disconnect' }, formWith(page, { id: 'third' }));
  expect(noticeIn(gone)).toBe('Removed.');
  expect(gone.html).toContain('No application has access to your account.');
  const refreshed = await gate.post('oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'third',
    client_secret: 'third-secret',
    refresh_token: String(json.refresh_token),
  });
  expect(refreshed.status).toBe(400);
  // It asks again.
  expect(titleOf(await browser.authorize({ ...params, ...pkce() }))).toBe('Allow access?');
  const activity = await until('the log', async () => {
    const shown = await browser.get('account/activity');
    return shown.html.includes('An application’s access was removed') && shown;
  });
  expect(activity.html).toContain('You signed in');
});

describe('second factors', () => {
  const secretIn = ({ html }: Page) => /<code>([A-Z2-7 ]{32,})<\/code>/.exec(html)![1]!.replaceAll(' ', '');
  const codesIn = ({ html }: Page) =>
    [...html.matchAll(/<code>((?:[0-9A-Z]{4}-){3}[0-9A-Z]{4})<\/code>/g)].map(([, code]) => code!);
  /** Of the next step, or one before: it goes on being taken should the present one end meanwhile. */
  const codeOf = (secret: string, step = 0) => new TOTP({ secret }).generate({ timestamp: Date.now() + step * 30_000 });

  test('can be added, with recovery codes for the first, and are then asked for at login and at /account', async () => {
    const { browser, page } = await visit('ivan', 'account/security');
    expect(titleOf(page)).toBe('Two-factor authentication and passkeys');
    const form = await browser.get('account/security/otp');
    const secret = secretIn(form);
    expect(secretIn(await browser.get('account/security/otp'))).toBe(secret);
    const wrong = await browser.submit(form, { code: '12345' });
    expect(problemIn(wrong)).toBe('That code is wrong. Check it and try again.');
    const shown = await browser.submit(wrong, { code: codeOf(secret) });
    const codes = codesIn(shown);
    expect(codes).toHaveLength(10);
    // A reload shows them until they are kept.
    expect(codesIn(await browser.get('account/security/recovery-codes'))).toEqual(codes);
    const list = await browser.submit(shown);
    expect(list.html).toContain('Authenticator app');
    expect(list.html).toContain('Codes left: 10');
    expect(titleOf(await browser.get('account/security/recovery-codes'))).toBe(
      'Two-factor authentication and passkeys',
    );

    const again = await visit('ivan', 'account');
    expect(titleOf(again.page)).toBe('Verify it’s you');
    const other = await again.browser.submit(again.page, { action: 'other' });
    const recovery = await again.browser.submit(other, { factor: 'recovery' });
    expect(titleOf(await again.browser.submit(recovery, { code: codes[0]! }))).toBe('Your account');

    const asked = await browser.submit(list, { action: 'codes' }, list.forms.length - 1);
    expect(titleOf(asked)).toBe('Generate new recovery codes?');
    const { rows: before } = await db.query("SELECT count(*)::int FROM recovery_codes WHERE user_id = 'auth0|ivan'");
    expect(before).toEqual([{ count: 9 }]); // those of before: one was used
    const anew = await browser.submit(asked);
    expect(codesIn(anew)).toHaveLength(10);
    expect(codesIn(anew)).not.toContain(codes[1]);
    const kept = await browser.submit(anew);
    // By mail as well, and away with both.
    const address = await browser.get('account/security/email');
    const sent = await browser.submit(address, { address: 'ivan@example.com' });
    const added = await browser.submit(sent, { code: await codeIn('ivan@example.com') });
    expect(noticeIn(added)).toBe('Added.');
    const ids = added.forms
      .map(({ fields }) => fields.id ?? '')
      .filter((id) => id.startsWith('totp') || id.startsWith('email'));
    expect(new Set(ids).size).toBe(2);
    let left = added;
    for (const [index, id] of [...new Set(ids)].entries()) {
      const asked = await browser.submit(left, { action: 'remove' }, formWith(left, { id }));
      expect(titleOf(asked)).toBe('Remove this sign-in method?');
      expect(asked.html.includes('Your recovery codes will stop working, too.')).toBe(index === 1);
      expect((await browser.get('account/security')).html).toContain(`value="${id}"`);
      left = await browser.submit(asked);
    }
    expect(noticeIn(left)).toBe('Removed.');
    expect(left.html).not.toContain('Recovery codes');
    // Each of it is told by mail.
    const told = await noticeOf('ivan@example.com', 'A way to sign in was added to your Gatepost account');
    expect(told).toMatch(/An authenticator app was added to your .+ account on .+ UTC, from the IP address [\d.:]+\./);
    expect(told).toContain(`\n\n${gate.issuer}account\n\n`);
    expect(told).toContain('remove it from your account');
    await noticeOf('ivan@example.com', 'New recovery codes for your Gatepost account');
    await noticeOf('ivan@example.com', 'A way to sign in was removed from your Gatepost account');
    expect(titleOf((await visit('ivan')).page)).toBe('Your account');
    const { rows } = await db.query("SELECT count(*)::int FROM recovery_codes WHERE user_id = 'auth0|ivan'");
    expect(rows).toEqual([{ count: 0 }]);
    expect(kept.status).toBe(200);
    await until('the log', async () => {
      const types = await logsOf('ivan');
      return ['gd_enrollment_complete', 'gd_unenroll', 'POST account/recovery-codes'].every((type) =>
        types.includes(type),
      );
    });
  });

  test('can be added only where the tenant allows them', async () => {
    const { browser, page } = await visit('judy', 'account/security');
    expect(page.html).not.toContain('account/security/sms');
    expect(page.html).not.toContain('account/security/passkey');
    expect(page.html).not.toContain('<h2>Passkeys</h2>');
    for (const slug of ['sms', 'roaming', 'passkey'])
      expect([slug, (await browser.get(`account/security/${slug}`)).status]).toEqual([slug, 404]);
    const sections = async () => [
      ...(await browser.get('account')).html.matchAll(/<li><a href="\/account\/([\w-]+)"/g).map(([, name]) => name),
    ];
    const all = await sections();
    expect(all).toEqual(expect.arrayContaining(['profile', 'security', 'data']));
    // Nothing leads to a page without contents.
    await db.query(`UPDATE settings SET mfa = mfa || '{"factors": {}}'`);
    const others = all.filter((name) => name !== 'security').join();
    await until('the others', async () => (await sections()).join() === others);
    await db.query(`UPDATE settings SET mfa = mfa || '{"factors": {"otp": true, "email": true}}'`);
    await until('all of them', async () => (await sections()).join() === all.join());
  });
});

test('a linked sign-in is listed, and unlinking it ends all its sessions', async () => {
  const account = "'github|7', 'github', 'kate@example.com', 'auth0|kate'";
  await db.query("INSERT INTO connections (id, name, strategy) VALUES ('con_github', 'github', 'github')");
  await db.query(`INSERT INTO accounts (user_id, connection, email, linked_to) VALUES (${account})`);
  // The gate hears of the connection.
  const { browser, page } = await visit('kate', 'account/sign-ins');
  const shown = await until('GitHub', async () => {
    const list = await browser.get('account/sign-ins');
    return list.html.includes('<bdi>GitHub</bdi>') && list;
  });
  expect(page.html).toContain('kate@example.com');
  expect(shown.html).not.toContain('value="auth0|kate"');
  const left = await browser.submit(shown, { action: 'unlink' }, formWith(shown, { id: 'github|7' }));
  expect(titleOf(left)).toBe('Sign in');
  const { rows } = await db.query("SELECT linked_to FROM accounts WHERE user_id = 'github|7'");
  expect(rows).toEqual([{ linked_to: null }]);
  const told = await noticeOf('kate@example.com', 'A way to sign in was removed from your Gatepost account');
  expect(told).toMatch(/GitHub was removed from your .+ account/);
  await db.query("DELETE FROM connections WHERE id = 'con_github'");
});

test('personal data can be downloaded, without anything that could sign a person in', async () => {
  const { browser } = await visit('mallory', 'account/data');
  const { headers, html, status } = await browser.get('account/data/download');
  expect([status, headers.get('content-disposition')]).toEqual([200, 'attachment; filename="account.json"']);
  const data = JSON.parse(html);
  expect(data.user).toMatchObject({ user_id: 'auth0|mallory', email: 'mallory@example.com' });
  expect(data).toMatchObject({
    identities: [{ connection: 'Username-Password-Authentication' }],
    sessions: [{}],
    roles: [],
  });
  expect(html).not.toMatch(/password_hash|passwordHash|\$scrypt|\$argon|app_metadata|sealed/);
});

describe('an account', () => {
  test('can be deleted by its owner, together with everything that it gave access to', async () => {
    const elsewhere = await visit('niaj');
    const { browser, page } = await visit('niaj', 'account/delete');
    const unsure = await browser.submit(page, {});
    expect([unsure.status, problemIn(unsure)]).toEqual([400, 'Tick the box to continue.']);
    const done = await browser.submit(unsure, { confirm: 'yes' });
    expect(titleOf(done)).toBe('Your account has been deleted');
    expect((await db.query("SELECT FROM accounts WHERE user_id = 'auth0|niaj'")).rowCount).toBe(0);
    for (const { browser: each } of [elsewhere, { browser }])
      expect(titleOf(await each.get('account'))).toBe('Sign in');
    await until('the log', async () => (await logsOf('niaj')).includes('sdu'));
  });

  test('of two administrators who delete theirs at the same moment one stays', async () => {
    const two = ['peggy', 'rupert'].map((name) => `auth0|${name}`);
    const visits = await Promise.all(['peggy', 'rupert'].map((name) => visit(name, 'account/delete')));
    for (const userId of two)
      await db.query("INSERT INTO user_permissions VALUES ($1, $2, 'update:users')", [userId, `${gate.issuer}api/v2/`]);
    // Holds the deletions up, so that neither is over when the other begins.
    const holder = await db.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM accounts WHERE user_id = ANY ($1) FOR UPDATE', [two]);
    const answers = visits.map(({ browser, page }) => browser.submit(page, { confirm: 'yes' }));
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND (query LIKE 'DELETE FROM accounts%' OR query LIKE '%gatepost administrators%')`;
    await until('both to wait', async () => (await db.query(waiting)).rowCount === 2);
    await holder.query('ROLLBACK');
    holder.release();
    const pages = await Promise.all(answers);
    expect(pages.map((page) => problemIn(page) ?? titleOf(page)).sort()).toEqual([
      'You are the only administrator here. Make somebody else an administrator first.',
      'Your account has been deleted',
    ]);
    const left = await db.query('DELETE FROM user_permissions WHERE user_id = ANY ($1)', [two]);
    expect(left.rowCount).toBe(1);
  });

  test('cannot be deleted by the last administrator, nor where the tenant keeps all accounts', async () => {
    await db.query("INSERT INTO roles (id, name) VALUES ('rol_admin', 'admin')");
    const audience = `${gate.issuer}api/v2/`;
    await db.query("INSERT INTO role_permissions VALUES ('rol_admin', $1, 'update:users')", [audience]);
    await db.query("INSERT INTO user_roles (user_id, role_id) VALUES ('auth0|olivia', 'rol_admin')");
    const { browser, page } = await visit('olivia', 'account/delete');
    const refused = await browser.submit(page, { confirm: 'yes' });
    expect(problemIn(refused)).toBe('You are the only administrator here. Make somebody else an administrator first.');
    await db.query("INSERT INTO user_roles (user_id, role_id) VALUES ('auth0|alice', 'rol_admin')");
    await db.query(`UPDATE settings SET account_self_service = '{"delete": false}'`);
    await until('the setting', async () => (await browser.get('account/delete')).status === 404);
    expect((await browser.get('account/data')).html).not.toContain('Delete my account');
    const left = await fetch(`${gate.issuer}account`, { redirect: 'manual' });
    const signIn = new URL(left.headers.get('location')!, gate.issuer).href;
    await db.query(`UPDATE settings SET account_self_service = '{"enabled": false}'`);
    await until('the setting', async () => (await browser.get('account')).status === 404);
    // Nor does anybody sign in to what is not there.
    expect([left.status, (await browser.get(signIn)).status]).toEqual([303, 400]);
    await db.query("UPDATE settings SET account_self_service = '{}'");
    await until('the setting', async () => (await browser.get('account')).status === 200);
    expect(titleOf(await browser.submit(refused, { confirm: 'yes' }))).toBe('Your account has been deleted');
  });
});

test('recent activity has the sign-ins in an application that takes the password itself, and those refused for a leaked one', async () => {
  const { browser } = await visit('wendy');
  const rows = 'sepft seotpft seoobft sercft pwd_leak'.split(' ').map((type) => [type, 'auth0|wendy']);
  for (const row of rows) await db.query('INSERT INTO logs (type, user_id) VALUES ($1, $2)', row);
  const { html } = await until('the log', async () => {
    const shown = await browser.get('account/activity');
    return shown.html.split('You signed in').length === 6 && shown;
  });
  expect(html.split('A sign-in failed')).toHaveLength(2);
});

test('somebody whose link took so long that they must log in again still reads what became of it', async () => {
  const { browser } = await visit('wendy');
  await ageSessions(gate, 'auth0|wendy', 3_600);
  const asked = await browser.get('account/sign-ins?link_error=already_linked&next=https://evil.example/');
  expect(asked.html).toContain('name="identifier"');
  const shown = await browser.logIn(asked, 'wendy@example.com');
  expect(shown.url).toBe(`${gate.issuer}account/sign-ins?link_error=already_linked`);
  expect(problemIn(shown)).toBe('That account is already linked, or has linked sign-ins of its own.');
  const state = '/account/sign-ins?linked=acme&next=https://evil.example/#x';
  const made = await browser.get(`account/callback?${new URLSearchParams({ code: 'x', state })}`);
  expect(made.url).toBe(`${gate.issuer}account/sign-ins?linked=acme`);
});

test.each([
  ['de', 'Dieses Konto ist schon verknüpft oder hat eigene Anmeldungen.'],
  ['es', 'Esa cuenta ya está vinculada o tiene sus propios accesos.'],
  ['fr', 'Ce compte est déjà associé, ou a ses propres connexions.'],
  ['pt', 'Essa conta já está vinculada ou tem acessos próprios.'],
])('in %s the page says which account cannot be linked', async (language, text) => {
  const { browser } = await visit('wendy');
  const shown = await browser.get('account/sign-ins?link_error=already_linked', { 'accept-language': language });
  expect(problemIn(shown)).toBe(text);
});
