import { createHmac } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openReceiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Asked, gatepost, newFolder, openGate, Reply, start, usedUp } from './gate.ts';

/** A gate and an API with hooks of listeners; `token` answers for the gate, `refusal` for a socket that is not to be. */
async function openApi(
  token: () => unknown = () => ({ access_token: 't', expires_in: 3600 }),
  refusal: () => Reply | undefined = () => undefined,
) {
  const made: string[] = [];
  const sockets: WebSocket[] = [];
  const gate = await openGate({
    '/oauth/token': token,
    '/repos/a/b/hooks': ({ body }: Asked) => {
      made.push(body);
      return { id: 1 };
    },
  });
  const upgrades = new WebSocketServer({
    server: gate.server,
    path: '/repos/a/b/hooks/1/socket',
    verifyClient(_, admit) {
      const refused = refusal();
      admit(!refused, refused?.status, undefined, refused?.headers);
    },
  });
  upgrades.on('connection', (socket) => sockets.push(socket));
  return Object.assign(gate, { made, sockets });
}

test('a listener whose gate is away when its token is to be renewed connects again later', async () => {
  let asked = 0;
  await using api = await openApi(() => {
    asked += 1;
    return asked === 3 ? new Reply(503) : { access_token: 't', expires_in: 1 };
  });
  const { child, ended, err } = start(['listen', '--repo', 'a/b'], api.machine);
  (await until('the first socket', () => api.sockets[0])).close(1012, 'restarting');
  await until('the second socket or its end', () => api.sockets[1] ?? (child.exitCode !== null && 'ended'));
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130 });
  expect(err()).toContain('answers 503; connecting again');
});

test('a listener that reconnects beyond the limit of requests waits for its end', async () => {
  const reset = Math.ceil(Date.now() / 1000) + 5;
  const asked: number[] = [];
  await using api = await openApi(undefined, () => {
    asked.push(Date.now() / 1000);
    return asked.length === 2 ? usedUp(reset) : undefined;
  });
  const { child, ended, err } = start(['listen', '--repo', 'a/b'], api.machine);
  (await until('the first socket', () => api.sockets[0])).close(1012, 'restarting');
  await until('the second socket or its end', () => api.sockets[1] ?? (child.exitCode !== null && 'ended'));
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130 });
  expect(asked[2]).toBeGreaterThanOrEqual(reset);
  expect(err()).toContain(
    `the API answers 403, to be asked again at ${new Date(reset * 1000).toISOString()}; connecting`,
  );
});

test('a folder of recordings that cannot be made is refused before there is a hook', async () => {
  await using api = await openApi();
  const file = path.join(newFolder(), 'file');
  writeFileSync(file, '');
  const { child, ended } = start(['listen', '--repo', 'a/b', '--record', path.join(file, 'folder')], api.machine);
  api.server.once('upgrade', () => child.kill('SIGINT')); // it would listen for ever
  expect(await ended).toMatchObject({ code: 2, err: `gatepost: ${file}/folder cannot be written: ENOTDIR\n` });
  expect(api.made).toEqual([]);
});

test('a delivery that cannot be recorded is forwarded all the same', async () => {
  await using api = await openApi();
  await using receiver = await openReceiver({ host: '127.0.0.1', behave: { status: 201 } });
  const folder = path.join(newFolder(), 'recordings');
  const options = ['--repo', 'a/b', '--record', folder, '--forward-to', receiver.url];
  const { child, ended } = start(['listen', ...options], api.machine);
  const socket = await until('the socket', () => api.sockets[0]);
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, 'in its place');
  const answered = new Promise<string>((resolve) => {
    socket.once('message', (data) => resolve(String(data)));
    socket.once('close', () => resolve('{"Closed":true}'));
  });
  const headers = { 'X-Github-Event': ['push'], 'X-Github-Delivery': ['guid'] };
  socket.send(JSON.stringify({ Id: '1', Header: headers, Body: Buffer.from('{}').toString('base64') }));
  expect(JSON.parse(await answered)).toMatchObject({ Id: '1', Status: 201 });
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, err: expect.stringContaining('not recorded: ENOTDIR') });
});

