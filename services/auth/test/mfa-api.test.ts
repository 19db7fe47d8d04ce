/** Auth0's MFA API for programs that take a password themselves, through Auth0's own client library where it has a call. */
import { AuthClient } from '@auth0/auth0-auth-js';
import { openLog } from '@gatepost/runtime/log';
import { makeSeal } from '@gatepost/runtime/seal';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { TOTP } from 'otpauth';
import { makePendingStore, type Pending } from '../src/factors/pending.ts';
import { openRedis } from '../src/redis.ts';
import { administrator, whileOff } from './authenticator.ts';
import { openGate } from './gate.ts';
import { whileHeld } from './row-lock.ts';
import { alice, api, apis, connections, settings, trusted, web } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const multiFactor = 'http://schemas.openid.net/pape/policies/2007/06/multi-factor';
const grantType = (name: string) => `http://auth0.com/oauth/grant-type/mfa-${name}`;
const names = ['otp', 'oob', 'recovery-code'].map(grantType);
const client = { ...trusted, grant_types: [...trusted.grant_types, ...names], mfa_policy: 'always' };
const sparing = ['password', 'authorization_code', ...names];
const person = (name: string, index: number) => ({
  ...alice,
  user_id: `auth0|${name}`,
  email: `${name}@example.com`,
  nickname: name,
  phone_number: `+155555504${String(index).padStart(2, '0')}`,
});
const gate = stack.use(
  await openGate((issuer: string) => ({
    settings: { ...settings, guardian_factors: ['otp', 'sms', 'email'] },
    apis,
    clients: [
      client,
      { ...client, client_id: 'other', client_secret: 'other-secret' },
      { ...web, client_id: 'sparing', client_secret: 'sparing-secret', mfa_policy: 'never', grant_types: sparing },
      administrator(issuer),
    ],
    users: ['ann', 'ben', 'cleo', 'dan', 'eve', 'finn', 'gus', 'hal', 'ivy', 'joe', 'kit', 'lea', 'max', 'ned'].map(
      person,
    ),
    connections,
  })),
);
const { pool: db } = gate;
const auth0 = new AuthClient({
  domain: 'tenant.example',
  clientId: 'trusted',
  clientSecret: 'trusted-secret',
  // The library speaks https alone.
  customFetch: (url, init) => fetch(String(url).replace('https://tenant.example/', gate.issuer), init as RequestInit),
}).mfa;

const credentials = { client_id: 'trusted', client_secret: 'trusted-secret' };
const logIn = (name: string, more: Record<string, string> = {}) =>
  gate.post('oauth/token', {
    ...credentials,
    grant_type: 'password',
    username: `${name}@example.com`,
    password: alice.password,
    ...more,
  });
const mfaTokenOf = async (name: string, more: Record<string, string> = {}) =>
  String((await logIn(name, more)).json.mfa_token);
const verify = (name: string, fields: Record<string, string>) =>
  gate.post('oauth/token', { ...credentials, grant_type: grantType(name), ...fields });
/** Of the next step, or one before: it goes on being taken should the present one end meanwhile. */
const codeOf = (secret: string, step = 0) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + (step + 1) * 30_000 });
const codeSentTo = async (to: string, seen = 0) => {
  const message = await until(
    `a message to ${to}`,
    async () => (await gate.outbox()).filter((text) => text.includes(to) && /code is \d{6}/.test(text))[seen],
  );
  return /code is (\d{6})/.exec(message)![1]!;
};

/** The subjects of the mails to that address. */
const mailsTo = async (to: string) => (await gate.mails(to)).map(({ subject }) => subject);

/** Sets up an authenticator app with the first password grant. */
async function enrol(name: string) {
  const mfaToken = await mfaTokenOf(name);
  const app = (await auth0.enrollAuthenticator({ mfaToken, authenticatorTypes: ['otp'] })) as {
    secret: string;
    barcodeUri: string;
    recoveryCodes: string[];
  };
  const code = codeOf(app.secret, -1);
  const answer = await verify('otp', { mfa_token: mfaToken, otp: code });
  return { ...app, mfaToken, code, answer };
}

