/** What our patch of got (patches/) must not change: it shares what used to be copied for each request, and computes less. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import got, { type BeforeRequestHook, Options } from 'got';

const server = createServer((request, response) => response.end(request.headers.authorization ?? 'none'));
let url: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
  url = `http://127.0.0.2:${(server.address() as AddressInfo).port}/`;
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

test('what a got hook changes in the options of one request is not seen by the next request or by the got instance', async () => {
  const seen: unknown[] = [];
  const client = got.extend({
    retry: { limit: 0 },
    timeout: { request: 10_000 },
    hooks: {
      beforeRequest: [
        (options) => {
          const { retry, timeout, https, agent, cacheOptions, hooks } = options;
          seen.push([retry.limit, timeout.request, https.rejectUnauthorized, hooks.afterResponse.length]);
          retry.limit = 5;
          retry.methods?.push('POST');
          timeout.request = 5_000;
          https.rejectUnauthorized = false;
          agent.http = false;
          cacheOptions.shared = true;
          hooks.afterResponse.push((response) => response);
        },
      ],
    },
  });
  await client(url);
  await client(url);
  expect(seen).toEqual([
    [0, 10_000, undefined, 0],
    [0, 10_000, undefined, 0],
  ]);
  const { retry, timeout, agent, hooks } = client.defaults.options;
  expect([retry.limit, timeout.request, agent.http, hooks.afterResponse]).toEqual([0, 10_000, undefined, []]);
  expect(retry.methods).not.toContain('POST');
});

test('got options made from frozen ones can be merged into, frozen and read', () => {
  const base = got.extend({ retry: { limit: 1 } }).defaults.options;
  const own = new Options(url, { timeout: { request: 1 }, retry: { limit: 3 } }, base);
  own.freeze();
  expect([own.timeout.request, own.retry.limit, own.https.key]).toEqual([1, 3, undefined]);
  expect([base.timeout.request, base.retry.limit]).toEqual([undefined, 1]);
  expect(() => {
    own.retry.limit = 4;
  }).toThrow(TypeError);
});

test('credentials in a URL become an Authorization header, also if a got hook puts them there', async () => {
  const basic = `Basic ${Buffer.from('user:password').toString('base64')}`;
  const withCredentials = new URL(url);
  withCredentials.username = 'user';
  withCredentials.password = 'password';
  expect(await got(withCredentials).text()).toBe(basic);
  const logIn: BeforeRequestHook = (options) => {
    options.username = 'user';
    options.password = 'password';
  };
  expect(await got(url, { hooks: { beforeRequest: [logIn] } }).text()).toBe(basic);
  expect(await got(url).text()).toBe('none');
});

test('a subscriber to got’s diagnostics channels gets every message, without credentials', async () => {
  const seen: Record<string, unknown>[] = [];
  const names = ['request:create', 'request:start', 'response:start', 'response:end'].map((name) => `got:${name}`);
  const onMessage = (message: unknown) => void seen.push(message as Record<string, unknown>);
  for (const name of names) subscribe(name, onMessage);
  const withCredentials = new URL(url);
  withCredentials.password = 'password';
  const response = await got(withCredentials);
  for (const name of names) unsubscribe(name, onMessage);
  expect(seen.map((message) => message.url)).toEqual([url, url, url, url]);
  expect(seen[1]).toMatchObject({ method: 'GET' });
  expect(seen[2]).toMatchObject({ statusCode: 200 });
  expect(response.url).toBe(url);
});
