/** GRANT_PLUGINS, with the example of examples/grant-plugin. */
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openGate } from './gate.ts';
import { fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const grant_type = 'urn:example:legacy-session';
const example = fileURLToPath(new URL('../examples/grant-plugin/legacy-session.ts', import.meta.url));
const client = { client_id: 'legacy', client_secret: 'legacy-secret', grant_types: [grant_type, 'refresh_token'] };

test('a grant type from a plugin issues tokens to the clients that list it', async () => {
  const gate = stack.use(
    await openGate({ ...fullSeed, clients: [...fullSeed.clients, client] }, { GRANT_PLUGINS: example }),
  );
  const ask = (session: string, client_id = 'legacy') =>
    gate.post('oauth/token', {
      grant_type,
      session,
      client_id,
      client_secret: `${client_id}-secret`,
      scope: 'openid offline_access',
    });
  const answer = await ask('session-of-alice');
  expect(answer.status).toBe(200);
  expect(decodeJwt(answer.json.id_token as string)).toMatchObject({ sub: 'auth0|alice', amr: ['legacy'] });
  expect(answer.json.refresh_token).toBeDefined();
  expect((await ask('made up')).json.error).toBe('invalid_grant');
  expect((await ask('session-of-alice', 'web')).json.error).toBe('unauthorized_client');
});

test('a plugin that cannot be loaded prevents the start, and is named', async () => {
  await expect(openGate(fullSeed, { GRANT_PLUGINS: './nowhere.ts' })).rejects.toThrow('./nowhere.ts');
});
