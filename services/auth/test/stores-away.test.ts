/** PostgreSQL or Redis gone for a while: 503 for those who ask, and all by itself ready again. The test starts a Redis of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect, createServer as createNetServer, type Server, type Socket } from 'node:net';
import { openLog } from '@gatepost/runtime/log';
import { isAway } from '@gatepost/runtime/store-errors';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { openCuttable } from '@gatepost/testkit/cut';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { pkce } from '@gatepost/testkit/pkce';
import { openPostgresPair, setReadOnly } from '@gatepost/testkit/postgres-server';
import { openRedisServer } from '@gatepost/testkit/redis-server';
import { freshDatabase, redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { openLastLogins } from '../src/accounts/last-login.ts';
import { openAudit } from '../src/audit.ts';
import { openDatabase } from '../src/database.ts';
import { migrateAuth } from '../src/migrations.ts';
import { TemporarilyUnavailable } from '../src/stores-away.ts';
import { freePort, openGate, type TestGate } from './gate.ts';
import { fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const port = await freePort();
let redis: ChildProcess;
async function startRedis(): Promise<void> {
  redis = spawn('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'], {
    stdio: 'ignore',
  });
  const { createConnection } = await import('node:net');
  await until(
    'Redis',
    () =>
      new Promise<boolean>((resolve) => {
        const socket = createConnection(port, '127.0.0.1', () => resolve(true))
          .on('error', () => resolve(false))
          .on('connect', () => socket.destroy());
      }),
  );
}
async function stopRedis(): Promise<void> {
  const gone = new Promise((resolve) => redis.once('exit', resolve));
  redis.kill('SIGKILL');
  await gone;
}
await startRedis();
stack.defer(stopRedis);
const asInProduction = { STORE_TIMEOUT_MS: '4000' };
const gate = stack.use(await openGate(fullSeed, { REDIS_URL: `redis://127.0.0.1:${port}` }));

const password = {
  grant_type: 'password',
  client_id: 'trusted',
  client_secret: 'trusted-secret',
  username: 'alice@example.com',
  password: 'correct horse battery staple',
  scope: 'openid offline_access',
};
const refreshOf = (json: Record<string, unknown>) => ({
  grant_type: 'refresh_token',
  client_id: 'trusted',
  client_secret: 'trusted-secret',
  refresh_token: json.refresh_token as string,
});
/** An authorization request is refused at the client's redirect URI, or where that is not known yet by a page. */
const refusedAs = ({ status, location }: Page) =>
  status === 503 ? 'temporarily_unavailable' : location?.searchParams.get('error');
/** PostgreSQL is given up on after a few seconds, which a busy machine may take for an argon2 and the first connections. */
const tokensOf = (own: TestGate) =>
  until('tokens', async () => {
    const { status, json } = await own.post('oauth/token', password);
    return status === 200 && json;
  });
const signIn = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
/** Exchanges a code that somebody has just got by signing in to `spa`, whose refresh tokens rotate. */
async function redemptionOf(own: TestGate) {
  const { code_verifier, ...challenge } = pkce();
  const { redirect_uri } = signIn;
  const spa = { ...signIn, client_id: 'spa', scope: 'openid offline_access', ...challenge };
  const browser = new Browser(own);
  const code = (await browser.logIn(await browser.authorize(spa))).location!.searchParams.get('code')!;
  const form = { grant_type: 'authorization_code', client_id: 'spa', code, redirect_uri, code_verifier };
  return () => own.post('oauth/token', form);
}
/** What is answered once the stores are there again. */
const answered = (ask: () => ReturnType<TestGate['post']>) =>
  until('an answer', async () => {
    const answer = await ask();
    return answer.status !== 503 && answer;
  });
const unavailable = { status: 503, json: { error: 'temporarily_unavailable' } };
const startDevice = async (own: TestGate) =>
  (await own.post('oauth/device/code', { client_id: 'native', scope: 'openid offline_access' })).json as {
    user_code: string;
    device_code: string;
  };
const poll = (own: TestGate, { device_code }: { device_code: string }) =>
  own.post('oauth/token', {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: 'native',
    device_code,
  });
