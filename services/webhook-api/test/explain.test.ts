/** Why there is no delivery, from what is stored: each cause, and to whom it is told. What a running system stores is shown in tests/explain.test.ts. */
import { randomUUID } from 'node:crypto';
import { openPublisher } from '@gatepost/amqp/publisher';
import { deriveJobKey, jobMessage } from '@gatepost/contracts/delivery-job';
import {
  deadDetailHeader,
  deadEventsQueue,
  deadReasonHeader,
  eventsQueue,
  topology,
} from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { bury, headersOf } from './support/letters.ts';
import { ago, day, type EventSpec, type HookSpec, makeStored } from './support/stored.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ THROTTLE_RATE: '10' }));
const alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
const root = await api.tokens.machine('root', 'site_admin');
const publisher = stack.use(
  await openPublisher({ url: api.amqpUrl, name: 'test', log: openLog('test', 'silent'), topology }),
);
const { addHook, storeEvent, park, log, jobOf } = makeStored(api.sql);

const explain = (hook: number, guid: string, token = alice, place = 'repos/acme/widgets') =>
  call(api, token, 'GET', `/${place}/hooks/${hook}/explain?guid=${guid}`);
const explainEvent = (guid: string, login = 'acme', token = root) =>
  call(api, token, 'GET', `/accounts/${login}/events/${guid}/explain`);
const causes = (body: { causes: { cause: string; certain: boolean }[] }) =>
  body.causes.map(({ cause, certain }) => `${cause}${certain ? '' : '?'}`);