describe('the password grant with a second factor', () => {
  test('answers mfa_required, sets up an app by its first code, and then gives the tokens that were requested', async () => {
    const refused = await logIn('ann', { scope: 'openid read:x', audience: api });
    expect([refused.status, refused.json]).toEqual([
      403,
      {
        error: 'mfa_required',
        error_description: 'Multifactor authentication required',
        mfa_token: expect.any(String),
        mfa_requirements: { enroll: [{ type: 'otp' }, { type: 'phone' }, { type: 'email' }] },
      },
    ]);
    const mfaToken = String(refused.json.mfa_token);
    const app = (await auth0.enrollAuthenticator({ mfaToken, authenticatorTypes: ['otp'] })) as {
      secret: string;
      barcodeUri: string;
      recoveryCodes: string[];
    };
    expect(app.barcodeUri).toMatch(/^otpauth:\/\/totp\//);
    expect(app.recoveryCodes).toHaveLength(10);
    const wrong = await verify('otp', { mfa_token: mfaToken, otp: '000000' });
    expect([wrong.status, wrong.json]).toEqual([
      400,
      { error: 'invalid_grant', error_description: 'Invalid otp_code.' },
    ]);
    const { json } = await verify('otp', { mfa_token: mfaToken, otp: codeOf(app.secret, -1) });
    expect(json).toMatchObject({ token_type: 'Bearer', scope: 'openid read:x' });
    expect(decodeJwt(String(json.access_token))).toMatchObject({ sub: 'auth0|ann', scope: 'openid read:x' });
    expect(decodeJwt(String(json.id_token))).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: multiFactor });

    const login = 'SELECT logins_count FROM accounts WHERE user_id = $1 AND logins_count > 0';
    expect(await until('the login', async () => (await db.query(login, ['auth0|ann'])).rows[0])).toEqual({
      logins_count: 1,
    });

    const again = await verify('otp', { mfa_token: mfaToken, otp: codeOf(app.secret) });
    const spent = { error: 'invalid_grant', error_description: 'mfa_token was used already' };
    expect(again.json).toEqual(spent);
    await expect(auth0.challengeAuthenticator({ mfaToken, challengeType: 'otp' })).rejects.toMatchObject({
      cause: spent,
    });
  });

  test('asks for the code of an existing app, refuses a used code, and accepts a recovery code once', async () => {
    const { secret, code, recoveryCodes } = await enrol('ben');
    const mfaToken = await mfaTokenOf('ben');
    expect(await auth0.challengeAuthenticator({ mfaToken, challengeType: 'otp' })).toEqual({ challengeType: 'otp' });
    const used = await verify('otp', { mfa_token: mfaToken, otp: code });
    expect(used.json.error_description).toContain('used already');
    expect((await verify('otp', { mfa_token: mfaToken, otp: codeOf(secret) })).status).toBe(200);
    const recover = async () =>
      verify('recovery-code', { mfa_token: await mfaTokenOf('ben'), recovery_code: recoveryCodes[0]! });
    expect((await recover()).status).toBe(200);
    expect((await recover()).json).toEqual({ error: 'invalid_grant', error_description: 'Invalid recovery_code.' });
  });

  test('refuses recovery codes while they are switched off, and accepts them again afterwards', async () => {
    const { recoveryCodes } = await enrol('max');
    const mfa_token = await mfaTokenOf('max');
    const recover = () => verify('recovery-code', { mfa_token, recovery_code: recoveryCodes[0]! });
    const refused = await whileOff(gate, ['recovery-code'], recover);
    expect(refused.json).toEqual({ error: 'invalid_grant', error_description: 'Invalid recovery_code.' });
    expect((await recover()).status).toBe(200);
  });

  test('sends codes by text message, which belong to one mfa_token', async () => {
    const mfaToken = await mfaTokenOf('cleo');
    const phone = (await auth0.enrollAuthenticator({
      mfaToken,
      authenticatorTypes: ['oob'],
      oobChannels: ['sms'],
      phoneNumber: '+15555550499',
    })) as { oobCode: string };
    const first = { mfa_token: mfaToken, oob_code: phone.oobCode, binding_code: await codeSentTo('+15555550499') };
    expect((await verify('oob', first)).status).toBe(200);

    const next = await mfaTokenOf('cleo');
    const sent = await auth0.challengeAuthenticator({ mfaToken: next, challengeType: 'oob' });
    expect(sent).toMatchObject({ challengeType: 'oob', bindingMethod: 'prompt' });
    const binding_code = await codeSentTo('+15555550499', 1);
    const stranger = await mfaTokenOf('cleo');
    const elsewhere = await verify('oob', { mfa_token: stranger, oob_code: sent.oobCode!, binding_code });
    expect(elsewhere.json.error).toBe('invalid_grant');
    expect((await verify('oob', { mfa_token: next, oob_code: sent.oobCode!, binding_code })).status).toBe(200);
  });
});

