/** The package as others get it: packed, and installed in a folder that knows nothing of this workspace. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisStore } from '../redis-store.ts';

const folder = path.resolve(import.meta.dirname, '..');
const readme = readFileSync(`${folder}/README.md`, 'utf8');
const app = mkdtempSync(path.join(tmpdir(), 'receiver-'));
afterAll(() => rmSync(app, { recursive: true, force: true }));

const { NODE_OPTIONS: _, ...outside } = process.env; // no condition of ours
const env = { ...outside, PATH: `${folder}/../../node_modules/.bin:${process.env.PATH}` };
const run = (program: string, args: string[], cwd: string) => promisify(execFile)(program, args, { cwd, env });

beforeAll(async () => {
  writeFileSync(`${app}/package.json`, '{ "private": true }');
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', app], folder);
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${filename}`], app);
});

test('the packed receiver has no dependencies, and tells a right signature from a wrong one', async () => {
  const program = `
    import { createHmac } from 'node:crypto';
    import { webReceiver } from '@gatepost/receiver';
    const receive = webReceiver({ secret: 's', onError: () => {} }, () => {});
    for (const secret of ['s', 't']) {
      const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': '1',
        'X-Hub-Signature-256': 'sha256=' + createHmac('sha256', secret).update('{}').digest('hex') };
      console.log((await receive(new Request('http://localhost', { method: 'POST', headers, body: '{}' }))).status);
    }`;
  writeFileSync(`${app}/program.mjs`, program);
  expect(await run(process.execPath, ['program.mjs'], app)).toEqual({ stdout: '200\n401\n', stderr: '' });
});

test('the packed receiver has its types', async () => {
  writeFileSync(
    `${app}/typed.mts`,
    `import { type DeliveryStore, readDelivery, type RefusedCode } from '@gatepost/receiver';
    export const code: RefusedCode = 'stale';
    export const guid: string = readDelivery('s', () => undefined, new Uint8Array()).guid;
    // @ts-expect-error: a store has three operations
    export const store: DeliveryStore = { async claim() { return 'new'; } };`,
  );
  const options = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, skipLibCheck: false };
  const typeRoots = [path.resolve(folder, '../../node_modules/@types')];
  const compilerOptions = { ...options, typeRoots, types: ['node'] };
  writeFileSync(`${app}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ['typed.mts'] }));
  const { stdout } = await run('tsc', ['--project', '.'], app).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});

test.each(['example.ts', 'redis-store.ts'])('the README shows %s unchanged', (file) => {
  expect(readme).toContain(`\`\`\`ts\n${readFileSync(`${folder}/${file}`, 'utf8')}\`\`\``);
});

test('the store of the README lets one process handle a delivery, and remembers it in Redis', async () => {
  const redis = new Redis(process.env.TEST_REDIS_URL!, { keyPrefix: `receiver-${process.pid}:` });
  const store = redisStore(redis);
  try {
    expect(await Promise.all([store.claim('a'), store.claim('a')])).toEqual(['new', 'running']);
    await store.failed('a');
    expect(await store.claim('a')).toBe('new');
    await store.done('a');
    expect(await store.claim('a')).toBe('done');
    expect(await redis.pttl('webhook:a')).toBeGreaterThan(3 * 24 * 3600_000);
    await redis.del('webhook:a');
  } finally {
    redis.disconnect();
  }
});
