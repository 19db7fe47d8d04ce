/** `attack-protection/bot-detection`: who is asked to prove that they are no program, and when. */
import { afterAll, expect, test } from '@jest/globals';
import { challengeOn, openProtected, solve, statuses } from './protected.ts';
import { alice, spaRequest as request } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { ask, protect, grant, signup, post, browserAt, passwordPage, logged } = stack.use(await openProtected());

const name = 'bot-detection';
const usual = (await ask('GET', `attack-protection/${name}`)).body;
const back = () => protect(name, usual);
const signIn = async (address: string, captcha?: string | ((challenge: string) => string)) => {
  const browser = browserAt(address);
  const page = await passwordPage(browser, 'bob@example.com');
  const given = typeof captcha === 'function' ? captcha(challengeOn(page)!) : captcha;
  return browser.submit(page, { password: alice.password, ...(given !== undefined && { captcha: given }) });
};

test('bot detection is off at first', async () => {
  expect(usual).toMatchObject({ challenge_password_policy: 'never', monitoring_mode_enabled: false });
  const page = await passwordPage(browserAt('192.0.2.70'), 'bob@example.com');
  expect(challengeOn(page)).toBeUndefined();
  expect((await post('192.0.2.70', 'usernamepassword/challenge', { client_id: 'spa' })).json).toEqual({
    required: false,
  });
});

