import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { type Asked, gatepost, newFolder, openGate, Reply, start } from './gate.ts';

/** A folder of profiles. */
const newConfig = () => ({ GATEPOST_CONFIG_DIR: path.join(newFolder(), 'config'), GATEPOST_NO_KEYRING: '1' });

/**
 * A gate that lets everybody in at once, with tokens that are to be renewed at each use; `renewing` may keep a renewal waiting, `user` is the
 * API's answer to who it is.
 */
async function openOpenGate(name: string, renewing: () => Promise<unknown> = async () => {}, user?: () => unknown) {
  const sent: string[] = [];
  const revoked: string[] = [];
  const tokens = () => ({ access_token: 't', expires_in: 1, refresh_token: `${name}-${sent.length}` });
  const gate = await openGate({
    '/oauth/device/code': () => ({
      device_code: 'd',
      user_code: 'u',
      verification_uri: 'v',
      expires_in: 60,
      interval: 0,
    }),
    '/oauth/token': async ({ form }: Asked) => {
      if (form.get('grant_type') !== 'refresh_token') return tokens();
      sent.push(form.get('refresh_token')!);
      await renewing();
      return tokens();
    },
    '/oauth/revoke': ({ form }: Asked) => {
      revoked.push(form.get('token')!);
      return {};
    },
    ...(user && { '/user': user }),
    '/repos/a/b/hooks/1/deliveries': () => [],
    '/repos/a/b/hooks/1/deliveries/stream': () => ':\n\n', // and ends, so that another one is asked for
  });
  const login = (env: Record<string, string>) => gatepost(['login', '--profile', 'work', '--api', gate.url], env);
  return Object.assign(gate, { sent, revoked, login });
}

/** Something that others wait for until it is let go. */
function newHold() {
  let release!: () => void;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { released, release };
}

test('a command that still runs sends nothing of a later sign-in to the gate of the earlier one', async () => {
  await using first = await openOpenGate('first');
  await using second = await openOpenGate('second');
  const env = newConfig();
  expect(await first.login(env)).toMatchObject({ code: 0 });
  const tail = start(['deliveries', 'tail', '1', '--repo', 'a/b', '--interval', '1'], env);
  await until('the tail', () => tail.err().includes('Waiting for deliveries'));
  expect(await second.login(env)).toMatchObject({ code: 0 });
  const isAnothers = (token: string) => !token.startsWith('first');
  await until('its end', () => tail.child.exitCode !== null || first.sent.some(isAnothers));
  expect(first.sent.filter(isAnothers)).toEqual([]);
  expect(await tail.ended).toMatchObject({
    code: 3,
    err: expect.stringContaining(`gatepost login --api ${first.url}`),
  });
});

test('a sign-in under the name in GATEPOST_PROFILE leaves the others alone', async () => {
  await using gate = await openOpenGate('gate');
  const env = newConfig();
  expect(await gatepost(['login', '--api', gate.url], env)).toMatchObject({ code: 0 });
  const named = { ...env, GATEPOST_PROFILE: 'second' };
  expect(await gatepost(['login', '--api', gate.url], named)).toMatchObject({ code: 0 });
  expect(gate.revoked).toEqual([]);
  const { out } = await gatepost(['profiles', 'list', '--json'], env);
  expect(JSON.parse(out).map(({ name }: { name: string }) => name)).toEqual([new URL(gate.url).host, 'second']);
});

// Nobody was signed in then, whoever was.
test('with GATEPOST_PROFILE set to nothing the latest sign-in is used', async () => {
  await using gate = await openOpenGate('gate');
  const env = newConfig();
  expect(await gate.login(env)).toMatchObject({ code: 0 });
  expect(await gatepost(['whoami'], { ...env, GATEPOST_PROFILE: '' })).toMatchObject({ code: 0, err: '' });
});

test('sign-ins at the same time are all kept, and all end', async () => {
  await using gate = await openOpenGate('gate');
  const env = newConfig();
  const names = Array.from({ length: 8 }, (_, n) => `p${n}`);
  const machine = { ...env, GATEPOST_CLIENT_SECRET: 's' };
  const login = ['login', '--machine', '--client-id', 'ci', '--api', gate.url];
  const all = async (run: (name: string) => ReturnType<typeof gatepost>) =>
    (await Promise.all(names.map(run))).map(({ code, err }) => `${code} ${err}`);
  expect(await all((name) => gatepost([...login, '--profile', name], machine))).toEqual(names.map(() => '0 '));
  const { out } = await gatepost(['profiles', 'list', '--json'], env);
  expect(
    JSON.parse(out)
      .map(({ name }: { name: string }) => name)
      .sort(),
  ).toEqual(names);
  expect(await all((name) => gatepost(['logout', '--profile', name], env))).toEqual(names.map(() => '0 '));
  expect(readdirSync(env.GATEPOST_CONFIG_DIR)).toEqual(['profiles.json']);
  expect((await gatepost(['profiles', 'list', '--json'], env)).out).toBe('[]\n');
});

