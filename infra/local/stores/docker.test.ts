import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLettersPolicy, eventsPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { say } from '../commands/say.ts';
import { rootFolder } from '../processes/home.ts';
import { Trouble } from '../processes/trouble.ts';
import { findCompose, prepareContainer } from './docker.ts';
import type { PrivateOptions } from './private.ts';
import { storeKinds } from './stores.ts';

const all = mkdtempSync(join(tmpdir(), 'gatepost-docker-'));
afterAll(() => rmSync(all, { recursive: true }));

const { signal } = new AbortController();

/** A `docker` that records its calls; `compose ls`, which asks the engine, and `compose … up` end with the given statuses. */
function fakeDocker(engineStatus: number, upStatus = 0) {
  const folder = mkdtempSync(join(all, 'one-'));
  const calls = join(folder, 'calls');
  writeFileSync(
    join(folder, 'docker'),
    `#!/bin/sh
echo "$* | $GATEPOST_POSTGRES_PORT $POSTGRES_PASSWORD $GATEPOST_MANAGEMENT_PORT $RABBITMQ_PRODUCER_PASSWORD" >> ${calls}
case "$*" in
  "compose ls") exit ${engineStatus} ;;
  *" up "*) echo "pull access denied" >&2; exit ${upStatus} ;;
esac
`,
    { mode: 0o755 },
  );
  writeFileSync(calls, '');
  const read = () => readFileSync(calls, 'utf8').trim().split('\n');
  const [isStop, isUp] = [/ stop | down /, / up /].map(
    (pattern) => () => read().findLastIndex((call) => pattern.test(call)),
  );
  return { env: { PATH: `${folder}:/usr/bin:/bin` }, home: folder, calls: read, isUp: async () => isUp!() > isStop!() };
}

function optionsOf({ env, home }: Pick<ReturnType<typeof fakeDocker>, 'env' | 'home'>): PrivateOptions {
  return { env, home, signal, stack: new AsyncDisposableStack(), say };
}

test('is not found without the program, its `compose`, or an engine behind it', async () => {
  const fake = fakeDocker(1);
  expect(await findCompose(optionsOf(fake))).toBeUndefined();
  expect(fake.calls()).toEqual([expect.stringMatching(/^compose ls /)]);
  expect(await findCompose(optionsOf({ ...fake, env: { PATH: '/nonexistent' } }))).toBeUndefined();
});

/** Starts a store as `npm start` does. It lets us in once its container is up. */
async function start(fake: ReturnType<typeof fakeDocker>, service: string, fresh = false, letsIn = fake.isUp) {
  const options = { ...optionsOf(fake), fresh };
  const compose = await findCompose(options);
  const kind = storeKinds.find((one) => one.service === service)!;
  const store = await prepareContainer(compose!, { ...kind, letsIn }, options);
  await store.launch();
  return { stack: options.stack, ...store };
}

test('the container ends with us, even if we are killed outright', async () => {
  const fake = fakeDocker(0);
  const script = `
    import { findCompose, prepareContainer } from ${JSON.stringify(join(import.meta.dirname, 'docker.ts'))};
    const { signal } = new AbortController();
    const options = { env: ${JSON.stringify(fake.env)}, home: ${JSON.stringify(fake.home)}, signal, stack: new AsyncDisposableStack() };
    const compose = await findCompose(options);
    const store = await prepareContainer(compose, { name: 'Redis', service: 'redis', letsIn: async () => true }, options);
    await store.launch();
    console.log('up');
    setInterval(() => {}, 1_000);`;
  const args = ['--conditions=source', '--input-type=module', '--eval', script];
  const starter = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(starter.stdout, 'data');
  await until('its container is up', fake.isUp);
  const stops = () => fake.calls().filter((call) => call.includes(' stop redis')).length;
  starter.kill('SIGKILL');
  await until('its container is stopped', () => stops() > 0);
});

test('starts the store of docker-compose.yml with its port on 127.0.0.1, and stops it at the end', async () => {
  const fake = fakeDocker(0);
  const first = await start(fake, 'postgres');
  await first.stack.disposeAsync();
  const second = await start(fake, 'postgres');
  await second.stack.disposeAsync();

  expect(first.url).toMatch(/^postgres:\/\/gatepost:[0-9a-f]{48}@127\.0\.0\.1:\d+\/gatepost$/);
  expect(second.url).toBe(first.url); // same port and password, so that the volume still fits
  const { port, password } = new URL(first.url);
  const ups = fake.calls().filter((call) => call.includes(' up '));
  expect(ups).toHaveLength(2);
  expect(ups[0]).toMatch(
    /^compose --project-name gatepost-\w+ --file docker-compose.yml --file \S+stores.compose.yml up --detach --wait --no-deps postgres/,
  );
  expect(ups[0]).toContain(`| ${port} ${password} `);
  expect(fake.calls().at(-1)).toContain(' stop postgres');
});

test('makes PostgreSQL anew where a deleted folder of the same name has left its volume, whose password nobody knows', async () => {
  const fake = fakeDocker(0);
  const dropped =
    /^compose .* rm --stop --force postgres .*\nvolume rm --force gatepost-\w+_postgres .*\n(?:.*\n)*.* up /m;
  for (const isNew of [true, false, true]) {
    if (isNew) rmSync(join(fake.home, 'postgres'), { recursive: true, force: true });
    const before = fake.calls().length;
    const { stack } = await start(fake, 'postgres');
    await stack.disposeAsync();
    const calls = fake.calls().slice(before).join('\n');
    if (isNew) expect(calls).toMatch(dropped);
    else expect(calls).not.toContain('volume');
  }
});

test('drops the containers with their volumes, and keeps port and password', async () => {
  const fake = fakeDocker(0);
  const first = await start(fake, 'rabbitmq');
  await first.stack.disposeAsync();
  expect(fake.calls().join()).not.toContain(' down ');
  const second = await start(fake, 'rabbitmq', true);
  expect(fake.calls().join()).toMatch(/ down --volumes .* up /);
  expect(second.url).toBe(first.url);
  await second.stack.disposeAsync();
});

test('gives RabbitMQ a user for producers with its own password, and the management API, with which tests make vhosts', async () => {
  const fake = fakeDocker(0);
  const { stack, url, producerUrl, managementUrl } = await start(fake, 'rabbitmq');
  await stack.disposeAsync();
  expect(producerUrl).toMatch(/^amqp:\/\/producer:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  expect(managementUrl).toMatch(/^http:\/\/gatepost:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  const { password } = new URL(producerUrl!);
  expect(new URL(url).password).not.toBe(password);
  const up = fake.calls().find((call) => call.includes(' up '));
  expect(up).toContain(` ${new URL(managementUrl!).port} ${password}`);
});

test('says what docker said when it fails', async () => {
  const starting = start(fakeDocker(0, 1), 'redis', false, async () => false);
  await expect(starting).rejects.toThrow(Trouble);
  await expect(starting).rejects.toThrow(/pull access denied/);
});

test('docker-compose.yml defines the producers’ user and the policy as the code does', () => {
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
