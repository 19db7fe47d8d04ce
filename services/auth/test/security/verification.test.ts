/** Links that confirm an address: what ends them, and how many are sent. */
import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openManager } from '../manager.ts';
import { openTarget, password } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget({ TRUSTED_PROXIES: '127.0.0.0/8' }));
const { gate } = target;
const connection = 'Username-Password-Authentication';
const manage = await openManager(gate);
let people = 0;
async function somebody() {
  const name = `v${++people}`;
  await manage('POST', 'users', { connection, user_id: name, email: `${name}@people.example`, password });
  const path = `users/auth0%7C${name}`;
  const { ticket } = (await manage('POST', 'tickets/email-verification', { user_id: `auth0|${name}` })).json;
  return { name, path, link: String(ticket), isVerified: async () => (await manage('GET', path)).json.email_verified };
}

type Person = Awaited<ReturnType<typeof somebody>>;
describe('a verification link is refused when', () => {
  test.each<[string, (person: Person) => Promise<unknown>]>([
    ['the address was changed', ({ path, name }) => manage('PATCH', path, { email: `${name}@elsewhere.example` })],
    ['the password was changed', ({ path }) => manage('PATCH', path, { password: 'quite another set of words' })],
    ['the account is blocked', ({ path }) => manage('PATCH', path, { blocked: true })],
    [
      'the account is another one',
      async ({ path, name }) => {
        await manage('DELETE', path);
        await manage('POST', 'users', { connection, user_id: name, email: `${name}@people.example`, password });
      },
    ],
  ])('%s, also while its page is open', async (_, change) => {
    const person = await somebody();
    const browser = new Browser(gate);
    const page = await browser.get(person.link);
    expect(page.status).toBe(200);
    await change(person);
    expect((await browser.submit(page)).status).toBe(400);
    expect((await new Browser(gate).get(person.link)).status).toBe(400);
    expect(await person.isVerified()).toBe(false);
  });
});

test('twenty concurrent forms of one verification link confirm once, and Redis stores no link', async () => {
  const person = await somebody();
  const value = new URL(person.link).searchParams.get('ticket')!;
  const redis = new Redis(gate.env.REDIS_URL!);
  stack.defer(() => redis.disconnect());
  const keys = await redis.keys(`${gate.redisPrefix}*ticket*`);
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => key.includes(value))).toEqual([]);
  const { forms } = await new Browser(gate).get(person.link);
  await Promise.all(Array.from({ length: 20 }, () => gate.post('email-verification', forms[0]!.fields)));
  expect(await person.isVerified()).toBe(true);
  const entries = async () => {
    const of = [`auth0|${person.name}`];
    return (await gate.pool.query("SELECT FROM auth.logs WHERE type = 'sv' AND user_id = $1", of)).rows;
  };
  await until('the entry in the log', async () => (await entries()).length > 0);
  expect(await entries()).toHaveLength(1);
});

test('a verification form without the link’s own token confirms nothing', async () => {
  const person = await somebody();
  const ticket = new URL(person.link).searchParams.get('ticket')!;
  await gate.post('email-verification', { ticket, csrf: 'x' });
  expect(await person.isVerified()).toBe(false);
});

test('verification mails to one address are limited, whoever requests them', async () => {
  const person = await somebody();
  const ask = () => manage('POST', 'jobs/verification-email', { user_id: `auth0|${person.name}` });
  const answers = await Promise.all(Array.from({ length: 30 }, ask));
  // Twenty-five an hour, and one every ten minutes beyond.
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(26);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(4);
});

test('sign-ups from one network get at most a hundred verification mails an hour, and all succeed', async () => {
  const signUp = (name: string, address: string) =>
    gate.post(
      'dbconnections/signup',
      { client_id: 'spa', connection, email: `${name}@people.example`, password },
      { 'x-forwarded-for': address },
    );
  const mailed = async (name: string) => (await gate.outbox()).some((mail) => mail.includes(`${name}@people.example`));
  await signUp('first', '198.51.100.77');
  await until('the first mail', () => mailed('first'));
  const redis = new Redis(gate.env.REDIS_URL!);
  stack.defer(() => redis.disconnect());
  const [key] = await redis.keys(`${gate.redisPrefix}*rate:verification-mails-by*`);
  expect(await redis.get(key!)).toBe('1');
  await redis.set(key!, 100, 'KEEPTTL');
  expect((await signUp('beyond', '198.51.100.77')).status).toBe(200);
  expect((await signUp('elsewhere', '198.51.100.78')).status).toBe(200);
  await until('the mail of the other network', () => mailed('elsewhere'));
  expect(await mailed('beyond')).toBe(false);
});
