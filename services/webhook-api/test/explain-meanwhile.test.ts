/** What is told of an event whose delivery is recorded in the middle of the answer. */
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { makeStored } from './support/stored.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const root = await api.tokens.machine('root', 'site_admin');
const { addHook, storeEvent } = makeStored(api.sql);

const isBlocked = async () =>
  (await api.sql.query("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
    .rowCount! > 0;

test('an event and its attempts are told of as of one moment', async () => {
  const hook = await addHook();
  const event = await storeEvent({ hooks: [hook], receivedAt: new Date(), isRouted: false });
  const dispatcher = await api.sql.connect();
  // Hooks are read after the event is found, and before its attempts.
  await dispatcher.query('BEGIN; LOCK TABLE hooks');
  const answer = call(api, root, 'GET', `/accounts/acme/events/${event.guid}/explain`);
  await until('the answer waits for the hooks', isBlocked);
  await makeStored(dispatcher).log(event, hook, { id: event.deliveryIds[0]!, status: 'Timed out', code: 504 });
  await dispatcher.query('UPDATE events SET routed_at = clock_timestamp(), taken_by = 1 WHERE key = $1', [event.key]);
  await dispatcher.query('COMMIT');
  dispatcher.release();
  const { body } = await answer;
  expect(body.events[0].deliveries[0]).toMatchObject({ hook_id: hook, state: 'failed' });
  expect(body.events[0].deliveries[0].steps.at(-1)).toMatchObject({ step: 'recorded', exact: true });
});
