/** Second factors and defences against attacks as an administrator sees them: through the `auth0` package, unmodified. */
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, describe, expect, test } from '@jest/globals';
import { TOTP } from 'otpauth';
import { whileHeld } from '../row-lock.ts';
import { spaRequest as request } from '../seeds.ts';
import { openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, clientOf, ask } = stack.use(await openManagement());
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const logIn = async (email: string) => {
  const browser = new Browser(gate);
  return { browser, page: await browser.logIn(await browser.authorize(request), email) };
};

describe('guardian settings', () => {
  test('factors are switched on one by one, and unsupported ones are refused', async () => {
    const listed = await auth0.guardian.factors.list();
    expect(listed).toContainEqual({ name: 'otp', enabled: false, trial_expired: false });
    expect(await auth0.guardian.factors.set('otp', { enabled: true })).toEqual({ enabled: true });
    expect(await auth0.guardian.factors.list()).toContainEqual({ name: 'otp', enabled: true, trial_expired: false });
    expect((await ask('PUT', 'guardian/factors/duo', { enabled: false })).status).toBe(200);
    expect(await ask('PUT', 'guardian/factors/duo', { enabled: true })).toMatchObject({
      status: 404,
      body: { errorCode: 'feature_not_available' },
    });
  });

  test('a policy decides whether everybody is asked, and the tenant’s `mfa_policy` has finer levels', async () => {
    expect(await auth0.guardian.policies.list()).toEqual([]);
    expect(await auth0.guardian.policies.set(['all-applications'])).toEqual(['all-applications']);
    expect((await ask('GET', 'tenants/settings')).body).toMatchObject({ mfa_policy: 'always' });
    expect(await auth0.guardian.policies.set([])).toEqual([]);
    expect((await ask('GET', 'tenants/settings')).body).toMatchObject({ mfa_policy: 'enrolled' });
    expect((await ask('PATCH', 'tenants/settings', { mfa_policy: 'never' })).body).toMatchObject({
      mfa_policy: 'never',
    });
    expect((await ask('PATCH', 'clients/web', { mfa_policy: 'always' })).body).toMatchObject({ mfa_policy: 'always' });
    await ask('PATCH', 'clients/web', { mfa_policy: null });
    await ask('PATCH', 'tenants/settings', { mfa_policy: 'enrolled' });
  });
});