test('a profile may have any name', async () => {
  await using gate = await openOpenGate('gate');
  const env = newConfig();
  const whoami = (name: string) => gatepost(['whoami', '--profile', name], env);
  for (const name of ['constructor', '__proto__']) {
    expect(await whoami(name)).toEqual({
      code: 3,
      out: '',
      err: `gatepost: not signed in to the profile ${name}\n  gatepost login --profile ${name}\n`,
    });
    const login = ['login', '--profile', name, '--api', gate.url];
    expect(await gatepost(login, env)).toMatchObject({ code: 0 });
    expect(await whoami(name)).toMatchObject({ code: 0, out: expect.stringContaining(`profile  ${name}, signed in`) });
  }
  const { out } = await gatepost(['profiles', 'list', '--json'], env);
  expect(JSON.parse(out).map(({ name }: { name: string }) => name)).toEqual(['constructor', '__proto__']);
});

test.each(['null', '{}', '[]', '{"profiles":null}', '{'])(
  'a file of profiles with %s is called damaged',
  async (text) => {
    const env = newConfig();
    mkdirSync(env.GATEPOST_CONFIG_DIR, { mode: 0o700 });
    const file = path.join(env.GATEPOST_CONFIG_DIR, 'profiles.json');
    writeFileSync(file, text, { mode: 0o600 });
    expect(await gatepost(['whoami'], env)).toEqual({
      code: 1,
      out: '',
      err: `gatepost: ${file} is damaged\n  Remove it and sign in again: rm '${file}'\n`,
    });
  },
);

test('a sign-in that cannot be kept is not begun', async () => {
  await using gate = await openOpenGate('gate');
  const file = path.join(newFolder(), 'file');
  writeFileSync(file, '');
  const GATEPOST_CONFIG_DIR = path.join(file, 'config');
  expect(await gate.login({ ...newConfig(), GATEPOST_CONFIG_DIR })).toEqual({
    code: 1,
    out: '',
    err: `gatepost: ${GATEPOST_CONFIG_DIR} cannot be written: ENOTDIR\n  It keeps your sign-ins. GATEPOST_CONFIG_DIR=FOLDER keeps them elsewhere.\n`,
  });
});

