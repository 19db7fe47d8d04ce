import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLettersPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { afterAll, expect, test } from '@jest/globals';
import { rootFolder } from '../processes/home.ts';
import { Trouble } from '../processes/trouble.ts';
import { findDocker, startContainer } from './docker.ts';
import { dropPrivateData } from './fresh.ts';

const all = mkdtempSync(join(tmpdir(), 'gatepost-docker-'));
afterAll(() => rmSync(all, { recursive: true }));

const { signal } = new AbortController();

/** A `docker` that writes down how it was called; `info` ends with the given status, `compose … up` with the other. */
function fakeDocker(infoStatus: number, upStatus = 0) {
  const folder = mkdtempSync(join(all, 'one-'));
  const calls = join(folder, 'calls');
  writeFileSync(
    join(folder, 'docker'),
    `#!/bin/sh
echo "$* | $GATEPOST_POSTGRES_PORT $POSTGRES_PASSWORD $GATEPOST_MANAGEMENT_PORT $RABBITMQ_PRODUCER_PASSWORD" >> ${calls}
case "$*" in
  info*) exit ${infoStatus} ;;
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

test('starts the store of docker-compose.yml with its port on 127.0.0.1, and stops it at the end', async () => {
  const fake = fakeDocker(0);
  const docker = await findDocker(fake.home, signal, fake.path);
  if (!docker) throw new Error('the engine was not found');
  const options = { home: fake.home, management: false, signal };
  const first = await startContainer(docker, 'postgres', options, async () => true);
  await first[Symbol.asyncDispose]();
  const second = await startContainer(docker, 'postgres', options, async () => true);
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
  const docker = await findDocker(fake.home, signal, fake.path);
  const machine = { env: {}, docker: async () => docker, installer: async () => undefined };
  await dropPrivateData(fake.home, machine);
  expect(fake.calls().filter((call) => call.includes('compose'))).toEqual([]); // there was none

  const options = { home: fake.home, management: false, signal };
  const { url } = await startContainer(docker!, 'rabbitmq', options, async () => true);
  await dropPrivateData(fake.home, machine);
  expect(fake.calls().at(-1)).toContain(' down --volumes ');
  expect((await startContainer(docker!, 'rabbitmq', options, async () => true)).url).toBe(url);
});

test('gives RabbitMQ a user for producers, with a password of its own', async () => {
  const fake = fakeDocker(0);
  const docker = await findDocker(fake.home, signal, fake.path);
  if (!docker) throw new Error('the engine was not found');
  const options = { home: fake.home, management: false, signal };
  const { url, producerUrl } = await startContainer(docker, 'rabbitmq', options, async () => true);
  expect(producerUrl).toMatch(/^amqp:\/\/producer:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  const { password } = new URL(producerUrl!);
  expect(new URL(url).password).not.toBe(password);
  expect(fake.calls().find((call) => call.includes(' up '))).toContain(` ${password}`);
});

test('gives RabbitMQ its management API where the tests need it', async () => {
  const fake = fakeDocker(0);
  const docker = await findDocker(fake.home, signal, fake.path);
  if (!docker) throw new Error('the engine was not found');
  const started = await startContainer(
    docker,
    'rabbitmq',
    { home: fake.home, management: true, signal },
    async () => true,
  );
  expect(started.managementUrl).toMatch(/^http:\/\/gatepost:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  expect(fake.calls().find((call) => call.includes(' up '))).toContain('management.compose.yml up');
});

test('says what docker said when it fails', async () => {
  const fake = fakeDocker(0, 1);
  const docker = await findDocker(fake.home, signal, fake.path);
  if (!docker) throw new Error('the engine was not found');
  const starting = startContainer(docker, 'redis', { home: fake.home, management: false, signal }, async () => true);
  await expect(starting).rejects.toThrow(Trouble);
  await expect(starting).rejects.toThrow(/pull access denied/);
});

test('docker-compose.yml defines the producers’ user and the policy as they stand in the code', () => {
  const compose = readFileSync(join(rootFolder, 'docker-compose.yml'), 'utf8');
  const [, block] = /content: \|\n([\s\S]*?\n {6}\}\n)/.exec(compose)!;
  const definitions = JSON.parse(block!.replaceAll('$$', '$').replaceAll(/\$\{\w+:-(\w+)\}/g, '$1'));
  expect(definitions.permissions).toContainEqual({ user: 'producer', vhost: '/', ...producerPermissions });
  expect(definitions.policies).toEqual([{ vhost: '/', ...deadLettersPolicy }]);
  expect(definitions.users.map(({ name, tags }: { name: string; tags: string }) => [name, tags])).toEqual([
    ['gatepost', 'administrator'],
    ['producer', ''],
  ]);
  for (const { name } of definitions.users) expect(compose).toContain(`amqp://${name}:\${RABBITMQ_`);
});
