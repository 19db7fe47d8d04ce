import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { runToEnd } from '../processes/child.ts';

const all = mkdtempSync(join(tmpdir(), 'gatepost-debian-'));
afterAll(() => rmSync(all, { recursive: true }));

const script = fileURLToPath(new URL('debian-install.sh', import.meta.url));

/** A file tree, and an `apt-get` that records its calls and whether the distribution may then start servers. */
function fakeDebian(installEnd = 'exit 0') {
  const root = mkdtempSync(join(all, 'one-'));
  for (const folder of ['usr/sbin', 'etc', 'bin']) mkdirSync(join(root, folder), { recursive: true });
  const policy = join(root, 'usr/sbin/policy-rc.d');
  const cluster = join(root, 'etc/postgresql-common/createcluster.d/gatepost.conf');
  const calls = join(root, 'calls');
  writeFileSync(calls, '');
  writeFileSync(
    join(root, 'bin/apt-get'),
    `#!/bin/sh
sh ${policy}; echo "policy $?, $(cat ${cluster}), $*" >> ${calls}
case "$*" in *install*) ${installEnd} ;; esac
`,
    { mode: 0o755 },
  );
  writeFileSync(join(root, 'bin/dpkg'), `#!/bin/sh\necho "dpkg $*" >> ${calls}\n`, { mode: 0o755 });
  const env = { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, GATEPOST_INSTALL_ROOT: root };
  const run = (packages: string[], signal?: AbortSignal) =>
    runToEnd('flock', [join(root, 'lock'), '/bin/sh', script, ...packages], { env, signal });
  return { policy, cluster, run, calls: () => readFileSync(calls, 'utf8').trim().split('\n') };
}

test('finishes an interrupted dpkg; then installs without letting the distribution start a server or make a cluster, and leaves no trace', async () => {
  const debian = fakeDebian();
  expect((await debian.run(['redis-server', 'postgresql'])).code).toBe(0);
  expect(debian.calls()).toEqual([
    'dpkg --configure --pending',
    expect.stringMatching(/^policy 101, create_main_cluster = false, .*update$/),
    expect.stringMatching(/^policy 101, create_main_cluster = false, .*install redis-server postgresql$/),
  ]);
  expect([existsSync(debian.policy), existsSync(debian.cluster)]).toEqual([false, false]);
});

test('leaves no trace when the installation fails', async () => {
  const debian = fakeDebian('exit 100');
  expect((await debian.run(['postgresql'])).code).toBe(100);
  expect(debian.calls()).toHaveLength(3);
  expect([existsSync(debian.policy), existsSync(debian.cluster)]).toEqual([false, false]);
});

test('leaves no trace when it is interrupted', async () => {
  const debian = fakeDebian('sleep 600');
  const abort = new AbortController();
  const running = debian.run(['postgresql'], abort.signal);
  running.catch(() => {}); // awaited below
  await until('it installs', () => debian.calls().length === 3);
  abort.abort();
  await expect(running).rejects.toThrow('aborted');
  expect([existsSync(debian.policy), existsSync(debian.cluster)]).toEqual([false, false]);
});

test("keeps an administrator's own policy", async () => {
  const debian = fakeDebian();
  writeFileSync(debian.policy, '#!/bin/sh\nexit 104\n');
  await debian.run(['redis-server']);
  expect(debian.calls().filter((call) => call.startsWith('policy 104'))).toHaveLength(2);
  expect(readFileSync(debian.policy, 'utf8')).toContain('exit 104');
});
