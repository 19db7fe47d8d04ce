/** The gate with PgBouncer in transaction mode between it and PostgreSQL: two sessions for all that it does. */
import { openLog } from '@gatepost/runtime/log';
import { refusalOf } from '@gatepost/runtime/start-trouble';
import { Browser } from '@gatepost/testkit/browser';
import { openPgBouncer } from '@gatepost/testkit/pgbouncer';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openDatabase } from '../src/database.ts';
import { openGate } from './gate.ts';
import { api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const database = stack.use(await freshDatabase());
const bouncer = stack.use(await openPgBouncer(database.url, { sessions: 2 }));
const gate = stack.use(await openGate(fullSeed, { DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: database.url }));
const secretOf = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret` });
const machineToken = () =>
  gate.post('oauth/token', { grant_type: 'client_credentials', ...secretOf('machine'), audience: api });

test('somebody logs in through PgBouncer, and the code becomes tokens that can be refreshed', async () => {
  const redirect_uri = 'https://app.example/cb';
  const browser = new Browser(gate);
  const scope = 'openid offline_access';
  const { location } = await browser.logIn(
    await browser.authorize({ client_id: 'web', redirect_uri, response_type: 'code', scope }),
  );
  const code = location!.searchParams.get('code')!;
  const { json } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    ...secretOf('web'),
    redirect_uri,
    code,
  });
  expect(decodeJwt(json.id_token as string).sub).toBe('auth0|alice');
  const refreshed = await gate.post('oauth/token', {
    grant_type: 'refresh_token',
    ...secretOf('web'),
    refresh_token: json.refresh_token as string,
  });
  expect(refreshed.status).toBe(200);
});

test('many tokens are issued at once through PgBouncer, and a deleted client grant stops working', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, machineToken));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await using other = openDatabase({ url: bouncer.url, isPooled: true }, 30_000, openLog('test', 'silent'));
  await other.db.clientGrant.deleteMany({ where: { clientId: 'machine' } });
  await until('the refusal', async () => (await machineToken()).status !== 200);
  await expect(other.searchPool.query('DELETE FROM clients')).rejects.toMatchObject({ cause: { code: '25006' } }); // read-only
  expect(bouncer.log()).not.toMatch(/ERROR|unsupported/);
});

test('a pooler without a DATABASE_DIRECT_URL is reported in one line', async () => {
  const refused = await openGate(fullSeed, { DATABASE_URL: bouncer.url }).catch((error: unknown) => error);
  expect(refusalOf(refused)).toMatch(/^DATABASE_URL: leads through a pooler; set DATABASE_DIRECT_URL .*$/);
});
