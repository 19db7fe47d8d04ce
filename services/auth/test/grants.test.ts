/** What the token endpoint gives for passwords, device codes and codes by mail and text message. */
import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openGate } from './gate.ts';
import { alice, api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const carol = { ...alice, user_id: 'auth0|carol', email: 'carol@example.com', phone_number: '+15555550103' };
const gate = stack.use(await openGate({ ...fullSeed, users: [...fullSeed.users, carol] }));
const { pool: db } = gate;
/** What is known of somebody's logins, once there is any. */
const loginsOf = (userId: string) =>
  until('a login', async () => {
    const columns = 'logins_count, last_ip, last_login IS NOT NULL AS dated';
    const { rows } = await db.query(`SELECT ${columns} FROM accounts WHERE user_id = $1 AND logins_count > 0`, [
      userId,
    ]);
    return rows[0];
  });
const logOf = async (userId: string, type: string) =>
  until(`${type} in the log`, async () => {
    const { rows } = await db.query('SELECT type FROM logs WHERE user_id = $1 ORDER BY id', [userId]);
    const types = rows.map((row) => row.type);
    return types.includes(type) && types;
  });
const userinfo = (token: string) => gate.get('userinfo', { authorization: `Bearer ${token}` });
const refresh = (client_id: string, refresh_token: string, more = {}) =>
  gate.post('oauth/token', { grant_type: 'refresh_token', client_id, refresh_token, ...more });

describe('password', () => {
  const grant = (form: Record<string, string>, headers = {}) =>
    gate.post(
      'oauth/token',
      {
        grant_type: 'password',
        client_id: 'trusted',
        client_secret: 'trusted-secret',
        username: 'alice@example.com',
        password: 'correct horse battery staple',
        ...form,
      },
      headers,
    );

  test('gives all scopes of the API without `scope`, and a refresh token on request', async () => {
    const all = await grant({ audience: api });
    expect(all).toMatchObject({ status: 200, json: { scope: 'read:x write:x admin:x' } });
    expect(all.json).not.toHaveProperty('refresh_token');
    const { json } = await grant({ audience: api, scope: 'openid offline_access read:x' });
    expect(decodeJwt(json.access_token as string)).toMatchObject({
      sub: 'auth0|alice',
      scope: 'openid offline_access read:x',
    });
    expect(decodeJwt(json.id_token as string)).toMatchObject({ sub: 'auth0|alice', aud: 'trusted', amr: ['pwd'] });
    expect((await refresh('trusted', json.refresh_token as string, { client_secret: 'trusted-secret' })).status).toBe(
      200,
    );
    expect((await userinfo(json.access_token as string)).status).toBe(200);
  });

  test('password-realm names the connection', async () => {
    const grant_type = 'http://auth0.com/oauth/grant-type/password-realm';
    expect((await grant({ grant_type, realm: 'Username-Password-Authentication' })).status).toBe(200);
    expect((await grant({ grant_type, realm: 'nowhere' })).json.error).toBe('invalid_request');
  });

  test('is a login of the person, from the address that the application states', async () => {
    const login = { username: 'carol@example.com' };
    expect((await grant({ ...login, password: 'wrong' })).status).toBe(400);
    expect((await grant(login, { 'auth0-forwarded-for': '192.0.2.77' })).status).toBe(200);
    expect(await loginsOf('auth0|carol')).toEqual({ logins_count: 1, last_ip: '192.0.2.77', dated: true });
    expect(await logOf('auth0|carol', 'sepft')).toEqual(['fp', 'sepft']);
  });

  test('sec-061-same-answer: a wrong password and an unknown login get the same answer', async () => {
    const wrong = await grant({ password: 'wrong', username: 'bob@example.com' });
    const unknown = await grant({ password: 'wrong', username: 'nobody@example.com' });
    expect(wrong).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(unknown.json).toEqual(wrong.json);
  });

  test('sec-065-ropc-first-party: only first-party clients that list the grant may use it', async () => {
    expect((await grant({ client_id: 'untrusted' })).json.error).toBe('unauthorized_client');
    expect((await grant({ client_id: 'web', client_secret: 'web-secret' })).json.error).toBe('unauthorized_client');
  });

  test('sec-062-lockout: the eleventh try of a login and address is 429, the right password works elsewhere, and clears only its pair', async () => {
    const from = (address: string) => ({ 'auth0-forwarded-for': address });
    for (let index = 0; index < 10; index += 1)
      expect((await grant({ password: 'wrong' }, from('192.0.2.1'))).status).toBe(400);
    const locked = await grant({}, from('192.0.2.1'));
    expect(locked).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } });
    expect((await grant({}, from('192.0.2.2'))).status).toBe(200);
    expect((await grant({}, from('192.0.2.1'))).status).toBe(429);
    for (let index = 0; index < 9; index += 1) await grant({ password: 'wrong' }, from('192.0.2.3'));
    expect((await grant({}, from('192.0.2.3'))).status).toBe(200);
    expect((await grant({ password: 'wrong' }, from('192.0.2.3'))).status).toBe(400);
  });

  test('sec-062-lockout-race: fifty parallel guesses get ten tries', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        grant({ password: `guess ${index}` }, { 'auth0-forwarded-for': '192.0.2.9' }),
      ),
    );
    expect(guesses.filter((answer) => answer.status === 429)).toHaveLength(40);
  });
});

