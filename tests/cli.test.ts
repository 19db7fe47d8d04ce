/** The packed command line, against the whole system: a developer's day, from signing in to signing out. */
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from '@gatepost/testkit/browser';
import { openCuttable } from '@gatepost/testkit/cut';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { openSystem, type System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verify } from '@octokit/webhooks-methods';
import { type Ended, type PackedCli, packCli } from './packed-cli.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const folder = mkdtempSync(join(tmpdir(), 'gatepost-cli-'));
const config = join(folder, 'config');
let system: System;
let gatepost: PackedCli['run'];
let json: PackedCli['json'];

beforeAll(async () => {
  ({ run: gatepost, json } = await packCli(folder, config));
  system = stack.use(await openSystem());
});

/** Enters the displayed code, and signs in as alice. */
async function approve(text: string): Promise<void> {
  const browser = new Browser(system);
  const confirm = await browser.submit(await browser.get('activate'), {
    user_code: /enter the code (\S+)/.exec(text)![1]!,
  });
  await browser.logIn(await browser.submit(confirm, { confirm: 'yes' }));
}

test('a person signs in with a code; an API that wants tokens for another address is not trusted', async () => {
  const distrusted = await gatepost(['login', '--api', system.apiUrl]);
  expect([distrusted.code, distrusted.err]).toEqual([1, expect.stringContaining(`--audience '${system.audience}'`)]);
  let approved: Promise<void> | undefined;
  const seen = (text: string) => {
    if (text.includes('Waiting for you')) approved ??= approve(text);
  };
  const { code, out, err } = await gatepost(['login', '--api', system.apiUrl, '--audience', system.audience], { seen });
  await approved;
  expect([code, out, err.includes('eyJ')]).toEqual([0, expect.stringContaining('as auth0|alice'), false]);
  expect(await json('whoami')).toMatchObject({
    login: 'auth0|alice',
    kind: 'person',
    scopes: expect.arrayContaining(['repo']),
  });
  for (const name of readdirSync(config))
    expect([name, statSync(join(config, name)).mode & 0o777]).toEqual([name, 0o600]);
  expect(statSync(config).mode & 0o777).toBe(0o700);
});

test('two commands at once renew an expired token once; a session file that others may read is refused', async () => {
  const file = join(config, readdirSync(config).find((name) => name.startsWith('secrets-'))!);
  const read = () => JSON.parse(readFileSync(file, 'utf8'));
  for (let round = 0; round < 2; round += 1) {
    const before = read();
    before.tokens[system.audience].expiresAt = 0;
    writeFileSync(file, JSON.stringify(before));
    // The gate ends the whole sign-in when a refresh token is used twice.
    const both = await Promise.all([gatepost(['whoami']), gatepost(['hooks', 'list'])]);
    expect(both).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(read().refreshToken).not.toBe(before.refreshToken);
  }
  chmodSync(file, 0o644);
  expect(await gatepost(['whoami'])).toMatchObject({ code: 1, err: expect.stringContaining(`chmod 600 '${file}'`) });
  chmodSync(file, 0o600);
});

test('hooks are made, pinged, changed and deleted; their deliveries shown, followed and sent again', async () => {
  const receiver = stack.use(await openReceiver());
  receiver.behave({ headers: { 'x-odd': 'a\u009bb' }, body: 'thanks \u001b[31m' });
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'one secret\n', { mode: 0o600 });
  const made = await json('hooks', 'create', receiver.url, '--events', 'push,issues', '--secret-file', secret);
  const hook = String(made.id);
  const [ping] = await until('the ping in the log', async () => {
    const all = await json('deliveries', 'list', hook);
    return all.length > 0 && all;
  });
  const shown = await gatepost(['deliveries', 'show', hook, String(ping.id)]);
  expect(shown.out).toContain('thanks \\u001b[31m');
  expect(/\p{Cc}/u.test(shown.out.replaceAll('\n', ''))).toBe(false);

  const edited = await json(
    'hooks',
    'edit',
    hook,
    '--add-events',
    'create',
    '--retry',
    'off',
    '--content-type',
    'form',
  );
  expect(edited).toMatchObject({
    events: ['push', 'issues', 'create'],
    retry: 'off',
    config: { content_type: 'form', secret: '********' },
  });

  let asked: Promise<Ended> | undefined;
  const seen = (text: string) => {
    if (text.includes('Waiting for deliveries'))
      asked ??= gatepost(['deliveries', 'redeliver', hook, String(ping.id), String(ping.id)]);
  };
  const tail = await gatepost(['deliveries', 'tail', hook, '--interval', '1', '--count', '2'], { seen });
  expect(await asked).toMatchObject({ code: 0 });
  expect(tail.out.split('\n').filter(Boolean)).toEqual([
    expect.stringContaining(ping.guid),
    expect.stringContaining(ping.guid),
  ]);

  expect(
    await gatepost(['hooks', 'create', receiver.url, '--content-type', 'form', '--secret-file', secret]),
  ).toMatchObject({
    code: 5,
    err: expect.stringContaining('Hook already exists'),
  });
  expect(await gatepost(['hooks', 'create', 'http://localhost:3000/hook'])).toMatchObject({
    code: 5,
    err: expect.stringContaining('gatepost listen --forward-to'),
  });
  expect(await gatepost(['hooks', 'delete', hook])).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
  expect(await gatepost(['hooks', 'delete', hook, '--yes'])).toMatchObject({ code: 0 });
  expect(await gatepost(['hooks', 'show', hook])).toMatchObject({ code: 4 });
});

