/** Second factors against somebody who has the password: guesses, replays, races, half a login, keys at rest. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { claimsOf, codeOf, multiFactor, person, recoveryCodesIn, secretIn } from '../authenticator.ts';
import { linkIn, openGate } from '../gate.ts';
import { whileHeld } from '../row-lock.ts';
import { alice, connections, spaRequest as request, settings, spa } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const gate = stack.use(
  await openGate({
    settings: { ...settings, guardian_factors: ['otp'] },
    clients: [spa, { ...spa, client_id: 'lax', mfa_policy: 'never' }],
    users: ['ann', 'ben', 'cleo', 'dan', 'eve', 'finn', 'gus', 'hugo', 'ines', 'kate', 'mallory', 'victor'].map(person),
    connections,
  }),
);
const { pool: db } = gate;

const isIn = ({ location }: Page) => location?.hash.includes('id_token=') === true;
const wrongOf = (secret: string) => {
  const right = new Set([-2, -1, 0, 1, 2].map((step) => codeOf(secret, step)));
  return ['000000', '000001', '000002', '000003', '000004', '000005'].find((code) => !right.has(code))!;
};

async function enrol(email: string) {
  const browser = new Browser(gate);
  const form = await browser.logIn(await browser.authorize({ ...request, acr_values: multiFactor }), email);
  const secret = secretIn(form);
  const codes = await browser.submit(form, { code: codeOf(secret, -1) });
  const recovery = recoveryCodesIn(codes);
  expect(claimsOf(await browser.submit(codes)).acr).toBe(multiFactor);
  return { secret, recovery, form };
}

/** A browser that has proven the password, and stands before the second factor. */
async function atSecondFactor(email: string) {
  const browser = new Browser(gate);
  return { browser, page: await browser.logIn(await browser.authorize(request), email) };
}

test('of two hundred concurrent tries with the right code from separate browsers one logs in', async () => {
  const { secret } = await enrol('ann@example.com');
  const { browser, page } = await atSecondFactor('ann@example.com');
  const others = await Promise.all(Array.from({ length: 7 }, () => atSecondFactor('ann@example.com')));
  const all = [{ browser, page }, ...others];
  const code = codeOf(secret);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => {
      const { browser: each, page: form } = all[index % all.length]!;
      return each.submit(form, { code });
    }),
  );
  expect(answers.filter(isIn)).toHaveLength(1);
});

test('of two hundred concurrent tries with one recovery code one logs in, and nine codes are left', async () => {
  const { recovery } = await enrol('ben@example.com');
  const all = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { browser, page } = await atSecondFactor('ben@example.com');
      const choice = await browser.submit(page, { action: 'other' });
      return { browser, page: await browser.submit(choice, { factor: 'recovery' }) };
    }),
  );
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => {
      const { browser, page } = all[index % all.length]!;
      return browser.submit(page, { code: recovery[0]! });
    }),
  );
  expect(answers.filter(isIn)).toHaveLength(1);
  const { rows } = await db.query("SELECT count(*)::int AS left FROM recovery_codes WHERE user_id = 'auth0|ben'");
  expect(rows[0].left).toBe(9);
});