test('lets nobody add or remove a factor with the password alone, but with the second factor as well', async () => {
  const { mfaToken: proven } = await enrol('dan');
  const mfaToken = await mfaTokenOf('dan');
  const [codes, app] = await auth0.listAuthenticators({ mfaToken });
  expect([codes, app]).toMatchObject([
    { authenticatorType: 'recovery-code' },
    { authenticatorType: 'otp', active: true },
  ]);
  await expect(auth0.enrollAuthenticator({ mfaToken, authenticatorTypes: ['otp'] })).rejects.toMatchObject({
    cause: { error: 'access_denied' },
  });
  await expect(auth0.deleteAuthenticator({ mfaToken, authenticatorId: app!.id })).rejects.toMatchObject({
    cause: { error: 'access_denied' },
  });
  // Another client cannot use the token.
  const foreign = await gate.post('oauth/token', {
    client_id: 'other',
    client_secret: 'other-secret',
    grant_type: grantType('otp'),
    mfa_token: mfaToken,
    otp: '000000',
  });
  expect(foreign.json.error_description).toContain('another client’s');
  // What stands for a second factor goes with the last one: it would stand for the next one, too, whoever has it.
  await db.query(`INSERT INTO remembered_browsers VALUES ('browser', 'auth0|dan', now(), now() + interval '1 day')`);
  await auth0.deleteAuthenticator({ mfaToken: proven, authenticatorId: app!.id });
  expect(await auth0.listAuthenticators({ mfaToken: proven })).toEqual([]);
  expect((await db.query(`SELECT FROM remembered_browsers WHERE user_id = 'auth0|dan'`)).rowCount).toBe(0);
});

