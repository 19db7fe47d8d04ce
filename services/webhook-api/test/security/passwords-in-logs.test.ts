/** What the environment holds of secrets stands in nothing that the webhook API says of it, right or wrong. */
import { fileURLToPath } from 'node:url';
import { describeEnv, metaOf, readEnv } from '@gatepost/runtime/env';
import { outputsOf, reveals, toldOf } from '@gatepost/testkit/canaries';
import { expect, test } from '@jest/globals';
import { variables } from '../../src/config.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const names = Object.keys(variables.shape);
const describe = (env: Record<string, string>) => JSON.stringify(describeEnv(variables, readEnv(variables, env)));
const isSecret = (name: string) => metaOf(variables.shape[name as keyof typeof variables.shape]).secret === true;

test.each(names)('no secret in %s is logged, whether the value is accepted or refused', (name) => {
  expect(toldOf(name, describe, isSecret(name))).toEqual([]);
});

test('a webhook API logs no secret when it starts or refuses to start', async () => {
  const { refused, started } = await outputsOf(main, names);
  expect(refused).toContain('SECRETS_KEY');
  expect(started).toContain('"starting"');
  expect(started).toContain('ECONNREFUSED');
  for (const output of [refused, started]) expect(reveals(output)).toBe(false);
});