test('guesses at second factors are bounded over all sessions together, and the pause states its length', async () => {
  const { secret } = await enrol('cleo@example.com');
  const wrong = wrongOf(secret);
  const answers: number[] = [];
  for (let session = 0; session < 3; session += 1) {
    const { browser, page } = await atSecondFactor('cleo@example.com');
    for (let index = 0; index < 4; index += 1) answers.push((await browser.submit(page, { code: wrong })).status);
  }
  expect(answers).toEqual([...Array(10).fill(400), 429, 429]);
  const { browser, page } = await atSecondFactor('cleo@example.com');
  const right = await browser.submit(page, { code: codeOf(secret) });
  expect([right.status, right.html]).toEqual([429, expect.stringContaining('Too many attempts')]);
  expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('after fifty wrong codes within a day none counts for the rest of it, however many right ones came between', async () => {
  const { secret, recovery } = await enrol('kate@example.com');
  const wrong = wrongOf(secret);
  const statuses: number[] = [];
  for (const code of recovery.slice(0, 5)) {
    const { browser, page } = await atSecondFactor('kate@example.com');
    for (let tries = 0; tries < 9; tries += 1) statuses.push((await browser.submit(page, { code: wrong })).status);
    const choice = await browser.submit(page, { action: 'other' });
    // A right code ends the pause of a quarter of an hour, but not the count of the day.
    expect(isIn(await browser.submit(await browser.submit(choice, { factor: 'recovery' }), { code }))).toBe(true);
  }
  const { browser, page } = await atSecondFactor('kate@example.com');
  for (let tries = 0; tries < 5; tries += 1) statuses.push((await browser.submit(page, { code: wrong })).status);
  expect(statuses).toEqual(Array(50).fill(400));
  const right = await browser.submit(page, { code: codeOf(secret) });
  expect([right.status, isIn(right)]).toEqual([429, false]);
  expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(900);
});

test('a password alone gives no session, no later page and no factor where a second factor is set up', async () => {
  await enrol('dan@example.com');
  const { browser, page } = await atSecondFactor('dan@example.com');
  const base = new URL(page.url).pathname.replace(/\/mfa\/otp$/, '');
  for (const path of ['enrol', 'enrol/otp', 'enrol/roaming', 'recovery-codes'])
    expect((await browser.get(`${base}/mfa/${path}`)).url).toMatch(/\/mfa\/otp$/);
  const csrf = page.forms[0]!.fields.csrf!;
  for (const path of ['enrol/otp', 'recovery-codes', 'enrol/email'])
    expect(isIn(await browser.post(`${base}/mfa/${path}`, { csrf, code: '000000', address: 'x@y.example' }))).toBe(
      false,
    );
  expect((await browser.post(`${base}/consent`, { csrf })).status).toBe(400);
  const silent = await browser.authorize({ ...request, prompt: 'none' });
  expect(silent.location?.hash).toContain('login_required');
  // Without the first factor these pages lead to the login.
  const stranger = new Browser(gate);
  const login = new URL((await stranger.authorize(request)).url).pathname;
  expect((await stranger.get(`${login}/mfa/otp`)).html).toContain('name="identifier"');
});

test.each([
  ['recovery', 'recovery_codes', 'mallory', 'victor'],
  ['otp', 'authentication_methods', 'hugo', 'ines'],
] as const)(
  'whoever knows a password is not signed in with it by a second factor of their own (%s) that is being checked',
  async (kind, table, own, victim) => {
    const { secret, recovery } = await enrol(`${own}@example.com`);
    await enrol(`${victim}@example.com`);
    const { browser, page } = await atSecondFactor(`${own}@example.com`);
    const csrf = page.forms[0]!.fields.csrf!;
    const at = new URL(page.url).pathname.replace(/\/mfa\/.*$/, '');
    const code = kind === 'otp' ? codeOf(secret) : recovery[0]!;
    const other = new Browser(gate);
    for (const [name, cookie] of browser.cookies) other.cookies.set(name, cookie);
    const login = { identifier: `${victim}@example.com`, password: alice.password, action: 'default' };
    const answer = await whileHeld(
      db,
      `SELECT FROM ${table} WHERE user_id = 'auth0|${own}' FOR UPDATE`,
      () => browser.post(`${at}/mfa/${kind}`, { csrf, code, remember: 'yes' }),
      async () => expect((await other.post(`${at}/password`, { csrf, ...login })).url).toMatch(/\/mfa\/otp$/),
    );
    expect([isIn(answer), answer.html]).toEqual([false, expect.stringContaining('name="identifier"')]);
    expect((await browser.authorize({ ...request, prompt: 'none' })).location?.hash).toContain('login_required');
    const remembered = 'SELECT FROM remembered_browsers WHERE user_id = $1';
    expect((await db.query(remembered, [`auth0|${victim}`])).rowCount).toBe(0);
  },
);

test('a password that changes during a login ends what it had opened', async () => {
  const { secret } = await enrol('eve@example.com');
  const { browser, page } = await atSecondFactor('eve@example.com');
  await db.query("UPDATE accounts SET password_hash = password_hash || ' ' WHERE user_id = 'auth0|eve'");
  const answer = await browser.submit(page, { code: codeOf(secret) });
  expect([isIn(answer), answer.html]).toEqual([false, expect.stringContaining('name="identifier"')]);
});

test('factor keys are sealed and recovery codes hashed, and the log has Auth0’s event codes without either', async () => {
  const { rows } = await db.query<{ sealed: Buffer }>(
    `SELECT sealed FROM authentication_methods WHERE user_id = 'auth0|ann'`,
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]!.sealed.toString('latin1')).not.toMatch(/[A-Z2-7]{32}/);
  const hashes = await db.query<{ hash: string }>('SELECT hash FROM recovery_codes LIMIT 1');
  expect(hashes.rows[0]!.hash).toMatch(/^[\w-]{43}$/);
  const types = async () =>
    (await db.query<{ type: string }>('SELECT DISTINCT type FROM logs')).rows.map(({ type }) => type);
  const expected = [
    'mfar',
    'gd_auth_succeed',
    'gd_auth_failed',
    'gd_enrollment_complete',
    'gd_otp_rate_limit_exceed',
    'gd_recovery_succeed',
    'gd_recovery_failed',
  ];
  // They are written behind what they tell of.
  await until('the events', async () => {
    const found = await types();
    return expected.every((type) => found.includes(type));
  });
});

test('a mailed link alone does not sign in a person with a second factor, even in the browser that opened it', async () => {
  const { redirect_uri, scope, response_type, nonce } = request;
  await fetch(new URL('passwordless/start', gate.issuer), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_id: 'spa',
      connection: 'email',
      email: 'dan@example.com',
      send: 'link',
      authParams: { redirect_uri, scope, response_type, nonce },
    }),
  });
  const mail = await until('the mail', async () =>
    (await gate.mails('dan@example.com')).find(({ text }) => text?.includes('passwordless/link')),
  );
  const browser = new Browser(gate);
  const asked = await browser.submit(await browser.get(linkIn(mail)));
  expect(/<h1>(.*?)<\/h1>/.exec(asked.html)?.[1]).toBe('Is this your account?');
  expect((await browser.submit(asked, { action: 'default' })).html).toContain('code from your authenticator app');
  const silent = await browser.authorize({ ...request, prompt: 'none' });
  expect(silent.location?.hash).toContain('login_required');
});