test('a recorded delivery is replayed as it came, or signed anew with the secret that is given', async () => {
  await using receiver = await openReceiver({ host: '127.0.0.1' });
  const file = path.join(newFolder(), 'recorded.json');
  const body = '{"action":"opened"}';
  const [guid, old] = ['9d1c', '1700000000'];
  const key = Buffer.alloc(24, 'k');
  const secret = `whsec_${key.toString('base64')}`;
  const standard = (time: string) =>
    `v1,${createHmac('sha256', key).update(`${guid}.${time}.${body}`).digest('base64')}`;
  const hub = (algorithm: string, of = secret) =>
    `${algorithm}=${createHmac(algorithm, of).update(body).digest('hex')}`;
  const recorded = {
    'Content-Type': ['application/json'],
    'X-Github-Event': ['issues'],
    'X-Github-Delivery': [guid],
    'X-Hub-Signature': [hub('sha1')],
    'X-Hub-Signature-256': [hub('sha256')],
    'Webhook-Id': [guid],
    'Webhook-Timestamp': [old],
    'Webhook-Signature': [standard(old)],
  };
  writeFileSync(file, JSON.stringify({ headers: recorded, body, encoding: 'utf-8' }));
  const replay = async (...more: [secret: string] | []) => {
    const from = Math.floor(Date.now() / 1000);
    const args = [
      'listen',
      '--replay',
      file,
      '--forward-to',
      receiver.url,
      ...more.flatMap(() => ['--secret-file', '-']),
    ];
    expect(await gatepost(args, {}, more[0])).toMatchObject({ code: 0, err: '' });
    const got = receiver.received.pop()!;
    expect(got.body.toString()).toBe(body);
    expect(got.headers).toMatchObject({ 'x-github-event': 'issues', 'x-github-delivery': guid, 'webhook-id': guid });
    const { 'webhook-timestamp': time, 'webhook-signature': signed } = got.headers;
    const hubs = [got.headers['x-hub-signature'], got.headers['x-hub-signature-256']];
    return { time, signed, hubs, isNow: Number(time) >= from && Number(time) <= Date.now() / 1000 };
  };
  const hubs = [hub('sha1'), hub('sha256')];
  expect(await replay()).toEqual({ time: old, signed: standard(old), hubs, isNow: false });
  const { time, ...anew } = await replay(`${secret}\n`);
  expect(anew).toEqual({ signed: standard(time!), hubs, isNow: true });
  expect(await replay('another')).toMatchObject({
    signed: undefined,
    hubs: [hub('sha1', 'another'), hub('sha256', 'another')],
  });
});

test('a file that is no recording is refused before any is replayed', async () => {
  await using receiver = await openReceiver({ host: '127.0.0.1' });
  const file = path.join(newFolder(), 'recorded.json');
  writeFileSync(file, JSON.stringify({ headers: {}, body: '{}', encoding: 'utf-8' }));
  const replay = ['listen', '--forward-to', receiver.url, '--replay', file];
  expect(await gatepost([...replay, '--replay', `${file}.old`], {})).toMatchObject({
    code: 2,
    err: `gatepost: ${file}.old cannot be read: ENOENT\n`,
  });
  expect(receiver.received).toEqual([]);
});

// It went on until each receiver had answered, for a minute each.
test('Ctrl-C ends a replay whose receiver does not answer, and nothing more is replayed', async () => {
  await using receiver = await openReceiver({ host: '127.0.0.1', behave: { fault: 'hang' } });
  const file = path.join(newFolder(), 'recorded.json');
  writeFileSync(file, JSON.stringify({ headers: {}, body: '{}', encoding: 'utf-8' }));
  const replay = ['listen', '--replay', file, '--replay', file, '--forward-to', receiver.url];
  const { child, ended } = start(replay, {});
  await until('the first', () => receiver.received.length > 0);
  child.kill('SIGINT');
  expect(await soon(ended)).toEqual({ code: 130, out: '', err: '' });
  expect(receiver.received).toHaveLength(1);
});

test('Ctrl-C ends a listener whose receiver stands at a breakpoint, and its socket is closed in order', async () => {
  await using api = await openApi();
  await using receiver = await openReceiver({ host: '127.0.0.1', behave: { fault: 'hang' } });
  const { child, ended, err } = start(['listen', '--repo', 'a/b', '--forward-to', receiver.url], api.machine);
  const socket = await until('the socket', () => api.sockets[0]);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await until('the note', () => err().includes('Ctrl-C ends it'));
  socket.send(JSON.stringify({ Id: '1', Header: { 'X-Github-Event': ['push'] }, Body: '' }));
  await until('the delivery', () => receiver.received.length > 0);
  child.kill('SIGINT');
  expect(await soon(ended)).toMatchObject({ code: 130, out: '' });
  expect(await closed).toBe(1000);
});

/** What has not ended by then goes on. */
const soon = <T>(ended: Promise<T>): Promise<T | 'it goes on'> =>
  Promise.race([ended, sleep(20_000, 'it goes on' as const, { ref: false })]);