test('when set to always, the password page asks for a solved challenge, and says so without JavaScript', async () => {
  await protect(name, { challenge_password_policy: 'always' });
  const page = await passwordPage(browserAt('192.0.2.71'), 'bob@example.com');
  expect(page.html).toContain('This page needs JavaScript');
  expect((await signIn('192.0.2.71', solve)).location?.hash).toContain('id_token=');
  for (const captcha of [undefined, 'rubbish']) {
    const refused = await signIn('192.0.2.72', captcha);
    expect([refused.status, refused.html.includes('not a robot')]).toEqual([400, true]);
  }
  expect((await logged('pla', '192.0.2.72')).details).toEqual({
    stage: 'login',
    challenge: 'missing',
    monitored: false,
  });
  // Machines have no pages; nor does a client that has shown its secret.
  expect((await grant('192.0.2.73', 'bob@example.com')).status).toBe(200);
  const machine = { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' };
  expect((await post('192.0.2.73', 'oauth/token', { ...machine, audience: 'https://api.example.com/' })).status).toBe(
    200,
  );
  const open = {
    grant_type: 'password',
    client_id: 'public',
    username: 'bob@example.com',
    password: alice.password,
  };
  expect((await post('192.0.2.73', 'oauth/token', open)).json.error).toBe('requires_verification');
  expect((await post('192.0.2.73', 'oauth/token', { ...open, captcha: 'x' })).json.error).toBe('invalid_captcha');
  const { json } = await post('192.0.2.73', 'usernamepassword/challenge', { client_id: 'public' });
  const captcha = solve(json.challenge as Record<string, unknown>);
  expect((await post('192.0.2.73', 'oauth/token', { ...open, captcha })).status).toBe(200);
  await back();
});

test('when set to risky, a challenge is asked for after failures from that address or with that login', async () => {
  await protect(name, { challenge_password_policy: 'when_risky', bot_detection_level: 'medium' });
  const first = await passwordPage(browserAt('192.0.2.74'), 'alice@example.com');
  expect(challengeOn(first)).toBeUndefined();
  expect(await statuses(3, () => grant('192.0.2.75', 'alice@example.com', 'wrong'))).toEqual([400, 400, 400]);
  expect(challengeOn(await passwordPage(browserAt('192.0.2.74'), 'Alice@example.com'))).toBeDefined();
  expect(challengeOn(await passwordPage(browserAt('192.0.2.74'), 'bob@example.com'))).toBeUndefined();
  expect(await statuses(2, (index) => grant('192.0.2.75', `z${index}@example.com`, 'wrong'))).toEqual([400, 400]);
  const form = { client_id: 'spa', login: 'bob@example.com' };
  expect((await post('192.0.2.75', 'usernamepassword/challenge', form)).json.required).toBe(true);
  expect((await post('192.0.2.74', 'usernamepassword/challenge', form)).json.required).toBe(false);
  await back();
});

test('when set to risky, a sign-up needs a challenge after others from the same address', async () => {
  await protect(name, { challenge_password_policy: 'when_risky', bot_detection_level: 'medium' });
  expect(await statuses(5, (index) => signup('192.0.2.78', `robot${index}@example.com`))).toEqual(
    Array<number>(5).fill(200),
  );
  expect((await signup('192.0.2.78', 'robot5@example.com')).json.code).toBe('requires_verification');
  expect((await signup('192.0.2.79', 'robot5@example.com')).status).toBe(200);
  // Whoever has an account there signs in as before.
  expect(challengeOn(await passwordPage(browserAt('192.0.2.78'), 'bob@example.com'))).toBeUndefined();
  await back();
});

test('the API for sign-ups, password mails and codes answers in Auth0’s words, and accepts a solution', async () => {
  const always = { challenge_password_policy: 'always', challenge_passwordless_policy: 'always' };
  await protect(name, { ...always, challenge_password_reset_policy: 'always' });
  const doors = [
    ['dbconnections/signup', { email: 'careful@example.com', password: 'a fresh and long one' }],
    ['dbconnections/change_password', { email: 'carol@example.com' }],
    ['passwordless/start', { connection: 'email', email: 'carol@example.com' }],
  ] as const;
  for (const [path, form] of doors) {
    const at = (captcha?: string) =>
      post('192.0.2.76', path, { client_id: 'spa', ...form, ...(captcha && { captcha }) });
    expect(await at()).toMatchObject({
      status: 401,
      json: { code: 'requires_verification', error: 'requires_verification' },
    });
    expect(await at('eyJ9')).toMatchObject({ status: 400, json: { code: 'invalid_captcha' } });
    const where = path === 'passwordless/start' ? 'passwordless/challenge' : `${path}/challenge`;
    const { json } = await post('192.0.2.76', where, { client_id: 'spa' });
    expect(json).toMatchObject({ required: true, provider: 'auth_challenge' });
    expect((await at(solve(json.challenge as Record<string, unknown>))).status).toBe(200);
  }
  await back();
});

test('the pages for sign-up, a new password and a code ask for a challenge too', async () => {
  const always = { challenge_password_policy: 'always', challenge_passwordless_policy: 'always' };
  await protect(name, { ...always, challenge_password_reset_policy: 'always' });
  const browser = browserAt('192.0.2.77');
  const first = await browser.authorize(request);
  expect(challengeOn(first)).toBeDefined();
  const signupPage = await browser.submit(first, { action: 'signup' });
  const fields = { email: 'paging@example.com', password: 'a fresh and long one' };
  expect((await browser.submit(signupPage, fields)).html).toContain('not a robot');
  const captcha = solve(challengeOn(signupPage)!);
  expect((await browser.submit(signupPage, { ...fields, captcha })).location).toBeDefined();

  const reader = browserAt('192.0.2.78');
  const password = await passwordPage(reader, 'carol@example.com');
  const forgot = await reader.get(password.url.replace('/password', '/forgot-password'));
  expect((await reader.submit(forgot, { email: 'carol@example.com' })).html).toContain('not a robot');
  const sent = await reader.submit(forgot, { email: 'carol@example.com', captcha: solve(challengeOn(forgot)!) });
  expect(sent.html).toContain('carol@example.com');
  // Another mail to the same person is asked for without one; a mail to somebody else is not.
  expect((await reader.submit(sent, { action: 'again' })).html).not.toContain('not a robot');
  expect((await reader.submit(sent, { action: 'again', email: 'bob@example.com' })).html).toContain('not a robot');

  const asked = { action: 'code', identifier: 'carol@example.com' };
  expect((await reader.submit(password, asked)).html).toContain('not a robot');
  const code = await reader.submit(password, { ...asked, captcha: solve(challengeOn(password)!) });
  expect(code.html).toContain('name="code"');
  expect((await reader.submit(code, { action: 'resend' })).html).toContain('name="code"');
  expect((await reader.submit(code, { action: 'resend', identifier: 'bob@example.com' })).html).toContain(
    'not a robot',
  );

  // A wrong or missing code says nothing of what has been sent.
  const bot = browserAt('192.0.2.80');
  const given = await passwordPage(bot, 'carol@example.com');
  const to = { csrf: given.forms[0]!.fields.csrf!, identifier: 'bob@example.com' };
  const post = (fields: object) => bot.post(given.url.replace('/password', '/code'), { ...to, ...fields });
  await post({ code: '' });
  expect((await post({ action: 'resend' })).html).toContain('not a robot');
  await back();
});

test('in monitoring mode nobody is kept out, and the log says who would have been', async () => {
  await protect(name, { challenge_password_policy: 'always', monitoring_mode_enabled: true });
  expect((await signIn('192.0.2.79')).location).toBeDefined();
  expect((await logged('pla', '192.0.2.79')).details).toEqual({
    stage: 'login',
    challenge: 'missing',
    monitored: true,
  });
  await protect(name, { monitoring_mode_enabled: false, allowlist: ['192.0.2.64/26'] });
  expect((await signIn('192.0.2.80')).location).toBeDefined();
  await back();
});
