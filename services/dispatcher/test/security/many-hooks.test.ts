/** An account may hold more hooks than fit in memory: they are loaded in parts, and what is large of them only to deliver. */
import { openLog } from '@gatepost/runtime/log';
import { makeSeal } from '@gatepost/runtime/seal';
import { openReceiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import type { Pool } from '@gatepost/webhook-db/pool';
import { hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openAccounts } from '../../src/accounts.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
const repositories = 5;
const hooksEach = 500;
const headers = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`X-${index}`, 'v'.repeat(1000)]));

beforeAll(async () => {
  world = await openWorld();
  await world.addAccount(
    'acme',
    Array.from({ length: repositories }, (_, index) => `repo${index}`),
  );
  const seal = makeSeal(Buffer.from(world.env.SECRETS_KEY!, 'base64'));
  // As many as there could be before a place had a limit; none of them takes an event.
  await world.pool.query(
    `INSERT INTO hooks (account_id, repository_id, events, url, content_type, headers, secret, created_by)
     SELECT r.account_id, r.id, '{}', 'http://127.0.0.2:9/' || n, 'json', $2, $3, 'test' FROM repositories r, generate_series(1, $1::integer) n`,
    [hooksEach, seal.seal(JSON.stringify(headers), hookHeadersPurpose), seal.seal('s', hookSecretPurpose)],
  );
});
afterAll(async () => await world?.[Symbol.asyncDispose]());

/** The pool, with a note of what each statement brought. */
function watched(pool: Pool): { pool: Pool; rows: number[]; bytes: number[] } {
  const rows: number[] = [];
  const bytes: number[] = [];
  const query = async (...args: unknown[]) => {
    const result = await (pool.query as (...args: unknown[]) => Promise<{ rows: unknown[] }>)(...args);
    rows.push(result.rows.length);
    bytes.push(JSON.stringify(result.rows).length);
    return result;
  };
  return { pool: { query } as unknown as Pool, rows, bytes };
}

test('the hooks of an account are loaded in parts, without their headers and secrets', async () => {
  // What used to happen: one statement brought all of them with all their headers, for an event that none of them took.
  const { pool, rows, bytes } = watched(world.pool);
  await using accounts = await openAccounts({
    pool,
    directUrl: world.databaseUrl,
    seal: makeSeal(Buffer.from(world.env.SECRETS_KEY!, 'base64')),
    log: openLog('test', 'silent'),
  });
  const account = (await accounts.ofLogins(['acme'])).get('acme')!.account;
  expect(account.hooks.size).toBe(repositories * hooksEach);
  expect(account.repositories.size).toBe(repositories);
  expect(Math.max(...rows)).toBeLessThanOrEqual(1_000);
  expect(Math.max(...bytes)).toBeLessThan(200_000);

  // To deliver, whole hooks are loaded: many asked for at once in parts, one that is known not again.
  rows.length = 0;
  const ids = [...account.hooks.keys()];
  const whole = await Promise.all(ids.slice(0, 300).map((id) => accounts.hookOf(account, id)));
  expect(whole.map((hook) => hook?.id)).toEqual(ids.slice(0, 300));
  expect(whole[7]?.headers).toEqual(headers);
  expect(rows.length).toBeGreaterThan(1);
  expect(Math.max(...rows)).toBeLessThanOrEqual(50);
  rows.length = 0;
  expect(await accounts.hookOf(account, ids[7]!)).toBe(whole[7]);
  expect(await accounts.hookOf(account, 2_000_000_000)).toBeUndefined();
  expect(rows).toEqual([]);

  // What is held of them has an end, wherever it was asked for.
  for (let start = 0; start < ids.length; start += 500)
    await Promise.all(ids.slice(start, start + 500).map((id) => accounts.hookOf(account, id)));
  expect(accounts.keptBytes()).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect((await accounts.hookOf(account, ids[0]!))?.headers).toEqual(headers);

  // A change is seen, by its account's version.
  await world.pool.query("UPDATE hooks SET url = 'http://127.0.0.2:9/changed' WHERE id = $1", [ids[0]]);
  const changed = (await accounts.ofLogins(['acme'])).get('acme')!.account;
  expect((await accounts.hookOf(changed, ids[0]!))?.url).toBe('http://127.0.0.2:9/changed');
  await world.pool.query('DELETE FROM hooks WHERE id = $1', [ids[0]]);
  expect(await accounts.hookOf((await accounts.ofLogins(['acme'])).get('acme')!.account, ids[0]!)).toBeUndefined();
});

test('a hook that cannot be read does not stop the deliveries of other hooks', async () => {
  await using receiver = await openReceiver();
  const bad = await world.addHook('acme', { repository: 'repo0', url: receiver.url, events: ['issues'] });
  await world.pool.query("UPDATE hooks SET headers = 'not sealed' WHERE id = $1", [bad]);
  const good = await world.addHook('acme', {
    repository: 'repo0',
    url: `${receiver.url}/good`,
    events: ['issues'],
    headers,
  });
  const dispatcher = await world.start();
  const guid = await world.publish({ subject: 'acme/repo0' });
  const [row] = await world.deliveries(guid);
  expect(row).toMatchObject({ hook_id: good, status: 'OK', request_headers: { 'X-0': '********' } });
  expect(receiver.received.find((one) => one.path === '/good')?.headers['x-0']).toBe(headers['X-0']);
  const told = await until('the word on the other hook', () =>
    dispatcher.log.find((line) => line['hook.id'] === bad && line.level === 'error'),
  );
  expect(told.message).toContain('could not read a hook');
  expect(await dispatcher.stop()).toBe(0);
});
