/** Makes a release in a clone, by the command that a maintainer types. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findLastRelease } from '@gatepost/testkit/last-release';
import { afterAll, expect, test } from '@jest/globals';
import { rootFolder } from '../local/processes/home.ts';
import { chart, dockerfiles, manifests, versionLabel, versionOf } from './version.ts';

const run = promisify(execFile);
const clone = mkdtempSync(path.join(tmpdir(), 'release-'));
afterAll(() => rmSync(clone, { recursive: true }));

// Ignores the machine's own git configuration, including hooks and signatures.
const env = {
  PATH: process.env.PATH ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A maintainer',
  GIT_AUTHOR_EMAIL: 'maintainer@example.com',
  GIT_COMMITTER_NAME: 'A maintainer',
  GIT_COMMITTER_EMAIL: 'maintainer@example.com',
};
const git = async (...args: string[]) => (await run('git', args, { cwd: clone, env })).stdout.trim();
const changelog = path.join(clone, 'CHANGELOG.md');
const commit = (message: string) => git('commit', '--quiet', '--all', '--message', message);
/** Resolves to its output; rejects with it when no release is made. */
const release = async (...args: string[]) =>
  (await run(process.execPath, [path.join(rootFolder, 'infra/release/release.ts'), ...args], { cwd: clone, env }))
    .stdout;

await run('git', ['clone', '--quiet', '--depth=1', `file://${rootFolder}`, clone], { env });
const notes = '### Upgrading\n- **Hooks** are read anew.\n\n### Added\n- Something to see.';
const text = readFileSync(changelog, 'utf8').replace(/^## Unreleased$.*/ms, `## Unreleased\n\n${notes}\n`);

test('a release is refused and changes nothing while something must be done first', async () => {
  const head = await git('rev-parse', 'HEAD');
  for (const version of ['', 'next', '1.2']) await expect(release(version)).rejects.toThrow('which version?');
  await expect(release('0.0.1')).rejects.toThrow('0.0.1 is before');

  writeFileSync(changelog, text);
  await expect(release('9.8.0')).rejects.toThrow(/commit or take back .* first:\nM CHANGELOG\.md/);
  for (const [left, says] of [
    ['', 'nothing stands under "## Unreleased"'],
    ['### Added\n- Something to see.\n', '"### Upgrading" is missing'],
  ] as const) {
    writeFileSync(changelog, text.replace(notes, left));
    await commit('notes');
    await expect(release('9.8.0')).rejects.toThrow(says);
    await git('reset', '--quiet', '--hard', head);
  }
  // Git itself refuses: a commit without an author, or a hook that fails.
  writeFileSync(changelog, text);
  await commit('notes');
  writeFileSync(path.join(clone, '.git/hooks/pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  await expect(release('9.8.0')).rejects.toThrow();
  rmSync(path.join(clone, '.git/hooks/pre-commit'));
  expect([
    await git('status', '--porcelain'),
    await git('tag', '--list'),
    await git('log', '-1', '--format=%s'),
  ]).toEqual(['', '', 'notes']);
});

test('a release is one commit and a tag with its notes, and sets its version everywhere', async () => {
  expect(await release('9.8.0')).toContain('git push --atomic origin HEAD v9.8.0');
  expect(await git('cat-file', '-t', 'v9.8.0')).toBe('tag');
  expect(await git('tag', '--list', '--format=%(contents)', 'v9.8.0')).toBe(`Gatepost 9.8.0\n\n${notes}`);
  expect(await git('rev-parse', 'v9.8.0^{commit}')).toBe(await git('rev-parse', 'HEAD'));
  expect(await git('status', '--porcelain')).toBe('');
  expect(await git('log', '-1', '--format=%s')).toBe('release 9.8.0');

  const today = new Date().toISOString().slice(0, 10);
  const section = `## Unreleased\n\n## 9.8.0 (${today})\n\n${notes}\n`;
  // A test that runs at midnight sees yesterday's date.
  expect(readFileSync(changelog, 'utf8').replace(/\(\d{4}-\d\d-\d\d\)/, `(${today})`)).toContain(section);
  for (const file of manifests(clone)) expect([file, versionOf(file)]).toEqual([file, '9.8.0']);
  for (const file of dockerfiles(clone)) expect(versionLabel.exec(readFileSync(file, 'utf8'))?.[2]).toBe('9.8.0');
  expect(readFileSync(chart(clone), 'utf8')).toMatch(/^appVersion: "9\.8\.0"$/m);
  await expect(release('9.8.0')).rejects.toThrow('there is a tag v9.8.0 already');
});

test('services of a release report its version', async () => {
  for (const built of globSync('{packages,services}/*/{dist,node_modules}', { cwd: rootFolder }))
    cpSync(path.join(rootFolder, built), path.join(clone, built), { recursive: true, verbatimSymlinks: true });
  symlinkSync(path.join(rootFolder, 'node_modules'), path.join(clone, 'node_modules'));
  const said = await Promise.all(['auth', 'webhook-api', 'dispatcher'].map(firstLine));
  expect(said).toEqual(Array(3).fill(expect.objectContaining({ message: 'starting', version: '9.8.0' })));
  expect(said[2]).toMatchObject({ env: { DELIVERY_USER_AGENT: 'Gatepost-Hookshot/9.8.0' } });
});

test('the previous release is the last tagged one, and never the release itself', async () => {
  expect(await findLastRelease(clone)).not.toBe('v9.8.0'); // it is the release itself
  appendFileSync(changelog, '\n');
  await commit('more');
  expect(await findLastRelease(clone)).toBe('v9.8.0');
});

/** The first log line of one of the clone's services; no store is running. */
async function firstLine(name: string): Promise<Record<string, unknown>> {
  const away = '127.0.0.1:1';
  const child: ChildProcess = spawn(process.execPath, ['dist/main.js'], {
    cwd: path.join(clone, 'services', name),
    env: {
      PATH: env.PATH,
      DATABASE_URL: `postgres://gatepost:none@${away}/gatepost`,
      REDIS_URL: `redis://${away}`,
      AMQP_URL: `amqp://${away}`,
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
      ISSUER: 'http://localhost:4400/',
      WEBHOOK_API_AUDIENCE: 'http://localhost:4500/',
      JWKS_URL: `http://${away}/jwks.json`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout! })) {
    child.kill('SIGKILL');
    return JSON.parse(line);
  }
  throw new Error(`${name} says nothing`);
}