/** The page on which the person allows the device, after the code was entered. */
const enter = async (browser: Browser, { user_code }: { user_code: string }) =>
  browser.submit(await browser.get('activate'), { user_code });

test('without Redis the gate says temporarily_unavailable, and is ready again with valid refresh tokens when Redis is back', async () => {
  const json = await tokensOf(gate);
  await stopRedis();
  const away = await gate.post('oauth/token', password);
  expect(away).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } });
  const page = await new Browser(gate).authorize(signIn);
  expect(refusedAs(page)).toBe('temporarily_unavailable');
  // The answer is a redirect like any other, and counted by itself.
  const metrics = await (await fetch(`${gate.opsUrl}/metrics`)).text();
  expect([page.status, metrics]).toEqual([
    302,
    expect.stringContaining('auth_authorizations_refused_total{error="temporarily_unavailable"} 1'),
  ]);
  expect((await fetch(`${gate.opsUrl}/readyz`)).status).toBe(503);
  // A load balancer goes on sending what needs no Redis.
  expect((await fetch(`${gate.opsUrl}/readyz?exclude=stores`)).status).toBe(200);
  // What needs no Redis goes on.
  const machine = {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: 'https://api.example.com/',
  };
  expect((await gate.post('oauth/token', machine)).status).toBe(200);
  await startRedis();
  await until('readiness', async () => (await fetch(`${gate.opsUrl}/readyz`)).status === 200);
  const refreshed = await gate.post('oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'trusted',
    client_secret: 'trusted-secret',
    refresh_token: json.refresh_token as string,
  });
  expect(refreshed.status).toBe(200);
});

test('without PostgreSQL pages and tokens are temporarily_unavailable, and nothing is answered that was not stored', async () => {
  const target = new URL(process.env.TEST_DATABASE_URL!);
  const proxyPort = await freePort();
  const sockets = new Set<Socket>();
  let proxy: Server;
  const open = async () => {
    proxy = createNetServer((near) => {
      const far = connect(Number(target.port || 5432), target.hostname);
      for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => proxy.listen(proxyPort, '127.0.0.1', resolve));
  };
  const cut = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  };
  await open();
  stack.defer(cut);
  const database = stack.use(await freshDatabase());
  const url = new URL(database.url);
  url.host = `127.0.0.1:${proxyPort}`;
  await using own = await openGate(fullSeed, { DATABASE_URL: url.href, ...asInProduction });
  const json = await tokensOf(own);
  await cut();
  const refresh = refreshOf(json);
  for (const form of [password, refresh])
    expect(await own.post('oauth/token', form)).toMatchObject({
      status: 503,
      json: { error: 'temporarily_unavailable' },
    });
  const page = await new Browser(own).authorize(signIn);
  expect(page.status).toBe(503);
  expect(page.headers.get('content-type')).toContain('text/html');
  await open();
  await until('readiness', async () => (await fetch(`${own.opsUrl}/readyz`)).status === 200);
  await until('tokens', async () => (await own.post('oauth/token', refresh)).status === 200);
});

// The driver's pool says so itself of a statement on its way, beside the connection that was asked.
test.each([
  ['PostgreSQL', false],
  ['a pooler', true],
])('a request that waits when the connection to %s breaks is told to try again too', async (_where, isPooled) => {
  const fresh = stack.use(await freshDatabase());
  await using relay = await openCuttable(fresh.url);
  await using through = openDatabase({ url: relay.url, isPooled }, 30_000, openLog('test', 'silent'));
  await using direct = openDatabase({ url: fresh.url, isPooled: false }, 30_000, openLog('test', 'silent'));
  const asked = Promise.allSettled([
    through.pool.query('SELECT pg_sleep(20)'),
    through.db.$queryRaw`SELECT 1 FROM pg_sleep(20)`,
  ]);
  const sleeping = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
  await until('all are under way', async () => (await direct.pool.query(sleeping)).rowCount === 2);
  await relay.cut();
  for (const answer of await asked) {
    expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(TemporarilyUnavailable) });
    expect(isAway((answer as PromiseRejectedResult).reason)).toBe(true);
  }
});

