import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { describeEnv, readEnv } from './env.ts';
import { describeError } from './log.ts';
import { maskText, maskUrl, maskUrlsIn, unreadable } from './mask.ts';
import { Misconfigured } from './misconfigured.ts';
import { cidrList, port, secondsList, url } from './values.ts';
import { commonVariables, secretsKeyVariable } from './variables.ts';

const variables = z.object({
  ...commonVariables,
  PORT: port.default(4400).meta({ description: 'port' }),
  DATABASE_URL: url(['postgres:', 'postgresql:']).meta({ description: 'PostgreSQL' }),
  SECRETS_KEY: secretsKeyVariable,
  NETWORKS: cidrList.default([]).meta({ description: 'CIDRs', emptyIsValue: true }),
  RETRIES: secondsList(3_600).default([5, 300]).meta({ description: 'waits', emptyIsValue: true }),
});
const key = Buffer.alloc(32, 7).toString('base64');
const good = { DATABASE_URL: 'postgres://gate:hunter2@db/gatepost', SECRETS_KEY: key };

const problemsOf = (env: Record<string, string | undefined>): string[] => {
  try {
    readEnv(variables, env);
    return [];
  } catch (error) {
    if (error instanceof Misconfigured) return error.problems;
    throw error;
  }
};

test('unset or empty variables get their defaults', () => {
  const env = readEnv(variables, { ...good, PORT: '' });
  expect(env).toMatchObject({ PORT: 4400, HOST: '127.0.0.1', RETRIES: [5, 300], NETWORKS: [] });
});

test('a value can be read from a file, as Docker and Kubernetes provide secrets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  const file = join(folder, 'url');
  writeFileSync(file, `${good.DATABASE_URL}\n`);
  expect(readEnv(variables, { SECRETS_KEY: key, DATABASE_URL_FILE: file }).DATABASE_URL).toBe(good.DATABASE_URL);
  const named = { ...good, DATABASE_URL: 'postgres://other@db/gatepost', DATABASE_URL_FILE: file };
  expect(readEnv(variables, named).DATABASE_URL).toBe('postgres://other@db/gatepost');
  rmSync(folder, { recursive: true });
  expect(problemsOf({ SECRETS_KEY: key, DATABASE_URL_FILE: file })).toEqual([
    'DATABASE_URL_FILE: the file cannot be read (ENOENT)',
  ]);
});

test('an empty variable, or an empty file, is an empty list where that means none', () => {
  expect(readEnv(variables, { ...good, RETRIES: '' }).RETRIES).toEqual([]);
  expect(readEnv(variables, { ...good, RETRIES_FILE: '/dev/null' }).RETRIES).toEqual([]);
  expect(readEnv(variables, { ...good, PORT_FILE: '/dev/null' }).PORT).toBe(4400);
});

test('all bad values are reported at once, and no secret is repeated', () => {
  const problems = problemsOf({
    PORT: '70000',
    SECRETS_KEY: 'too-short',
    NETWORKS: '127.0.0.2/32, 10.0.0/8',
    RETRIES: '5,soon',
    LOG_LEVEL: 'loud',
  });
  expect(problems.map((problem) => problem.split(/[: ]/)[0])).toEqual([
    'LOG_LEVEL',
    'PORT',
    'DATABASE_URL',
    'SECRETS_KEY',
    'NETWORKS',
    'RETRIES',
  ]);
  expect(problems.join('\n')).not.toContain('too-short');
  expect(problems.join('\n')).toContain('NETWORKS: must be CIDRs, separated by commas; item 2 is none');
  expect(problems.join('\n')).toContain('(it is "loud")');
  expect(problemsOf({ ...good, DATABASE_URL: 'hunter', PORT: 'Hunter2', LOG_LEVEL: 'hunter2' }).join()).not.toMatch(
    /hunter/i,
  );
});

test('the logged configuration has neither secrets nor passwords', () => {
  const described = describeEnv(variables, readEnv(variables, good));
  expect(described).toMatchObject({
    SECRETS_KEY: { configured: true },
    DATABASE_URL: 'postgres://********@db/gatepost',
  });
  expect(JSON.stringify(described)).not.toMatch(/hunter2|BwcH/);
});

test.each([
  ['postgres://gate:hunter2@db:5432/gatepost?sslmode=require', 'postgres://********@db:5432/gatepost?sslmode=********'],
  ['redis://db', 'redis://db'],
  ['https://token@api.example/a/b?hunter2#hunter2', 'https://********@api.example/a/b?********#********'],
  ['postgres://gate:47/11@db/gatepost', unreadable],
  ['postgres://gate:hunter2@[', unreadable],
  ['host=db password=hunter2', unreadable],
])('%s is logged as %s', (value, shown) => {
  expect(maskUrl(value)).toBe(shown);
  expect(maskText(value)).toBe(shown);
});

test.each([
  '127.0.0.1',
  '::1',
  'loopback, uniquelocal',
  'Gatepost <no-reply@localhost>',
  'gatepost:',
  '/etc/gatepost/seed.yaml',
])('text without a secret is logged unchanged: %s', (value) => {
  expect(maskText(value)).toBe(value);
});

test('an error that repeats a URL is logged without its secrets, and still says where it occurred', () => {
  const error = new Error('getaddrinfo ENOTFOUND redis://:hunter2@db, see https://docs.example/a');
  const { message, stack } = describeError(error) as { message: string; stack: string };
  expect(message).toBe('getaddrinfo ENOTFOUND redis://********@db, see https://docs.example/a');
  expect(stack).not.toContain('hunter2');
  expect(stack).toContain('env.test.ts');
  expect(maskUrlsIn('at f (file:///srv/.pnpm/a@1.0.0/x.js:1:2)')).toBe('at f (file:///srv/.pnpm/a@1.0.0/x.js:1:2)');
});
