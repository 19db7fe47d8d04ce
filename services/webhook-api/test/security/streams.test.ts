/** Who may watch the deliveries of a hook, and for how long. */
import { connect } from 'node:net';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { audience, call, openApi } from '../support/api.ts';
import { openEvents } from '../support/events.ts';
import { recordDelivery } from '../support/jobs.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const perCaller = 3;
const api = stack.use(await openApi({ STREAMS_PER_CALLER: String(perCaller) }));
const scope = 'admin:repo_hook admin:org_hook';
const token = await api.tokens.user('auth0|alice', scope);

const makeHook = async (place = '/repos/acme/widgets', by = token) => {
  const config = { url: `https://example.com/${Math.random()}` };
  const { body } = await call(api, by, 'POST', `${place}/hooks`, { name: 'web', active: false, config });
  return {
    id: body.id as number,
    path: `${place}/hooks/${body.id}`,
    stream: `${place}/hooks/${body.id}/deliveries/stream`,
  };
};
const openStreams = async () => {
  const metrics = await (await fetch(`${api.opsBase}/metrics`)).text();
  return Number(/^webhook_api_delivery_streams (\d+)$/m.exec(metrics)?.[1]);
};
const noneIsOpen = () => until('no open stream', async () => (await openStreams()) === 0);

describe('the stream of a hook', () => {
  test('is opened only by who may list its deliveries', async () => {
    const hook = await makeHook();
    expect(await call(api, undefined, 'GET', hook.stream)).toMatchObject({ status: 401 });
    expect(await call(api, 'made-up', 'GET', hook.stream)).toMatchObject({ status: 401 });
    const others = [
      await api.tokens.user('auth0|alice', 'admin:org_hook'),
      await api.tokens.user('auth0|bob', scope),
      await api.tokens.user('auth0|olga', scope),
    ];
    for (const other of others)
      expect(await call(api, other, 'GET', hook.stream)).toMatchObject({ status: 404, body: { message: 'Not Found' } });
    const theirs = await makeHook('/orgs/acme', await api.tokens.app('auth0|alice', 'admin:org_hook', 'their-app'));
    expect((await call(api, token, 'GET', theirs.stream)).status).toBe(404);
    // Below another place than its own it is not found either.
    const elsewhere = hook.stream.replace('widgets', 'gadgets');
    expect((await call(api, token, 'GET', elsewhere)).status).toBe(404);
    const reader = await api.tokens.user('auth0|alice', 'read:repo_hook');
    expect((await call(api, reader, 'GET', hook.stream)).status).toBe(200);
    await noneIsOpen();
  });

  test('ends when the token expires', async () => {
    const hook = await makeHook();
    const exp = Math.floor(Date.now() / 1000) + 3; // and five seconds more, for clocks that differ
    const brief = await api.issuer.sign({
      aud: audience,
      sub: 'auth0|alice',
      client_id: 'c',
      scope,
      first_party: true,
      exp,
    });
    await using events = await openEvents(api, brief, hook.stream);
    expect(await events.next(({ event }) => event === 'end')).toMatchObject({ data: { reason: 'expired' } });
    await until('its end', events.ended);
  });

  test('ends when the membership ends, and when the hook is deleted', async () => {
    const [hook, deleted] = [await makeHook(), await makeHook()];
    await api.sql.query(`INSERT INTO memberships SELECT id, 'auth0|carol', 'admin' FROM accounts WHERE login = 'acme'`);
    await using hers = await openEvents(api, await api.tokens.user('auth0|carol', scope), hook.stream);
    await using ofDeleted = await openEvents(api, token, deleted.stream);
    await using stays = await openEvents(api, token, hook.stream);
    await api.sql.query(`DELETE FROM memberships WHERE subject = 'auth0|carol'`);
    expect((await call(api, token, 'DELETE', deleted.path)).status).toBe(204);
    for (const events of [hers, ofDeleted]) {
      expect(await events.next(({ event }) => event === 'end')).toMatchObject({ data: { reason: 'refused' } });
      await until('its end', events.ended);
    }
    const id = await recordDelivery(api.sql, { hookId: hook.id });
    await stays.next((event) => event.id === String(id));
    expect(hers.all).toHaveLength(1);
  });

  test('counts as one request, and one caller can open only a few', async () => {
    await noneIsOpen();
    const hook = await makeHook();
    const used = async () => Number((await call(api, token, 'GET', '/rate_limit')).body.rate.used);
    const before = await used();
    const some = await Promise.all(Array.from({ length: perCaller }, () => openEvents(api, token, hook.stream)));
    const refused = await call(api, token, 'GET', hook.stream);
    expect(refused).toMatchObject({ status: 429, body: { message: expect.stringContaining('streams already') } });
    const id = await recordDelivery(api.sql, { hookId: hook.id });
    for (const events of some) await events.next((event) => event.id === String(id));
    // Those that were opened, and the one that was refused.
    expect((await used()) - before).toBe(perCaller + 1);
    // Another application of the same person has its own.
    const other = await api.tokens.user('auth0|alice', scope, 'another');
    some.push(await openEvents(api, other, hook.stream));
    expect(some.at(-1)!.head.status).toBe(200);
    for (const events of some) await events[Symbol.asyncDispose]();
    await noneIsOpen();
  });

  test('is cut off for a client that does not read', async () => {
    const hook = await makeHook();
    const { hostname, port } = new URL(api.base);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {}); // it is cut off
    socket.pause();
    const head = [`GET ${hook.stream} HTTP/1.1`, 'Host: x', 'User-Agent: test', `Authorization: Bearer ${token}`];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await until('an open stream', async () => (await openStreams()) === 1);
    // More than what the kernel holds for it.
    const id = await recordDelivery(api.sql, { hookId: hook.id });
    await api.sql.query(
      `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, guid, event_key, event_on, event, attempt, redelivery,
                               status, status_code, duration_ms, timings, url, request_headers)
       SELECT nextval('delivery_ids'), delivered_on, now(), hook_id, account_id, guid, event_key, event_on, event, 1, false,
              'OK', 200, 1, timings, 'https://example.com/' || repeat('x', 4000), '{}'
         FROM deliveries, generate_series(1, 4000) WHERE id = $1`,
      [id],
    );
    await noneIsOpen();
    socket.destroy();
  });
});