test('a standby in place of the primary is temporarily_unavailable, for searches too', async () => {
  await using pair = await openPostgresPair();
  await using led = openDatabase({ url: pair.standby.url, isPooled: false }, 30_000, openLog('test', 'silent'));
  for (const asked of [led.pool.query('SELECT'), led.searchPool.query('SELECT'), led.db.$queryRaw`SELECT`])
    await expect(asked).rejects.toBeInstanceOf(TemporarilyUnavailable);
});

test('while PostgreSQL is read-only the gate is not ready, and gives out no refresh token', async () => {
  const database = stack.use(await freshDatabase());
  await using address = await openCuttable(database.url);
  await using own = await openGate(fullSeed, { DATABASE_URL: address.url, ...asInProduction });
  await tokensOf(own);
  await setReadOnly(database.url, true);
  await address.cut();
  await address.restore();
  await until('it is not ready', async () => {
    const { failing } = (await (await fetch(`${own.opsUrl}/readyz`)).json()) as { failing?: { postgresql?: string } };
    return failing?.postgresql === 'PostgreSQL is read-only';
  });
  expect(await own.post('oauth/token', password)).toMatchObject({
    status: 503,
    json: { error: 'temporarily_unavailable' },
  });
  await setReadOnly(database.url, false);
  await until('readiness', async () => (await fetch(`${own.opsUrl}/readyz`)).status === 200);
  await tokensOf(own);
});

test('a device code outlives a PostgreSQL that is away when the device asks for its tokens', async () => {
  const database = stack.use(await freshDatabase());
  await using relay = await openCuttable(database.url);
  await using own = await openGate(fullSeed, { DATABASE_URL: relay.url, ...asInProduction });
  await tokensOf(own);
  const device = await startDevice(own);
  const browser = new Browser(own);
  await browser.logIn(await browser.submit(await enter(browser, device), { confirm: 'yes' }));
  await relay.cut();
  expect(await poll(own, device)).toMatchObject(unavailable);
  await relay.restore();
  expect(await answered(() => poll(own, device))).toMatchObject({
    status: 200,
    json: { refresh_token: expect.any(String) },
  });
});

test('a device can still be allowed after PostgreSQL was away when the person did, who is shown an error page', async () => {
  const database = stack.use(await freshDatabase());
  await using relay = await openCuttable(database.url);
  await using own = await openGate(fullSeed, { DATABASE_URL: relay.url, ...asInProduction });
  await tokensOf(own);
  const browser = new Browser(own);
  await browser.logIn(await browser.authorize(signIn));
  const device = await startDevice(own);
  const confirm = await enter(browser, device);
  await relay.cut();
  const page = await browser.submit(confirm, { confirm: 'yes' });
  expect([page.status, page.html]).toEqual([503, expect.stringContaining('temporarily_unavailable')]);
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': expect.any(String),
  });
  await relay.restore();
  expect((await answered(() => poll(own, device))).json.error).toBe('authorization_pending');
  const allowed = await until('the page of the code', async () => {
    const again = await enter(browser, device);
    return again.status === 200 && again;
  });
  expect((await browser.submit(allowed, { confirm: 'yes' })).url).toContain('step=connected');
  expect((await poll(own, device)).status).toBe(200);
});