describe('an event without a delivery to a hook', () => {
  test.each<[what: string, hook: HookSpec, event: EventSpec, causes: string[]]>([
    ['of another repository', {}, { repository: 'gadgets' }, ['another_place', 'duplicate?']],
    ['of the organization itself', {}, { repository: null }, ['another_place', 'duplicate?']],
    [
      'of a repository that was not there',
      { repository: null },
      { repository: null, unmatched: 'unknown_repository', subject: 'acme/gone' },
      ['another_place', 'duplicate?'],
    ],
    [
      'of an organization that was not there',
      {},
      { login: null, repository: null, unmatched: 'unknown_account', subject: 'acme/widgets' },
      ['unknown_account', 'duplicate?'],
    ],
    ['of another type', {}, { type: 'issues' }, ['not_subscribed', 'duplicate?']],
    ['that came while it was not active', { active: false }, {}, ['not_active', 'duplicate?']],
    [
      'that it would not get for two reasons, by settings that were changed since',
      { active: false, events: ['release'], updatedAt: ago(0) },
      {},
      ['not_active?', 'not_subscribed?', 'duplicate?'],
    ],
    [
      'that today’s settings would let through, though they were changed since',
      { updatedAt: ago(0) },
      {},
      ['settings_changed', 'duplicate?'],
    ],
    ['that came before the hook', { createdAt: ago(0), updatedAt: ago(0) }, {}, ['hook_newer', 'duplicate?']],
    ['with more than three tags', {}, { unmatched: 'too_many_tags', subject: 'acme/widgets' }, ['too_many_tags']],
  ])('%s is explained by its cause', async (_, hookSpec, eventSpec, expected) => {
    const hook = await addHook(hookSpec);
    const { guid } = await storeEvent(eventSpec);
    const place = hookSpec.repository === null ? 'orgs/acme' : 'repos/acme/widgets';
    const { status, body } = await explain(hook, guid, alice, place);
    expect({ status, state: body.state, causes: causes(body) }).toEqual({
      status: 200,
      state: 'never_made',
      causes: expected,
    });
    expect(body).toMatchObject({ since: null, until: null, delivery_id: null, next: body.causes[0].next });
    expect(body.steps.map(({ step }: { step: string }) => step)).toEqual(['occurred', 'taken', 'matched']);
    await api.sql.query('DELETE FROM hooks WHERE id = $1', [hook]);
  });

  test('is explained by having been made up for another hook, whose event no replay brings here', async () => {
    const [hook, other] = [await addHook(), await addHook()];
    const { guid } = await storeEvent({ hooks: [other], source: 'urn:gatepost:webhook-api' });
    const { body } = await explain(hook, guid);
    expect(body).toMatchObject({ state: 'never_made', next: null, causes: [{ cause: 'another_hook', certain: true }] });
    expect(body.causes).toHaveLength(1);
  });

  test('is explained by the organization’s restriction of the app that made the hook', async () => {
    const hook = await addHook({ app: 'badges' });
    const { guid } = await storeEvent();
    await api.sql.query(`UPDATE accounts SET oauth_app_restrictions = true WHERE login = 'acme'`);
    expect(causes((await explain(hook, guid)).body)).toEqual(['restricted_app?', 'duplicate?']);
    await api.sql.query(`UPDATE accounts SET oauth_app_restrictions = false WHERE login = 'acme'`);
  });

  test('can be published again with the same id a day later', async () => {
    const hook = await addHook({ createdAt: ago(2 * day), updatedAt: ago(2 * day) });
    const { guid } = await storeEvent({ type: 'issues', receivedAt: ago(day + 1_000) });
    const { body } = await explain(hook, guid);
    expect(causes(body)).toEqual(['not_subscribed']);
    expect(Date.parse(body.duplicates_until)).toBeLessThan(Date.now());
  });

  test('is explained by the hook having been switched off or deleted before its turn', async () => {
    const hook = await addHook({ active: false });
    const { guid } = await storeEvent({ hooks: [hook] });
    expect(causes((await explain(hook, guid)).body)).toEqual(['not_active']);
    await api.sql.query('DELETE FROM hooks WHERE id = $1', [hook]);
    expect(await explain(hook, guid)).toMatchObject({ status: 404 });
    const { body } = await explainEvent(guid);
    expect(body).toMatchObject({ state: 'never_made' });
    expect(body.events[0].deliveries[0]).toMatchObject({ hook_id: hook, state: 'never_made' });
    expect(causes(body)).toEqual(['hook_deleted']);
  });

  test('is not said to be on its way once nobody looks for it any more, though the hook is active again, but how to get it', async () => {
    const hook = await addHook({ updatedAt: ago(0) });
    const event = await storeEvent({ hooks: [hook] });
    const own = await storeEvent({ hooks: [hook], source: 'urn:gatepost:webhook-api' });
    expect((await explain(hook, event.guid)).body).toMatchObject({ state: 'in_flight' });
    await api.sql.query('INSERT INTO sweeps (id, swept_until) VALUES (1, now())');
    const { body } = await explain(hook, event.guid);
    expect(body).toMatchObject({ state: 'never_made', next: expect.stringContaining('"status": "missed"') });
    expect(causes(body)).toEqual(['settings_changed']);
    expect((await explain(hook, own.guid)).body).toMatchObject({
      state: 'never_made',
      next: expect.stringContaining('anew'),
    });
    await api.sql.query('UPDATE hooks SET active = false WHERE id = $1', [hook]);
    expect((await explain(hook, event.guid)).body.next).toMatch(/^Activate it: .* Then replay: POST /);
    // Where it waits, or has an outcome, that is told.
    await park({ event, hook, id: event.deliveryIds[0]! });
    expect((await explain(hook, event.guid)).body).toMatchObject({ state: 'throttled' });
    await api.sql.query('DELETE FROM parked; DELETE FROM sweeps');
  });

  test('is unknown if it is not stored, and the answer says since when events are kept', async () => {
    const { body } = await explain(await addHook(), randomUUID());
    expect(causes(body)).toEqual(['not_received']);
    expect(body).toMatchObject({ event: null, place: null, duplicates_until: null, steps: [] });
    expect(body.sentence).toMatch(/Events since \d{4}-\d\d-\d\d \(UTC\) are kept/);
    expect(await explain(1, 'odd')).toMatchObject({ status: 422 });
  });
});

