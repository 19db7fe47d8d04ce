/** The package as others get it: packed, and installed in a folder that knows nothing of this workspace. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { openConnection } from '@gatepost/amqp/connection';
import { topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost } from '@gatepost/testkit/stores';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const folder = path.resolve(import.meta.dirname, '..');
const root = path.resolve(folder, '../..');
const example = readFileSync(`${folder}/example.ts`, 'utf8');
const readme = readFileSync(`${folder}/README.md`, 'utf8');

const app = mkdtempSync(path.join(tmpdir(), 'producer-'));
afterAll(() => rmSync(app, { recursive: true, force: true }));

// The workspace's programs first, Node's among them; no condition of ours reaches what is started here.
const { NODE_OPTIONS: _, ...outside } = process.env;
const env = { ...outside, PATH: `${root}/node_modules/.bin:${process.env.PATH}` };
const run = (program: string, args: string[], cwd: string, more: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(program, args, { cwd, env: { ...env, ...more } });
const install = (packages: string[], cwd: string) =>
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', ...packages], cwd);

/** Node's own programs are packages too, one a platform. Kept from run to run: they are 300 MB. */
const platform = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
const versions = { '20': '20.19.0', '22': '22.23.3' };
const programs = path.join(root, 'node_modules/.cache/node-programs');

beforeAll(async () => {
  mkdirSync(programs, { recursive: true });
  for (const place of [app, programs]) writeFileSync(`${place}/package.json`, '{ "private": true }');
  await install(
    Object.entries(versions).map(([major, version]) => `node${major}@npm:${platform}@${version}`),
    programs,
  );
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', app], folder);
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
  await install([`./${filename}`], app);
});

test.each([
  ['20', `${programs}/node_modules/node20/bin/node`],
  ['22', `${programs}/node_modules/node22/bin/node`],
  ['24', process.execPath],
])('the packed producer runs in Node %s, and prints what the README says', async (major, node) => {
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
  expect((await run(node, ['--version'], app)).stdout).toMatch(new RegExp(`^v${major}\\.`));
  await using vhost = await freshVhost();
  const connection = await openConnection(
    { url: vhost.url, name: 'test', log: openLog('test', 'silent'), topology },
    async () => {},
  );
  writeFileSync(`${app}/example.mjs`, example); // it has no types
  const { stdout, stderr } = await run(node, ['example.mjs'], app, { PRODUCER_AMQP_URL: vhost.url });
  await connection.close();
  expect(stderr).toBe('');
  expect(readme).toContain(`\`\`\`\n${stdout}\`\`\``);
});

test('the packed producer has types that compile for every language target', async () => {
  writeFileSync(
    `${app}/typed.mts`,
    `import { type NewEvent, openProducer, type PublishErrorCode } from '@gatepost/producer';
    const event: NewEvent = { type: 'push', subject: 'acme/widgets', data: {} };
    // @ts-expect-error: an event has a type
    const bad: NewEvent = { subject: 'acme/widgets', data: {} };
    export const code: PublishErrorCode = 'busy';
    export const { guid } = await (await openProducer({ url: 'amqp://127.0.0.1', source: 'urn:ci' })).publish(event ?? bad);`,
  );
  const options = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: [], skipLibCheck: false };
  writeFileSync(`${app}/tsconfig.json`, JSON.stringify({ compilerOptions: options, files: ['typed.mts'] }));
  const { stdout } = await run('tsc', ['--project', '.'], app).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});
