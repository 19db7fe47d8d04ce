import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeGuard } from '@gatepost/runtime/address';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makeOutsideFetch } from './outside-fetch.ts';

let asked: string[] = [];
let connections = 0;
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers['x-sent']}`);
  request.resume();
  response.writeHead(302, { location: '/elsewhere' }).end();
});
server.on('connection', () => {
  connections += 1;
});
let port: number;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  asked = [];
  connections = 0;
});

// A name that leads inside, and one that leads both outside and inside.
const resolve = ((name: string, _options: unknown, callback: (error: null, found: unknown) => void) => {
  const inside = { address: '127.0.0.1', family: 4 };
  callback(null, name === 'mixed.example' ? [{ address: '8.8.8.8', family: 4 }, inside] : [inside]);
}) as never;
const told = (networks: string[], url: string) =>
  makeOutsideFetch(makeGuard(networks, resolve))(url, {
    method: 'POST',
    headers: new Headers({ 'x-sent': 'yes' }),
    body: new URLSearchParams({ logout_token: 't' }),
    signal: AbortSignal.timeout(5_000),
  } as never);

test.each(['127.0.0.1', '[::ffff:127.0.0.1]', 'inside.example', 'mixed.example', '2130706433'])(
  'nothing is sent to %s, of which no list says that it may be',
  async (host) => {
    await expect(told([], `http://${host}:${port}/`)).rejects.toMatchObject({ code: 'EBLOCKED' });
    expect([asked, connections]).toEqual([[], 0]);
  },
);

test.each(['127.0.0.1', 'inside.example'])(
  '%s is told when its network is listed, and a redirect is not followed',
  async (host) => {
    const { status } = await told(['127.0.0.1/32'], `http://${host}:${port}/a?b=c`);
    expect([status, asked]).toEqual([302, ['POST /a?b=c yes']]);
  },
);

test('nothing is fetched from where a client points', async () => {
  const outsideFetch = makeOutsideFetch(makeGuard(['127.0.0.1/32']));
  for (const options of [{ method: 'GET' }, undefined])
    await expect(outsideFetch(`http://127.0.0.1:${port}/`, options as never)).rejects.toThrow('nothing is fetched');
  expect(asked).toEqual([]);
});

test('a name that is unknown, a refused connection and one that hangs are errors, not crashes', async () => {
  const hanging = createServer(() => {});
  await new Promise<void>((resolveListening) => hanging.listen(0, '127.0.0.1', resolveListening));
  const { port: hangingPort } = hanging.address() as AddressInfo;
  const outsideFetch = makeOutsideFetch(makeGuard(['127.0.0.1/32']));
  const post = (url: string, ms: number) =>
    outsideFetch(url, { method: 'POST', body: 'x', signal: AbortSignal.timeout(ms) } as never);
  await expect(post('http://127.0.0.1:1/', 5_000)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await expect(post(`http://127.0.0.1:${hangingPort}/`, 50)).rejects.toMatchObject({ name: 'AbortError' });
  hanging.closeAllConnections();
  await new Promise((resolveClosed) => hanging.close(resolveClosed));
});
