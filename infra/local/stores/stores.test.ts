import { expect, test } from '@jest/globals';
import type { Child } from '../processes/child.ts';
import type { Installer } from './debian.ts';
import type { Compose } from './docker.ts';
import { postgres } from './postgres.ts';
import type { PrivateOptions, StoreKind } from './private.ts';
import { redis } from './redis.ts';
import { findSource, findSources, givenUrl, type Machine, storeKinds } from './stores.ts';

const compose: Compose = ['docker', 'compose'];
const installer: Installer = async () => {};

/** A machine that offers this, and a store that answers or is installed as told. */
function machine(offers: { url?: string; compose?: Compose; installer?: Installer }): Machine {
  return {
    env: offers.url ? { REDIS_URL: offers.url } : {},
    compose: async () => offers.compose,
    installer: async () => offers.installer,
  };
}
function store(state: { answers?: string[]; installed?: string[] }): StoreKind {
  const { answers = [], installed = [] } = state;
  const letsIn = async (at: string) => answers.includes(at);
  return { ...redis, usual: () => ['redis://one', 'redis://two'], letsIn, programs: () => installed };
}

const url = 'redis://given';
const [answers, installed] = [['redis://two'], ['/bin/sh']];

test.each([
  ['its URL in the environment', { url, compose, installer }, { answers, installed }, 'given, at'],
  ['what answers on the default port', { compose, installer }, { answers, installed }, 'found running at'],
  ['its installed program', { compose, installer }, { installed }, 'a private instance at'],
  ['a Docker engine', { compose, installer }, {}, 'in a container, at'],
  ["the distribution's package", { installer }, {}, 'a private instance at'],
  ['nothing', {}, {}, undefined],
])('takes the first there is: %s', async (_, offers, state, how) => {
  expect((await findSource(store(state), machine(offers)))?.how).toBe(how);
});

test("takes nobody else's store when it wants one of its own", async () => {
  const source = await findSource(store({ answers, installed }), machine({ url }), true);
  expect(source).toMatchObject({ how: 'a private instance at', isShared: false });
});

test('installs the package of a store that is nowhere, and runs what it holds', async () => {
  const packages: string[] = [];
  const install: Installer = async (name) => void packages.push(name);
  const prepared: string[] = [];
  const prepare = async (program: string) => {
    prepared.push(program);
    return { url, launch: async () => ({}) as Child };
  };
  const source = await findSource({ ...store({}), prepare }, machine({ installer: install }));
  await source!.locate({} as PrivateOptions, () => {});
  expect(prepared).toEqual(['redis-server']);
  expect(packages).toEqual(['redis-server']);
});

test('says in two lines what to install, and the variables that would do instead', async () => {
  const bare = storeKinds.map((kind) => ({ ...kind, usual: () => [], programs: () => [] }));
  const finding = findSources(machine({}), false, bare);
  await expect(finding).rejects.toMatchObject({
    lines: [
      expect.stringMatching(/RabbitMQ, PostgreSQL, Redis.*rabbitmq-server postgresql redis-server/),
      expect.stringMatching(/AMQP_URL, DATABASE_URL, REDIS_URL/),
    ],
  });
});

test('takes the database URLs of both sides for one that serves both', () => {
  expect(givenUrl(postgres, { AUTH_DATABASE_URL: 'postgres://a', WEBHOOK_DATABASE_URL: 'postgres://w' })).toBe(
    'postgres://a',
  );
  expect(givenUrl(postgres, { AUTH_DATABASE_URL: 'postgres://a' })).toBeUndefined();
  expect(givenUrl(postgres, { DATABASE_URL: '' })).toBeUndefined();
});