test('made-up events are sent to hooks that take them, signed with their secret', async () => {
  const receiver = stack.use(await openReceiver());
  const refused = await gatepost(['trigger', 'issues']);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('gatepost listen --events issues')]);
  const env = { GATEPOST_WEBHOOK_SECRET: 'of this hook' };
  const made = await gatepost(['hooks', 'create', receiver.url, '--events', 'issues', '--json'], { env });
  const hook = JSON.parse(made.out).id as number;
  expect(await gatepost(['trigger', 'issues'])).toMatchObject({
    code: 5,
    err: expect.stringContaining('--secret-file'),
  });
  expect(await gatepost(['trigger', 'gollum'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--payload FILE'),
  });
  const sent = await gatepost(['trigger', 'issues', '--set', 'issue.title="Rain"', '--json'], { env });
  const [{ guid }] = JSON.parse(sent.out) as [{ guid: string }];
  const got = await until('the issue', () =>
    receiver.received.find(({ headers }) => headers['x-github-delivery'] === guid),
  );
  expect(JSON.parse(got.body.toString())).toMatchObject({
    action: 'opened',
    issue: { title: 'Rain' },
    repository: { full_name: 'acme/widgets', url: `${system.apiUrl}/repos/acme/widgets` },
    organization: { login: 'acme' },
    sender: { login: 'auth0|alice' },
  });
  expect(await verify('of this hook', got.body.toString(), got.headers['x-hub-signature-256']!)).toBe(true);
  const explained = await until('the outcome', async () => {
    const { out } = await gatepost(['explain', guid]);
    return out.includes('delivered') && out;
  });
  expect(explained).toMatch(new RegExp(`Hook ${hook} .*issues.opened of acme/widgets.*${guid}`));
  expect((await gatepost(['explain', randomUUID(), '--hook', String(hook)])).out).toContain('never_made');
  await gatepost(['hooks', 'delete', String(hook), '--yes']);
});

test('deliveries reach this machine while it listens, are recorded, and can be forwarded again', async () => {
  const receiver = stack.use(await openReceiver({ host: '127.0.0.1', behave: { status: 201, body: 'thanks' } }));
  const kept = join(folder, 'kept');
  const stop = new AbortController();
  let text = '';
  const listening = gatepost(
    [
      'listen',
      '--events',
      'issues,push',
      '--forward-to',
      receiver.url,
      '--filter',
      'event!=push',
      '--record',
      kept,
      '--json',
    ],
    { signal: stop.signal, seen: (so) => (text = so) },
  );
  const hook = await until('its hook', async () => {
    const all = (await json('hooks', 'list')) as { id: number; name: string; active: boolean }[];
    return all.find(({ name, active }) => name === 'cli' && active)?.id;
  });
  const [{ guid }] = await json('trigger', 'issues', '--hook', String(hook));
  await until('the first delivery', () => text.includes(guid)); // one that is not forwarded would overtake it
  await json('trigger', 'push', '--hook', String(hook));
  const lines = await until('both deliveries', () => text.split('\n').length > 2 && text.trim().split('\n'));
  expect(JSON.parse(lines[0]!)).toMatchObject({
    event: 'issues',
    action: 'opened',
    guid,
    status: 201,
    filtered: false,
  });
  expect(JSON.parse(lines[1]!)).toMatchObject({ event: 'push', status: 200, filtered: true });
  expect(receiver.received.map(({ headers }) => headers['x-github-delivery'])).toEqual([guid]);
  const logged = await until('the log', async () => {
    const all = (await json('deliveries', 'list', String(hook))) as { id: number; guid: string; status_code: number }[];
    return all.find((each) => each.guid === guid);
  });
  expect(logged.status_code).toBe(201);
  expect(await json('deliveries', 'show', String(hook), String(logged.id))).toMatchObject({
    response: { payload: 'thanks' },
  });
  stop.abort();
  expect((await listening).code).toBe(130);
  await until('its hook is gone', async () => (await gatepost(['hooks', 'show', String(hook)])).code === 4);

  const [first] = readdirSync(kept).filter((name) => name.includes('-issues-'));
  const again = await gatepost(['listen', '--replay', join(kept, first!), '--forward-to', receiver.url, '--json']);
  expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { guid, status: 201 }]);
  expect(receiver.received[1]).toMatchObject({ body: receiver.received[0]!.body });
  receiver.behave({ status: 500 });
  expect(await gatepost(['listen', '--replay', join(kept, first!), '--forward-to', receiver.url])).toMatchObject({
    code: 1,
  });
});

