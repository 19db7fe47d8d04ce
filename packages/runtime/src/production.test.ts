import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { readEnv } from './env.ts';
import type { Misconfigured } from './misconfigured.ts';
import { isLoopback, productionProblems } from './production.ts';
import { url } from './values.ts';
import { commonVariables, secretsKeyVariable } from './variables.ts';

const strong = 'postgres://gate:Wk2xPq9@db/gatepost';
const env = { NODE_ENV: 'production', HOST: '0.0.0.0', DATABASE_URL: strong };
const namesOf = (problems: string[]) => problems.map((problem) => problem.split(':')[0]);

test.each([
  ['http://gate.example/', ['ISSUER']],
  ['http://10.0.0.1:4400/', ['ISSUER']],
  ['http://localhost.example/', ['ISSUER']],
  ['http://127.example/', ['ISSUER']],
  ['http://[::ffff:127.0.0.1]/', ['ISSUER']], // not what anybody writes
  ['https://gate.example/', []],
  ['http://localhost:4400/', []],
  ['http://gate.localhost/', []],
  ['http://127.0.0.1:4400/', []],
  ['http://[::1]:4400/', []],
])('the issuer %s in production has these problems: %j', (issuer, names) => {
  expect(namesOf(productionProblems({ ...env, ISSUER: issuer }))).toEqual(names);
  expect(productionProblems({ ...env, NODE_ENV: 'development', ISSUER: issuer })).toEqual([]);
});

test.each([
  ['DATABASE_URL', 'postgres://gatepost:gatepost@db/gatepost', true],
  ['DATABASE_URL', 'postgres://postgres:postgres@db/x', true],
  ['AUTH_DATABASE_URL', 'postgres://own:own@db/x', true],
  ['WEBHOOK_DATABASE_URL', 'postgres://own:PassWord@db/x', true],
  ['DATABASE_URL', 'postgres://gate@db/x?password=postgres', true],
  ['AMQP_URL', 'amqp://guest:guest@broker', true],
  ['AMQP_URL', 'amqp://broker', true],
  ['REDIS_URL', 'redis://:foobared@redis', true],
  ['REDIS_URL', 'redis://:%67uest@redis', true],
  // By other means than a password, or none of those that everybody knows.
  ['DATABASE_URL', strong, false],
  ['DATABASE_URL', 'postgres://gate@db/x?sslcert=a', false],
  ['AMQP_URL', 'amqps://gate@broker', false],
  ['AMQP_URL', 'amqp://gate:long@one,amqp://guest:guest@two', true],
  ['REDIS_URL', 'redis://redis:6379', false],
  ['REDIS_URL', 'redis://:100%zz@redis:6379', false],
])('%s=%s is a default password in production: %s', (name, value, expected) => {
  expect(namesOf(productionProblems({ ...env, [name]: value }))).toEqual(expected ? [name] : []);
  expect(productionProblems({ ...env, HOST: '::', [name]: value })).toHaveLength(expected ? 1 : 0);
  expect(productionProblems({ ...env, HOST: '127.0.0.1', [name]: value })).toEqual([]);
  expect(productionProblems({ ...env, NODE_ENV: 'development', [name]: value })).toEqual([]);
});

test.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['LOCALHOST', true],
  ['::1', true],
  ['[::1]', true],
  ['0.0.0.0', false],
  ['::', false],
  ['127.0.0.1.example', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

test('the environment is refused with all problems at once, without passwords, and still requires SECRETS_KEY', () => {
  const variables = z.object({
    ...commonVariables,
    ISSUER: url(['http:', 'https:']),
    DATABASE_URL: url(['postgres:']),
    SECRETS_KEY: secretsKeyVariable,
  });
  const bad = { ...env, ISSUER: 'http://gate.example/', DATABASE_URL: 'postgres://gate:mysecretpassword@db/x' };
  const problemsOf = (given: Record<string, string>) => {
    try {
      return readEnv(variables, given) && [];
    } catch (error) {
      return (error as Misconfigured).problems;
    }
  };
  const problems = problemsOf({ ...bad, SECRETS_KEY: Buffer.alloc(32, 1).toString('base64') });
  expect(namesOf(problems)).toEqual(['ISSUER', 'DATABASE_URL']);
  expect(problems.join()).not.toContain('mysecretpassword');
  expect(problemsOf(bad)).toEqual([expect.stringContaining('SECRETS_KEY is not set')]);
});
