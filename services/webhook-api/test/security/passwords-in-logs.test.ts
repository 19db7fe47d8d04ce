/** What the environment holds of secrets stands in nothing that the webhook API says of it, right or wrong. */
import { fileURLToPath } from 'node:url';
import { describeEnv, metaOf, readEnv } from '@gatepost/runtime/env';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { canary, canaryEnv, canaryKey, outputOf, toldOf } from '@gatepost/testkit/canaries';
import { expect, test } from '@jest/globals';
import { variables } from '../../src/config.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** All that is said of these variables: the start line's, or what is wrong with them. */
function said(env: Record<string, string>): { accepted: boolean; text: string } {
  try {
    return { accepted: true, text: JSON.stringify(describeEnv(variables, readEnv(variables, env))) };
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error;
    return { accepted: false, text: error.message };
  }
}

test.each(Object.keys(variables.shape))(
  'no secret in %s is logged, whether the value is accepted or refused',
  (name) => {
    expect(toldOf(name, (env) => said(env).text)).toEqual([]);
    // A secret that stands there alone can't be known for one where any text is right, but nowhere else.
    const { accepted, text } = said({ ...canaryEnv, [name]: canary });
    if (!accepted || metaOf(variables.shape[name as keyof typeof variables.shape]).secret)
      expect(text).not.toContain(canary);
  },
);

test('a webhook API logs no secret when it starts or refuses to start', async () => {
  const bad = Object.fromEntries(Object.keys(variables.shape).map((name) => [name, `postgres://gate:${canary}@[/`]));
  const refused = await outputOf(main, bad, /$^/);
  expect(refused).toContain('SECRETS_KEY');
  expect(refused).not.toContain(canary);
  const started = await outputOf(main, { ...canaryEnv, LOG_LEVEL: 'debug' }, /ECONNREFUSED/);
  expect(started).toContain('"starting"');
  expect(started).toContain('ECONNREFUSED');
  expect(started).not.toContain(canary);
  expect(started).not.toContain(canaryKey);
});