test('codes whose refresh token a read-only PostgreSQL does not take work when it does, once', async () => {
  const database = stack.use(await freshDatabase());
  await using address = await openCuttable(database.url);
  await using own = await openGate(fullSeed, { DATABASE_URL: address.url, ...asInProduction });
  await tokensOf(own);
  const device = await startDevice(own);
  const browser = new Browser(own);
  await browser.logIn(await browser.submit(await enter(browser, device), { confirm: 'yes' }));
  const redeem = await redemptionOf(own);
  await setReadOnly(database.url, true);
  await address.cut();
  await address.restore();
  await until('the gate to see it', async () => {
    const { failing } = (await (await fetch(`${own.opsUrl}/readyz`)).json()) as { failing?: { postgresql?: string } };
    return failing?.postgresql === 'PostgreSQL is read-only';
  });
  for (const ask of [() => poll(own, device), redeem]) expect(await ask()).toMatchObject(unavailable);
  await setReadOnly(database.url, false);
  for (const ask of [redeem, () => poll(own, device)]) {
    expect(await answered(ask)).toMatchObject({ status: 200, json: { refresh_token: expect.any(String) } });
    expect(await answered(ask)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  }
});

test('a PostgreSQL that keeps its connections but answers nothing delays nobody for longer than five seconds', async () => {
  const database = stack.use(await freshDatabase());
  await using frozen = await openCuttable(database.url);
  await using own = await openGate(fullSeed, { DATABASE_URL: frozen.url, ...asInProduction });
  const json = await tokensOf(own);
  const refresh = refreshOf(json);
  const login = new Browser(own);
  const page = await login.authorize(signIn);
  frozen.hold(true);
  using _thaw = { [Symbol.dispose]: () => frozen.hold(false) }; // or the gate could not be closed after a failure
  // All are answered while it hangs. More than the pool has connections: those who wait for one are answered as well.
  const forms = Array.from({ length: 24 }, (_, index) => (index < 8 ? password : refresh));
  for (const round of [forms, [password, password, password]])
    for (const answer of await Promise.all(round.map((form) => own.post('oauth/token', form))))
      expect(answer).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } });
  expect((await login.logIn(page)).status).toBe(503);
  expect((await fetch(`${own.opsUrl}/readyz`)).status).toBe(503);
  frozen.hold(false);
  await until('readiness', async () => (await fetch(`${own.opsUrl}/readyz`)).status === 200);
  await until('tokens', async () => (await own.post('oauth/token', refresh)).status === 200);
  // Tries that could not be answered used to count, and shut the person out for ten minutes.
  expect((await own.post('oauth/token', password)).status).toBe(200);
});

// Each statement that was given up is carried out when PostgreSQL goes on, beside the one that was sent after it.
test('what is written behind the answers while PostgreSQL stands still is in the log once, and a login is counted once', async () => {
  const { url } = stack.use(await freshDatabase());
  await migrateAuth(url);
  await using direct = openDatabase({ url, isPooled: false }, 30_000, openLog('test', 'silent'));
  await direct.db.account.create({ data: { userId: 'auth0|alice', email: 'alice@example.com', connection: 'db' } });
  await using frozen = await openCuttable(url);
  using _thaw = { [Symbol.dispose]: () => frozen.hold(false) };
  const { lines, write } = openLogLines();
  const log = openLog('test', 'warn', { write });
  {
    await using through = openDatabase({ url: frozen.url, isPooled: false }, 2_000, log);
    const ask = () => through.pool.query('SELECT pg_sleep(0.1)');
    await until('idle connections', () => Promise.all(Array.from({ length: 8 }, ask)).catch(() => false as const));
    await using audit = openAudit(through.pool, log);
    await using logins = openLastLogins(through.pool, log);
    frozen.hold(true);
    audit.add({ type: 's', userId: 'auth0|alice' });
    logins.note('auth0|alice', '203.0.113.1');
    const triesOf = (what: string) => lines.filter(({ message }) => message === `${what} waits`).length;
    await until('two tries', () => triesOf('the audit log') > 1 && triesOf('the time of last logins') > 1);
    audit.add({ type: 'slo', userId: 'auth0|alice' });
    logins.note('auth0|alice', '203.0.113.2');
    frozen.hold(false);
    await until('all to be written', async () => {
      const account = await direct.db.account.findFirst();
      return (await direct.db.logEntry.count()) >= 2 && account!.loginsCount >= 2;
    });
  }
  const others =
    'SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()';
  await until(
    'the end of what was given up',
    async () => (await direct.pool.query(others, ['gatepost-auth'])).rowCount === 0,
  );
  const entries = await direct.db.logEntry.findMany({ orderBy: { id: 'asc' } });
  expect(entries.map(({ type }) => type)).toEqual(['s', 'slo']);
  expect(await direct.db.account.findFirst()).toMatchObject({ loginsCount: 2, lastIp: '203.0.113.2' });
});

