import { randomBytes } from 'node:crypto';
import { openConnection } from '@gatepost/amqp/connection';
import { openRequester } from '@gatepost/amqp/requests';
import { decodeAnswer, encodeRequest, listenersExchange, listenersTopology } from '@gatepost/contracts/forwarding';
import { openLog } from '@gatepost/runtime/log';
import { Registry } from '@gatepost/runtime/metrics';
import { openCuttable } from '@gatepost/testkit/cut';
import { type FrameAnswer, openListener } from '@gatepost/testkit/listener';
import { openRelay } from '@gatepost/testkit/relay';
import { freshDatabase, management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { openPool } from '@gatepost/webhook-db/pool';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { openListeners } from '../src/listeners/listeners.ts';
import { activateFirst, renewSessions } from '../src/listeners/rows.ts';
import { call, openApi } from './support/api.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const token = await api.tokens.user('auth0|alice', 'admin:repo_hook admin:org_hook');
const toBroker = { url: api.amqpUrl, name: 'test', log: openLog('test', 'silent') };
const requester = stack.use(await openRequester({ ...toBroker, topology: listenersTopology }));
const widgets = '/repos/acme/widgets';
// What the extension sends: cli/gh-webhook, webhook/create_webhook.go (`createHookRequest`).
const request = { name: 'cli', active: false, events: ['push'], config: { content_type: 'json', insecure_ssl: '0' } };

const create = async (body: object = request, place = widgets) => {
  const { status, body: hook } = await call(api, token, 'POST', `${place}/hooks`, body);
  expect(status).toBe(201);
  return hook;
};
const listen = async (hook: { ws_url: string }, options: Partial<Parameters<typeof openListener>[0]> = {}) =>
  openListener({ url: hook.ws_url, token, ...options });
/** Asks as a dispatcher does. */
const deliver = async (hook: { id: number }, body: Buffer | string = '{}', timeoutMs = 20_000) => {
  const got = await requester.request({
    exchange: listenersExchange,
    routingKey: String(hook.id),
    type: 'delivery',
    body: encodeRequest({
      headers: { 'X-GitHub-Event': 'push', 'X-Hub-Signature-256': 'sha256=0' },
      timeoutMs,
      body: Buffer.from(body),
    }),
    timeoutMs: timeoutMs + 10_000,
  });
  return got.kind === 'answer' ? decodeAnswer(got.body) : got;
};
const isThere = async (hook: { id: number }) =>
  (await call(api, token, 'GET', `${widgets}/hooks/${hook.id}`)).status === 200;

describe('a `cli` hook', () => {
  test('is made with `ws_url`, in repositories and organizations, below the prefix of the request', async () => {
    const hook = await create();
    const url = `${api.base}${widgets}/hooks/${hook.id}`;
    expect(hook).toMatchObject({ name: 'cli', active: false, url, ws_url: `${url.replace('http', 'ws')}/socket` });
    expect(hook.config).toEqual({ url: hook.ws_url, content_type: 'json', insecure_ssl: '0' });
    const ofOrganization = await create(request, '/api/v3/orgs/acme');
    expect(ofOrganization.ws_url).toBe(
      `${api.base.replace('http', 'ws')}/api/v3/orgs/acme/hooks/${ofOrganization.id}/socket`,
    );
    const { body: web } = await call(api, token, 'POST', `${widgets}/hooks`, {
      config: { url: 'https://example.com' },
    });
    expect(web.name).toBe('web');
    expect(web).not.toHaveProperty('ws_url');
    // Several people may listen in one place, with the same config.
    await create();
  });

  test('is active only while its socket is open, and deleted when that is closed', async () => {
    const hook = await create();
    const activate = () => call(api, token, 'PATCH', new URL(hook.url).pathname, { active: true });
    expect(await activate()).toMatchObject({ status: 422, body: { errors: [{ field: 'active' }] } });
    await using listener = await listen(hook);
    expect(await activate()).toMatchObject({ status: 200, body: { active: true, name: 'cli' } });
    const moved = { config: { url: 'https://example.com' } };
    expect(await call(api, token, 'PATCH', new URL(hook.url).pathname, moved)).toMatchObject({ status: 422 });
    listener.close();
    await until('the hook is gone', async () => !(await isThere(hook)));
    // RabbitMQ hears of it by another way.
    await until('nothing goes there', async () => ((await deliver(hook)) as { kind: string }).kind === 'unroutable');
  });

  test('created as active becomes active when its socket opens', async () => {
    const hook = await create({ ...request, active: true });
    expect(hook.active).toBe(false);
    await using listener = await listen(hook);
    await until('it is active', async () => (await call(api, token, 'GET', new URL(hook.url).pathname)).body.active);
    listener.cut();
    await until('the hook is gone', async () => !(await isThere(hook)));
  });

  test('stays active if it is changed while its socket opens', async () => {
    const hook = await create({ ...request, active: true });
    const client = await api.sql.connect();
    try {
      await client.query('BEGIN');
      await activateFirst(client, hook.id);
      const changing = call(api, token, 'PATCH', new URL(hook.url).pathname, { events: ['push', 'issues'] });
      await until('it waits', async () => {
        const { rowCount } = await api.sql.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rowCount! > 0;
      });
      await client.query('COMMIT');
      expect(await changing).toMatchObject({ status: 200, body: { active: true, events: ['push', 'issues'] } });
    } finally {
      client.release();
    }
  });

  test('is deleted if nobody connects to its socket', async () => {
    const hook = await create();
    await api.sql.query("UPDATE listeners SET until = now() - interval '1 second' WHERE hook_id = $1", [hook.id]);
    await until('the hook is gone', async () => !(await isThere(hook)));
  });
});

describe('a delivery', () => {
  test('goes to the gh extension in the form that it reads, and its answer comes back', async () => {
    const hook = await create();
    const answer = {
      Status: 418,
      Header: { 'X-One': ['a', 'b'] },
      Body: Buffer.from('short and stout').toString('base64'),
    };
    await using listener = await listen(hook, { answer: () => answer });
    expect(await deliver(hook, '{"ä":1}')).toEqual({
      kind: 'response',
      status: 418,
      headers: { 'x-one': 'a, b' },
      body: Buffer.from('short and stout'),
    });
    expect(listener.frames).toEqual([
      {
        id: undefined,
        header: { 'X-Github-Event': ['push'], 'X-Hub-Signature-256': ['sha256=0'] },
        body: Buffer.from('{"ä":1}'),
      },
    ]);
  });

  test('of 25 MB reaches its listener whole', async () => {
    const hook = await create();
    await using listener = await listen(hook);
    const body = randomBytes(25_000_000);
    expect(await deliver(hook, body, 120_000)).toMatchObject({ status: 200 });
    expect(listener.frames[0]!.body.equals(body)).toBe(true);
  });

  test('that is answered too late times out, and the late answer is not taken for that of the next delivery', async () => {
    const hook = await create();
    const held = Promise.withResolvers<void>();
    const answer = async ({ body }: { body: Buffer }): Promise<FrameAnswer> => {
      if (String(body) === 'slow') await held.promise;
      return { Status: String(body) === 'slow' ? 500 : 201 };
    };
    await using listener = await listen(hook, { answer });
    expect(await deliver(hook, 'slow', 200)).toEqual({ kind: 'timeout' });
    // Nothing else goes to a listener that is still at work.
    expect(await deliver(hook, 'next', 300)).toEqual({ kind: 'busy' });
    const next = deliver(hook, 'next');
    held.resolve();
    expect(await next).toMatchObject({ status: 201 });
    expect(listener.frames.map(({ body }) => String(body))).toEqual(['slow', 'next']);
  });

  test('whose receiver could not be reached gets no answer from the gh extension, and the next one goes out', async () => {
    const hook = await create();
    await using _listener = await listen(hook, {
      answer: ({ body }) => (String(body) === 'lost' ? undefined : { Status: 204 }),
    });
    expect(await deliver(hook, 'lost', 300)).toEqual({ kind: 'timeout' });
    expect(await deliver(hook, 'next')).toMatchObject({ kind: 'response', status: 204, headers: {} });
  });

  test('with the subprotocol does not wait for others, and a failure says what happened', async () => {
    const hook = await create();
    const held = Promise.withResolvers<void>();
    const answer = async ({ body }: { body: Buffer }): Promise<FrameAnswer> => {
      if (String(body) === 'slow') await held.promise;
      return String(body) === 'down' ? { Error: 'connect ECONNREFUSED\n127.0.0.1:3000' } : { Status: 200 };
    };
    await using listener = await listen(hook, { answer, protocol: 'gatepost.v1' });
    expect(listener.protocol).toBe('gatepost.v1');
    const slow = deliver(hook, 'slow');
    expect(await deliver(hook, 'quick')).toMatchObject({ status: 200 });
    expect(await deliver(hook, 'down')).toEqual({
      kind: 'error',
      code: 'ELISTENER',
      message: 'connect ECONNREFUSED 127.0.0.1:3000',
      hadResponse: false,
    });
    held.resolve();
    expect(await slow).toMatchObject({ status: 200 });
  });

  test('in flight when its listener leaves fails at once', async () => {
    const hook = await create();
    await using listener = await listen(hook, { answer: () => undefined });
    const other = await create();
    await using _other = await listen(other);
    const answers = [deliver(hook, 'first'), deliver(hook, 'second')];
    // It stands behind both in the queue of their process.
    expect(await deliver(other)).toMatchObject({ status: 200 });
    await until('the first is there', () => listener.frames.length === 1);
    listener.cut();
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ kind: 'error', code: 'ECONNRESET' });
  });
});

