/** `attack-protection`: what an administrator sets there is what the gate does. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { hash as bcrypt } from '@node-rs/bcrypt';
import { linkIn } from './gate.ts';
import { openProtected, statuses } from './protected.ts';
import { openRanges } from './ranges.ts';
import { alice, spaRequest as request } from './seeds.ts';
import { recordStatements } from './statements.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { texts: statements } = stack.use(recordStatements());
const log = openLogLines();
const pwned = stack.use(await openRanges());
const { gate, db, ask, protect, grant, signup, browserAt, passwordPage, logged } = stack.use(
  await openProtected({ BREACHED_PASSWORDS: pwned.url, OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8' }, log),
);

const usual = {
  'brute-force-protection': (await ask('GET', 'attack-protection/brute-force-protection')).body,
  'breached-password-detection': (await ask('GET', 'attack-protection/breached-password-detection')).body,
  'suspicious-ip-throttling': (await ask('GET', 'attack-protection/suspicious-ip-throttling')).body,
};
const back = (name: keyof typeof usual) => protect(name, usual[name]);

describe('brute-force-protection', () => {
  const name = 'brute-force-protection';

  test('starts with the gate’s defaults, and changes field by field', async () => {
    expect(usual[name]).toEqual({
      enabled: true,
      shields: ['block'],
      mode: 'count_per_identifier_and_ip',
      allowlist: [],
      max_attempts: 10,
    });
    expect((await ask('PATCH', `attack-protection/${name}`, { max_attempts: 3 })).body).toEqual({
      ...usual[name],
      max_attempts: 3,
    });
    for (const body of [{ max_attempts: 0 }, { mode: 'both' }, { allowlist: ['example.com'] }, { colour: 1 }])
      expect(await ask('PATCH', `attack-protection/${name}`, body)).toMatchObject({
        status: 400,
        body: { statusCode: 400, error: 'Bad Request', errorCode: 'invalid_body' },
      });
    await back(name);
  });

  test('pauses after the configured number of failures, and tells the person by mail', async () => {
    await protect(name, { max_attempts: 2, shields: ['block', 'user_notification'] });
    const wrong = () => grant('192.0.2.1', 'alice@example.com', 'wrong');
    expect(await statuses(3, wrong)).toEqual([400, 400, 429]);
    expect(await logged('limit_wc', '192.0.2.1')).toMatchObject({ user_id: 'auth0|alice' });
    const { subject, text } = await gate.mailTo('alice@example.com');
    expect(subject).toContain('failed sign-ins');
    expect(text).toContain('change-password?ticket=');
    expect((await ask('GET', 'user-blocks/auth0%7Calice')).body.blocked_for).toMatchObject([{ ip: '192.0.2.1' }]);
    await back(name);
  });

  test('tells the person at the next attack if the mail about the first could not be sent', async () => {
    await protect(name, { max_attempts: 1, shields: ['block', 'user_notification'] });
    const outbox = fileURLToPath(gate.env.MAIL_URL!).replace(/\/$/, '');
    const attack = (address: string) => statuses(2, () => grant(address, 'carol@example.com', 'wrong'));
    const told = async () =>
      (await gate.outbox()).some((text) => text.includes('failed sign-ins') && text.includes('carol@example.com'));
    await mkdir(outbox, { recursive: true });
    await rename(outbox, `${outbox}-aside`);
    await writeFile(outbox, 'not a folder');
    expect(await attack('192.0.2.2')).toEqual([400, 429]);
    await until('the failure', () => log.lines.some(({ message }) => message === 'could not send a warning by mail'));
    await rm(outbox);
    await rename(`${outbox}-aside`, outbox);
    expect(await told()).toBe(false);
    expect(await attack('192.0.2.3')).toEqual([400, 429]);
    await until('the mail', told);
    await back(name);
  });

  test('counts an account over all addresses in that mode', async () => {
    await protect(name, { max_attempts: 2, mode: 'count_per_identifier', shields: ['block', 'user_notification'] });
    const answers = await statuses(3, (index) => grant(`192.0.2.${10 + index}`, 'bob@example.com', 'wrong'));
    expect(answers).toEqual([400, 400, 429]);
    expect((await grant('192.0.2.14', 'bob@example.com')).status).toBe(429);
    const { subject, text } = await gate.mailTo('bob@example.com');
    expect(subject).toContain('failed sign-ins');
    expect(text).toContain('We have paused these attempts for a while.');
    await back(name);
    expect((await grant('192.0.2.14', 'bob@example.com')).status).toBe(200);
  });

  test('exempts listed addresses, and everybody while it is off or does not block', async () => {
    await protect(name, { max_attempts: 1, allowlist: ['192.0.2.20', '2001:db8:5::/48'] });
    const wrong = (address: string) => () => grant(address, 'carol@example.com', 'wrong');
    expect(await statuses(3, wrong('192.0.2.20'))).toEqual([400, 400, 400]);
    expect(await statuses(3, wrong('2001:db8:5:7::1'))).toEqual([400, 400, 400]);
    expect(await statuses(2, wrong('192.0.2.21'))).toEqual([400, 429]);
    await protect(name, { shields: [] });
    expect(await statuses(3, wrong('192.0.2.22'))).toEqual([400, 400, 400]);
    expect((await logged('limit_wc', '192.0.2.22')).details).toEqual({ blocked: false });
    await protect(name, { enabled: false, shields: ['block'] });
    expect(await statuses(3, wrong('192.0.2.23'))).toEqual([400, 400, 400]);
    await back(name);
  });
});

describe('suspicious-ip-throttling', () => {
  const name = 'suspicious-ip-throttling';

  test('is off at first, and then limits an address as its stage is configured', async () => {
    expect(usual[name]).toMatchObject({ enabled: false, stage: { 'pre-login': { max_attempts: 100, rate: 864_000 } } });
    await protect(name, {
      enabled: true,
      shields: ['block', 'admin_notification'],
      stage: { 'pre-login': { max_attempts: 3 } },
      allowlist: ['192.0.2.39'],
    });
    expect((await ask('GET', `attack-protection/${name}`)).body.stage).toEqual({
      ...usual[name].stage,
      'pre-login': { max_attempts: 3, rate: 864_000 },
    });
    // Logins that succeed do not count, whoever's they are.
    expect(await statuses(4, () => grant('192.0.2.30', 'carol@example.com'))).toEqual([200, 200, 200, 200]);
    const stuffing = (address: string) => (index: number) => grant(address, `nobody${index}@example.com`, 'wrong');
    expect(await statuses(4, stuffing('192.0.2.30'))).toEqual([400, 400, 400, 429]);
    const refused = await grant('192.0.2.30', 'carol@example.com');
    expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    expect((await logged('limit_mu', '192.0.2.30')).client_id).toBe('trusted');
    expect(log.lines.some(({ message }) => message === 'an address made too many attempts')).toBe(true);
    expect(await statuses(4, stuffing('192.0.2.39'))).toEqual([400, 400, 400, 400]);
    expect((await grant('192.0.2.31', 'carol@example.com')).status).toBe(200);
  });

  test('shows a pause on the pages, which a new password would not end', async () => {
    const browser = browserAt('192.0.2.30');
    const paused = await browser.submit(await passwordPage(browser, alice.email), { password: alice.password });
    expect([paused.status, paused.html.includes('Too many attempts')]).toEqual([429, true]);
    expect(paused.html).not.toContain('forgot-password');
  });

  test('allows one more try for each interval, and limits sign-ups too', async () => {
    const every = (rate: number) => protect(name, { stage: { 'pre-user-registration': { max_attempts: 2, rate } } });
    const sign = (index: number) => signup('192.0.2.40', `new${index}@example.com`);
    // So long that none passes meanwhile: on a busy machine a sign-up takes a second.
    await every(864_000);
    expect(await statuses(3, sign)).toEqual([200, 200, 429]);
    await every(300);
    await until('another one', async () => (await sign(3)).status === 200);
    expect((await logged('limit_mu', '192.0.2.40')).details).toEqual({ stage: 'pre-user-registration', blocked: true });
    await back(name);
  });
});

describe('the usual limit on sign-ups', () => {
  const name = 'suspicious-ip-throttling';

  test('still applies where throttling only reports, or exempts the address', async () => {
    const stage = { 'pre-user-registration': { max_attempts: 1_000, rate: 1 } };
    const tries = (address: string) => statuses(61, () => signup(address, 'no address'));
    await protect(name, { enabled: true, shields: ['admin_notification'], stage });
    expect((await tries('192.0.2.41')).slice(-2)).toEqual([400, 429]);
    await protect(name, { shields: ['block'], allowlist: ['192.0.2.42'] });
    expect((await tries('192.0.2.42')).slice(-2)).toEqual([400, 429]);
    // Where it refuses, its own bucket counts.
    expect((await tries('192.0.2.43')).slice(-2)).toEqual([400, 400]);
    await back(name);
  });
});

describe('a sign-up with an address that is taken', () => {
  const tell = async (isTold: boolean) =>
    db.query('UPDATE settings SET inert = $1', [{ flags: { enable_public_signup_user_exists_error: isTold } }]);
  const onThePage = async () => {
    const browser = browserAt('192.0.2.44');
    const page = await browser.authorize({ ...request, screen_hint: 'signup' });
    return browser.submit(page, { email: 'bob@example.com', password: 'a fresh and long one' });
  };

  test('is refused in general words, unless the tenant wants people told', async () => {
    const asked = () => signup('192.0.2.44', 'bob@example.com');
    expect(await asked()).toMatchObject({ status: 400, json: { code: 'invalid_signup' } });
    expect((await onThePage()).html).toContain('We cannot create an account with these details');
    await tell(true);
    const told = await until('the flag', async () => {
      const answer = await asked();
      return answer.json.code === 'user_exists' && answer;
    });
    expect(told).toMatchObject({ status: 400, json: { description: 'The user already exists.' } });
    expect((await onThePage()).html).toContain('There is already an account with this email address');
    await tell(false);
    await until('the flag', async () => (await asked()).json.code === 'invalid_signup');
  });
});

describe('breached-password-detection', () => {
  const name = 'breached-password-detection';
  const leaked = 'this one was seen elsewhere';

  test('is off at first, and asks no service', async () => {
    pwned.add(alice.password);
    expect(usual[name]).toMatchObject({ enabled: false, shields: [], method: 'standard' });
    expect((await grant('192.0.2.50', 'bob@example.com')).status).toBe(200);
    expect(pwned.asked).toEqual([]);
    expect((await ask('PATCH', `attack-protection/${name}`, { method: 'enhanced' })).status).toBe(404);
  });

  test('refuses a login, and mails the person and the administrators, as the shields are set', async () => {
    await protect(name, { enabled: true, shields: ['user_notification', 'admin_notification'] });
    expect((await grant('192.0.2.51', 'bob@example.com')).status).toBe(200);
    expect((await logged('pwd_leak', '192.0.2.51')).details).toEqual({ reason: 'password_leaked', blocked: false });
    await until('the mail', async () =>
      (await gate.outbox()).find((text) => text.includes('known to others') && text.includes('bob@example.com')),
    );
    expect(log.lines.some(({ message }) => message === 'a breached password was used')).toBe(true);

    await protect(name, { shields: ['block'] });
    expect(await grant('192.0.2.52', 'bob@example.com')).toMatchObject({
      status: 400,
      json: { error: 'password_leaked', error_description: expect.stringContaining('data breach') },
    });
    expect(await logged('pwd_leak', '192.0.2.52')).toMatchObject({ user_id: 'auth0|bob', client_id: 'trusted' });
    const browser = browserAt('192.0.2.53');
    const page = await browser.submit(await passwordPage(browser, 'bob@example.com'), { password: alice.password });
    expect([page.status, page.html.includes('appeared in a data breach')]).toEqual([400, true]);
    expect(page.html).toContain('forgot-password');
    // A wrong password is not looked up.
    const asked = pwned.asked.length;
    await grant('192.0.2.52', 'bob@example.com', 'wrong');
    expect(pwned.asked.length).toBe(asked);
    await back(name);
  });

  test('refuses a breached password at sign-up and at a change where its stage says so, and sends five characters out', async () => {
    pwned.add(leaked);
    const stage = { 'pre-user-registration': { shields: ['block'] }, 'pre-change-password': { shields: ['block'] } };
    await protect(name, { enabled: true, stage });
    const signedUp = await signup('192.0.2.54', 'leaky@example.com', { password: leaked });
    expect(signedUp).toMatchObject({ status: 400, json: { code: 'password_leaked' } });
    expect((await logged('signup_pwd_leak', '192.0.2.54')).details).toMatchObject({ blocked: true });
    expect((await signup('192.0.2.54', 'leaky@example.com')).status).toBe(200);

    const browser = browserAt('192.0.2.55');
    await browser.post('dbconnections/change_password', { client_id: 'spa', email: 'carol@example.com' });
    const mail = await until('the mail', async () =>
      (await gate.mails('carol@example.com')).find(({ html }) => html?.includes('Choose a new password')),
    );
    const form = await browser.get(linkIn(mail));
    const again = await browser.submit(form, { password: leaked });
    expect([again.status, again.html.includes('appeared in a data breach')]).toEqual([400, true]);
    expect(await logged('reset_pwd_leak', '192.0.2.55')).toMatchObject({ user_id: 'auth0|carol' });
    const unseen = 'nobody has seen this one';
    expect((await browser.submit(again, { password: unseen })).status).toBe(200);

    const own = browserAt('192.0.2.57');
    const page = await own.logIn(await own.get('account/password'), 'carol@example.com', unseen);
    const refused = await own.submit(page, { old_password: unseen, password: leaked });
    expect([refused.status, refused.html.includes('appeared in a data breach')]).toEqual([400, true]);
    expect((await logged('reset_pwd_leak', '192.0.2.57')).details).toMatchObject({ blocked: true });
    // One that has become known meanwhile can be changed.
    pwned.add(unseen);
    await protect(name, { shields: ['block'] });
    const changed = await own.submit(refused, { old_password: unseen, password: 'nor has anybody seen this' });
    expect([changed.status, changed.html.includes('Your password has changed.')]).toEqual([200, true]);
    expect(pwned.asked.every((path) => /^\/range\/[0-9A-F]{5}$/.test(path))).toBe(true);
    await back(name);
  });

  test('a change in progress loses against a reset meanwhile, also where the old password was imported', async () => {
    const own = browserAt('192.0.2.58');
    const page = await own.logIn(await own.get('account/password'), 'bob@example.com');
    const setHash = (hash: string) =>
      db.query("UPDATE accounts SET password_hash = $1 WHERE user_id = 'auth0|bob'", [hash]);
    const reset = await bcrypt('words of the owner', { cost: 4 });
    await setHash(await bcrypt('an imported password', { cost: 4 }));
    await protect(name, { enabled: true, stage: { 'pre-change-password': { shields: ['block'] } } });
    const { promise: lookedUp, resolve } = Promise.withResolvers<ServerResponse>();
    pwned.answer = (response) => void resolve(response);
    const late = own.submit(page, { old_password: 'an imported password', password: 'words of a thief' });
    const response = await lookedUp;
    await setHash(reset);
    response.end(`${'0'.repeat(34)}1:0`);
    const refused = await late;
    expect(refused.html).not.toContain('Your password has changed.');
    const { rows } = await db.query("SELECT password_hash FROM accounts WHERE user_id = 'auth0|bob'");
    expect(rows[0].password_hash).toBe(reset);

    // What replaces an imported hash on the way is no such change.
    pwned.answer = undefined;
    await back(name);
    const changed = await own.submit(refused, { old_password: 'words of the owner', password: alice.password });
    expect([changed.status, changed.html.includes('Your password has changed.')]).toEqual([200, true]);
  });

  test('lets logins pass while the list is away, and logs one line', async () => {
    await protect(name, { enabled: true, shields: ['block'] });
    pwned.answer = () => ({ status: 503, body: '' });
    expect((await grant('192.0.2.56', 'bob@example.com')).status).toBe(200);
    expect(log.lines.some(({ message }) => message === 'breached passwords could not be looked up')).toBe(true);
    await back(name);
  });
});

test('protection adds no statement to a login, whether on or off', async () => {
  const statementsOf = async (login: () => Promise<{ status: number }>) => {
    await login();
    const ofEach: string[][] = [];
    for (let n = 0; n < 5; n += 1) {
      const before = statements.length;
      expect((await login()).status).toBe(200);
      ofEach.push(statements.slice(before));
    }
    // What the gate does in the background falls among those of one login or another.
    return ofEach.toSorted((a, b) => a.length - b.length)[0]!;
  };
  const login = () => grant('192.0.2.60', 'bob@example.com');
  const off = await statementsOf(login);
  expect(off.filter((text) => text.includes('settings'))).toEqual([]);
  const all = { enabled: true, shields: ['block', 'admin_notification'] };
  await protect('suspicious-ip-throttling', all);
  await protect('brute-force-protection', { shields: ['block', 'user_notification'] });
  await protect('breached-password-detection', { ...all, shields: ['block'] });
  pwned.answer = () => ({ status: 200, body: '' });
  await until('the settings to be read anew', async () => {
    const before = statements.length;
    await login();
    return !statements.slice(before).some((text) => text.includes('settings'));
  });
  expect((await statementsOf(login)).length).toBe(off.length);
  for (const name of Object.keys(usual)) await back(name as keyof typeof usual);
});