describe('a dead letter', () => {
  const buryEvent = (messageId: string, subject: string | undefined, reason: string) =>
    bury(publisher, { messageId, reason, headers: headersOf(messageId, subject) });

  test('is shown with its reason to those whom its subject concerns, and in full to administrators', async () => {
    const hook = await addHook();
    const organizations = await addHook({ repository: null });
    const [ours, elsewhere, others, nobodys] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()] as const;
    const unknown = randomUUID();
    await buryEvent(unknown, 'acme/widgets', 'of_another_version');
    await buryEvent(ours, 'acme/Widgets', 'not_json');
    await buryEvent(elsewhere, 'acme/gadgets', 'not_json');
    await buryEvent(others, 'other/widgets', 'not_json');
    await buryEvent(nobodys, undefined, 'missing_attribute');
    const { body } = await until('the letters are seen', async () => {
      const answer = await explain(hook, ours);
      return answer.body.causes[0].cause === 'dead_letter' && answer;
    });
    expect(body.causes).toMatchObject([{ cause: 'dead_letter', reason: 'not_json' }]);
    expect(JSON.stringify(body)).not.toContain('for the test');
    expect((await explain(hook, unknown)).body.causes).toMatchObject([{ cause: 'dead_letter', reason: null }]);
    for (const guid of [elsewhere, others, nobodys])
      expect(causes((await explain(hook, guid)).body)).toEqual(['not_received']);
    expect(causes((await explain(organizations, elsewhere, alice, 'orgs/acme')).body)).toEqual(['dead_letter']);
    expect((await explainEvent(nobodys)).body).toMatchObject({
      state: 'never_made',
      causes: [{ reason: 'missing_attribute' }],
      dead_letters: [{ message_id: nobodys, detail: 'for the test' }],
    });
    expect((await explainEvent(others)).body).toMatchObject({ dead_letters: [], causes: [{ cause: 'not_received' }] });
  });

  test('of a delivery is shown if one of our services made it', async () => {
    const hook = await addHook();
    const [event, forged] = [await storeEvent({ hooks: [hook] }), await storeEvent({ hooks: [hook] })];
    const key = deriveJobKey(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
    for (const [of, code] of [
      [forged, { 'job-code': 'AAAA' }],
      [event, {}],
    ] as const) {
      const message = jobMessage(await jobOf(of, hook), Buffer.from('{}'), key);
      const headers = { ...message.headers, ...code, [deadReasonHeader]: 'not_handled', [deadDetailHeader]: 'x' };
      await publisher.publish({ ...message, exchange: '', routingKey: deadEventsQueue, headers });
    }
    await until('the letter is seen', async () => {
      const { body } = await explain(hook, event.guid);
      return body.state === 'never_made' && causes(body).join() === 'dead_letter';
    });
    expect((await explain(hook, forged.guid)).body).toMatchObject({ state: 'in_flight' });
  });
});

test('an event that no dispatcher has taken yet is in its queue, which administrators are shown', async () => {
  const hook = await addHook();
  const [ours, others] = [randomUUID(), randomUUID()];
  for (const [id, subject] of Object.entries({ [ours]: 'acme/widgets', [others]: 'other/widgets' }))
    await publisher.publish({
      exchange: '',
      routingKey: eventsQueue,
      body: Buffer.from('{}'),
      messageId: id,
      headers: headersOf(id, subject),
    });
  expect((await explainEvent(ours)).body).toMatchObject({ state: 'queued', causes: [], events: [] });
  expect((await explainEvent(others)).body).toMatchObject({ state: 'never_made', causes: [{ cause: 'not_received' }] });
  expect((await explain(hook, ours)).body).toMatchObject({ state: 'never_made', causes: [{ cause: 'not_received' }] });
});

describe('an explanation', () => {
  test('is for everybody who may read the deliveries, and of a whole account for the site’s administrators', async () => {
    const hook = await addHook();
    const { guid } = await storeEvent({ hooks: [hook] });
    const [bob, reader, olga, outsider] = await Promise.all([
      api.tokens.user('auth0|bob', 'repo'),
      api.tokens.user('auth0|alice', 'read:repo_hook'),
      api.tokens.user('auth0|olga', 'repo admin:org_hook'),
      api.tokens.user('auth0|alice', 'admin:org'),
    ]);
    expect(await explain(hook, guid, reader)).toMatchObject({ status: 200 });
    for (const token of [bob, olga, outsider]) expect(await explain(hook, guid, token)).toMatchObject({ status: 404 });
    expect(await explain(hook, guid, alice, 'repos/acme/gadgets')).toMatchObject({ status: 404 });
    for (const token of [alice, olga]) expect(await explainEvent(guid, 'acme', token)).toMatchObject({ status: 404 });
    expect(await explainEvent(guid, 'nobody')).toMatchObject({ status: 404 });
    expect(await explainEvent('odd')).toMatchObject({ status: 404 });
  });

  test('shows no events of other accounts, nor with `public_repo` those of private repositories', async () => {
    const hook = await addHook();
    const others = await storeEvent({ login: 'other', repository: null });
    const unknown = await explain(hook, randomUUID());
    const { body } = await explain(hook, others.guid);
    expect({ ...body, guid: null }).toEqual({ ...unknown.body, guid: null });
    expect((await explainEvent(others.guid)).body).toMatchObject({ events: [], causes: [{ cause: 'not_received' }] });
    const nobodys = await storeEvent({
      login: null,
      repository: null,
      unmatched: 'unknown_account',
      subject: 'stranger/x',
    });
    expect({ ...(await explain(hook, nobodys.guid)).body, guid: null }).toEqual({ ...unknown.body, guid: null });
    await api.sql.query(`UPDATE repositories SET visibility = 'public' WHERE name = 'widgets'`);
    const publicly = await api.tokens.user('auth0|alice', 'public_repo');
    const hidden = await storeEvent({ repository: 'gadgets' });
    expect(causes((await explain(hook, hidden.guid, publicly)).body)).toEqual(['not_received']);
    expect(causes((await explain(hook, hidden.guid)).body)).toEqual(['another_place', 'duplicate?']);
    expect((await explain(hook, (await storeEvent({ hooks: [hook] })).guid, publicly)).body.state).toBe('in_flight');
  });
});

