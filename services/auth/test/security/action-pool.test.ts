/** The processes of actions by themselves, without a gate: how often they are started, and what they may ask of it. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { makeGuard } from '@gatepost/runtime/address';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { makeAskOutside } from '../../src/actions/outside.ts';
import { openActionPool } from '../../src/actions/pool.ts';

test('a crashed action process is restarted at once, then after pauses that grow until a run succeeds', async () => {
  let now = 1_000;
  const code = `exports.handle = async (event) => { const all = []; while (event.ends) all.push(Buffer.alloc(50_000_000, 1)); };`;
  using pool = openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
    now: () => now,
  });
  const reasonOf = async (ends: boolean) => {
    const ran = await pool.run(
      { version: 'v', code, secrets: {} },
      { trigger: 'post-login', handler: 'handle', event: { ends } },
    );
    return ran.kind === 'done' ? 'done' : ran.reason;
  };
  /** How many of them had a process. */
  const startedOf = async (runs: number, ends = true) => {
    let started = 0;
    for (let run = 0; run < runs; run += 1) if ((await reasonOf(ends)) !== 'paused') started += 1;
    return started;
  };
  expect(await startedOf(20)).toBe(2);
  for (const pause of [100, 200, 400]) {
    now += pause - 1;
    expect(await startedOf(5)).toBe(0);
    now += 1;
    expect(await startedOf(5)).toBe(1);
  }
  now += 30_000;
  expect(await startedOf(5, false)).toBe(5);
  expect(await startedOf(5)).toBe(2);
});

test('request bodies sent by an action are bounded in total, and an action that keeps exceeding the bound is ended', async () => {
  let [now, most] = [0, 0];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  using pool = openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 1024 * 1024 * 1024 },
    async outside({ url, body = '' }) {
      now += body.length;
      most = Math.max(most, now);
      if (url.endsWith('/release')) release();
      await (url.endsWith('/never') ? new Promise(() => {}) : released);
      now -= body.length;
      throw new Error('answered');
    },
  });
  const run = (code: string) =>
    pool.run(
      { version: code, code: `exports.handle = async (event, api) => { ${code} };`, secrets: {} },
      { trigger: 'post-login', handler: 'handle', event: {} },
    );
  const post = (path: string) =>
    `fetch('https://example.com/${path}', { method: 'POST', body: 'x'.repeat(1_000_000) }).catch((error) => error.message)`;
  const some = await run(
    `const all = Array.from({ length: 16 }, () => ${post('')});
     const first = await Promise.race(all);
     await fetch('https://example.com/release').catch(() => {});
     api.accessToken.setCustomClaim('said', [first, ...new Set(await Promise.all(all))]);`,
  );
  const tooMuch = expect.stringContaining('bytes at the same time');
  expect(some).toMatchObject({ commands: [{ args: ['said', [tooMuch, 'fetch failed: answered', tooMuch]] }] });
  expect(most).toBeLessThanOrEqual(16 * 1024 * 1024);
  const wait = 'new Promise((resolve) => setTimeout(resolve, 100))';
  const asking = await run(`for (;;) await Promise.race([${post('never')}, ${wait}]);`);
  expect(asking).toMatchObject({ reason: 'too_large' });
});

test('an action’s request that the gate would not read is refused without ending the process', async () => {
  using pool = openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('asked')),
  });
  const code = `exports.handle = async (event, api) => {
    const said = [];
    for (const [path, init] of [
      ['x'.repeat(9_000), {}],
      ['', { headers: { a: 'x'.repeat(9_000) } }],
      ['', { headers: Array.from({ length: 101 }, (_each, at) => ['a' + at, 'x']) }],
      ['', { method: 'lower' }],
      ['', { method: 'M-SEARCH' }],
      ['', {}],
    ]) said.push(await fetch('https://example.com/' + path, init).catch((error) => error.message));
    api.accessToken.setCustomClaim('said', said);
  };`;
  const call = { trigger: 'post-login', handler: 'handle', event: {} };
  const long = expect.stringContaining('too long');
  const method = expect.stringContaining('not among the methods');
  expect(await pool.run({ version: 'v', code, secrets: {} }, call)).toMatchObject({
    commands: [{ args: ['said', [long, long, long, method, method, 'fetch failed: asked']] }],
  });
});

test('an action that uses up memory while it loads is ended', async () => {
  using pool = openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
  });
  const code = `const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1));`;
  const call = { trigger: 'post-login', handler: 'handle', event: {} };
  expect(await pool.run({ version: 'v', code, secrets: {} }, call)).toMatchObject({ reason: 'memory' });
});

