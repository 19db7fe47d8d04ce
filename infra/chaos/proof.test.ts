import type { LoggedDelivery } from '@gatepost/testkit/api';
import { expect, test } from '@jest/globals';
import { type Evidence, judge } from './proof.ts';

/** One event, whose delivery the receiver refused once and then accepted, as the log says. */
function evidence(): Evidence & { log: Partial<LoggedDelivery>[] } {
  const place = { subject: 'chaos-01/widgets', hooks: [{ id: 1, path: 'repos/chaos-01/widgets' }] };
  const log = [
    { guid: 'one', event: 'push', status: 'OK', status_code: 204, throttled_at: null },
    { guid: 'one', event: 'push', status: 'Invalid HTTP response', status_code: 503, throttled_at: null },
  ];
  const running = { ended: new Promise(() => {}) };
  return {
    log,
    published: { events: [{ number: 0, id: 'one', place, body: '{}' }], again: 0 },
    record: { accepted: [{ hook: 1, guid: 'one', number: 0, body: '{}', signed: true, at: 0 }], refused: ['1 one'] },
    api: { deliveries: async () => log },
    places: [place],
    fleet: { deaths: [] },
    system: { auth: running, webhookApi: running },
    struck: [{ name: 'RabbitMQ 1', times: 2, downSeconds: 3, stood: 0 }],
    drainSeconds: 0,
  } as unknown as ReturnType<typeof evidence>;
}

test('a run in which everything was delivered and logged as it happened proves it', async () => {
  expect(await judge(evidence())).toMatchObject({ complaints: [], refused: 1, logged: 2, inventedInLog: 0 });
});

test('a run in which nothing went on while a node was away proves nothing', async () => {
  const given = evidence();
  given.struck[0]!.stood = 1;
  expect((await judge(given)).complaints).toEqual(['1 × nothing went on for a minute without RabbitMQ 1']);
});

test.each([
  { status: 'OK', status_code: 204 },
  { status: 'Invalid HTTP response', status_code: 503 },
])('an attempt in the log with an answer that the receiver did not give is found: $status_code', async (answer) => {
  const given = evidence();
  given.log.push({ guid: 'one', event: 'push', throttled_at: null, ...answer });
  expect(await judge(given)).toMatchObject({
    inventedInLog: 1,
    complaints: ['1 in the log that the receiver did not answer so'],
  });
});
