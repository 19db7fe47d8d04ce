/** What a gate in production refuses to start with, and what it tells browsers under https. */
import { readFile } from 'node:fs/promises';
import { parseSeed } from '@gatepost/contracts/seed';
import { afterAll, expect, test } from '@jest/globals';
import { freePort, openGate } from '../gate.ts';
import { api, apis, connections, fullSeed, machine, spa } from '../seeds.ts';
import { callback } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const production = { NODE_ENV: 'production' };
const demo = parseSeed(await readFile(new URL('../../../../infra/demo/seed.yaml', import.meta.url), 'utf8'));

test('production refuses the demo’s seed before anything is opened, and any database that was once seeded with it', async () => {
  const database = 'postgres://nobody:Wk2xPq9@127.0.0.1:1/none';
  await expect(openGate(demo, { ...production, DATABASE_URL: database })).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: expect.arrayContaining([expect.stringContaining('clients[0].client_secret')]),
  });
  const seeded = stack.use(await openGate(demo));
  const { DATABASE_URL, SECRETS_KEY } = seeded.env as { DATABASE_URL: string; SECRETS_KEY: string };
  await expect(openGate({}, { ...production, DATABASE_URL, SECRETS_KEY })).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: [
      'client demo-admin has a secret of the demo’s',
      'client demo-m2m has a secret of the demo’s',
      'client demo-trusted has a secret of the demo’s',
      'client demo-web has a secret of the demo’s',
      'client example-express has a secret of the demo’s',
      'client example-fastapi has a secret of the demo’s',
      'client example-go has a secret of the demo’s',
      'client example-nextjs has a secret of the demo’s',
      'client example-spring has a secret of the demo’s',
      'user auth0|admin has the demo’s password',
      'user auth0|alice has the demo’s password',
    ],
  });
});

test('production refuses an http issuer that is not loopback, exposed default passwords, and a missing SECRETS_KEY', async () => {
  const open = {
    ...production,
    HOST: '0.0.0.0',
    ISSUER: 'http://gate.example/',
    DATABASE_URL: 'postgres://gatepost:gatepost@127.0.0.1:1/none',
  };
  await expect(openGate({}, open)).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: [expect.stringMatching(/^ISSUER: /), expect.stringMatching(/^DATABASE_URL: /)],
  });
  await expect(openGate({}, { ...production, SECRETS_KEY: '' })).rejects.toMatchObject({
    problems: [expect.stringContaining('SECRETS_KEY is not set')],
  });
});

test('with https every answer sends Strict-Transport-Security: pages, tokens, APIs and errors; with http none does', async () => {
  const port = await freePort();
  const seed = { apis, clients: [machine, spa], connections };
  stack.use(await openGate(seed, { ...production, ISSUER: 'https://gate.example/', AUTH_PORT: String(port) }));
  const plain = stack.use(await openGate(fullSeed));
  const hstsOf = async (path: string, init: RequestInit = {}, base = `http://127.0.0.1:${port}/`) =>
    (await fetch(base + path, { redirect: 'manual', ...init })).headers.get('strict-transport-security');
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: api,
  });
  const asked: [string, RequestInit?][] = [
    ['oauth/token', { method: 'POST', body: form }],
    ['oauth/token', { method: 'POST', body: 'x' }],
    ['.well-known/openid-configuration'],
    [
      `authorize?${new URLSearchParams({ client_id: 'spa', redirect_uri: callback, response_type: 'id_token', nonce: 'n', scope: 'openid' })}`,
    ],
    ['authorize?client_id=nobody', { headers: { accept: 'text/html' } }],
    ['api/v2/clients'],
    ['activate', { headers: { accept: 'text/html' } }],
    ['dbconnections/signup', { method: 'POST', body: '{' }],
    ['nowhere'],
  ];
  for (const [path, init] of asked) {
    expect([path, await hstsOf(path, init)]).toEqual([path, 'max-age=31536000']);
    expect([path, await hstsOf(path, init, plain.issuer)]).toEqual([path, null]);
  }
});
