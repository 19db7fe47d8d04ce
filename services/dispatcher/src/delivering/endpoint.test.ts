import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import got, { type Request } from 'got';
import { endpointOf } from './endpoint.ts';

test('what requests to a hook share is made once, and tells Node host, port and path as the URL does', () => {
  const target = new URL('http://[::1]:8080/hooks?a=b#c');
  expect(endpointOf(target)).toBe(endpointOf(target));
  expect(endpointOf(target)).toMatchObject({
    isSecure: false,
    address: { hostname: '::1', port: 8080, path: '/hooks?a=b' },
    host: '[::1]:8080',
  });
  expect(endpointOf(new URL('https://example.com:443'))).toMatchObject({
    isSecure: true,
    address: { hostname: 'example.com', port: undefined, path: '/' },
    host: 'example.com',
  });
});

test('a request that got would send by itself, past our guard, is refused', async () => {
  let received = 0;
  const server = createServer((_request, response) => {
    received += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const stream = got(undefined, undefined, endpointOf(target).options) as unknown as Request;
  const failed = new Promise<Error>((resolve) => {
    stream.once('error', resolve);
  });
  stream.end();
  stream.resume();
  expect((await failed).message).toMatch('no request function');
  expect(received).toBe(0);
  server.close();
});
