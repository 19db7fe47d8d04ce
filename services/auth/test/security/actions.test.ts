/** A tenant's own code has its process, its time, its memory and what it is told; and nothing of the gate's, or of another action's. */
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from '@gatepost/testkit/browser';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openActionsGate } from '../actions.ts';
import { openCountingServer } from './counting-server.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const lines = openLogLines();
// A machine with much to do runs actions slowly.
const gate = stack.use(await openActionsGate({ ACTIONS_TIMEOUT_MS: '20000' }, lines));
const { set, machine, logs } = gate;
const trigger = 'credentials-exchange';
const claim = (value: string) => `api.accessToken.setCustomClaim('https://mine.example/a', ${value});`;
const claimed = async () => (await machine()).access['https://mine.example/a'];
let heard = 0;
/** What the log says of the next one that failed. */
async function faultOf(reason: string): Promise<void> {
  const entries = await until('the log', async () => {
    const found = await logs('type:actions_execution_failed');
    return found.length > heard && found;
  });
  heard = entries.length;
  expect(entries[0]!.details.reason).toBe(reason);
}

describe('an action is ended, and the next request served by another process, after', () => {
  const brittle = (body: string) =>
    `if (event.transaction.requested_scopes.length === 1) { ${body} return; } ${claim(`'fine'`)}`;

  test.each([
    ['an endless loop', 'for (;;);'],
    ['waiting for ever', 'await new Promise(() => {});'],
  ])('%s', async (_what, body) => {
    await using impatient = await openActionsGate({ ACTIONS_TIMEOUT_MS: '2000' });
    await impatient.set(trigger, brittle(body));
    // In so short a time a busy machine may not even run what ends by itself: that is tried again.
    const isFine = async () => (await impatient.machine()).access['https://mine.example/a'] === 'fine';
    await until('it to be fine', isFine);
    expect((await impatient.machine({ scope: 'read:x' })).status).toBe(403);
    await until('the log', async () =>
      (await impatient.logs('type:actions_execution_failed')).some(({ details }) => details.reason === 'timeout'),
    );
    await until('it to be fine again', isFine);
  });

  test.each([
    ['taking all memory for objects', 'crashed', `const all = []; for (;;) all.push(new Array(1_000_000).fill('x'));`],
    ['taking all memory for bytes', 'memory', 'const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1));'],
    ['an answer that is too large', 'too_large', `console.log('x'); ${claim(`'x'.repeat(3_000_000)`)}`],
    ['a reason that is no text', 'too_large', 'api.access.deny({ toString: 1 });'],
    ['claims that are too large', 'too_large', claim(`'x'.repeat(200_000)`)],
  ])('%s', async (_what, reason, body) => {
    await set(trigger, brittle(body));
    expect(await claimed()).toBe('fine');
    expect((await machine({ scope: 'read:x' })).status).toBe(403);
    await faultOf(reason);
    expect(await claimed()).toBe('fine');
  });
});

test('an action that writes an unexpected answer to the socket itself is ended', async () => {
  await set(
    trigger,
    `const { EventEmitter } = require('events');
     let socket;
     const { emit } = EventEmitter.prototype;
     EventEmitter.prototype.emit = function (...given) { if (this && this._handle) socket = this; return emit.apply(this, given); };
     await fetch('http://127.0.0.1:1/').catch(() => {});
     EventEmitter.prototype.emit = emit;
     socket.write('{"type":"done","run":999999,"commands":[],"output":[]}\\n');
     await new Promise(() => {});`,
  );
  expect((await machine()).status).toBe(403);
  await faultOf('crashed');
});

test('an action cannot reach files, processes, threads, the network, or code made of text', async () => {
  const ways = {
    exit: `process.exit(0)`,
    kill: `process.kill(process.ppid, 'SIGKILL')`,
    binding: `process.binding('fs')`,
    builtin: `process.getBuiltinModule('fs')`,
    import: `await import('node:fs')`,
    text: `new Function('return process')()`,
    eval: `(0, eval)('1')`,
    constructor: `require('node:util').inspect.constructor('return process')()`,
    websocket: `new WebSocket('ws://127.0.0.1:1')`,
    ...Object.fromEntries(
      [
        'fs',
        'child_process',
        'worker_threads',
        'net',
        'http',
        'https',
        'tls',
        'dgram',
        'dns',
        'vm',
        'module',
        'inspector',
        'process',
        'os',
        'async_hooks',
      ].map((name) => [name, `require('node:${name}')`]),
    ),
  };
  const tries = Object.entries(ways).map(([name, way]) => `try { ${way}; open.push('${name}'); } catch {}`);
  await set(trigger, `const open = []; ${tries.join('\n')} ${claim('open')}`);
  expect(await claimed()).toEqual([]);
});

