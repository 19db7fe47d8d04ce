/** sec-102 to sec-108: logs, the head of a request, CORS, the management API, floods, clocks. */

import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { freePort, openGate } from '../gate.ts';
import { managerToken } from '../manager.ts';
import { api, fullSeed } from '../seeds.ts';
import { callback, clientKey, openTarget, password, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer, machineToken } = target;
const headOf = (origin: string) => ({ origin, 'access-control-request-method': 'POST' });

test('sec-102-canary: no output of a process contains a code, token, secret, password or cookie after a full run', async () => {
  const port = await freePort();
  const opsPort = await freePort();
  const env: Record<string, string> = {
    ...gate.env,
    LOG_LEVEL: 'debug',
    ISSUER: `http://localhost:${port}/`,
    AUTH_PORT: String(port),
    AUTH_OPS_PORT: String(opsPort),
    SEED_FILE: '', // it is applied already, and names the first one's own API
  };
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const gateProcess = spawn(process.execPath, ['--conditions=source', main], {
    env: { ...env, PATH: process.env.PATH ?? '' } as NodeJS.ProcessEnv,
  });
  let output = '';
  gateProcess.stdout.on('data', (chunk) => (output += String(chunk)));
  gateProcess.stderr.on('data', (chunk) => (output += String(chunk)));
  const ended = new Promise((resolve) => gateProcess.once('exit', resolve));
  try {
    const own = { ...gate, issuer: env.ISSUER };
    const post = async (path: string, form: Record<string, string>, headers = {}) => {
      const response = await fetch(`${env.ISSUER}${path}`, {
        method: 'POST',
        body: new URLSearchParams(form),
        headers,
      });
      return { status: response.status, text: await response.text() };
    };
    await until('the gate', () =>
      fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
        (ready) => ready.ok,
        () => false,
      ),
    );
    const browser = new Browser(own as never);
    const { code_verifier, ...challenge } = pkce();
    const start = {
      client_id: 'spa',
      redirect_uri: callback,
      response_type: 'code',
      scope: 'openid offline_access',
      state: 'canary-state',
      ...challenge,
    };
    const first = await browser.authorize(start);
    const failed = await browser.logIn(first, 'alice@example.com', 'canary-wrong-password');
    const page = await browser.submit(failed, { password });
    const code = page.location!.searchParams.get('code')!;
    const cookies = [...browser.cookies.values()].map(({ value }) => value);
    const given = { grant_type: 'authorization_code', client_id: 'spa', code, redirect_uri: callback, code_verifier };
    const tokens = JSON.parse((await post('oauth/token', given)).text) as Tokens;
    await fetch(`${env.ISSUER}userinfo?access_token=${tokens.access_token}`);
    await fetch(`${env.ISSUER}userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}x` } });
    await post('oauth/token', { grant_type: 'refresh_token', client_id: 'spa', refresh_token: tokens.refresh_token });
    await post('oauth/token', { grant_type: 'refresh_token', client_id: 'spa', refresh_token: tokens.refresh_token });
    await post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'canary-wrong-secret',
    });
    await post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
    });
    await post('passwordless/start', { client_id: 'native', connection: 'email', email: 'canary@example.com' });
    const metrics = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    gateProcess.kill('SIGTERM');
    await ended;
    const { rows } = await gate.pool.query('SELECT to_jsonb(l) AS row FROM auth.logs l');
    const mail = (await gate.outbox()).find((text) => text.includes('canary@example.com'));
    const secrets: Record<string, string> = {
      ...tokens,
      code,
      code_verifier,
      password,
      wrongPassword: 'canary-wrong-password',
      secret: 'machine-secret',
      wrongSecret: 'canary-wrong-secret',
      key: gate.env.SECRETS_KEY!,
      state: 'canary-state',
      ...(mail ? { otp: `${/code is (\d{6})/.exec(mail)![1]}"` } : {}),
      ...Object.fromEntries(
        cookies.filter((value) => value.length > 15).map((value, index) => [`cookie ${index}`, value]),
      ),
    };
    expect(output).toContain('"service":"auth"');
    // Nothing gets past the log: each line is one of its own, a library's remarks included.
    expect(output.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
    expect(rows.length).toBeGreaterThan(0);
    delete secrets.scope;
    delete secrets.token_type;
    delete secrets.expires_in;
    for (const [sink, text] of Object.entries({ output, metrics, audit: JSON.stringify(rows) }))
      for (const [name, value] of Object.entries(secrets))
        expect([sink, name, text.includes(String(value))]).toEqual([sink, name, false]);
  } finally {
    gateProcess.kill('SIGKILL');
    await ended;
  }
});

test('sec-103-host: a poisoned Host or X-Forwarded-Host changes no issuer, link, cookie or redirect', async () => {
  const poisoned = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
  };
  const ask = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const outgoing = request(new URL(path, issuer), { headers: poisoned }, (response) => {
        let text = JSON.stringify(response.headers);
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () => resolve(text));
      });
      outgoing.on('error', reject).end();
    });
  const query = new URLSearchParams({
    client_id: 'web',
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
  });
  for (const path of [
    '.well-known/openid-configuration',
    `authorize?${query}`,
    'activate',
    'oidc/logout',
    'v2/logout',
    'authorize',
  ])
    expect(await ask(path)).not.toContain('evil.example');
});

