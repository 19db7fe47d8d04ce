import { expect, test } from '@jest/globals';
import type { Child } from '../processes/child.ts';
import type { Installer } from './debian.ts';
import type { Compose } from './docker.ts';
import { postgres } from './postgres.ts';
import type { PrivateOptions, StoreKind } from './private.ts';
import { redis } from './redis.ts';
import { findSources, givenUrl, type Machine, storeKinds } from './stores.ts';

const compose: Compose = ['docker', 'compose'];
const installer: Installer = async () => {};

/** A machine that offers this, and a store that answers or is installed as told. */
function machine(offers: { url?: string; compose?: Compose; installer?: Installer }): Machine {
  return {
    env: offers.url ? { REDIS_URL: offers.url } : {},
    say: { step: (_name, _detail, work) => work() },
    compose: async () => offers.compose,
    installer: async () => offers.installer,
  };
}
function store(state: { answers?: string[]; installed?: string[] }): StoreKind {
  const { answers = [], installed = [] } = state;
  const letsIn = async (at: string) => at === url || answers.includes(at);
  return { ...redis, usual: () => ['redis://one', 'redis://two'], letsIn, programs: () => installed };
}

const url = 'redis://given';
const [answers, installed] = [['redis://two'], ['/bin/sh']];

test.each([
  ['its URL in the environment', { url, compose, installer }, { answers, installed }, 'given, at'],
  ['what answers on the default port', { compose, installer }, { answers, installed }, 'found running at'],
  ['its installed program', { compose, installer }, { installed }, 'a private instance at'],
  ['a Docker engine', { compose, installer }, {}, 'in a container, at'],
])('takes the first there is: %s', async (_, offers, state, how) => {
  const [source] = await findSources(machine(offers), false, [store(state)]);
  expect(source?.how).toBe(how);
});

test('takes no other store where a URL is given at which nothing lets us in', async () => {
  const finding = findSources(machine({ url: 'redis://:secret@silent', compose }), false, [
    store({ answers, installed }),
  ]);
  await expect(finding).rejects.toThrow('REDIS_URL is set, but Redis does not let us in at redis://********@silent');
});

test("takes nobody else's store when it wants one of its own", async () => {
  const [source] = await findSources(machine({ url }), true, [store({ answers, installed })]);
  expect(source?.how).toBe('a private instance at');
});

test('installs the package of a store that is nowhere, and runs what it holds', async () => {
  const packages: string[] = [];
  const installed: string[] = [];
  const install: Installer = async (names) => {
    packages.push(...names);
    installed.push('/bin/sh');
  };
  const prepared: string[] = [];
  const prepare = async (program: string) => {
    prepared.push(program);
    return { url, launch: async () => ({}) as Child };
  };
  const [source] = await findSources(machine({ installer: install }), false, [{ ...store({ installed }), prepare }]);
  expect(source?.how).toBe('a private instance at');
  await source!.prepare({} as PrivateOptions);
  expect(prepared).toEqual(['/bin/sh']);
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