test('an action sees no environment variables of the gate, and no arguments', async () => {
  await set(trigger, claim(`[Object.keys(process.env), process.argv]`));
  expect(await claimed()).toEqual([[], []]);
});

test('an action that gets hold of the real process and the gate’s socket still reaches no file, process or connection', async () => {
  const listening = new DisposableStack();
  const path = join(mkdtempSync(join(tmpdir(), 'socket-')), 'of-a-neighbour');
  let connections = 0;
  const server = listening.adopt(
    createServer(() => {}).on('connection', () => {
      connections += 1;
    }),
    (open) => void open.close(),
  );
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await set(
    trigger,
    `const { EventEmitter } = require('events');
     let real, socket;
     const { emit } = EventEmitter.prototype;
     EventEmitter.prototype.emit = function (...given) {
       if (this && this.memoryUsage) real = this;
       if (this && this._handle) socket = this;
       return emit.apply(this, given);
     };
     Promise.reject(new Error('heard by the real one'));
     await fetch('http://127.0.0.1:1/').catch(() => {});
     await new Promise((resolve) => setTimeout(resolve, 50));
     EventEmitter.prototype.emit = emit;
     const ways = ['binding', '_linkedBinding', 'dlopen', 'getBuiltinModule', 'kill', '_kill', '_debugProcess', 'execve', 'mainModule', 'ppid', 'report',
       '_getActiveHandles', 'loadEnvFile', 'setuid', 'chdir'].filter((name) => real[name]);
     const tries = {
       again: () => { delete real._debugProcess; real._debugProcess = 1; if (real._debugProcess) ways.push('set again'); },
       socket: () => new socket.constructor().connect('${path}'),
       pipe: () => new socket._handle.constructor(0).connect({}, '${path}'),
       dispatcher: () => {
         const { constructor } = globalThis[Symbol.for('undici.globalDispatcher.1')] ?? globalThis[Symbol.for('undici.globalDispatcher.2')];
         new constructor({ connect: { socketPath: '${path}' } }).dispatch({ origin: 'http://x', path: '/', method: 'GET' }, {});
       },
     };
     for (const [name, way] of Object.entries(tries)) try { way(); if (name !== 'again') ways.push(name); } catch {}
     await new Promise((resolve) => setTimeout(resolve, 50));
     ${claim(`{ found: [typeof real, typeof socket], ways, env: Object.keys(real.env) }`)}`,
  );
  expect(await claimed()).toEqual({ found: ['object', 'object'], ways: [], env: [] });
  expect(connections).toBe(0);
  listening.dispose();
});

test('an action sees no secret, global or changed prototype of another action', async () => {
  await set(
    trigger,
    {
      body: `globalThis.left = event.secrets.KEY; Object.prototype.polluted = 'yes'; Array.prototype.map = () => ['bad'];`,
      secrets: { KEY: 'of the first' },
    },
    {
      body: claim(`[typeof left, ({}).polluted ?? null, [1].map((n) => n + 1), Object.keys(event.secrets)]`),
      secrets: { OTHER: 'of the second' },
    },
  );
  expect(await claimed()).toEqual(['undefined', null, [2], ['OTHER']]);
});