test('a listener whose connection breaks reconnects by itself', async () => {
  await using api = await openCuttable(system.apiUrl);
  const token = await system.token();
  const machine = { GATEPOST_API: system.apiUrl, GATEPOST_TOKEN: token };
  const ask = async (...args: string[]) => {
    const { code, out } = await gatepost([...args, '--json'], { env: machine });
    return code === 0 ? JSON.parse(out) : undefined;
  };
  const stop = new AbortController();
  let text = '';
  const listening = gatepost(['listen', '--events', 'push', '--forward-to', 'http://127.0.0.1:9/', '--json'], {
    env: { ...machine, GATEPOST_API: new URL(api.url).origin },
    signal: stop.signal,
    seen: (so) => (text = so),
  });
  const isHeard = async () => {
    const hooks = ((await ask('hooks', 'list')) ?? []) as { id: number; name: string; active: boolean }[];
    const hook = hooks.find(({ name, active }) => name === 'cli' && active);
    const [sent] = (hook && (await ask('trigger', 'push', '--hook', String(hook.id)))) ?? [];
    return sent && until('it on this machine', () => text.includes(sent.guid), 5_000).catch(() => false);
  };
  await until('a delivery', isHeard);
  await api.cut();
  await api.restore();
  await until('a delivery after the break', isHeard);
  stop.abort();
  expect((await listening).code).toBe(130);
});

test('failed deliveries are delivered again, but not made-up events, which reach no other hook', async () => {
  const receiver = stack.use(await openReceiver({ behave: { status: 500 } }));
  const producer = stack.use(await openProducer(system.amqpUrl));
  const { id } = await json('hooks', 'create', receiver.url, '--retry', 'off', '--events', 'push');
  const hook = String(id);
  const guid = await producer.publish({ body: { ref: 'refs/heads/main' } });
  await json('trigger', 'push', '--hook', hook);
  await until('both have failed', async () => (await json('deliveries', 'list', hook)).length === 3);
  receiver.behave({});
  const before = receiver.received.length;
  expect(await json('deliveries', 'replay', hook, '--since', '1h')).toMatchObject({
    state: 'done',
    total: 1,
    done: 1,
    failed: 0,
  });
  expect(receiver.received.slice(before).map(({ headers }) => headers['x-github-delivery'])).toEqual([guid]);
  expect(await json('deliveries', 'replays', hook)).toMatchObject([{ state: 'done' }]);
  const later = await json('hooks', 'create', `${receiver.url}/later`, '--retry', 'off', '--events', 'push');
  const missed = ['deliveries', 'replay', String(later.id), '--since', '1h', '--status', 'missed'];
  expect(await json(...missed)).toMatchObject({ state: 'done', total: 1, done: 1 });
  expect(
    (await json('deliveries', 'list', hook, '--after-sequence', '0')).map((one: { guid: string }) => one.guid),
  ).toEqual([guid, guid]);
});

