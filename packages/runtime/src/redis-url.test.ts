import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { describeEnv, readEnv } from './env.ts';
import { readRedisUrls, redisUrls } from './redis-url.ts';

const variables = z.object({ REDIS_URL: redisUrls });
const taken = (REDIS_URL: string) => readRedisUrls(readEnv(variables, { REDIS_URL }).REDIS_URL);

test('a URL names one Redis server', () => {
  expect(taken('rediss://user:a%25b@one:6380/2')).toEqual({
    kind: 'one',
    isTls: true,
    credentials: { username: 'user', password: 'a%b' },
  });
});

test('URLs of Sentinels give their addresses, and the name, password and database of the primary', () => {
  expect(
    taken('redis-sentinel://:secret@one,redis-sentinel://[::1]:26380/3?sentinelMasterId=main&sentinelPassword=other'),
  ).toEqual({
    kind: 'sentinel',
    isTls: false,
    credentials: { password: 'secret' },
    sentinels: [
      { host: 'one', port: 26_379 },
      { host: '::1', port: 26_380 },
    ],
    name: 'main',
    db: 3,
    sentinelCredentials: { password: 'other' },
  });
});

test('URLs of a Cluster name some of its nodes', () => {
  expect(taken('rediss-cluster://:100%@one,rediss-cluster://two:7000')).toEqual({
    kind: 'cluster',
    isTls: true,
    credentials: { password: '100%' },
    nodes: [
      { host: 'one', port: 6_379 },
      { host: 'two', port: 7_000 },
    ],
  });
});

test.each([
  ['redis://one,redis://two', /several addresses are those of Sentinels/],
  ['redis-sentinel://one', /needs \?sentinelMasterId=/],
  ['redis-cluster://one/1', /no databases/],
  ['redis-cluster://one,redis://two', /same scheme/],
  ['http://one', /must be a URL starting with redis:/],
])('%s is refused', (REDIS_URL, message) => {
  expect(() => readEnv(variables, { REDIS_URL })).toThrow(message);
});

test('no form of Redis URL is shown with its password', () => {
  const REDIS_URL = 'redis-sentinel://:canary@one,redis-sentinel://two?sentinelMasterId=main&sentinelPassword=canary';
  expect(JSON.stringify(describeEnv(variables, { REDIS_URL }))).not.toContain('canary');
  expect(() => readEnv(variables, { REDIS_URL: `${REDIS_URL},redis://:canary@x` })).not.toThrow(/canary/);
});