test('a second socket of a hook takes over, at the same or another process, and the hook stays', async () => {
  await using other = await openSecond();
  const hook = await create();
  await using first = await listen(hook);
  await using second = await listen(hook);
  expect((await first.closed).code).toBe(4409);
  await using third = await listen({ ws_url: hook.ws_url.replace(/\/\/[^/]+/, `//${new URL(other.base).host}`) });
  expect((await second.closed).code).toBe(4409);
  expect(await deliver(hook)).toMatchObject({ status: 200 });
  expect([second.frames.length, third.frames.length]).toEqual([0, 1]);
  expect(await isThere(hook)).toBe(true);
});

test('a delivery that was on its way to the process before when another took over is answered by nobody but that one', async () => {
  const [hook, other] = [await create(), await create()];
  await using first = await listen(hook);
  await using _other = await listen(other);
  const vhost = new URL(api.amqpUrl).pathname.slice(1);
  const boundTo = async () => {
    const path = `/api/exchanges/${vhost}/${listenersExchange}/bindings/source`;
    const all = (await management('GET', path)) as { routing_key: string; destination: string }[];
    return all.filter(({ routing_key: key }) => key === String(hook.id)).map(({ destination }) => destination);
  };
  const here = await boundTo();
  await using second = await openSecond();
  await using _third = await listen({ ws_url: hook.ws_url.replace(/\/\/[^/]+/, `//${new URL(second.base).host}`) });
  await first.closed;
  await until('nothing more to be routed there', async () => !(await boundTo()).includes(here[0]!));
  const answered: string[] = [];
  const connection = await openConnection({ ...toBroker, topology: listenersTopology }, async (model) => {
    const channel = await model.createChannel();
    const replyTo = 'amq.rabbitmq.reply-to';
    await channel.consume(replyTo, (message) => answered.push(message?.properties.correlationId), { noAck: true });
    const body = encodeRequest({ headers: {}, timeoutMs: 20_000, body: Buffer.from('{}') });
    const asked = { type: 'delivery', replyTo };
    // RabbitMQ puts a copy into each queue that CC names, whatever is bound there.
    channel.publish('', String(hook.id), body, { ...asked, correlationId: 'late', CC: here });
    channel.publish(listenersExchange, String(other.id), body, { ...asked, correlationId: 'behind' });
  });
  await until('an answer', () => answered.length > 0);
  expect(answered).toEqual(['behind']);
  await connection.close();
});

