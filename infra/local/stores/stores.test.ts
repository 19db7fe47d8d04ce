import { expect, test } from '@jest/globals';
import type { Installer } from './debian.ts';
import type { Docker } from './docker.ts';
import { findSource, findSources, givenUrl, type Machine, type StoreKind, storeKinds } from './stores.ts';

const docker: Docker = { compose: async () => {}, atTheEnd: () => ({ [Symbol.asyncDispose]: async () => {} }) };
const installer: Installer = async () => {};

/** A machine that offers this, and a store that answers or is installed as told. */
function machine(offers: { url?: string; docker?: Docker | 'without compose'; installer?: Installer }): Machine {
  return {
    env: offers.url ? { REDIS_URL: offers.url } : {},
    docker: async () => offers.docker,
    installer: async () => offers.installer,
  };
}
function store(state: { answers?: string; installed?: string }): StoreKind {
  const redis = storeKinds.find((kind) => kind.name === 'Redis') as StoreKind;
  return { ...redis, probe: async () => state.answers, find: () => state.installed };
}

const all = { url: 'redis://given', docker, installer };
const here = { answers: 'redis://answers', installed: '/usr/bin/redis-server' };

test.each([
  ['its URL in the environment', all, here, { kind: 'given', url: 'redis://given' }],
  ['what answers on the default port', { docker, installer }, here, { kind: 'answers', url: 'redis://answers' }],
  [
    'its installed program',
    { docker, installer },
    { installed: here.installed },
    { kind: 'private', program: here.installed },
  ],
  ['a Docker engine', { docker, installer }, {}, { kind: 'container', docker }],
  ["the distribution's package", { installer }, {}, { kind: 'package', install: installer }],
  ['nothing', {}, {}, { kind: 'missing' }],
])('takes the first there is: %s', async (_, offers, state, source) => {
  expect(await findSource(store(state), machine(offers))).toEqual(source);
});

test("takes nobody else's store when it wants one of its own", async () => {
  const source = await findSource(store(here), machine(all), 'own');
  expect(source).toEqual({ kind: 'private', program: here.installed });
});

test('says in two lines what to install, and the variables that would do instead', async () => {
  const bare = storeKinds.map((kind) => ({ ...kind, probe: async () => undefined, find: () => undefined }));
  const finding = findSources(machine({}), 'any', bare);
  await expect(finding).rejects.toMatchObject({
    lines: [
      expect.stringMatching(/RabbitMQ, PostgreSQL, Redis.*rabbitmq-server postgresql redis-server/),
      expect.stringMatching(/AMQP_URL, DATABASE_URL, REDIS_URL/),
    ],
  });
});

test('says so where a Docker engine answers, but not to `docker compose`', async () => {
  const bare = storeKinds.map((kind) => ({ ...kind, probe: async () => undefined, find: () => undefined }));
  await expect(findSources(machine({ docker: 'without compose' }), 'any', bare)).rejects.toMatchObject({
    lines: [expect.stringContaining('`docker compose`, which the Docker engine here lacks'), expect.anything()],
  });
});

test('takes the database URLs of both sides for one that serves both', () => {
  const postgres = storeKinds.find((kind) => kind.name === 'PostgreSQL') as StoreKind;
  expect(givenUrl(postgres, { AUTH_DATABASE_URL: 'postgres://a', WEBHOOK_DATABASE_URL: 'postgres://w' })).toBe(
    'postgres://a',
  );
  expect(givenUrl(postgres, { AUTH_DATABASE_URL: 'postgres://a' })).toBeUndefined();
  expect(givenUrl(postgres, { DATABASE_URL: '' })).toBeUndefined();
});