describe('authentication methods of a user', () => {
  test('are added, listed, renamed and deleted, and the key of an authenticator app is written but never read', async () => {
    const methods = auth0.users.authenticationMethods;
    const made = await methods.create('auth0|carol', { type: 'totp', name: 'Phone', totp_secret: secret });
    expect(made).toMatchObject({ id: expect.stringMatching(/^totp\|dev_/), type: 'totp', name: 'Phone' });
    expect(JSON.stringify(made)).not.toContain(secret);
    const { page, browser } = await logIn('carol@example.com');
    expect(page.html).toContain('code from your authenticator app');
    expect((await browser.submit(page, { code: new TOTP({ secret }).generate() })).location?.hash).toContain(
      'id_token=',
    );

    expect((await methods.list('auth0|carol')).data).toMatchObject([{ id: made.id, confirmed: true }]);
    expect(await methods.get('auth0|carol', made.id!)).toMatchObject({ last_auth_at: expect.any(String) });
    expect(await methods.update('auth0|carol', made.id!, { name: 'Old phone' })).toMatchObject({ name: 'Old phone' });
    await methods.delete('auth0|carol', made.id!);
    expect((await methods.list('auth0|carol')).data).toEqual([]);
    expect((await logIn('carol@example.com')).page.location?.hash).toContain('id_token=');
  });

  test('are replaced all at once', async () => {
    const path = 'users/auth0%7Ccarol/authentication-methods';
    await auth0.users.authenticationMethods.create('auth0|carol', { type: 'totp', totp_secret: secret });
    const wanted = [
      { type: 'phone', phone_number: '+15555550142', name: 'New phone' },
      { type: 'email', email: 'Carol.codes@example.com' },
    ];
    const replaced = await auth0.users.authenticationMethods.set('auth0|carol', wanted as never);
    expect(replaced).toMatchObject([
      { type: 'phone', phone_number: '+15555550142', name: 'New phone', confirmed: true },
      { type: 'email', email: 'carol.codes@example.com' },
    ]);
    const refused = await ask('PUT', path, [{ type: 'email', email: 'a@example.com' }, { type: 'totp' }]);
    expect(refused).toMatchObject({ status: 400 });
    expect((await auth0.users.authenticationMethods.list('auth0|carol')).data).toHaveLength(2);
    expect(await ask('PUT', path, [])).toMatchObject({ status: 200, body: [] });
  });

  test.each([
    ['DELETE', '', undefined],
    ['PUT', '', []],
    ['DELETE', '/:id', undefined],
  ])(
    'stay together with the recovery codes until both are removed: %s authentication-methods%s',
    async (method, path, body) => {
      const of = 'users/auth0%7Ccarol/authentication-methods';
      const { id = '' } = await auth0.users.authenticationMethods.create('auth0|carol', {
        type: 'totp',
        totp_secret: secret,
      });
      await auth0.users.regenerateRecoveryCode('auth0|carol');
      const removed = await whileHeld(
        gate.pool,
        'LOCK TABLE recovery_codes',
        () => ask(method, of + path.replace(':id', encodeURIComponent(id)), body),
        async () =>
          expect(
            (await gate.pool.query("SELECT id FROM authentication_methods WHERE user_id = 'auth0|carol'")).rows,
          ).toEqual([{ id }]),
      );
      expect([200, 204]).toContain(removed.status);
      expect((await auth0.users.authenticationMethods.list('auth0|carol')).data).toEqual([]);
    },
  );

  test('replaced by others keep the recovery codes, and by none remove them', async () => {
    const path = 'users/auth0%7Ccarol/authentication-methods';
    await auth0.users.authenticationMethods.create('auth0|carol', { type: 'totp', totp_secret: secret });
    await auth0.users.regenerateRecoveryCode('auth0|carol');
    const typesNow = async () =>
      (await auth0.users.authenticationMethods.list('auth0|carol')).data.map(({ type }) => type);
    await ask('PUT', path, [{ type: 'email', email: 'carol@example.com' }]);
    expect(await typesNow()).toEqual(['email', 'recovery-code']);
    await ask('PUT', path, []);
    expect(await typesNow()).toEqual([]);
  });

  test('include the recovery codes as one, with their time, and all of a list can be deleted one by one', async () => {
    const { authenticationMethods } = auth0.users;
    const listed = async () => (await authenticationMethods.list('auth0|carol')).data;
    const codes = async () => (await listed()).find(({ type }) => type === 'recovery-code');
    for (const order of ['the codes first', 'the factor first']) {
      await authenticationMethods.create('auth0|carol', { type: 'phone', phone_number: '+15555550143' });
      await auth0.users.regenerateRecoveryCode('auth0|carol');
      const before = (await codes())!;
      expect(before).toMatchObject({ created_at: expect.stringMatching(/^2\d{3}-.*Z$/) });
      expect(await authenticationMethods.get('auth0|carol', before.id)).toEqual(before);
      const others = (await listed()).filter(({ id }) => id !== before.id);
      for (const { id } of order === 'the codes first' ? [before, ...others] : [...others, before])
        await authenticationMethods.delete('auth0|carol', id);
      expect(await listed()).toEqual([]);
    }
  });

  test('after the loss of a phone recovery codes are renewed, remembered browsers forgotten, and factors deleted', async () => {
    await auth0.users.authenticationMethods.create('auth0|carol', { type: 'totp', totp_secret: secret });
    const { recovery_code } = await auth0.users.regenerateRecoveryCode('auth0|carol');
    const { page, browser } = await logIn('carol@example.com');
    const choice = await browser.submit(page, { action: 'other' });
    const form = await browser.submit(choice, { factor: 'recovery' });
    expect((await browser.submit(form, { code: recovery_code! })).location?.hash).toContain('id_token=');
    await auth0.users.multifactor.invalidateRememberBrowser('auth0|carol');
    await auth0.users.multifactor.deleteProvider('auth0|carol', 'google-authenticator');
    // It was the last one that they stood for.
    expect((await auth0.users.authenticationMethods.list('auth0|carol')).data).toEqual([]);
    await auth0.users.regenerateRecoveryCode('auth0|carol');
    await auth0.users.authenticationMethods.deleteAll('auth0|carol');
    expect((await auth0.users.authenticationMethods.list('auth0|carol')).data).toEqual([]);
  });

  test.each([
    [{ type: 'totp' }, 'Missing required property: totp_secret'],
    [{ type: 'phone', phone_number: 'none' }, 'phone_number must be a number with its country code'],
    [{ type: 'webauthn-roaming', key_id: 'ab+/cd==', public_key: 'AAAA' }, 'Not base64url on property key_id'],
    [{ type: 'push-notification' }, 'type'],
  ])('that cannot be added are refused with the reason: %j', async (body, reason) => {
    expect(await ask('POST', 'users/auth0%7Ccarol/authentication-methods', body)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(reason) },
    });
  });
});

