import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makeOutsideFetch } from './outside-fetch.ts';

let asked = 0;
const server = createServer((_request, response) => {
  asked += 1;
  response.writeHead(302, { location: '/elsewhere' }).end();
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  asked = 0;
});

test.each(['http://localhost/', 'https://gate.example/'])(
  'fetches nothing from where a client points, %s',
  async (issuer) => {
    await expect(makeOutsideFetch(issuer)(url, { method: 'GET' } as never)).rejects.toThrow('nothing is fetched');
    await expect(makeOutsideFetch(issuer)(url, undefined as never)).rejects.toThrow('nothing is fetched');
    expect(asked).toBe(0);
  },
);

test('on a developer’s machine applications on loopback are told, and a redirect is not followed', async () => {
  const response = await makeOutsideFetch('http://localhost/')(url, { method: 'POST' } as never);
  expect([response.status, asked]).toEqual([302, 1]);
});

test('under https nothing is sent without the library’s guard', async () => {
  await expect(makeOutsideFetch('https://gate.example/')(url, { method: 'POST' } as never)).rejects.toThrow('no guard');
  expect(asked).toBe(0);
});