test('a process that an action leaves in an endless loop after its run is ended, and one that answers goes on', async () => {
  const processes = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  await until('no process', () => processes() === 0);
  using pool = openActionPool({
    limits: { timeoutMs: 3_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
  });
  const run = (version: string, body: string) =>
    pool.run(
      { version, code: `let runs = 0; exports.handle = async (event, api) => { ${body} };`, secrets: {} },
      { trigger: 'post-login', handler: 'handle', event: {} },
    );
  const counting = () => run('counting', `runs += 1; api.accessToken.setCustomClaim('runs', runs);`);
  await counting();
  expect(await run('looping', 'setTimeout(() => { for (;;); }, 50);')).toMatchObject({ kind: 'done' });
  expect(processes()).toBe(2);
  await until('the end of the loop', () => processes() === 1);
  expect(await counting()).toMatchObject({ commands: [{ args: ['runs', 2] }] });
});

test('the process of a replaced action is ended also where a request that began before goes on with it', async () => {
  const processes = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  await until('no process', () => processes() === 0);
  using pool = openActionPool({
    limits: { timeoutMs: 3_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
  });
  const code = 'exports.handle = async () => {};';
  const run = (version: string) =>
    pool.run({ version, code, secrets: {} }, { trigger: 'post-login', handler: 'handle', event: {} });
  await run('replaced');
  pool.keepOnly(new Set(['kept']));
  await run('kept');
  for (const version of ['replaced', 'never started']) expect(await run(version)).toMatchObject({ kind: 'done' });
  await until('the end of the replaced ones', () => processes() === 1);
  // One that is deployed again meanwhile stays.
  await run('replaced');
  pool.keepOnly(new Set(['kept', 'replaced']));
  await run('never started');
  await until('the end of the other', () => processes() === 2);
  for (const version of ['kept', 'replaced']) expect(await run(version)).toMatchObject({ kind: 'done' });
  expect(processes()).toBe(2);
});

test('without file descriptors a start of an action fails as one run; with some again it starts, in a namespace and within its memory', async () => {
  const program = fileURLToPath(new URL('./out-of-descriptors.ts', import.meta.url));
  const few = ['-c', 'ulimit -n 128 && exec "$0" "$@"', process.execPath, '--conditions=source', program];
  const { stdout } = await promisify(execFile)('sh', few);
  expect(JSON.parse(stdout)).toEqual({
    before: ['crashed', 'crashed'],
    between: 'done',
    again: ['done', 'crashed'],
    after: ['done', 'memory'],
    isNamespaceRight: true,
  });
});

test('a small answer that decodes to far too much is refused, and its action goes on', async () => {
  const much = Buffer.alloc(256 * 1024 * 1024);
  const packed: Record<string, [coding: string, bytes: Buffer]> = {
    '/gzip': ['gzip', gzipSync(much)],
    '/twice': ['gzip, gzip', gzipSync(gzipSync(much))],
    '/zstd': ['zstd', zstdCompressSync(much)],
    '/often': [Array(6).fill('gzip').join(), gzipSync('')],
    '/fits': ['gzip', gzipSync(much.subarray(0, 1024 * 1024))],
  };
  using closing = new DisposableStack();
  const server = createServer(({ url = '' }, response) => {
    const [coding, bytes] = packed[url]!;
    response.setHeader('content-encoding', coding).end(bytes);
  });
  closing.defer(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  using pool = openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    outside: makeAskOutside(makeGuard(['127.0.0.0/8']), ['127.0.0.1']),
  });
  const code = `exports.handle = async (event, api) => {
    const read = async (path) => (await (await fetch('http://127.0.0.1:${port}' + path)).arrayBuffer()).byteLength;
    const all = await Promise.all(${JSON.stringify(Object.keys(packed))}.map((path) => read(path).catch((error) => error.message)));
    api.accessToken.setCustomClaim('read', all);
  };`;
  const call = { trigger: 'post-login', handler: 'handle', event: {} };
  const tooLarge = 'fetch failed: an answer of more than 1048576 bytes';
  expect(await pool.run({ version: 'v', code, secrets: {} }, call)).toMatchObject({
    commands: [{ args: ['read', [tooLarge, tooLarge, tooLarge, expect.stringContaining('codings'), 1024 * 1024]] }],
  });
});

test('sign-ins that arrive while an action’s process starts wait for their turn, in bounded number', async () => {
  using pool = openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
  });
  const code = `let [now, most] = [0, 0];
    exports.handle = async (event, api) => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 10));
      now -= 1;
      api.accessToken.setCustomClaim('most', most);
    };`;
  const call = { trigger: 'post-login', handler: 'handle', event: {} };
  const run = () => pool.run({ version: 'v', code, secrets: {} }, call);
  const all = await Promise.all(Array.from({ length: 1_010 }, run));
  const busy = expect.objectContaining({ kind: 'failed', reason: 'busy' });
  expect(all.slice(1_000)).toEqual(Array(10).fill(busy));
  expect(all.slice(0, 1_000).every(({ kind }) => kind === 'done')).toBe(true);
  const last = await run();
  expect(last.kind === 'done' && last.commands[0]!.args[1]).toBeLessThanOrEqual(100);
});

test('a run that waits for its turn does so for as long as a run may take', async () => {
  using pool = openActionPool({
    limits: { timeoutMs: 2_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
  });
  const code = 'exports.handle = async (event) => { for (;;); };';
  const call = { trigger: 'post-login', handler: 'handle', event: {} };
  const all = await Promise.all(Array.from({ length: 102 }, () => pool.run({ version: 'v', code, secrets: {} }, call)));
  const reasons = all.map((ran) => ran.kind === 'failed' && ran.reason);
  expect(reasons).toEqual([...Array(100).fill('timeout'), 'busy', 'busy']);
});
