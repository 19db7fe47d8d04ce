import { inTransaction } from '@gatepost/runtime/transaction';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { resumeDeliveries } from '@gatepost/webhook-db/paused';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;
let dispatcher: Dispatcher;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  // It looks every second for what was forgotten; what a busy machine delivers meanwhile is not taken for lost.
  dispatcher = await world.start({ RESCUE_AFTER_SECONDS: '40', RETRY_SCHEDULE_SECONDS: '3600' });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const pause = (table: 'accounts' | 'hooks', id: number, at: 'now()' | 'NULL') =>
  world.pool.query(`UPDATE ${table} SET paused_at = ${at} WHERE id = ${id}`);

const resting = async (accountId: number) => {
  const text = "SELECT count(*)::integer AS n FROM parked WHERE account_id = $1 AND published_at = 'infinity'";
  return (await world.pool.query<{ n: number }>(text, [accountId])).rows[0]!.n;
};
const untilResting = (accountId: number, count: number) =>
  until(`${count} deliveries rest`, async () => (await resting(accountId)) === count);

const attemptsWithAge = async () => (await dispatcher.metric(/^dispatcher_event_age_seconds_count/))!;

const receivedAt = (path: string) => receiver.received.filter((request) => request.path === path);

test('a paused account gets no deliveries while others do; once resumed, it gets all of them in the order of its events', async () => {
  const account = await world.addAccount('resting', ['r']);
  await world.addHook('resting', { url: `${receiver.url}/resting` });
  await world.addHook('resting', { url: `${receiver.url}/resting-too` });
  // One after the other, so that the order can be seen. What goes within 0.4 s, here eight, is released together.
  await world.pool.query('UPDATE accounts SET throttle_rate = 20, throttle_burst = 1 WHERE id = $1', [account]);
  await world.addAccount('lively', ['r']);
  await world.addHook('lively', { url: `${receiver.url}/lively` });
  await pause('accounts', account, 'now()');
  const guids: string[] = [];
  for (let n = 0; n < 10; n += 1) guids.push(await world.publish({ subject: 'resting/r' }));
  await world.deliveries(await world.publish({ subject: 'lively/r' }));
  await untilResting(account, 20);
  expect(receivedAt('/resting')).toHaveLength(0);

  // In one transaction: else the dispatcher, which looks for what was forgotten, may be quicker.
  const released = await inTransaction(world.pool, async (client) => {
    await client.query('UPDATE accounts SET paused_at = NULL WHERE id = $1', [account]);
    return resumeDeliveries(client, account, 100);
  });
  expect(released).toBe(20);
  for (let n = 0; n < 10; n += 1) guids.push(await world.publish({ subject: 'resting/r' }));
  for (const guid of guids) await world.deliveries(guid, 2);
  const { rows } = await world.pool.query<{ id: string; throttled_at: Date | null }>(
    'SELECT id, throttled_at FROM deliveries WHERE account_id = $1 ORDER BY delivered_at, id',
    [account],
  );
  const ids = rows.map(({ id }) => Number(id));
  expect(ids).toHaveLength(40);
  // Those that rested were first; a machine so busy that several are late sends what was released together in any order.
  const lastOfResting = ids.toSorted((a, b) => a - b)[19]!;
  expect(ids.slice(0, 12).filter((id) => id > lastOfResting)).toEqual([]);
  // The limit slowed all of them but the first; also one that a busy machine released late was not slowed.
  const slowed = rows.filter(({ id, throttled_at }) => Number(id) <= lastOfResting && throttled_at !== null);
  expect(slowed.length).toBeGreaterThanOrEqual(10);
  expect(receivedAt('/resting')).toHaveLength(20);
});

test('a paused hook gets nothing while another hook of its account does, and everything once it is resumed, even if a notification was lost', async () => {
  const account = await world.addAccount('half', ['r']);
  const paused = await world.addHook('half', { url: `${receiver.url}/paused` });
  const ages = await attemptsWithAge();
  await world.addHook('half', { url: `${receiver.url}/other` });
  await pause('hooks', paused, 'now()');
  const guid = await world.publish({ subject: 'half/r' });
  await world.deliveries(guid, 1);
  await untilResting(account, 1);
  expect([receivedAt('/paused').length, receivedAt('/other').length]).toEqual([0, 1]);
  await pause('hooks', paused, 'NULL');
  expect((await world.deliveries(guid, 2)).map(({ throttled_at }) => throttled_at)).toEqual([null, null]);
  expect(await resting(account)).toBe(0);
  // The pause says nothing about how fast the dispatcher is.
  expect((await attemptsWithAge()) - ages).toBe(1);
});

test('a retry that falls due while its hook is paused waits as well', async () => {
  const account = await world.addAccount('retrying', ['r']);
  const hook = await world.addHook('retrying', { url: `${receiver.url}/retrying` });
  receiver.behave({ status: 500 });
  const guid = await world.publish({ subject: 'retrying/r' });
  await world.deliveries(guid, 1);
  await pause('hooks', hook, 'now()');
  await world.pool.query('UPDATE parked SET due_at = now() WHERE account_id = $1', [account]); // the hour has passed
  await untilResting(account, 1);
  receiver.behave({});
  expect(receivedAt('/retrying')).toHaveLength(1);
  await pause('hooks', hook, 'NULL');
  expect((await world.deliveries(guid, 2)).map(({ attempt, status_code }) => [attempt, status_code])).toEqual([
    [1, 500],
    [2, 200],
  ]);
});

test('deliveries carry signatures of both the new and the previous secret while the previous one is valid', async () => {
  const secrets = [Buffer.alloc(24, 1), Buffer.alloc(24, 2)].map((bytes) => `whsec_${bytes.toString('base64')}`);
  await world.addAccount('signed', ['r']);
  const hook = await world.addHook('signed', { url: `${receiver.url}/signed`, secret: secrets[0]! });
  await world.deliveries(await world.publish({ subject: 'signed/r' }));
  const another = await world.addHook('signed', { url: `${receiver.url}/x`, secret: secrets[1]!, active: false });
  await world.pool.query(
    `UPDATE hooks h SET previous_secret = h.secret, previous_secret_until = now() + interval '1 hour', secret = o.secret
       FROM hooks o WHERE h.id = $1 AND o.id = $2`,
    [hook, another],
  );
  await world.deliveries(await world.publish({ subject: 'signed/r' }));
  await world.pool.query("UPDATE hooks SET previous_secret_until = now() - interval '1 s' WHERE id = $1", [hook]);
  await world.deliveries(await world.publish({ subject: 'signed/r' }));
  const lists = receivedAt('/signed').map(({ headers }) => headers['webhook-signature']!.split(' '));
  expect(lists.map((list) => list.length)).toEqual([1, 2, 1]);
});
