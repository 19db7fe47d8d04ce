/** The command line as others get it: packed, and installed in a folder that knows nothing of this workspace. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const folder = path.resolve(import.meta.dirname, '..');
const root = path.resolve(folder, '../..');
const app = mkdtempSync(path.join(tmpdir(), 'gatepost-cli-'));
afterAll(() => rmSync(app, { recursive: true, force: true }));

// The workspace's programs first, Node's among them; no condition of ours reaches what is started here.
const { NODE_OPTIONS: _, ...outside } = process.env;
const env = { ...outside, PATH: `${root}/node_modules/.bin:${process.env.PATH}`, GATEPOST_CONFIG_DIR: `${app}/config` };
const run = (program: string, args: string[], cwd = app) => promisify(execFile)(program, args, { cwd, env });

beforeAll(async () => {
  writeFileSync(`${app}/package.json`, '{ "private": true }');
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', app], folder);
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [
    { filename: string; files: { path: string }[] },
  ];
  expect(files.map((file) => file.path).filter((name) => !/^(lib\/|README\.md$|package\.json$)/.test(name))).toEqual(
    [],
  );
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', `./${filename}`]);
});

const gatepost = (...args: string[]) => run(`${app}/node_modules/.bin/gatepost`, args);

test('the packed CLI installs and runs, with a single dependency', async () => {
  expect((await gatepost('--version')).stdout).toBe('gatepost 0.1.0\n');
  expect((await gatepost('hooks', 'list', '--help')).stdout).toContain('gatepost hooks list [options]');
  const { stdout } = await run('npm', ['ls', '--all', '--parseable']);
  const packages = stdout.split('\n').flatMap((line) => line.split('node_modules/')[1] ?? []);
  expect(packages.sort()).toEqual(['@gatepost/cli', 'ws']);
  const refused = (await gatepost('whoami').catch((error: unknown) => error)) as { code: number; stderr: string };
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain('gatepost login');
});

test('the CLI starts by loading only the table of commands', async () => {
  // What a start costs, without the machine's mood: the files that are read before the first command.
  const trace = `import { registerHooks } from 'node:module'; let files = 0;
    registerHooks({ load(url, context, next) { if (url.startsWith('file:')) files += 1; return next(url, context); } });
    process.on('exit', () => process.stderr.write(String(files)));`;
  writeFileSync(`${app}/trace.mjs`, trace);
  const program = `${app}/node_modules/@gatepost/cli/lib/gatepost.js`;
  const { stderr } = await run(process.execPath, ['--import', `${app}/trace.mjs`, program, '--version']);
  expect(Number(stderr)).toBeGreaterThan(1);
  const all = readdirSync(path.dirname(program)).filter((name) => name.endsWith('.js'));
  expect(Number(stderr)).toBeLessThan(all.length / 2);
});
