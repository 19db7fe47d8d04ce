import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLettersPolicy, eventsPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { afterAll, expect, test } from '@jest/globals';
import { rootFolder } from '../processes/home.ts';
import { Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';
import { type Docker, findDocker, startContainer } from './docker.ts';
import { dropPrivateData } from './fresh.ts';
import type { StoreKind } from './private.ts';

const all = mkdtempSync(join(tmpdir(), 'gatepost-docker-'));
afterAll(() => rmSync(all, { recursive: true }));

const { signal } = new AbortController();

/** A `docker` that writes down how it was called; `info`, `compose … up` and `compose version` end with the given statuses. */
function fakeDocker(infoStatus: number, upStatus = 0, composeStatus = 0) {
  const folder = mkdtempSync(join(all, 'one-'));
  const calls = join(folder, 'calls');
  writeFileSync(
    join(folder, 'docker'),
    `#!/bin/sh
echo "$* | $GATEPOST_POSTGRES_PORT $POSTGRES_PASSWORD $GATEPOST_MANAGEMENT_PORT $RABBITMQ_PRODUCER_PASSWORD" >> ${calls}
case "$*" in
  info*) exit ${infoStatus} ;;
  "compose version") exit ${composeStatus} ;;
  *" up "*) echo "pull access denied" >&2; exit ${upStatus} ;;
esac
`,
    { mode: 0o755 },
  );
  return { path: `${folder}:/usr/bin:/bin`, home: folder, calls: () => readFileSync(calls, 'utf8').trim().split('\n') };
}

test('is not found where there is no engine behind the program, or no program', async () => {
  const fake = fakeDocker(1);
  expect(await findDocker(fake.home, signal, fake.path)).toBeUndefined();
  expect(fake.calls()).toEqual([expect.stringMatching(/^info /)]);
  expect(await findDocker(fake.home, signal, '/nonexistent')).toBeUndefined();
});

function start(docker: Docker, service: StoreKind['service'], home: string) {
  return startContainer(docker, { service, letsIn: async () => true }, home, signal);
}

/** As `npm start` finds it. */
async function find(fake: ReturnType<typeof fakeDocker>): Promise<Docker> {
  const docker = await findDocker(fake.home, signal, fake.path);
  if (!docker) throw new Error('the engine was not found');
  return docker;
}

test('is not found where `docker` has no compose', async () => {
  const fake = fakeDocker(0, 0, 1);
  expect(await findDocker(fake.home, signal, fake.path)).toBeUndefined();
});

test('the container ends with us, also when we are killed outright', async () => {
  const fake = fakeDocker(0);
  const script = `
    import { findDocker, startContainer } from ${JSON.stringify(join(import.meta.dirname, 'docker.ts'))};
    const { signal } = new AbortController();
    const docker = await findDocker(${JSON.stringify(fake.home)}, signal, ${JSON.stringify(fake.path)});
    const store = { service: 'redis', letsIn: async () => true };
    await startContainer(docker, store, ${JSON.stringify(fake.home)}, signal);
    console.log('up');
    setInterval(() => {}, 1_000);`;
  const args = ['--conditions=source', '--input-type=module', '--eval', script];
  const starter = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(starter.stdout, 'data');
  const stops = () => fake.calls().filter((call) => call.includes(' stop redis')).length;
  const before = stops(); // it was stopped before it was started
  starter.kill('SIGKILL');
  expect(await waitFor(() => stops() > before || undefined, 30_000)).toBe(true);
});

test('starts the store of docker-compose.yml with its port on 127.0.0.1, and stops it at the end', async () => {
  const fake = fakeDocker(0);
  const docker = await find(fake);
  const first = await start(docker, 'postgres', fake.home);
  await first[Symbol.asyncDispose]();
  const second = await start(docker, 'postgres', fake.home);
  await second[Symbol.asyncDispose]();

  expect(first.url).toMatch(/^postgres:\/\/gatepost:[0-9a-f]{48}@127\.0\.0\.1:\d+\/gatepost$/);
  expect(second.url).toBe(first.url); // the same port and password, so that the volume still fits
  const { port, password } = new URL(first.url);
  const ups = fake.calls().filter((call) => call.includes(' up '));
  expect(ups).toHaveLength(2);
  expect(ups[0]).toMatch(
    /^compose --project-name gatepost-\w+ --file docker-compose.yml --file \S+stores.compose.yml up --detach --wait --no-deps postgres/,
  );
  expect(ups[0]).toContain(`| ${port} ${password} `);
  expect(fake.calls().at(-1)).toContain(' stop postgres');
});

test('drops the containers with their volumes, and keeps port and password', async () => {
  const fake = fakeDocker(0);
  const docker = await find(fake);
  const machine = { env: {}, docker: async () => docker, installer: async () => undefined };
  await dropPrivateData(fake.home, machine);
  expect(fake.calls().filter((call) => call.startsWith('compose --project-name'))).toEqual([]); // there was none

  const { url } = await start(docker, 'rabbitmq', fake.home);
  await dropPrivateData(fake.home, machine);
  expect(fake.calls().at(-1)).toContain(' down --volumes ');
  expect((await start(docker, 'rabbitmq', fake.home)).url).toBe(url);
});

test('gives RabbitMQ a user for producers, with a password of its own', async () => {
  const fake = fakeDocker(0);
  const docker = await find(fake);
  const { url, producerUrl } = await start(docker, 'rabbitmq', fake.home);
  expect(producerUrl).toMatch(/^amqp:\/\/producer:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  const { password } = new URL(producerUrl!);
  expect(new URL(url).password).not.toBe(password);
  expect(fake.calls().find((call) => call.includes(' up '))).toContain(` ${password}`);
});

test('gives RabbitMQ its management API, with which tests make vhosts', async () => {
  const fake = fakeDocker(0);
  const { managementUrl } = await start(await find(fake), 'rabbitmq', fake.home);
  expect(managementUrl).toMatch(/^http:\/\/gatepost:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  expect(fake.calls().find((call) => call.includes(' up '))).toContain(` ${new URL(managementUrl!).port} `);
});

test('says what docker said when it fails', async () => {
  const fake = fakeDocker(0, 1);
  const docker = await find(fake);
  const starting = start(docker, 'redis', fake.home);
  await expect(starting).rejects.toThrow(Trouble);
  await expect(starting).rejects.toThrow(/pull access denied/);
});

test('docker-compose.yml defines the producers’ user and the policy as they stand in the code', () => {
  const compose = readFileSync(join(rootFolder, 'docker-compose.yml'), 'utf8');
  const [, block] = /content: \|\n([\s\S]*?\n {6}\}\n)/.exec(compose)!;
  const definitions = JSON.parse(block!.replaceAll('$$', '$').replaceAll(/\$\{\w+:-(\w+)\}/g, '$1'));
  expect(definitions.permissions).toContainEqual({ user: 'producer', vhost: '/', ...producerPermissions });
  expect(definitions.policies).toEqual([deadLettersPolicy, eventsPolicy].map((policy) => ({ vhost: '/', ...policy })));
  expect(definitions.users.map(({ name, tags }: { name: string; tags: string }) => [name, tags])).toEqual([
    ['gatepost', 'administrator'],
    ['producer', ''],
  ]);
  for (const { name } of definitions.users) expect(compose).toContain(`amqp://${name}:\${RABBITMQ_`);
});