test('a Redis that keeps its connection but answers nothing delays nobody for long, and machines still get tokens', async () => {
  await using frozen = await openCuttable(redisUrl());
  await using own = await openGate(fullSeed, { REDIS_URL: frozen.url, ...asInProduction });
  const machine = {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: 'https://api.example.com/',
  };
  const password = {
    grant_type: 'password',
    client_id: 'trusted',
    client_secret: 'trusted-secret',
    username: 'alice@example.com',
    password: 'correct horse battery staple',
  };
  const start = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
  frozen.hold(true);
  using _thaw = { [Symbol.dispose]: () => frozen.hold(false) };
  const [tokens, refused, page, wrong] = await Promise.all([
    own.post('oauth/token', machine),
    own.post('oauth/token', password),
    new Browser(own).authorize(start),
    own.post('oauth/token', { ...machine, client_secret: 'wrong' }),
  ]);
  expect(tokens.status).toBe(200);
  expect(refused).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } });
  expect(refusedAs(page)).toBe('temporarily_unavailable');
  // Failures are counted there, but nobody is refused or kept waiting for that.
  expect(wrong).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  frozen.hold(false);
  await until('logins', async () => (await own.post('oauth/token', password)).status === 200);
});

test('a refresh token that rotates outlives a Redis that goes away, and one that is silent', async () => {
  await using relay = await openCuttable(redisUrl());
  await using own = await openGate(fullSeed, { REDIS_URL: relay.url, ...asInProduction });
  let { json } = await (await redemptionOf(own))();
  // Without an API the access token is stored in Redis.
  const refresh = () =>
    own.post('oauth/token', {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: json.refresh_token as string,
    });
  await relay.cut();
  expect(await refresh()).toMatchObject(unavailable);
  await relay.restore();
  const next = await answered(refresh);
  expect(next.status).toBe(200);
  ({ json } = next);
  relay.hold(true);
  using _thaw = { [Symbol.dispose]: () => relay.hold(false) };
  expect(await refresh()).toMatchObject(unavailable);
  relay.hold(false);
  expect((await answered(refresh)).status).toBe(200);
});

test('a Redis that becomes a replica is temporarily_unavailable at every entry point until the new primary is there', async () => {
  await using first = await openRedisServer();
  await using second = await openRedisServer();
  await using relay = await openCuttable(first.url);
  await using own = await openGate(fullSeed, { REDIS_URL: relay.url, ...asInProduction });
  const readiness = async () => {
    const answer = await fetch(`${own.opsUrl}/readyz`);
    return { status: answer.status, failing: ((await answer.json()) as { failing?: object }).failing };
  };
  const started = new Browser(own);
  const page = await started.submit(await started.authorize(signIn), { identifier: 'alice@example.com' });
  await tokensOf(own);
  await until('readiness', async () => (await readiness()).status === 200);

  // The connection stays, and reads are answered.
  await first.call('REPLICAOF', '127.0.0.1', '1');
  const native = { client_id: 'native', email: 'alice@example.com' };
  const web = { ...signIn, client_secret: 'web-secret' };
  for (const [path, form] of [
    ['oauth/token', password],
    ['oauth/par', web],
    ['oauth/device/code', { client_id: 'native' }],
    ['passwordless/start', { ...native, connection: 'email', send: 'code' }],
    ['dbconnections/change_password', { ...native, connection: 'Username-Password-Authentication' }],
  ] as [string, Record<string, string>][]) {
    const { status, json } = await own.post(path, form);
    expect([path, status, json.error]).toEqual([path, 503, 'temporarily_unavailable']);
  }
  expect((await started.logIn(page)).status).toBe(503);
  expect(refusedAs(await new Browser(own).authorize(signIn))).toBe('temporarily_unavailable');
  expect(await readiness()).toMatchObject({ status: 503, failing: { redis: expect.any(String) } });

  relay.lead(second.url);
  await tokensOf(own);
  await until('readiness', async () => (await readiness()).status === 200);
  expect(await second.call('KEYS', `${own.redisPrefix}*`)).not.toEqual([]);
});

test('a Redis that is full refuses writes that must be kept as temporarily_unavailable', async () => {
  await using full = await openRedisServer();
  await using own = await openGate(fullSeed, { REDIS_URL: full.url, ...asInProduction });
  await full.call('CONFIG', 'SET', 'maxmemory', '1');
  expect(await own.post('oauth/token', password)).toMatchObject({
    status: 503,
    json: { error: 'temporarily_unavailable' },
  });
  expect(refusedAs(await new Browser(own).authorize(signIn))).toBe('temporarily_unavailable');
  await full.call('CONFIG', 'SET', 'maxmemory', '0');
  await tokensOf(own);
});