test('an action’s answer cannot change a prototype in the gate', async () => {
  await set(
    trigger,
    `for (const name of ['__proto__', 'constructor', 'prototype']) api.accessToken.setCustomClaim(name, { polluted: true });
     api.accessToken.setCustomClaim('https://mine.example/a', JSON.parse('{"__proto__": {"polluted": true}, "b": 1}'));`,
  );
  expect((await machine()).status).toBe(200);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('language functions that an action replaces are not the ones that its process uses to talk to the gate', async () => {
  await set(
    trigger,
    `const { stringify } = JSON;
     JSON.stringify = (value) => (value && value.type === 'done' ? '{"type":"done","run":1,"commands":"all","output":[]}' : stringify(value));
     JSON.parse = () => ({});
     ${claim(`'fine'`)}`,
  );
  expect([200, 403]).toContain((await machine()).status);
  await set(trigger, claim(`'fine'`));
  expect(await claimed()).toBe('fine');
});

describe('the network for actions', () => {
  test('excludes the gate’s own network: private addresses and other protocols are refused', async () => {
    using server = await openCountingServer();
    const { port } = server;
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      'http://169.254.169.254/',
      'file:///etc/passwd',
    ]) {
      await set(trigger, `await fetch('${url}');`);
      expect((await machine()).status).toBe(403);
    }
    expect(server.asked()).toBe(0);
  });

  test('can be limited to listed hosts, also after a redirect, or to none', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/away') response.writeHead(302, { location: `http://localhost:${port}/` });
      response.end('here');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await using named = await openActionsGate({
      ACTIONS_ALLOWED_HOSTS: '127.0.0.1',
      ACTIONS_TIMEOUT_MS: '20000',
      OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    });
    const text = (path: string) => claim(`await (await fetch('${path}')).text()`);
    await named.set(trigger, text(`http://127.0.0.1:${port}/`));
    expect((await named.machine()).access['https://mine.example/a']).toBe('here');
    for (const path of [`http://localhost:${port}/`, `http://127.0.0.1:${port}/away`]) {
      await named.set(trigger, text(path));
      expect((await named.machine()).status).toBe(403);
    }
    await using none = await openActionsGate({
      ACTIONS_ALLOWED_HOSTS: '',
      ACTIONS_TIMEOUT_MS: '20000',
      OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8',
    });
    await none.set(trigger, text(`http://127.0.0.1:${port}/`));
    expect((await none.machine()).status).toBe(403);
    server.close();
  });

  test('stays available while many people sign in at once', async () => {
    let [now, most] = [0, 0];
    const { promise: enough, resolve: open } = Promise.withResolvers<void>();
    const server = createServer(async (_request, response) => {
      now += 1;
      most = Math.max(most, now);
      if (now === 30) open();
      await enough;
      response.end('here');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await using named = await openActionsGate({
      ACTIONS_ALLOWED_HOSTS: '127.0.0.1',
      ACTIONS_TIMEOUT_MS: '20000',
      OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8',
    });
    await named.set(trigger, `await fetch('http://127.0.0.1:${port}/');`);
    const all = await Promise.all(Array.from({ length: 30 }, () => named.machine()));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(most).toBe(30);
    server.close();
  });
});

test('an action cannot add scopes or claims to a token for the management API', async () => {
  await set(trigger, `${claim(`1`)} api.accessToken.setCustomClaim('plain', 1);`);
  const { access } = await gate.ask({
    grant_type: 'client_credentials',
    client_id: 'manager',
    client_secret: 'manager-secret',
    audience: `${gate.issuer}api/v2/`,
  });
  expect(access).not.toHaveProperty('plain');
});

test('the session of a sign-in that post-login refused does not open /account, and one that it allowed does', async () => {
  const browser = new Browser(gate.gate);
  await set('post-login', `if (event.user.email === 'alice@example.com') api.access.deny('suspended');`);
  const refused = await browser.logIn(await browser.get('account'));
  expect(refused.status).toBe(403);
  for (const path of ['account', 'account/profile'])
    expect((await browser.get(path)).html).not.toContain('alice@example.com');
  await set('post-login', '');
  expect((await browser.get('account')).html).toContain('alice@example.com');
  await set('post-login');
});

describe('/account, open in a session whose owner an action refuses now', () => {
  const body = `if (event.user.app_metadata.suspended) api.access.deny('suspended');`;
  const suspend = async (suspended: boolean | null) =>
    expect((await gate.manage('PATCH', 'users/auth0%7Calice', { app_metadata: { suspended } })).status).toBe(200);
  const open = async (path: string) => {
    await suspend(null);
    await set('post-login', body);
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.get(path));
    expect([page.status, page.html.includes('alice@example.com')]).toEqual([200, true]);
    await suspend(true);
    return { browser, page };
  };
  const expectRefused = async (browser: Browser) => {
    for (const path of ['account', 'account/profile']) {
      const { status, html } = await browser.get(path);
      expect([status, html.includes('alice@example.com')]).toEqual([403, false]);
    }
  };
  const close = async () => {
    await suspend(null);
    await set('post-login');
  };
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };

  test.each([
    ['refuses them', body],
    ['fails', `if (event.user.app_metadata.suspended) throw new Error('broken');`],
  ])('closes at once when an action %s in a sign-in to an application', async (_what, other) => {
    const { browser } = await open('account');
    await set('post-login', other);
    const { location } = await browser.authorize({ ...request, prompt: 'none' });
    expect(location!.searchParams.get('error')).toBe('access_denied');
    await expectRefused(browser);
    await suspend(null);
    expect((await browser.get('account')).html).toContain('alice@example.com');
    await close();
  });

  /** By the clock of this process, in which the gate runs. */
  const later = async (minutes: number, run: () => Promise<void>) => {
    const now = Date.now;
    Date.now = () => now() + minutes * 60_000;
    try {
      await run();
    } finally {
      Date.now = now;
    }
  };

  test('closes ten minutes after the actions ran, which run again at the next visit', async () => {
    const { browser } = await open('account');
    await later(10, async () => {
      await expectRefused(browser);
      await suspend(null);
      expect((await browser.get('account')).html).toContain('alice@example.com');
      await suspend(true);
      expect((await browser.get('account')).status).toBe(200);
    });
    await later(21, () => expectRefused(browser));
    await close();
  });

  test.each([
    [15, 'takes'],
    [20, 'does not take'],
  ])('after %i minutes %s a form of a page that was open', async (minutes, does) => {
    const { browser, page } = await open('account/profile');
    const nickname = `after ${minutes} minutes`;
    await later(minutes, async () => expect((await browser.submit(page, { nickname })).status).toBe(403));
    const { body: user } = await gate.manage('GET', 'users/auth0%7Calice');
    expect(user.nickname === nickname).toBe(does === 'takes');
    await close();
  });
});

