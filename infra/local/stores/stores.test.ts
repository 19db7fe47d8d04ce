import { expect, test } from '@jest/globals';
import type { Say } from '../commands/say.ts';
import type { Child } from '../processes/child.ts';
import type { PrivateOptions, StoreKind } from './private.ts';
import { redis } from './redis.ts';
import { findSources, storeKinds } from './stores.ts';

type Installer = (packages: string[]) => Promise<void>;
const compose = ['docker', 'compose'];
const installer: Installer = async () => {};

type Offers = { url?: string; compose?: string[]; installer?: Installer };

/** Finds these stores on a machine with these offers. */
function find(offers: Offers, kinds: StoreKind[], own = false) {
  const env = offers.url ? { REDIS_URL: offers.url } : {};
  const say: Say = { step: (_name, _detail, work) => work(), line() {}, about() {} };
  const { signal } = new AbortController();
  const options = { env, own, home: '/nowhere', say, signal, stack: new AsyncDisposableStack() };
  const machine = { compose: async () => offers.compose, installer: async () => offers.installer };
  return findSources(options, kinds, machine);
}

/** A store that answers or is installed as given. */
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
  const [source] = await find(offers, [store(state)]);
  expect(source?.how).toBe(how);
});

test('takes no other store if the one at the given URL does not let us in', async () => {
  const finding = find({ url: 'redis://:secret@silent', compose }, [store({ answers, installed })]);
  await expect(finding).rejects.toThrow('REDIS_URL is set, but Redis does not let us in at redis://********@silent');
});

test("takes nobody else's store when it wants one of its own", async () => {
  const [source] = await find({ url }, [store({ answers, installed })], true);
  expect(source?.how).toBe('a private instance at');
});

test('installs the package of a store found nowhere, and runs its program', async () => {
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
  const [source] = await find({ installer: install }, [{ ...store({ installed }), prepare }]);
  expect(source?.how).toBe('a private instance at');
  await source!.prepare({} as PrivateOptions);
  expect(prepared).toEqual(['/bin/sh']);
  expect(packages).toEqual(['redis-server']);
});

test('says in two lines what to install, or which variables to set instead', async () => {
  const bare = storeKinds.map((kind) => ({ ...kind, usual: () => [], programs: () => [] }));
  const finding = find({}, bare);
  await expect(finding).rejects.toThrow(
    /RabbitMQ, PostgreSQL, Redis.*rabbitmq-server postgresql redis-server.*\n.*AMQP_URL, DATABASE_URL, REDIS_URL/,
  );
});
