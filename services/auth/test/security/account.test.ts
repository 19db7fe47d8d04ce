/** What nobody gets out of `/account`: other people's things, rights, a change by a forged form or a session left open. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { TOTP } from 'otpauth';
import { sessionsEnd } from '../../src/accounts/end-access.ts';
import { openGate } from '../gate.ts';
import { lockRow } from '../row-lock.ts';
import { alice, bob, seed } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const people = ['carol', 'carla', 'dave', 'erin', 'fay'].map((name) => ({
  ...alice,
  user_id: `auth0|${name}`,
  email: `${name}@example.com`,
  phone_number: undefined,
}));
const gate = stack.use(
  await openGate({
    ...seed,
    users: [alice, bob, ...people],
    settings: { ...seed.settings, guardian_factors: ['otp'] },
  }),
);
const { pool: db } = gate;
const redis = new Redis(gate.env.REDIS_URL!);
stack.defer(() => redis.disconnect());

async function visit(who: string, path = 'account') {
  const browser = new Browser(gate);
  return { browser, page: await browser.logIn(await browser.get(path), `${who}@example.com`) };
}
const titleOf = ({ html }: Page) => /<h1>(.*?)<\/h1>/.exec(html)?.[1];
const csrfIn = (page: Page) => page.forms.find(({ fields }) => fields.csrf)!.fields.csrf!;
const paths = [
  'account',
  'account/profile',
  'account/email',
  'account/password',
  'account/security',
  'account/security/otp',
  'account/security/remove',
  'account/security/new-recovery-codes',
  'account/sign-ins',
  'account/devices',
  'account/applications',
  'account/activity',
  'account/data',
  'account/delete',
];

/** Makes the session's login as old as that. */
async function age(who: string, seconds: number): Promise<void> {
  for (const key of await redis.keys(`${gate.redisPrefix}auth:Session:*`)) {
    const payload = JSON.parse((await redis.hget(key, 'payload')) ?? '{}');
    if (payload.accountId !== `auth0|${who}`) continue;
    await redis.hset(key, 'payload', JSON.stringify({ ...payload, loginTs: payload.loginTs - seconds }));
  }
}

test('pages below /account are never framed or cached, and run no foreign script', async () => {
  const { browser } = await visit('alice');
  for (const path of paths) {
    const { headers, status } = await browser.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get('content-security-policy')).toMatch(/script-src 'sha256-[\w+/=]+';/);
  }
});

test('a form at /account without the token of its own session changes nothing', async () => {
  const { browser, page } = await visit('alice', 'account/profile');
  const stranger = await visit('bob', 'account/profile');
  for (const csrf of ['', 'x', csrfIn(stranger.page)]) {
    const answer = await browser.post('account/profile', { csrf, name: 'Mallory' });
    expect([csrf, answer.status]).toEqual([csrf, 403]);
  }
  for (const site of ['cross-site', 'same-site']) {
    const forged = await browser.post('account/profile', { csrf: csrfIn(page), name: 'M' }, { 'sec-fetch-site': site });
    expect([site, forged.status]).toEqual([site, 403]);
  }
  const { rows } = await db.query("SELECT name FROM accounts WHERE user_id = 'auth0|alice'");
  expect(rows).toEqual([{ name: 'Alice Example' }]);
  // Every form of every page has one.
  for (const path of paths)
    for (const form of (await browser.get(path)).forms) expect([path, Boolean(form.fields.csrf)]).toEqual([path, true]);
});

