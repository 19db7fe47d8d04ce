import { randomBytes } from 'node:crypto';
import { makeSeal } from '@gatepost/runtime/seal';
import { freshDatabase } from '@gatepost/testkit/stores';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { checkSecretsKey, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

// A dispatcher with another key would read no hook's secret, and every event would pass those hooks by.
test('a database sealed under another key is refused at start', async () => {
  const { url: databaseUrl } = stack.use(await freshDatabase());
  await migrateWebhooks(databaseUrl);
  const pool = stack.adopt(openPool({ databaseUrl, name: 'test', max: 1, onError: () => {} }), (opened) =>
    opened.end(),
  );
  const seal = makeSeal(randomBytes(32));
  const another = makeSeal(randomBytes(32));
  await expect(checkSecretsKey(pool, another)).resolves.toBeUndefined();

  const { rows } = await pool.query("INSERT INTO accounts (login) VALUES ('acme') RETURNING id");
  await pool.query(
    `INSERT INTO hooks (account_id, events, url, content_type, secret, created_by) VALUES ($1, '{push}', 'https://example.com', 'json', $2, 'a')`,
    [rows[0].id, seal.seal('s', hookSecretPurpose)],
  );
  await expect(checkSecretsKey(pool, seal)).resolves.toBeUndefined();
  await expect(checkSecretsKey(pool, another)).rejects.toThrow('SECRETS_KEY is not the key');
});