test('a sign-in that could not be finished or kept is revoked', async () => {
  const env = newConfig();
  let user: () => unknown = () => new Reply(503);
  await using gate = await openOpenGate('gate', undefined, () => user());
  expect(await gate.login(env)).toMatchObject({ code: 6, err: expect.stringContaining('(GET /user: 503)') });
  expect(gate.revoked).toEqual(['gate-0']);
  user = () => {
    rmSync(env.GATEPOST_CONFIG_DIR, { recursive: true });
    writeFileSync(env.GATEPOST_CONFIG_DIR, '');
    return { login: 'someone' };
  };
  const { code, err } = await gate.login(env);
  expect([code, err.split('\n').slice(2)]).toEqual([1, [expect.stringMatching(/^gatepost: EEXIST: .* mkdir '/), '']]);
  expect(gate.revoked).toEqual(['gate-0', 'gate-0']);
});

test('signing out waits for a renewal in flight, and leaves nothing of it', async () => {
  const hold = newHold();
  await using gate = await openOpenGate('gate', () => hold.released);
  const env = newConfig();
  await gate.login(env);
  const renewing = start(['whoami'], env);
  await until('the renewal', () => gate.sent.length === 1);
  const leaving = gatepost(['logout'], env);
  await Promise.race([leaving, sleep(2_000)]); // it does not end by itself
  hold.release();
  expect(await leaving).toMatchObject({ code: 0, err: '' });
  await renewing.ended;
  expect(gate.revoked).toEqual(['gate-1']);
  expect(readdirSync(env.GATEPOST_CONFIG_DIR)).toEqual(['profiles.json']);
  expect(await gatepost(['whoami'], env)).toMatchObject({ code: 3 });
});

test('a renewal that takes long is waited for: the refresh token is sent once', async () => {
  const hold = newHold();
  await using gate = await openOpenGate('gate', () => hold.released);
  const env = newConfig();
  await gate.login(env);
  const first = start(['whoami'], env);
  await until('the renewal', () => gate.sent.length === 1);
  const lock = readdirSync(env.GATEPOST_CONFIG_DIR).find((name) => name.startsWith('lock-'))!;
  const long = new Date(Date.now() - 3_600_000);
  utimesSync(path.join(env.GATEPOST_CONFIG_DIR, lock), long, long);
  const second = gatepost(['whoami'], env);
  await Promise.race([second, sleep(2_000)]);
  hold.release();
  expect(await first.ended).toMatchObject({ code: 0 });
  expect(await second).toMatchObject({ code: 0 });
  expect(new Set(gate.sent).size).toBe(gate.sent.length);
});

test('signing out while the keyring cannot be read is a failure, and keeps the profile', async () => {
  const env = newConfig();
  await using gate = await openOpenGate('gate');
  await gate.login(env);
  const file = path.join(env.GATEPOST_CONFIG_DIR, 'profiles.json');
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  kept.profiles.work.store = 'keyring';
  writeFileSync(file, JSON.stringify(kept));
  expect(await gatepost(['logout', '--json'], env)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('which cannot be used: GATEPOST_NO_KEYRING is set'),
  });
  expect((await gatepost(['profiles', 'list'], env)).out).toContain('work');
});

const badGateway = new Reply(502, '<h1>Bad Gateway</h1>');
const discovery = '/.well-known/openid-configuration';

test.each([
  ['/oauth/token', new Reply(503)],
  ['/oauth/token', badGateway],
  [discovery, badGateway],
])('a machine whose token could not be renewed once goes on when the gate is back (%s)', async (path, away) => {
  let asked = 0;
  let looks = 0;
  const at = (here: string, usual?: object) => () => {
    if (here !== path) return usual;
    asked += 1;
    return asked === 3 ? away : usual;
  };
  await using gate = await openGate({
    '/oauth/token': at('/oauth/token', { access_token: 't', expires_in: 1 }),
    [discovery]: at(discovery),
    '/repos/a/b/hooks/1/deliveries': () => {
      looks += 1;
      const old = { id: 1, guid: 'g', event: 'push', action: null, status: 'OK', status_code: 200, duration: 0.1 };
      return looks < 2 ? [] : [{ ...old, delivered_at: new Date().toISOString() }];
    },
    '/repos/a/b/hooks/1/deliveries/stream': () => ':\n\n',
  });
  const tail = ['deliveries', 'tail', '1', '--repo', 'a/b', '--interval', '1', '--count', '1', '--json'];
  const { code, out, err } = await gatepost(tail, gate.machine);
  expect([code, JSON.parse(out || '{}').id]).toEqual([0, 1]);
  expect(err).toContain(`${path} answers ${away.status}; trying again`);
});

test.each(['/.well-known/oauth-protected-resource', discovery])(
  'signing in while %s is away ends with 6',
  async (path) => {
    await using gate = await openGate({ [path]: () => badGateway });
    expect(await gatepost(['login', '--api', gate.url], newConfig())).toEqual({
      code: 6,
      out: '',
      err: `gatepost: ${gate.url}${path} answers 502\n  Try again in a moment.\n`,
    });
  },
);

// It was refused, with the advice to name it as it had been named.
test.each([false, true])(
  'a gate whose issuer has no slash at its end is signed in to; named by hand: %p',
  async (isNamed) => {
    await using gate = await openGate({
      '/.well-known/oauth-protected-resource': () => ({ resource: `${gate.url}/`, authorization_servers: [gate.url] }),
      '/.well-known/openid-configuration': () => ({
        issuer: gate.url,
        token_endpoint: `${gate.url}/oauth/token`,
        device_authorization_endpoint: `${gate.url}/oauth/device/code`,
        revocation_endpoint: `${gate.url}/oauth/revoke`,
      }),
      '/api/v2/keys/signing': () => [],
    });
    const env = { ...newConfig(), GATEPOST_CLIENT_SECRET: 's' };
    const login = ['login', '--machine', '--client-id', 'ci', '--api', gate.url];
    expect(await gatepost([...login, ...(isNamed ? ['--issuer', gate.url] : [])], env)).toMatchObject({
      code: 0,
      err: '',
    });
    expect(await gatepost(['keys', 'list', '--json'], env)).toMatchObject({ code: 0, out: '[]\n' });
  },
);