test('another person’s devices, applications and factors cannot be reached at /account', async () => {
  const owner = await visit('bob', 'account/devices');
  const theirs = owner.page.forms.find(({ fields }) => fields.id)!.fields.id!;
  await db.query(
    `INSERT INTO authentication_methods (id, user_id, type, target) VALUES ('email|dev_bob', 'auth0|bob', 'email', 'bob@example.com')`,
  );
  await db.query("UPDATE accounts SET linked_to = 'auth0|bob' WHERE user_id = 'auth0|carol'");
  await db.query("INSERT INTO consents (user_id, client_id, scopes) VALUES ('auth0|bob', 'third', '{openid}')");
  const { browser } = await visit('alice');
  const attempts: [path: string, fields: Record<string, string>][] = [
    ['account/devices', { action: 'end', id: theirs }],
    ['account/security', { action: 'remove', id: 'email|dev_bob' }],
    ['account/security/remove', { id: 'email|dev_bob' }],
    ['account/security', { action: 'rename', id: 'email|dev_bob', name: 'mine' }],
    ['account/sign-ins', { action: 'unlink', id: 'auth0|carol' }],
    ['account/sign-ins', { action: 'unlink', id: 'auth0|alice' }],
    ['account/sign-ins', { action: 'link', id: 'nothing' }],
    ['account/applications', { action: 'disconnect', id: 'third' }],
  ];
  for (const [path, fields] of attempts) {
    // The token is the session's, so any page of theirs has it.
    const csrf = csrfIn(await browser.get('account/profile'));
    const { status } = await browser.post(path, { csrf, ...fields });
    expect([path, fields, status]).toEqual([path, fields, 404]);
  }
  expect(titleOf(await owner.browser.get('account/devices'))).toBe('Your devices');
  const { rows } = await db.query("SELECT linked_to FROM accounts WHERE user_id = 'auth0|carol'");
  expect(rows).toEqual([{ linked_to: 'auth0|bob' }]);
  expect((await db.query("SELECT FROM consents WHERE user_id = 'auth0|bob'")).rowCount).toBe(1);
});

test('a session left open changes nothing that proves a person’s identity', async () => {
  const { browser } = await visit('dave', 'account/profile');
  const csrf = csrfIn(await browser.get('account/profile'));
  await age('dave', 601);
  for (const path of [
    'account/email',
    'account/security',
    'account/security/otp',
    'account/security/remove',
    'account/security/new-recovery-codes',
    'account/sign-ins',
    'account/data',
    'account/data/download',
    'account/delete',
  ])
    expect([path, titleOf(await browser.get(path))]).toEqual([path, 'Sign in']);
  for (const [path, fields] of [
    ['account/delete', { confirm: 'yes' }],
    ['account/email', { email: 'mallory@example.com' }],
    ['account/security/new-recovery-codes', {}],
  ] as const) {
    const answer = await browser.post(path, { csrf, ...fields });
    expect([path, titleOf(answer)]).toEqual([path, 'Sign in']);
  }
  expect((await db.query("SELECT FROM accounts WHERE user_id = 'auth0|dave'")).rowCount).toBe(1);
  // The rest goes on, until the session itself is over.
  expect(titleOf(await browser.get('account/profile'))).toBe('Profile');
  await age('dave', 8 * 24 * 3_600);
  expect(titleOf(await browser.get('account/profile'))).toBe('Sign in');
});

test('signing out everywhere else does not count as a fresh sign-in', async () => {
  const { browser } = await visit('carla', 'account/devices');
  const page = await browser.get('account/devices');
  await age('carla', 601);
  const ended = await browser.post('account/devices', { csrf: csrfIn(page), action: 'others' });
  expect(titleOf(ended)).toBe('Your devices');
  expect(titleOf(await browser.get('account/email'))).toBe('Sign in');
  expect(titleOf(await browser.get('account/profile'))).toBe('Profile');
});

test('a password alone removes no second factor, even where the MFA policy asks for none', async () => {
  await db.query(`UPDATE settings SET mfa = mfa || '{"policy":"never"}'`);
  await db.query(
    `INSERT INTO authentication_methods (id, user_id, type, sealed) VALUES ('totp|dev_erin', 'auth0|erin', 'totp', '\\x00')`,
  );
  // The gate hears of the policy.
  const browser = await until('a sign-in by password alone', async () => {
    const visited = await visit('erin');
    return titleOf(visited.page) === 'Your account' && visited.browser;
  });
  for (const path of ['account/security', 'account/email', 'account/delete'])
    expect([path, titleOf(await browser.get(path))]).toEqual([path, 'Verify it’s you']);
  const csrf = csrfIn(await browser.get('account/profile'));
  const answer = await browser.post('account/security/remove', { csrf, id: 'totp|dev_erin' });
  expect(titleOf(answer)).toBe('Verify it’s you');
  expect((await db.query("SELECT FROM authentication_methods WHERE id = 'totp|dev_erin'")).rowCount).toBe(1);
});