test('an organization’s admin sees which deliveries wait, why and since when, and what is paused', async () => {
  await api.sql.query('DELETE FROM parked; DELETE FROM hooks');
  const hook = await addHook();
  const first = await storeEvent({ hooks: [hook] });
  await park({ event: first, hook });
  await park({ event: await storeEvent({ hooks: [hook] }), hook });
  await park({ event: first, hook, attempt: 2 }, 'retry', '2030-01-01T00:00:00Z');
  const held = await park({ event: first, hook });
  await api.sql.query(`UPDATE parked SET published_at = 'infinity' WHERE delivery_id = $1`, [held]);
  await api.sql.query('UPDATE hooks SET paused_at = now() WHERE id = $1', [hook]);
  expect(await call(api, alice, 'GET', '/orgs/acme/delivery-status')).toMatchObject({
    status: 200,
    body: {
      limit: { rate: 10, burst: 1000 },
      paused_at: null,
      paused_hooks: [{ id: hook }],
      waiting: [
        { reason: 'limit', deliveries: 2, more: false, since: '2026-11-22T10:00:01Z', next_at: null },
        { reason: 'retry', deliveries: 1, next_at: '2030-01-01T00:00:00Z' },
        { reason: 'paused', deliveries: 1 },
      ],
    },
  });
  const olga = await api.tokens.user('auth0|olga', 'repo admin:org_hook');
  expect((await call(api, olga, 'GET', '/orgs/other/delivery-status')).body).toMatchObject({ waiting: [] });
  for (const token of [olga, await api.tokens.user('auth0|bob', 'admin:org_hook')])
    expect(await call(api, token, 'GET', '/orgs/acme/delivery-status')).toMatchObject({ status: 404 });
  await api.sql.query('DELETE FROM parked');
});

test('an administrator sees for each hook what it got, or why it got nothing', async () => {
  await api.sql.query('DELETE FROM hooks');
  const [got, off, organizations, elsewhere] = [
    await addHook(),
    await addHook({ active: false }),
    await addHook({ repository: null, events: ['issues'] }),
    await addHook({ repository: 'gadgets' }),
  ];
  const event = await storeEvent({ hooks: [got] });
  await log(event, got, { id: event.deliveryIds[0]! });
  const { body } = await explainEvent(event.guid.toUpperCase(), 'ACME');
  expect(body).toMatchObject({
    guid: event.guid,
    state: 'delivered',
    causes: [],
    events: [
      {
        place: 'acme/widgets',
        state: 'delivered',
        deliveries: [
          { hook_id: got, state: 'delivered' },
          { hook_id: off, causes: [{ cause: 'not_active' }, { cause: 'duplicate' }] },
          { hook_id: organizations, causes: [{ cause: 'not_subscribed' }, { cause: 'duplicate' }] },
        ],
      },
    ],
    dead_letters: [],
  });
  expect(JSON.stringify(body)).not.toContain(`"hook_id":${elsewhere}`);
  await api.sql.query('DELETE FROM hooks WHERE id <> $1', [elsewhere]);
  const lonely = await storeEvent();
  expect(causes((await explainEvent(lonely.guid)).body)).toEqual(['no_hook?']);
});

test('an event that a replay delivered to a hook it was not for is explained by that delivery', async () => {
  await api.sql.query('DELETE FROM hooks');
  const newer = await addHook({ createdAt: ago(0), updatedAt: ago(0) });
  const event = await storeEvent();
  await log(event, newer, { redelivery: true });
  expect(await explainEvent(event.guid)).toMatchObject({
    status: 200,
    body: { state: 'delivered', causes: [], events: [{ deliveries: [{ hook_id: newer, state: 'delivered' }] }] },
  });
  const off = await addHook({ active: false });
  expect((await explainEvent(event.guid)).body).toMatchObject({
    state: 'delivered',
    events: [{ deliveries: [{ state: 'delivered' }, { hook_id: off, state: 'never_made' }] }],
  });
});