describe('a thief of the password, before its owner has a second factor,', () => {
  const begin = async (name: string) => {
    const mfaToken = await mfaTokenOf(name);
    const app = (await auth0.enrollAuthenticator({ mfaToken, authenticatorTypes: ['otp'] })) as {
      secret: string;
      recoveryCodes: string[];
    };
    return { mfaToken, ...app };
  };

  test('gets no recovery codes for an unconfirmed factor, and cannot go on with it', async () => {
    const stranger = await begin('eve');
    const { recoveryCodes, answer } = await enrol('eve');
    expect([recoveryCodes.length, answer.status]).toEqual([10, 200]);

    const goesOn = await verify('otp', { mfa_token: stranger.mfaToken, otp: codeOf(stranger.secret) });
    expect([goesOn.status, goesOn.json.error]).toEqual([400, 'invalid_grant']);
    await expect(
      auth0.enrollAuthenticator({ mfaToken: stranger.mfaToken, authenticatorTypes: ['otp'] }),
    ).rejects.toMatchObject({ cause: { error: 'invalid_grant' } });
    const recover = async (recovery_code: string) =>
      (await verify('recovery-code', { mfa_token: await mfaTokenOf('eve'), recovery_code })).status;
    expect(await recover(stranger.recoveryCodes[0]!)).toBe(400);
    expect(await recover(recoveryCodes[0]!)).toBe(200);
  });

  test('cannot go on once there is one of a kind that was switched on meanwhile', async () => {
    const stranger = await whileOff(gate, ['sms', 'email'], () => begin('ned'));
    const mfaToken = await mfaTokenOf('ned');
    const { oobCode } = (await auth0.enrollAuthenticator({
      mfaToken,
      authenticatorTypes: ['oob'],
      oobChannels: ['sms'],
      phoneNumber: '+15555550498',
    })) as { oobCode: string };
    const binding_code = await codeSentTo('+15555550498');
    expect((await verify('oob', { mfa_token: mfaToken, oob_code: oobCode, binding_code })).status).toBe(200);

    const goesOn = await verify('otp', { mfa_token: stranger.mfaToken, otp: codeOf(stranger.secret) });
    expect([goesOn.status, goesOn.json.error]).toEqual([400, 'invalid_grant']);
    const { rows } = await db.query("SELECT type FROM authentication_methods WHERE user_id = 'auth0|ned'");
    expect(rows).toEqual([{ type: 'phone' }]);
  });

  test('is locked out once the password has changed, whatever was begun', async () => {
    const changePassword = (name: string) =>
      db.query("UPDATE accounts SET password_hash = password_hash || ' ' WHERE user_id = $1", [`auth0|${name}`]);
    const begun = await begin('finn');
    await changePassword('finn');
    expect((await verify('otp', { mfa_token: begun.mfaToken, otp: codeOf(begun.secret) })).status).toBe(400);

    const { recoveryCodes } = await enrol('gus');
    const mfaToken = await mfaTokenOf('gus');
    await changePassword('gus');
    const recovered = await verify('recovery-code', { mfa_token: mfaToken, recovery_code: recoveryCodes[0]! });
    expect([recovered.status, recovered.json.error]).toEqual([400, 'invalid_grant']);
  });
});

test('an mfa_token ends a quarter of an hour after the password, however often it is used', async () => {
  const redis = stack.adopt(await openRedis(redisUrl(), 30_000, openLog('test', 'silent')), (open) =>
    open.disconnect(),
  );
  const prefix = freshPrefix();
  const store = makePendingStore(redis, prefix, makeSeal(Buffer.alloc(32)));
  const account = { userId: 'auth0|ann', incarnation: '', credentialsVersion: 1 };
  const begun = {
    account,
    amr: ['pwd'],
    at: 0,
    due: 'challenge',
    types: [],
    isStepUp: false,
    isReported: true,
  } as const;
  const endOfKey = async () => redis.expiretime((await redis.keys(`${prefix}*`))[0]!);
  await store.save('a token', { ...begun, amr: [...begun.amr], types: [] });
  const found = (await store.find('a token'))!;
  expect(found.until).toBe(await endOfKey());
  const until = found.until! - 60;
  await store.save('a token', { ...found, until });
  await store.save('a token', { ...(await store.take('a token'))!, due: 'proven' });
  expect(await endOfKey()).toBe(until);
});

test('what was proven for one login completes none that has taken its place', async () => {
  const redis = stack.adopt(await openRedis(redisUrl(), 30_000, openLog('test', 'silent')), (open) =>
    open.disconnect(),
  );
  const store = makePendingStore(redis, freshPrefix(), makeSeal(Buffer.alloc(32)));
  const loginOf = (userId: string): Pending => ({
    account: { userId, incarnation: '', credentialsVersion: 1 },
    amr: ['pwd'],
    at: 0,
    due: 'enrolment',
    types: [],
    isStepUp: false,
    isReported: true,
  });
  const first = await store.save('a browser', loginOf('auth0|ann'));
  // Even the same again is another.
  for (const userId of ['auth0|ben', 'auth0|ann']) {
    const second = await store.save('a browser', loginOf(userId));
    expect(await store.takeSame('a browser', first)).toBe(false);
    expect(await store.replace('a browser', first, first)).toBeUndefined();
    expect(await store.find('a browser')).toEqual(second);
  }
  const found = (await store.find('a browser'))!;
  const answers = await Promise.all(Array.from({ length: 50 }, () => store.takeSame('a browser', found)));
  expect(answers.filter(Boolean)).toHaveLength(1);
  expect(await store.replace('a browser', found, found)).toBeUndefined();
  expect(await store.replace('a browser', loginOf('auth0|ann'), first)).toMatchObject({ until: first.until });
});