test('the sign-in to /account leads only to these pages, and its code is useless elsewhere', async () => {
  const { browser } = await visit('alice');
  for (const state of ['https://evil.example/', '//evil.example', '/v2/logout', '/account/../v2/logout', ''])
    expect([state, (await browser.get(`account/callback?${new URLSearchParams({ code: 'x', state })}`)).url]).toEqual([
      state,
      `${gate.issuer}account`,
    ]);
  const told = await browser.get('account/callback?error=call_us&error_description=at+555+0100');
  expect([told.status, titleOf(told)]).toEqual([403, 'Access denied']);
  expect(told.html).not.toMatch(/call_us|555 0100/);
  const { location } = await (async () => {
    const response = await fetch(`${gate.issuer}account/profile`, { redirect: 'manual' });
    return { location: new URL(response.headers.get('location')!, gate.issuer) };
  })();
  expect(location.searchParams.get('redirect_uri')).toBe(`${gate.issuer}account/callback`);
  const elsewhere = new URL(location);
  elsewhere.searchParams.set('redirect_uri', 'https://evil.example/');
  expect((await browser.get(elsewhere.href)).status).toBe(400);
  // With a verifier that somebody has, the code is redeemed as little.
  const { code_verifier, ...challenge } = pkce();
  const own = new URL(location);
  for (const [name, value] of Object.entries(challenge)) own.searchParams.set(name, value);
  const { headers } = await fetch(own, { redirect: 'manual', headers: { cookie: browser.cookieHeader(own) } });
  const code = new URL(headers.get('location')!, gate.issuer).searchParams.get('code')!;
  expect(code).toBeTruthy();
  const redeemed = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'gatepost-account',
    redirect_uri: `${gate.issuer}account/callback`,
    code,
    code_verifier,
  });
  expect([redeemed.status, redeemed.json.error]).toEqual([401, 'invalid_client']);
  const token = await gate.post('oauth/token', {
    grant_type: 'password',
    client_id: 'gatepost-account',
    username: 'alice@example.com',
    password: alice.password,
  });
  expect(token.status).toBeGreaterThanOrEqual(400);
});

test('of twenty concurrent forms with one code one adds a factor', async () => {
  const { browser, page } = await visit('bob', 'account/profile');
  await db.query("DELETE FROM authentication_methods WHERE user_id = 'auth0|bob'");
  const form = await browser.get('account/security/otp');
  const secret = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(form.html)![1]!.replaceAll(' ', '');
  const code = new TOTP({ secret }).generate();
  const csrf = csrfIn(page);
  await Promise.all(Array.from({ length: 20 }, () => browser.post('account/security/otp', { csrf, code })));
  const { rows } = await db.query("SELECT type FROM authentication_methods WHERE user_id = 'auth0|bob'");
  expect(rows).toEqual([{ type: 'totp' }]);
  expect((await db.query("SELECT FROM recovery_codes WHERE user_id = 'auth0|bob'")).rowCount).toBe(10);
});

test('a factor is not added if a new password is set just before it is written', async () => {
  const { browser, page } = await visit('fay', 'account/profile');
  const form = await browser.get('account/security/otp');
  const secret = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(form.html)![1]!.replaceAll(' ', '');
  await using change = await lockRow(
    db,
    "UPDATE accounts SET password_hash = 'new', sessions_not_before = $1 WHERE user_id = 'auth0|fay'",
    [sessionsEnd()],
  );
  const code = new TOTP({ secret }).generate();
  const adding = browser.post('account/security/otp', { csrf: csrfIn(page), code });
  await change.waiting();
  await change.release();
  await adding;
  expect((await db.query("SELECT FROM authentication_methods WHERE user_id = 'auth0|fay'")).rowCount).toBe(0);
});

test('twenty concurrent deletions of an account are one deletion', async () => {
  const { browser, page } = await visit('dave', 'account/delete');
  const csrf = csrfIn(page);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => browser.post('account/delete', { csrf, confirm: 'yes' })),
  );
  // Who comes after the deletion is to sign in; of several sign-ins with one set of cookies the last begun counts, the others' pages have expired.
  const fine = ['200 Your account has been deleted', '200 Sign in', '400 This page has expired'];
  for (const answer of answers) expect(fine).toContain(`${answer.status} ${titleOf(answer)}`);
  expect(answers.some((answer) => titleOf(answer) === 'Your account has been deleted')).toBe(true);
  expect((await db.query("SELECT FROM accounts WHERE user_id = 'auth0|dave'")).rowCount).toBe(0);
  const deletions = () => db.query("SELECT FROM logs WHERE user_id = 'auth0|dave' AND type = 'sdu'");
  await until('the log', async () => ((await deletions()).rowCount ?? 0) > 0);
  expect((await deletions()).rowCount).toBe(1);
});