test('sec-104-cors: allows only a client’s own origins, never credentials, and never null', async () => {
  const from = (origin: string) =>
    gate.post('oauth/token', { grant_type: 'refresh_token', client_id: 'spa', refresh_token: 'x' }, { origin });
  expect((await from('https://app.example')).headers.get('access-control-allow-origin')).toBe('https://app.example');
  for (const origin of ['https://evil.example', 'null', 'https://app.example.evil.com', 'http://app.example']) {
    const { headers } = await from(origin);
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  }
  const { access_token } = await target.login('spa');
  const own = await gate.get('userinfo', { authorization: `Bearer ${access_token}`, origin: 'https://app.example' });
  expect(own.headers.get('access-control-allow-origin')).toBe('https://app.example');
  const preflight = await fetch(`${issuer}oauth/token`, { method: 'OPTIONS', headers: headOf('https://app.example') });
  expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
  for (const path of ['authorize', 'oidc/logout', 'api/v2/clients']) {
    const response = await fetch(`${issuer}${path}`, {
      headers: { origin: 'https://evil.example' },
      redirect: 'manual',
    });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('sec-105-management: refuses a missing token, another audience, a person’s token and a missing scope', async () => {
  const { json } = await machineToken();
  const { access_token } = await target.login('spa', { audience: api, scope: 'openid read:x' });
  for (const token of ['', 'x', 'a.b.c', json.access_token, access_token]) {
    const response = await gate.get('api/v2/clients', { authorization: `Bearer ${token}` });
    expect(response.status).toBe(401);
  }
  const authorization = `Bearer ${await managerToken(gate)}`;
  expect((await gate.get('api/v2/clients?per_page=1', { authorization })).status).toBe(200);
  expect((await gate.get('api/v2/logs', { authorization })).status).toBe(403);
  for (const per_page of ['101', '1000000', '-1', 'x'])
    expect([per_page, (await gate.get(`api/v2/clients?per_page=${per_page}`, { authorization })).status]).toEqual([
      per_page,
      400,
    ]);
  const patch = await fetch(`${issuer}api/v2/users/${encodeURIComponent('auth0|alice')}`, {
    method: 'PATCH',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ user_id: 'auth0|bob', password_hash: 'x', passwordHash: 'x' }),
  });
  expect(patch.status).toBe(400);
});

test('sec-107-slow: a head or body sent byte by byte is cut off in time, and others are served meanwhile', async () => {
  // Not so short that a busy machine takes longer for those who are served.
  const env = { REQUEST_HEAD_TIMEOUT_MS: '2000', REQUEST_TIMEOUT_MS: '2500' };
  const slow = stack.use(await openGate(fullSeed, env));
  // They would go on for ever: whoever ends it is the gate.
  const drip = (start: string) =>
    new Promise<string>((resolve, reject) => {
      let answer = '';
      const socket = connect(Number(slow.env.AUTH_PORT), '127.0.0.1', () => socket.write(start));
      const dripping = setInterval(() => socket.write('x'), 50);
      socket.on('data', (chunk) => (answer += String(chunk)));
      socket.on('close', () => {
        clearInterval(dripping);
        resolve(answer);
      });
      socket.on(
        'error',
        (error: NodeJS.ErrnoException) => error.code !== 'EPIPE' && error.code !== 'ECONNRESET' && reject(error),
      );
    });
  const form = 'content-type: application/x-www-form-urlencoded\r\ncontent-length: 4000\r\n\r\ngrant_type=';
  const cut = Promise.all([
    drip('POST /oauth/token HTTP/1.1\r\nhost: gate\r\nx-slow: '),
    drip(`POST /oauth/token HTTP/1.1\r\nhost: gate\r\n${form}`),
    drip(`POST /oauth/revoke HTTP/1.1\r\nhost: gate\r\n${form}`),
  ]);
  expect((await slow.get('.well-known/jwks.json')).status).toBe(200);
  for (const answer of await cut) expect(answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
});

test('sec-107-flood: many open sign-ins at once are answered, and the gate works afterwards', async () => {
  const query = new URLSearchParams({
    client_id: 'web',
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
  });
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => gate.get(`authorize?${query}`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]));
  }
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(150e6);
  expect((await machineToken()).status).toBe(200);
});

test('sec-107-password-flood: hundreds of wrong passwords do not delay machine tokens', async () => {
  const form = { grant_type: 'password', client_id: 'trusted', client_secret: 'trusted-secret', password: 'wrong' };
  let answered = 0;
  const flood = Array.from({ length: 120 }, (_, index) =>
    gate.post('oauth/token', { ...form, username: `u${index}@example.com` }).finally(() => {
      answered += 1;
    }),
  );
  expect((await machineToken()).status).toBe(200);
  expect(answered).toBeLessThan(120);
  const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
  for (const status of statuses) expect([400, 429, 503]).toContain(status);
});

test('sec-108-clock: a clock some seconds off is tolerated, one minutes off is not', async () => {
  let sequence = 0;
  const by = async (offset: number) => {
    const now = Math.floor(Date.now() / 1000) + offset;
    const client_assertion = await new SignJWT({
      iss: 'keyed',
      sub: 'keyed',
      aud: issuer,
      iat: now,
      nbf: now,
      exp: now + 60,
      jti: `clock${sequence++}`,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(clientKey.privateKey);
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    return (
      await gate.post('oauth/token', {
        grant_type: 'client_credentials',
        audience: api,
        client_assertion_type,
        client_assertion,
      })
    ).status;
  };
  for (const offset of [-10, 10]) expect([offset, await by(offset)]).toEqual([offset, 200]);
  for (const offset of [-300, 300]) expect([offset, await by(offset)]).toEqual([offset, 401]);
});