test('of two hundred concurrent tries at one challenge with the right code one gets tokens', async () => {
  const mfa_token = await mfaTokenOf('hal');
  const associated = await fetch(`${gate.issuer}mfa/associate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mfa_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ authenticator_types: ['oob'], oob_channels: ['email'], email: 'hal@example.com' }),
  });
  const { oob_code } = (await associated.json()) as { oob_code: string };
  const binding_code = await codeSentTo('hal@example.com');
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => verify('oob', { mfa_token, oob_code, binding_code })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const { rows } = await db.query("SELECT type FROM authentication_methods WHERE user_id = 'auth0|hal'");
  expect(rows).toEqual([{ type: 'email' }]);
});

describe('an mfa_token for which several codes are checked at once', () => {
  const spent = { error: 'invalid_grant', error_description: 'mfa_token was used already' };

  test('gives tokens once', async () => {
    const { secret, recoveryCodes } = await enrol('kit');
    const mfa_token = await mfaTokenOf('kit');
    const late = await whileHeld(
      db,
      "SELECT FROM recovery_codes WHERE user_id = 'auth0|kit' FOR UPDATE",
      () => verify('recovery-code', { mfa_token, recovery_code: recoveryCodes[0]! }),
      async () => expect((await verify('otp', { mfa_token, otp: codeOf(secret) })).status).toBe(200),
    );
    expect([late.status, late.json]).toEqual([400, spent]);
  });

  test('stays spent, even if a code is being sent for it', async () => {
    const { recoveryCodes } = await enrol('lea');
    await db.query(
      `INSERT INTO authentication_methods (id, user_id, type, target)
       VALUES ('email|dev_lea', 'auth0|lea', 'email', 'lea@example.com')`,
    );
    const mfaToken = await mfaTokenOf('lea');
    const recover = (recovery_code: string) => verify('recovery-code', { mfa_token: mfaToken, recovery_code });
    const late = await whileHeld(
      db,
      'LOCK TABLE authentication_methods',
      () => auth0.challengeAuthenticator({ mfaToken, challengeType: 'oob' }).catch(({ cause }) => cause),
      async () => expect((await recover(recoveryCodes[0]!)).status).toBe(200),
    );
    expect(late).toMatchObject({ error: 'invalid_grant' });
    expect((await recover(recoveryCodes[1]!)).json).toEqual(spent);
  });
});

describe('an access token for the MFA API', () => {
  const audience = `${gate.issuer}mfa/`;
  const all = 'enroll read:authenticators remove:authenticators';
  const sparingly = { client_id: 'sparing', client_secret: 'sparing-secret' };
  const tokenOf = async (name: string, more: Record<string, string> = {}) =>
    (await logIn(name, { ...sparingly, audience, scope: all, ...more })).json;
  const ask = async (token: unknown, method: string, path: string, body?: object) => {
    const response = await fetch(`${gate.issuer}mfa/${path}`, {
      method,
      headers: { authorization: `Bearer ${String(token)}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: response.status === 204 ? undefined : await response.json() };
  };
  const otp = { authenticator_types: ['otp'] };

  test('adds, shows and removes factors, and changes existing ones only after the second factor', async () => {
    const first = await tokenOf('ivy');
    expect([first.scope, decodeJwt(String(first.access_token))]).toMatchObject([
      all,
      { aud: audience, auth_time: expect.any(Number), amr: ['pwd'] },
    ]);
    expect(await ask(first.access_token, 'GET', 'authenticators')).toEqual({ status: 200, json: [] });
    const { status, json } = await ask(first.access_token, 'POST', 'associate', otp);
    expect([status, json.recovery_codes]).toMatchObject([200, { length: 10 }]);
    const confirm = (code: string) => verify('otp', { ...sparingly, mfa_token: String(first.access_token), otp: code });
    expect((await confirm('000000')).json.error_description).toBe('Invalid otp_code.');
    const confirmed = await confirm(codeOf(json.secret, -1));
    expect(decodeJwt(String(confirmed.json.access_token))).toMatchObject({ aud: audience, amr: ['pwd', 'otp', 'mfa'] });
    // It confirms once, and has no more to say than a password now.
    expect((await confirm(codeOf(json.secret))).json.error).toBe('invalid_grant');
    expect((await ask(first.access_token, 'POST', 'associate', otp)).json.error).toBe('access_denied');
    const listed = await ask(confirmed.json.access_token, 'GET', 'authenticators');
    expect(listed.json).toMatchObject([{ type: 'recovery-code' }, { authenticator_type: 'otp' }]);
    const path = `authenticators/${encodeURIComponent(listed.json[1].id)}`;
    expect((await ask(first.access_token, 'DELETE', path)).status).toBe(403);
    // Nobody has one without the second factor, though this application spares it otherwise.
    expect((await logIn('ivy', sparingly)).status).toBe(200);
    expect((await tokenOf('ivy')).error).toBe('mfa_required');
    expect((await ask(confirmed.json.access_token, 'DELETE', path)).status).toBe(204);
    // Both are told by mail.
    for (const subject of ['added to', 'removed from'].map(
      (what) => `A way to sign in was ${what} your Gatepost account`,
    ))
      await until(subject, async () => (await mailsTo('ivy@example.com')).includes(subject));
  });

  test('needs the right scope and audience, a fresh login and an existing grant', async () => {
    const { access_token: narrow } = await tokenOf('joe', { scope: 'read:authenticators' });
    expect((await ask(narrow, 'GET', 'authenticators')).status).toBe(200);
    for (const [method, path] of [
      ['POST', 'associate'],
      ['DELETE', 'authenticators/otp%7Cdev_x'],
    ] as const)
      expect((await ask(narrow, method, path, method === 'POST' ? otp : undefined)).json.error).toBe(
        'insufficient_scope',
      );
    expect((await ask(narrow, 'POST', 'challenge', {})).status).toBe(401);
    const others = await tokenOf('joe', { audience: api, scope: 'openid read:x' });
    for (const token of [others.access_token, others.id_token, `${String(narrow).slice(0, -8)}AAAAAAAA`])
      expect((await ask(token, 'GET', 'authenticators')).status).toBe(401);

    const browser = new Browser(gate);
    const asked = { client_id: 'sparing', redirect_uri: 'https://app.example/cb', response_type: 'code' };
    const bySession = async () => {
      const { code_verifier, ...challenge } = pkce();
      const page = await browser.authorize({ ...asked, audience, scope: all, ...challenge });
      const done = page.location ? page : await browser.logIn(page, 'joe@example.com');
      const code = done.location!.searchParams.get('code')!;
      const redeemed = { grant_type: 'authorization_code', redirect_uri: asked.redirect_uri, code, code_verifier };
      return (await gate.post('oauth/token', { ...sparingly, ...redeemed })).json.access_token;
    };
    const fresh = await bySession();
    expect((await ask(fresh, 'POST', 'associate', otp)).status).toBe(200);
    const redis = stack.adopt(await openRedis(redisUrl(), 30_000, openLog('test', 'silent')), (open) =>
      open.disconnect(),
    );
    for (const key of await redis.keys(`${gate.redisPrefix}auth:Session:*`)) {
      const payload = JSON.parse((await redis.hget(key, 'payload')) ?? '{}');
      await redis.hset(key, 'payload', JSON.stringify({ ...payload, loginTs: payload.loginTs - 601 }));
    }
    const stale = await bySession();
    expect((await ask(stale, 'GET', 'authenticators')).status).toBe(200);
    expect((await ask(stale, 'POST', 'associate', otp)).json).toMatchObject({
      error: 'access_denied',
      error_description: expect.stringContaining('too old'),
    });
    await db.query("DELETE FROM artefacts WHERE account_id = 'auth0|joe'");
    expect((await ask(fresh, 'GET', 'authenticators')).status).toBe(401);
  });
});