describe('device code', () => {
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  const start = async () =>
    (await gate.post('oauth/device/code', { client_id: 'native', scope: 'openid offline_access', audience: api }))
      .json as Record<string, string>;
  const poll = (device_code: string, more = {}) =>
    gate.post('oauth/token', { grant_type, client_id: 'native', device_code, ...more });

  test('a person enters the code, logs in and allows access, and the device gets its tokens once', async () => {
    const device = await start();
    expect(device).toMatchObject({ interval: 5, verification_uri: `${gate.issuer}activate` });
    expect((await poll(device.device_code!)).json.error).toBe('authorization_pending');
    expect((await poll(device.device_code!)).json.error).toBe('slow_down');
    const browser = new Browser(gate);
    const entry = await browser.get('activate');
    const wrong = await browser.submit(entry, { user_code: 'BBBB-BBBB' });
    expect(wrong.html).toContain('name="user_code"');
    const confirm = await browser.submit(wrong, { user_code: device.user_code! });
    expect(confirm.html).toContain(device.user_code!);
    const done = await browser.logIn(await browser.submit(confirm, { confirm: 'yes' }));
    expect(done.status).toBe(200);
    const { json, status } = await poll(device.device_code!, { audience: api }); // which it may repeat
    expect(status).toBe(200);
    expect(decodeJwt(json.access_token as string)).toMatchObject({ sub: 'auth0|alice', client_id: 'native' });
    expect(json.refresh_token).toBeDefined();
    expect((await poll(device.device_code!)).json.error).toBe('invalid_grant');
  });

  test('a confirmed device code belongs to the browser that confirmed it, also when it comes back later', async () => {
    const device = await start();
    const browser = new Browser(gate);
    const confirm = await browser.submit(await browser.get('activate'), { user_code: device.user_code! });
    const login = await browser.submit(confirm, { confirm: 'yes' });
    const other = new Browser(gate);
    const again = await other.submit(await other.get('activate'), { user_code: device.user_code! });
    expect([again.status, again.html.includes('name="user_code"')]).toEqual([400, true]);
    expect(again.html).toContain('start again on your device');
    expect((await poll(device.device_code!)).json.error).toBe('authorization_pending');
    await browser.logIn(await browser.get(login.url));
    expect((await poll(device.device_code!)).status).toBe(200);
  });

  test('of four people who confirm one device code at once one continues', async () => {
    const device = await start();
    const people = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const browser = new Browser(gate);
        return { browser, page: await browser.submit(await browser.get('activate'), { user_code: device.user_code! }) };
      }),
    );
    const pages = await Promise.all(people.map(({ browser, page }) => browser.submit(page, { confirm: 'yes' })));
    expect(pages.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400]);
    const first = pages.findIndex(({ status }) => status === 200);
    await people[first]!.browser.logIn(pages[first]!);
    expect((await poll(device.device_code!)).status).toBe(200);
  });

  test('cancelling gives the device access_denied', async () => {
    const device = await start();
    const browser = new Browser(gate);
    const confirm = await browser.submit(await browser.get('activate'), { user_code: device.user_code! });
    await browser.submit(confirm, { abort: 'yes' });
    expect((await poll(device.device_code!)).json.error).toBe('access_denied');
  });
});

