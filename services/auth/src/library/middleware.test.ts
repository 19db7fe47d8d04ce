import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, jest, test } from '@jest/globals';
import Provider from 'oidc-provider';
import { changeAnswers, wrapRequests } from './middleware.ts';

const quiet = jest.spyOn(console, 'warn').mockReturnValue(); // its own keys and pages are for development only
const provider = new Provider('http://gate.example');
quiet.mockRestore();
const server = createServer();
const ran: string[] = [];

changeAnswers(provider, 'all', (ctx) => {
  ran.push(`all ${ctx.status}`);
  return undefined;
});
changeAnswers(provider, 'discovery', async (ctx) => {
  await Promise.resolve();
  ran.push('discovery');
  ctx.body = { changed: true };
});
changeAnswers(provider, 'jwks', () => {
  throw new Error('it does not concern this route');
});
wrapRequests(
  provider,
  (ctx) => ctx.path === '/closed',
  async (ctx) => {
    ran.push('around');
    ctx.status = 410;
  },
);
server.on('request', provider.callback());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
afterAll(() => {
  server.close();
});

async function get(path: string) {
  ran.length = 0;
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, text: await response.text() };
}

test('changes that are registered later run earlier', async () => {
  const { text } = await get('/.well-known/openid-configuration');
  expect(JSON.parse(text)).toEqual({ changed: true });
  expect(ran).toEqual(['discovery', 'all 200']);
});

test('a request to none of the library’s routes gets only the changes for all', async () => {
  expect((await get('/nothing')).status).toBe(404);
  expect(ran).toEqual(['all 404']);
});

test('a request that is answered before it reaches the library gets the changes for all', async () => {
  expect((await get('/closed')).status).toBe(410);
  expect(ran).toEqual(['around', 'all 410']);
});