test('a stopping server lets deliveries in flight finish and sends its listeners to another server, where their hook is', async () => {
  const hook = await create();
  const stopping = await openSecond();
  const at = (base: string) => ({ ws_url: hook.ws_url.replace(/\/\/[^/]+/, `//${new URL(base).host}`) });
  const held = Promise.withResolvers<void>();
  const answer = async (): Promise<FrameAnswer> => {
    await held.promise;
    return { Status: 200 };
  };
  await using listener = await listen(at(stopping.base), { answer });
  const ours = await create();
  await using own = await listen(
    { ws_url: ours.ws_url.replace(/\/\/[^/]+/, `//${new URL(stopping.base).host}`) },
    { protocol: 'gatepost.v1' },
  );
  const underWay = deliver(hook);
  await until('it is under way', () => listener.frames.length === 1);
  const stopped = stopping[Symbol.asyncDispose]();
  await until(
    'nothing new goes there',
    async () => ((await deliver(hook, '{}', 100)) as { kind: string }).kind === 'unroutable',
  );
  held.resolve();
  expect(await underWay).toMatchObject({ status: 200 });
  // The extension would not come back after a goodbye.
  expect((await listener.closed).code).toBe(1006);
  expect((await own.closed).code).toBe(1012);
  await stopped;
  await using _back = await listen(hook);
  expect(await deliver(hook)).toMatchObject({ status: 200 });
});

