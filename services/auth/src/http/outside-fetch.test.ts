import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeGuard } from '@gatepost/runtime/address';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { makeOutsideFetch } from './outside-fetch.ts';

let asked: string[] = [];
let connections = 0;
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers['x-sent']}`);
  request.resume();
  if (request.url === '/keys') response.writeHead(200, { 'cache-control': 'max-age=120' }).end('{"keys":[]}');
  else if (request.url === '/large') response.writeHead(200).end('x'.repeat(70_000));
  else if (request.url === '/endless') response.writeHead(200).write('{');
  else response.writeHead(302, { location: '/elsewhere' }).end();
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
    signal: AbortSignal.timeout(60_000),
  } as never);

test.each(['127.0.0.1', '[::ffff:127.0.0.1]', 'inside.example', 'mixed.example', '2130706433'])(
  'a request to %s is not sent unless its network is listed',
  async (host) => {
    await expect(told([], `http://${host}:${port}/`)).rejects.toMatchObject({ code: 'EBLOCKED' });
    expect([asked, connections]).toEqual([[], 0]);
  },
);

test.each(['127.0.0.1', 'inside.example'])(
  'a request to %s is sent once its network is listed, and a redirect is not followed',
  async (host) => {
    const { status } = await told(['127.0.0.1/32'], `http://${host}:${port}/a?b=c`);
    expect([status, asked]).toEqual([302, ['POST /a?b=c yes']]);
  },
);

describe('a document fetched from outside', () => {
  const read = (networks: string[], path: string) =>
    makeOutsideFetch(makeGuard(networks, resolve))(`http://inside.example:${port}${path}`, {
      signal: AbortSignal.timeout(60_000),
    } as never);
  const inside = ['127.0.0.1/32'];

  test('is not fetched from an internal address that is not listed', async () => {
    await expect(read([], '/keys')).rejects.toMatchObject({ code: 'EBLOCKED' });
    expect([asked, connections]).toEqual([[], 0]);
  });

  test('is the body of a 200 response, with the time for which it may be cached', async () => {
    const response = await read(inside, '/keys');
    expect([response.status, await response.text(), response.headers.get('cache-control')]).toEqual([
      200,
      '{"keys":[]}',
      'max-age=120',
    ]);
  });

  test('is never the target of a redirect', async () => {
    const response = await read(inside, '/a');
    expect([response.status, await response.text(), asked.length]).toEqual([302, '', 1]);
  });

  test('is limited to 64 KiB, and to a few seconds', async () => {
    await expect(read(inside, '/large')).rejects.toThrow('more than 65536 bytes');
    await expect(
      makeOutsideFetch(makeGuard(inside, resolve))(`http://inside.example:${port}/endless`, {
        signal: AbortSignal.timeout(50),
      } as never),
    ).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('an unknown host, a refused connection and a hanging one are errors, not crashes', async () => {
  const hanging = createServer(() => {});
  await new Promise<void>((resolveListening) => hanging.listen(0, '127.0.0.1', resolveListening));
  const { port: hangingPort } = hanging.address() as AddressInfo;
  const outsideFetch = makeOutsideFetch(makeGuard(['127.0.0.1/32']));
  const post = (url: string, ms: number) =>
    outsideFetch(url, { method: 'POST', body: 'x', signal: AbortSignal.timeout(ms) } as never);
  await expect(post('http://127.0.0.1:1/', 60_000)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await expect(post(`http://127.0.0.1:${hangingPort}/`, 50)).rejects.toMatchObject({ name: 'AbortError' });
  hanging.closeAllConnections();
  await new Promise((resolveClosed) => hanging.close(resolveClosed));
});