test('a password alone does not create a passkey where a second factor exists or the password has changed', async () => {
  await enrol('finn@example.com');
  await db.query(
    `UPDATE connections SET options = options || '{"authentication_methods": {"passkey": {"enabled": true}}}' WHERE strategy = 'auth0'`,
  );
  const lax = { ...request, client_id: 'lax' };
  const logIn = async (email: string) => {
    const browser = new Browser(gate);
    return { browser, page: await browser.logIn(await browser.authorize(lax), email) };
  };
  const { browser, page } = await until('a passkey to be offered', async () => {
    const offered = await logIn('gus@example.com');
    return offered.page.url.endsWith('/mfa/passkey') ? offered : undefined;
  });
  const { page: spared } = await logIn('finn@example.com');
  expect([isIn(spared), claimsOf(spared).amr]).toEqual([true, ['pwd']]);

  await db.query("UPDATE accounts SET password_hash = password_hash || ' ' WHERE user_id = 'auth0|gus'");
  const refused = await browser.submit(page, { credential: '{}' });
  expect(refused.html).toContain('name="identifier"');
});

test('an invalid passkey answer signs nobody in, and gets an error message', async () => {
  for (const id of ['a\0b', 'x'.repeat(5_000), '', 'unknown']) {
    const browser = new Browser(gate);
    const login = await browser.authorize(request);
    const answer = await browser.submit(login, { credential: JSON.stringify({ id, response: {} }) });
    expect([answer.status, answer.url]).toEqual([400, expect.stringContaining('/identifier')]);
  }
});

test('wrong answers of a security key do not count against the account, so that no stranger can lock it', async () => {
  await db.query(
    `INSERT INTO authentication_methods (id, user_id, type, credential_id, public_key)
     VALUES ('webauthn-roaming|dev_1', 'auth0|finn', 'webauthn-roaming', 'a-key', '\\x00')`,
  );
  await db.query(`UPDATE settings SET mfa = jsonb_set(mfa, '{factors,webauthn-roaming}', 'true')`);
  const { browser, page } = await until('the key to be asked for', async () => {
    const asked = await atSecondFactor('finn@example.com');
    return asked.page.url.endsWith('/mfa/key') ? asked : undefined;
  });
  const statuses: number[] = [];
  let form = page;
  for (let tries = 0; tries < 12; tries += 1) {
    form = await browser.submit(form, { credential: '{}' });
    statuses.push(form.status);
  }
  expect(statuses).toEqual(Array(12).fill(400));
});
