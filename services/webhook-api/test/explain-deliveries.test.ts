/** What is told of a delivery that there is, from what is stored. What a running system stores is shown in tests/explain.test.ts. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { ago, makeStored } from './support/stored.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ THROTTLE_RATE: '10' }));
const alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
const { idOf, addHook, storeEvent, park, log } = makeStored(api.sql);

const explain = (hook: number, guid: string) =>
  call(api, alice, 'GET', `/repos/acme/widgets/hooks/${hook}/explain?guid=${guid}`);
const explainDelivery = (hook: number, id: number) =>
  call(api, alice, 'GET', `/repos/acme/widgets/hooks/${hook}/deliveries/${id}/explain`);

/** Of the deliveries that an explanation tells of. */
const idsIn = ({ steps }: { steps: { delivery_id: number | null }[] }) => [
  ...new Set(steps.flatMap(({ delivery_id: id }) => id ?? [])),
];

describe('a delivery', () => {
  test('that waits for the limit has a place in the queue, with later ones behind it', async () => {
    const hook = await addHook();
    const [first, second] = [await storeEvent({ hooks: [hook] }), await storeEvent({ hooks: [hook] })];
    for (const event of [first, second]) await park({ event, hook, id: event.deliveryIds[0]! });
    const retried = await storeEvent({ hooks: [hook] });
    await log(retried, hook, { id: retried.deliveryIds[0]!, status: 'Timed out', code: 504 });
    const retry = await park({ event: retried, hook, attempt: 2 }, 'retry');
    const { body } = await explain(hook, second.guid);
    expect(body).toMatchObject({
      state: 'throttled',
      delivery_id: second.deliveryIds[0],
      since: '2026-11-22T10:00:01.000Z',
      until: { place: 2, rate: 10 },
    });
    expect(Date.parse(body.until.at) - Date.now()).toBeLessThan(201);
    expect(body.until.reason).toBe('Place 2 among those waiting for the limit of acme, which allows 10 per second.');
    expect((await explainDelivery(hook, retry)).body).toMatchObject({ state: 'throttled', until: { place: 3 } });
    await api.sql.query('UPDATE hooks SET active = false WHERE id = $1', [hook]);
    expect((await explain(hook, second.guid)).body.sentence).toContain('no attempt is made');
    // The failed attempt is asked about: what follows it waits.
    expect((await explainDelivery(hook, retried.deliveryIds[0]!)).body).toMatchObject({
      state: 'throttled',
      delivery_id: retry,
    });
    await api.sql.query('DELETE FROM parked');
  });

  test('far back in a long queue has an estimated place', async () => {
    const hook = await addHook();
    const accountId = await idOf('accounts', 'acme');
    await api.sql.query(
      `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
       SELECT nextval('delivery_ids'), $1, 'throttle', 'infinity', gen_random_uuid(), now(), '{}' FROM generate_series(1, 4000)`,
      [accountId],
    );
    const event = await storeEvent({ hooks: [hook] });
    const id = await park({ event, hook, id: event.deliveryIds[0]! });
    await api.sql.query(
      `INSERT INTO waiting_summary (id, next_at, summary) VALUES (1, now(), jsonb_build_object('accounts', jsonb_build_array(jsonb_build_object('id', $1::integer, 'deliveries', 4001))))`,
      [accountId],
    );
    expect((await explainDelivery(hook, id)).body).toMatchObject({
      state: 'throttled',
      until: { place: 4002, reason: expect.stringMatching(/^About place 4,002 /) },
    });
    await api.sql.query('DELETE FROM parked; DELETE FROM waiting_summary');
  });

  test('that failed names its next attempt, and one that the receiver accepted is done', async () => {
    const hook = await addHook();
    const event = await storeEvent({ hooks: [hook] });
    await log(event, hook, { id: event.deliveryIds[0]!, status: 'Invalid HTTP response', code: 500 });
    expect((await explain(hook, event.guid)).body).toMatchObject({
      state: 'failed',
      sentence: expect.stringContaining('Invalid HTTP response (500)'),
      next: expect.stringContaining(
        `POST /repos/acme/widgets/hooks/${hook}/deliveries/${event.deliveryIds[0]}/attempts`,
      ),
    });
    const second = await log(event, hook, { attempt: 2 });
    for (const id of [event.deliveryIds[0]!, second])
      expect((await explainDelivery(hook, id)).body).toMatchObject({
        state: 'delivered',
        delivery_id: second,
        next: null,
      });
    const third = await park({ event, hook, attempt: 3 }, 'retry', '2030-01-01T00:00:00Z');
    const { body: accepted } = await explainDelivery(hook, second);
    expect(accepted).toMatchObject({ state: 'delivered', delivery_id: second });
    expect(accepted.steps.at(-1)).toMatchObject({ delivery_id: third, sentence: 'It waits for its next attempt.' });
    expect((await explain(hook, event.guid)).body).toMatchObject({
      state: 'retry',
      delivery_id: third,
      until: { at: '2030-01-01T00:00:00.000Z' },
      steps: [
        { step: 'occurred' },
        { step: 'taken' },
        { step: 'matched' },
        { step: 'handed_over' },
        { step: 'attempt', attempt: 1 },
        { step: 'recorded', exact: false },
        { step: 'attempt', attempt: 2, delivery_id: second },
        { step: 'recorded' },
        { step: 'waits', delivery_id: third, attempt: 3 },
      ],
    });
    await api.sql.query('DELETE FROM parked');
  });

  // Only the words of a step said so.
  test('that was asked for again has steps that say so, while it waits too', async () => {
    const hook = await addHook();
    const event = await storeEvent({ hooks: [hook] });
    const first = await log(event, hook, { id: event.deliveryIds[0]!, status: 'Timed out', code: 504 });
    const again = await log(event, hook, { redelivery: true, status: 'Timed out', code: 504 });
    const waiting = await park({ event, hook, redelivery: true }, 'retry', '2030-01-01T00:00:00Z');
    const { steps } = (await explain(hook, event.guid)).body;
    expect(steps[0]).toMatchObject({ step: 'occurred', delivery_id: null, redelivery: null });
    const redelivered = steps.flatMap(
      ({ delivery_id: id, redelivery }: { delivery_id: number | null; redelivery: boolean }) =>
        id === null ? [] : [[id, redelivery]],
    );
    expect(new Map(redelivered)).toEqual(
      new Map([
        [first, false],
        [again, true],
        [waiting, true],
      ]),
    );
    await api.sql.query('DELETE FROM parked');
  });

  // Its guid was said to be of no event, and its page told of the push's own delivery as if it were an attempt of the test.
  test('that is a test of the latest push is explained by itself, by its guid and by each of its ids', async () => {
    const hook = await addHook();
    const push = await storeEvent({ hooks: [hook] });
    await log(push, hook, { id: push.deliveryIds[0]! });
    const test = { ...push, guid: '00000000-0000-4000-8000-00000000000a' };
    const first = await log(test, hook, { status: 'Timed out', code: 504 });
    const failed = { state: 'failed', delivery_id: first, sentence: expect.stringContaining('tests are not retried') };
    for (const { body } of [await explain(hook, test.guid), await explainDelivery(hook, first)]) {
      expect(body).toMatchObject({ ...failed, guid: test.guid, event: 'push' });
      expect(idsIn(body)).toEqual([first]);
      expect(body.steps).toContainEqual(expect.objectContaining({ sentence: 'It is for this hook.' }));
    }
    const again = await log(test, hook, { redelivery: true });
    for (const { body } of [await explain(hook, test.guid), await explainDelivery(hook, again)])
      expect(idsIn(body)).toEqual([first, again]);
    expect(idsIn((await explain(hook, push.guid)).body)).toEqual(push.deliveryIds);
  });

  const host = 'Failed to connect to host';
  const network = 'Failed to connect to network';
  const answer = 'Invalid HTTP response';
  test.each<[error: string, status: string, code: number, advice: RegExp]>([
    ['EBLOCKED', host, 502, /^That address is forbidden here/],
    ['ENOTFOUND', host, 502, /^Check that the name .* resolves/],
    ['ECONNREFUSED', network, 502, /^Check that the receiver listens/],
    ['EPROTO', network, 502, /^The receiver speaks no TLS there/],
    ['ECONNRESET', network, 502, /cut the connection before it answered/],
    ['no complete response, while looking up the name', 'Timed out', 504, /^Check that the name servers/],
    ['no complete response, while connecting', 'Timed out', 504, /^Check that the receiver listens/],
    ['no complete response, while waiting for the head', 'Timed out', 504, /answer 2xx within 10 s/],
    ['HPE_INVALID_CONSTANT', answer, 502, /valid HTTP/],
    ['HTTP 403', answer, 403, /secret .* other credentials/],
    ['HTTP 404', answer, 404, /^Check the path of the hook's URL/],
    ['HTTP 405', answer, 405, /accept POST/],
    ['HTTP 413', answer, 413, /payload is larger .* 25 MB/],
    ['HTTP 429', answer, 429, /more than it allows: .* limit of acme/],
    ['HTTP 502', answer, 502, /^The receiver failed: look into its log/],
    ['HTTP 418', answer, 418, /^Find out why the receiver does not answer 2xx/],
  ])('that failed with %s says what to look at', async (error, status, code, advice) => {
    const hook = await addHook();
    const event = await storeEvent({ hooks: [hook] });
    await log(event, hook, { id: event.deliveryIds[0]!, status, code, error });
    expect((await explain(hook, event.guid)).body.next).toMatch(advice);
  });

  test('is explained by its attempts when its event is no longer stored', async () => {
    const hook = await addHook();
    const event = await storeEvent({ hooks: [hook] });
    const id = await log(event, hook, { status: 'Timed out', code: 504 });
    await api.sql.query('DELETE FROM events WHERE key = $1', [event.key]);
    expect((await explainDelivery(hook, id)).body).toMatchObject({
      state: 'failed',
      event: 'push',
      steps: [{ step: 'attempt' }, { step: 'recorded' }],
    });
  });

  test('without an outcome is in flight, with an expected end while an attempt may still take that long', async () => {
    const hook = await addHook();
    const event = await storeEvent({ hooks: [hook], receivedAt: ago(0), isRouted: false });
    const { body } = await explain(hook, event.guid);
    expect(body).toMatchObject({ state: 'in_flight', delivery_id: event.deliveryIds[0] });
    expect(Date.parse(body.until.at) - Date.parse(body.since)).toBe(10_000);
    const old = await storeEvent({ hooks: [hook] });
    expect((await explain(hook, old.guid)).body).toMatchObject({
      state: 'in_flight',
      until: { at: null, reason: expect.stringContaining('RESCUE_AFTER_SECONDS') },
    });
  });
});