describe('passwordless code for tokens', () => {
  const grant_type = 'http://auth0.com/oauth/grant-type/passwordless/otp';
  const startCode = (connection: string, to: Record<string, string>) =>
    gate.post('passwordless/start', { client_id: 'native', connection, send: 'code', ...to });
  const lastCode = async (to: string) => {
    const found = await until('the message', async () => {
      const messages = (await gate.outbox()).filter((message) => message.includes(to));
      return messages.at(-1);
    });
    return /code is (\d{6})/.exec(found)![1]!;
  };
  const grant = (otp: string, username: string, realm: string) =>
    gate.post('oauth/token', { grant_type, client_id: 'native', otp, username, realm, scope: 'openid email' });

  test('a mailed code opens the verified account once', async () => {
    const start = await startCode('email', { email: 'alice@example.com' });
    expect(start).toMatchObject({ status: 200, json: { email: 'alice@example.com' } });
    const code = await lastCode('alice@example.com');
    const answer = await grant(code, 'alice@example.com', 'email');
    expect(answer.status).toBe(200);
    expect(decodeJwt(answer.json.id_token as string)).toMatchObject({ sub: 'auth0|alice', amr: ['otp'] });
    expect((await grant(code, 'alice@example.com', 'email')).json.error).toBe('invalid_grant');
  });

  test('a code by text message is on the first line, and a new number gets an account', async () => {
    await startCode('sms', { phone_number: '+15555550199' });
    const code = await lastCode('+15555550199');
    const message = (await gate.outbox()).find((text) => text.startsWith('+15555550199\n'));
    expect(message).toContain(code);
    const answer = await grant(code, '+15555550199', 'sms');
    const { sub = '' } = decodeJwt(answer.json.id_token as string);
    expect(sub).toMatch(/^sms\|/);
    expect(await loginsOf(sub)).toEqual({ logins_count: 1, last_ip: '127.0.0.1', dated: true });
    expect(await logOf(sub, 'seoobft')).toEqual(['seoobft']);
  });

  test('sec-067-otp: three wrong tries spend a code, and parallel guesses are counted one by one', async () => {
    await startCode('email', { email: 'new@example.com' });
    const code = await lastCode('new@example.com');
    const wrong = code === '000000' ? '000001' : '000000';
    const guesses = await Promise.all(Array.from({ length: 8 }, () => grant(wrong, 'new@example.com', 'email')));
    expect(guesses.every((answer) => answer.json.error === 'invalid_grant')).toBe(true);
    expect((await grant(code, 'new@example.com', 'email')).json.error).toBe('invalid_grant');
  });

  test('sec-067-otp-binding: a code for one client is worth nothing to another', async () => {
    await startCode('email', { email: 'bob@example.com' });
    const code = await lastCode('bob@example.com');
    const verify = await gate.post('passwordless/verify', {
      client_id: 'spa',
      connection: 'email',
      email: 'bob@example.com',
      verification_code: code,
    });
    expect(verify.status).toBe(403);
    const own = await gate.post('passwordless/verify', {
      client_id: 'native',
      connection: 'email',
      email: 'bob@example.com',
      verification_code: code,
    });
    expect(own.status).toBe(200);
  });
});