// RabbitMQ reads nothing more on a connection that publishes: who waited for its answer waited for the end of the alarm.
test('while RabbitMQ reads nothing, a new listener is told so and leaves its place, and the server can stop', async () => {
  const [hook, other, third] = [await create(), await create(), await create()];
  let isReading = true;
  await using broker = await openRelay(api.amqpUrl, (client, server) => {
    server.pipe(client);
    client.on('data', (chunk) => isReading && server.write(chunk));
  });
  const second = await openSecond({ AMQP_URL: broker.url, STORE_TIMEOUT_MS: '4000', LISTENERS_PER_CALLER: '2' });
  const there = ({ ws_url }: { ws_url: string }) =>
    listen({ ws_url: ws_url.replace(/\/\/[^/]+/, `//${new URL(second.base).host}`) });
  await using first = await there(hook);
  isReading = false;
  for (const one of [other, third]) await expect(there(one)).rejects.toThrow('answered 503');
  await second[Symbol.asyncDispose]();
  expect((await first.closed).code).toBe(1006);
});

test('after PostgreSQL was away, a process leaves the others time to report their listeners', async () => {
  await using database = await freshDatabase('migrated');
  await using way = await openCuttable(database.url);
  await using own = new AsyncDisposableStack();
  const open = (databaseUrl: string) =>
    own.adopt(openPool({ databaseUrl, name: 'test', max: 1, onError: () => {} }), (pool) => pool.end());
  const [pool, others] = [open(way.url), open(database.url)];
  // Its lease ran out while PostgreSQL was away.
  const { rows } = await others.query<{ hook_id: number; session: string }>(
    `WITH a AS (INSERT INTO accounts (login) VALUES ('acme') RETURNING id),
          h AS (INSERT INTO hooks (account_id, events, url, content_type, created_by, name)
                SELECT id, '{push}', 'ws://x/', 'json', 'test', 'cli' FROM a RETURNING id)
     INSERT INTO listeners SELECT id, gen_random_uuid(), now() - interval '1 second', false FROM h RETURNING hook_id, session`,
  );
  const { hook_id: hookId, session } = rows[0]!;
  const stays = async () => (await others.query('SELECT FROM hooks')).rowCount === 1;
  // Its rounds are begun here, one after the other.
  const intervals = jest.spyOn(globalThis, 'setInterval').mockImplementation(() => setTimeout(() => {}));
  const broker = { ...toBroker, topology: listenersTopology };
  const limits = { brokerTimeoutMs: 10_000, perCaller: 1, most: 1 };
  own.use(openListeners({ pool, broker, ...limits, registry: new Registry(), log: toBroker.log }));
  const round = intervals.mock.calls.find(([, ms]) => ms === 5_000)![0] as () => Promise<void>;
  intervals.mockRestore();
  await way.cut();
  for (let rounds = 0; rounds < 10; rounds++) await round();
  await way.restore();
  for (let rounds = 0; rounds < 2; rounds++) await round();
  expect(await stays()).toBe(true);
  await renewSessions(others, { hookIds: [hookId], sessions: [session] });
  for (let rounds = 0; rounds < 10; rounds++) await round();
  expect(await stays()).toBe(true);
  await others.query("UPDATE listeners SET until = now() - interval '1 second'");
  await round();
  expect(await stays()).toBe(false);
});

/** A second process of the same API, as far as a test can tell. */
async function openSecond(more: Record<string, string> = {}) {
  const { start } = await import('../src/start.ts');
  const { variables } = await import('../src/config.ts');
  const { readEnv } = await import('@gatepost/runtime/env');
  const own = new AsyncDisposableStack();
  const env = readEnv(variables, { ...api.env, ...more });
  const { port } = await start({
    env,
    log: openLog('webhook-api', env.LOG_LEVEL),
    stack: own,
    stopping: new AbortController().signal,
  } as Parameters<typeof start>[0]);
  return { base: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => own.disposeAsync() };
}