describe('attack protection settings', () => {
  const { bruteForceProtection, suspiciousIpThrottling, breachedPasswordDetection, botDetection, captcha } =
    auth0.attackProtection;

  test('are read, and changed field by field and stage by stage', async () => {
    expect(await bruteForceProtection.get()).toEqual({
      enabled: true,
      shields: ['block'],
      mode: 'count_per_identifier_and_ip',
      allowlist: [],
      max_attempts: 10,
    });
    const brute = { shields: ['block', 'user_notification'] as const, allowlist: ['192.0.2.0/24'], max_attempts: 5 };
    const stricter = { enabled: true, mode: 'count_per_identifier_and_ip', ...brute };
    expect(await bruteForceProtection.update({ ...brute, shields: [...brute.shields] })).toEqual(stricter);
    expect(await bruteForceProtection.get()).toEqual(stricter);

    const usual = await suspiciousIpThrottling.get();
    expect(usual).toMatchObject({ enabled: false, stage: { 'pre-login': { max_attempts: 100, rate: 864_000 } } });
    const stage = { 'pre-login': { max_attempts: 7 } };
    expect(await suspiciousIpThrottling.update({ enabled: true, shields: ['block'], stage })).toEqual({
      ...usual,
      enabled: true,
      shields: ['block'],
      stage: { ...usual.stage, 'pre-login': { max_attempts: 7, rate: 864_000 } },
    });

    const signups = { 'pre-user-registration': { shields: ['block' as const] } };
    expect(await breachedPasswordDetection.update({ stage: signups })).toEqual(await breachedPasswordDetection.get());
    expect(await breachedPasswordDetection.get()).toMatchObject({ enabled: false, stage: signups });

    expect(await botDetection.update({ challenge_password_policy: 'when_risky' })).toMatchObject({
      bot_detection_level: 'low',
      challenge_password_policy: 'when_risky',
      challenge_passwordless_policy: 'never',
    });
    expect(await botDetection.get()).toMatchObject({ challenge_password_policy: 'when_risky' });
    expect(await captcha.get()).toMatchObject({ active_provider_id: 'auth_challenge' });
    // Somebody who only reads sees the same, and changes none of it.
    const reader = clientOf('reader').attackProtection;
    expect(await reader.bruteForceProtection.get()).toEqual(stricter);
    await expect(reader.bruteForceProtection.update({ enabled: false })).rejects.toEqual(
      refusal(403, 'insufficient_scope'),
    );
    await expect(clientOf('nobody').attackProtection.botDetection.get()).rejects.toEqual(
      refusal(403, 'insufficient_scope'),
    );
  });

  test('stay as they are when a value is wrong or unsupported', async () => {
    const wrong = refusal(400, 'invalid_body');
    await expect(bruteForceProtection.update({ max_attempts: 0 })).rejects.toEqual(wrong);
    await expect(suspiciousIpThrottling.update({ allowlist: ['example.com'] })).rejects.toEqual(wrong);
    const strange = { challenge_password_policy: 'sometimes' as 'always' };
    await expect(botDetection.update(strange)).rejects.toEqual(wrong);
    // No list of breached passwords is configured, and another provider of challenges is not there.
    const absent = refusal(404, 'feature_not_available');
    await expect(breachedPasswordDetection.update({ enabled: true })).rejects.toEqual(absent);
    await expect(breachedPasswordDetection.update({ method: 'enhanced' })).rejects.toEqual(absent);
    await expect(captcha.update({ active_provider_id: 'hcaptcha' })).rejects.toEqual(absent);
    expect(await bruteForceProtection.get()).toMatchObject({ max_attempts: 5 });
    expect(await suspiciousIpThrottling.get()).toMatchObject({ allowlist: [] });
    expect(await breachedPasswordDetection.get()).toMatchObject({ enabled: false, method: 'standard' });
  });
});
