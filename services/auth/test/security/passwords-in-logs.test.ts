/** What the environment holds of secrets stands in nothing that the gate says of it, right or wrong. */
import { fileURLToPath } from 'node:url';
import { describeEnv, metaOf, readEnv } from '@gatepost/runtime/env';
import { canary, canaryEnv, outputOf, outputsOf, reveals, toldOf } from '@gatepost/testkit/canaries';
import { freshDatabase, freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { expect, test } from '@jest/globals';
import { variables } from '../../src/config.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const names = Object.keys(variables.shape);
const describe = (env: Record<string, string>) => JSON.stringify(describeEnv(variables, readEnv(variables, env)));
const isSecret = (name: string) => metaOf(variables.shape[name as keyof typeof variables.shape]).secret === true;

test.each(names)('the secret in %s is not logged, whether its value is accepted or refused', (name) => {
  expect(toldOf(name, describe, isSecret(name))).toEqual([]);
});

test('secrets are not logged by the process when it starts or refuses to start', async () => {
  const { refused, started } = await outputsOf(main, names, {
    MAIL_URL: `smtp://gate:${canary}@127.0.0.1:1/?password=${canary}`,
  });
  expect(refused).toContain('SECRETS_KEY');
  expect(started).toContain('"starting"');
  expect(started).toContain('ECONNREFUSED');
  for (const output of [refused, started]) expect(reveals(output)).toBe(false);
});

test('a URL in the wrong variable is not logged when it causes a later error', async () => {
  await using database = await freshDatabase();
  const stores = { DATABASE_URL: database.url, REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshPrefix() };
  const wrong = { GRANT_PLUGINS: `redis://:${canary}@127.0.0.1:1/`, START_TIMEOUT_MS: '0' };
  const output = await outputOf(main, { ...canaryEnv, ...stores, ...wrong }, /could not start/);
  expect(output).toContain('could not start');
  expect(output).not.toContain(canary);
});