test('a machine manages limits, waiting deliveries, keys, applications and people; a person is told that it takes a machine', async () => {
  expect(await gatepost(['status'])).toMatchObject({ code: 4, err: expect.stringContaining('login --machine') });
  expect(await gatepost(['keys', 'list'])).toMatchObject({ code: 3, err: expect.stringContaining('login --machine') });
  const login = ['login', '--machine', '--client-id', 'demo-admin', '--profile', 'admin', '--api', system.apiUrl];
  const input = 'demo-admin-secret\n';
  expect(await gatepost([...login, '--audience', system.audience], { input })).toMatchObject({ code: 0 });
  expect(await json('whoami')).toMatchObject({ login: 'demo-admin', kind: 'machine', profile: 'admin' });
  expect(await json('throttle', 'set', 'acme', '50', '500')).toEqual({ rate: 50, burst: 500 });
  expect(await json('throttle', 'get', 'acme')).toEqual({ rate: 50, burst: 500 });
  expect(await json('throttle', 'reset', 'acme')).toEqual({ rate: 100, burst: 1000 });
  expect((await gatepost(['status'])).out).toContain('No delivery waits.');
  expect(await gatepost(['keys', 'rotate', '--yes'])).toMatchObject({ code: 0 });
  expect((await json('keys', 'list')).filter((key: { next: boolean }) => key.next).length).toBeGreaterThan(0);
  const app = await json('apps', 'create', 'Status page', '--callbacks', 'https://status.example/callback');
  expect(app.client_secret).toEqual(expect.any(String));
  const apps = (await json('apps', 'list')) as { client_id: string }[];
  expect(apps.map(({ client_id }) => client_id)).toContain(app.client_id);
  expect(await json('apps', 'grant', app.client_id, system.audience, '--scopes', 'repo')).toMatchObject({
    scope: ['repo'],
  });
  expect(await json('apps', 'grant', app.client_id, system.audience, '--scopes', 'read:org')).toMatchObject({
    scope: ['read:org'],
  });
  expect(await json('apps', 'delete', app.client_id, '--yes')).toEqual({ deleted: app.client_id });
  const password = join(folder, 'password');
  writeFileSync(password, 'nobody knows 77\n', { mode: 0o600 });
  const { user_id: person } = await json('users', 'create', 'bob@example.com', '--password-file', password);
  expect(await json('users', 'block', person)).toMatchObject({ blocked: true });
  expect(await json('users', 'list', '--email', 'bob@example.com')).toMatchObject([{ user_id: person, blocked: true }]);
  expect(await json('users', 'delete', person, '--yes')).toEqual({ deleted: person });
  expect(await json('logout')).toMatchObject({ profile: 'admin' });
});

test('people are imported from a file; those refused are named with their line, and an interrupted import goes on', async () => {
  const file = join(folder, 'people.ndjson');
  const person = (n: number) =>
    JSON.stringify({ user_id: `auth0|old-${n}`, email: `old-${n}@example.com`, created_at: 'then' });
  const bcrypt = '$2b$10$Z6hUTEEeoJXN5/AmSm/4.eZ75RYgFVriQM9LPhNEC7kbAbS/VAaJ2';
  const lines = [
    ...Array.from({ length: 1_500 }, (_, n) => person(n)),
    JSON.stringify({ _id: { $oid: '60425dc4' }, email: 'hashed@example.com', passwordHash: bcrypt, tenant: 'old' }),
    '{ half of it',
    JSON.stringify({ email: 'nobody' }),
    person(7),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const env = {
    GATEPOST_API: system.apiUrl,
    GATEPOST_ISSUER: system.issuer,
    GATEPOST_AUDIENCE: system.audience,
    GATEPOST_CLIENT_ID: 'demo-admin',
    GATEPOST_CLIENT_SECRET: 'demo-admin-secret',
  };
  // The state if the command ends while the gate continues.
  const stop = new AbortController();
  const watching = setInterval(() => existsSync(`${file}.imported`) && stop.abort(), 1);
  const broken = await gatepost(['users', 'import', file], { env, signal: stop.signal });
  clearInterval(watching);
  expect(broken).toMatchObject({ code: 130, err: '' });
  const { code, out, err } = await gatepost(['users', 'import', file], { env });
  expect(err).toContain('Continuing where it was interrupted');
  expect([code, out]).toEqual([1, expect.stringMatching(/^1501 imported, 0 updated, 3 refused/)]);
  expect(err).toMatch(/line 1502: not JSON\nline 1503: email: .*\nline 1504: email: The connection has a user/);
  const { out: shown } = await gatepost(['users', 'show', 'auth0|60425dc4', '--json'], { env });
  expect(JSON.parse(shown)).toMatchObject({ email: 'hashed@example.com' });

  const list = await gatepost(['users', 'list', '--json'], { env });
  expect([list.code, JSON.parse(list.out).length]).toEqual([0, 1_000]);
  expect(list.err).toMatch(/^These are 1000 of 15\d\d: --search QUERY finds others.\n$/);
  const found = await gatepost(['users', 'list', '--search', 'email:old-77*', '--json'], { env });
  expect([JSON.parse(found.out).length, found.err]).toEqual([11, '']);
});

test('signing out ends the sign-in at the gate', async () => {
  const file = join(config, readdirSync(config).find((name) => name.startsWith('secrets-'))!);
  const { refreshToken } = JSON.parse(readFileSync(file, 'utf8'));
  expect(await json('logout')).toMatchObject({ revoked: true });
  expect(readdirSync(config)).toEqual(['profiles.json']);
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: 'gatepost-cli',
    refresh_token: refreshToken,
  });
  expect((await fetch(`${system.issuer}oauth/token`, { method: 'POST', body })).status).toBe(400);
  expect(await gatepost(['whoami'])).toMatchObject({ code: 3 });
});
