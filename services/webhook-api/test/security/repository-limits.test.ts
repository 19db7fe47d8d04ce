/** Repositories cost memory in each dispatcher, and each may have 250 hooks: so there are limits, in all and by the hour. */
import { afterAll, expect, test } from '@jest/globals';
import { call, openApi } from '../support/api.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const alice = await api.tokens.user('auth0|alice', 'repo');

test('an organization takes 10,000 repositories and no more, also under parallel creations', async () => {
  await api.sql.query(
    "INSERT INTO repositories (account_id, name) SELECT id, 'r' || n FROM accounts, generate_series(1, 9995) n WHERE login = 'acme'",
  );
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => call(api, alice, 'POST', '/orgs/acme/repos', { name: `new-${index}` })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 422, 422, 422, 422, 422]);
  expect(answers.find(({ status }) => status === 422)?.body).toMatchObject({
    message: 'Validation Failed',
    errors: [{ resource: 'Repository', code: 'custom', message: 'Cannot have more than 10000 repositories' }],
  });
});

test('one caller can create 500 repositories an hour, then gets GitHub’s secondary limit, while others go on', async () => {
  const ask = (token: string) => call(api, token, 'POST', '/orgs/acme/repos', { name: 'widgets' });
  for (let round = 0; round < 25; round += 1) await Promise.all(Array.from({ length: 20 }, () => ask(alice)));
  const refused = await ask(alice);
  expect(refused).toMatchObject({
    status: 429,
    body: {
      message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.',
      documentation_url: expect.stringContaining('/docs#tag/secondary-rate-limits'),
    },
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000);
  expect(await call(api, alice, 'GET', '/repos/acme/widgets')).toMatchObject({ status: 200 });
  expect(await ask(await api.tokens.machine('m2m', 'repo'))).toMatchObject({ status: 422 });
});
