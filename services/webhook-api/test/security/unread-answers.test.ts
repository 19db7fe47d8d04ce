/** Answers that their clients do not read stay in memory: how much of them one caller may have. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { call } from '../support/api.ts';
import { recordDelivery } from '../support/jobs.ts';
import { openWithHook } from '../support/with-hook.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { api, alice, newHook } = stack.use(await openWithHook());

test('whoever leaves deliveries of large events unread gets no more of them, only small answers, until they are read', async () => {
  const { hookId, deliveries } = await newHook();
  const id = await recordDelivery(api.sql, { hookId, payload: JSON.stringify({ text: 'x'.repeat(20_000_000) }) });
  const { hostname, port } = new URL(api.base);
  const head = [`GET ${deliveries}/${id} HTTP/1.1`, 'Host: x', 'User-Agent: test', `Authorization: Bearer ${alice}`];
  const sockets = await Promise.all(
    [1, 2, 3].map(async () => {
      const socket = connect(Number(port), hostname);
      stack.defer(() => void socket.destroy());
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      await once(socket, 'readable');
      expect(socket.read(12).toString()).toBe('HTTP/1.1 200');
      return socket;
    }),
  );
  const get = (path: string, token = alice) => call(api, token, 'GET', path);
  const refused = await get(`${deliveries}/${id}`);
  expect(refused).toMatchObject({ status: 429, body: { message: expect.stringContaining('secondary rate limit') } });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await get(deliveries)).toMatchObject({ status: 200 });
  expect(await get(`${deliveries}/${id}`, await api.tokens.user('auth0|alice', 'repo', 'another'))).toMatchObject({
    status: 200,
  });
  sockets[0]!.resume();
  await until('there is room', async () => (await get(`${deliveries}/${id}`)).status === 200);
});