test('what a method of `api` is called with beyond its parameters is ignored', async () => {
  await set(trigger, `api.accessToken.setCustomClaim('https://mine.example/a', 1, 2, 3, 4, 5);`);
  expect((await machine()).access).toMatchObject({ 'https://mine.example/a': 1 });
});

test('secrets of an action are in no log', async () => {
  const value = 'a-secret-that-nobody-reads';
  await set(trigger, {
    body: `console.log(event.secrets.KEY); throw new Error(event.secrets.KEY + ' twice ' + event.secrets.KEY);`,
    secrets: { KEY: value },
  });
  expect((await machine()).json).not.toEqual(expect.stringContaining(value));
  await faultOf('threw');
  expect(JSON.stringify(await logs('type:actions_execution_failed'))).not.toContain(value);
  expect(JSON.stringify(lines.lines)).not.toContain(value);
});

test.each([
  ['longer than a reason may be', 0],
  ['that ends beyond the longest reason', 250],
])('a secret %s is in no log of a refusal', async (_, before) => {
  const key = 'a-secret'.repeat(150);
  const body = `api.access.deny('-'.repeat(${before}) + event.secrets.KEY);`;
  await set(trigger, { body, secrets: { KEY: key } });
  expect((await machine()).status).toBe(403);
  const masked = `${'-'.repeat(before)}***`;
  const entry = await until('the refusal in the log', async () =>
    (await logs('type:feccft')).find(({ details }) => details.description === masked),
  );
  const [id] = (entry.details.actions as { executions: string[] }).executions;
  expect((await gate.manage('GET', `actions/executions/${id}`)).body).toMatchObject({
    results: [{ error: { msg: masked } }],
  });
});

test('a long secret of several lines is masked in messages, and a secret that is a word of JSON breaks no answer', async () => {
  const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7';
  const key = `-----BEGIN PRIVATE KEY-----\n${`${line}\n`.repeat(25)}-----END PRIVATE KEY-----\n`;
  await set(trigger, { body: `throw new Error(event.secrets.KEY + event.secrets.KEY);`, secrets: { KEY: key } });
  expect((await machine()).status).toBe(403);
  await faultOf('threw');
  expect(JSON.stringify(await logs('type:actions_execution_failed'))).not.toContain(line);
  const tryOut = async (body: string, value: string) => {
    const code = `exports.onExecuteCredentialsExchange = async (event, api) => { ${body} };`;
    const secrets = [{ name: 'KEY', value }];
    const given = { name: `tried ${Math.random()}`, supported_triggers: [{ id: trigger }], code, secrets };
    const { body: made } = await gate.manage('POST', 'actions/actions', given);
    return gate.manage('POST', `actions/actions/${made.id}/test`, { payload: {} });
  };
  const said = await tryOut(
    `console.log(event.secrets.KEY); console.log(event.secrets); ${claim('event.secrets.KEY')}`,
    key,
  );
  expect(said.status).toBe(200);
  expect(JSON.stringify(said.body)).not.toContain(line.slice(0, 20));
  const flag = await tryOut(claim('true'), 'true');
  expect(flag.body.payload.commands).toEqual([
    { name: 'accessToken.setCustomClaim', args: ['https://mine.example/a', true] },
  ]);
});
