/** Who may listen, and what a listener may send. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { openRequester } from '@gatepost/amqp/requests';
import { decodeAnswer, encodeRequest, listenersExchange, listenersTopology } from '@gatepost/contracts/forwarding';
import { openLog } from '@gatepost/runtime/log';
import { type FrameAnswer, openListener, Refused } from '@gatepost/testkit/listener';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { audience, call, openApi } from '../support/api.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// More than the sockets of alice of which the API has not heard yet that they are closed.
const perCaller = 8;
const api = stack.use(await openApi({ LISTENERS_PER_CALLER: String(perCaller) }));
const token = await api.tokens.user('auth0|alice', 'admin:repo_hook admin:org_hook');
const requester = stack.use(
  await openRequester({ url: api.amqpUrl, name: 'test', log: openLog('test', 'silent'), topology: listenersTopology }),
);
const hooks = '/repos/acme/widgets/hooks';

const create = async (place = hooks, by = token) =>
  (await call(api, by, 'POST', place, { name: 'cli', active: false })).body as { id: number; ws_url: string };
const refusal = async (options: Parameters<typeof openListener>[0]) => {
  try {
    await using _listener = await openListener(options);
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
  throw new Error('it was let in');
};
const deliver = async (hook: { id: number }) => {
  const body = encodeRequest({ headers: {}, timeoutMs: 20_000, body: Buffer.from('{}') });
  const routingKey = String(hook.id);
  const got = await requester.request({
    exchange: listenersExchange,
    routingKey,
    type: 'delivery',
    body,
    timeoutMs: 30_000,
  });
  return got.kind === 'answer' ? decodeAnswer(got.body) : got;
};

describe('the WebSocket of a hook', () => {
  test('is opened only with a token that may change the hook', async () => {
    const hook = await create();
    const { ws_url: url } = hook;
    expect(await refusal({ url })).toMatchObject({ status: 401 });
    expect(await refusal({ url, token: 'made-up' })).toMatchObject({ status: 401 });
    const others = [
      await api.tokens.user('auth0|alice', 'read:repo_hook'),
      await api.tokens.user('auth0|bob', 'admin:repo_hook'),
      await api.tokens.user('auth0|olga', 'admin:repo_hook'),
    ];
    for (const token of others) {
      const refused = await refusal({ url, token });
      expect(refused.status).toBe(404);
      expect(JSON.parse(refused.body)).toMatchObject({ message: 'Not Found', status: '404' });
    }
    for (const authorization of [token, `Bearer ${token}`, `token ${token}`])
      await using_(await openListener({ url: (await create()).ws_url, token: authorization }));
  });

  test("of an organization's hook is opened only by the application that made it", async () => {
    const app = await api.tokens.app('auth0|alice', 'admin:org_hook', 'their-app');
    const hook = await create('/orgs/acme/hooks', app);
    expect(await refusal({ url: hook.ws_url, token })).toMatchObject({ status: 404 });
    await using_(await openListener({ url: hook.ws_url, token: app }));
  });

  test('is not opened by a page in a browser, for another kind of hook, or without a WebSocket handshake', async () => {
    const { ws_url: url } = await create();
    expect(await refusal({ url, token, headers: { Origin: 'https://example.com' } })).toMatchObject({ status: 403 });
    const { body: web } = await call(api, token, 'POST', hooks, { config: { url: 'https://example.com/x' } });
    const socket = `${api.base.replace('http', 'ws')}${hooks}/${web.id}/socket`;
    expect(await refusal({ url: socket, token })).toMatchObject({ status: 422 });
    const path = new URL(url).pathname;
    expect(await call(api, token, 'GET', path)).toMatchObject({ status: 426 });
    expect(await asked(path, { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '12' })).toBe(426);
    const noKey = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' };
    expect(await asked(path, noKey)).toBe(400);
    // What curl asks for with --http2 is answered as if it had not.
    expect(
      await asked('/meta', { upgrade: 'h2c', connection: 'Upgrade, HTTP2-Settings', 'http2-settings': 'AAMAAABk' }),
    ).toBe(200);
    expect(await asked('/nothing', { upgrade: 'websocket', connection: 'Upgrade' })).toBe(404);
  });

  test('is one of a limited number for each caller', async () => {
    const machine = await api.tokens.machine('m2m', 'admin:repo_hook');
    const all = await Promise.all(Array.from({ length: perCaller + 1 }, () => create('/repos/acme/gadgets/hooks')));
    await using open = new AsyncDisposableStack();
    for (const { ws_url: url } of all.slice(0, perCaller)) open.use(await openListener({ url, token: machine }));
    const { ws_url: url } = all[perCaller]!;
    expect(await refusal({ url, token: machine })).toMatchObject({ status: 429 });
    open.use(await openListener({ url, token }));
  });

  test('is one of a limited number in a process, also while others are being opened', async () => {
    await using small = await openApi({ LISTENERS_MAX: '1' });
    const by = await small.tokens.user('auth0|alice', 'admin:repo_hook');
    const make = async () =>
      (await call(small, by, 'POST', hooks, { name: 'cli' })).body as { id: number; ws_url: string };
    const [first, second] = [await make(), await make()];
    const client = await small.sql.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM listeners WHERE hook_id = $1 FOR UPDATE', [first.id]);
      const opening = openListener({ url: first.ws_url, token: by });
      await until('it waits', async () => {
        const { rowCount } = await small.sql.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rowCount! > 0;
      });
      expect(await refusal({ url: second.ws_url, token: by })).toMatchObject({ status: 503 });
      await client.query('COMMIT');
      await using _first = await opening;
    } finally {
      client.release();
    }
  });

  test.each(['', ',', 'gatepost.v1, gatepost.v1', 'gatepost.v1,', 'gatepost v1'])(
    'is not opened, and counts for nothing, when its listener asks for the protocol %j',
    async (protocol) => {
      const confused = await api.tokens.user('auth0|alice', 'admin:repo_hook', `confused by ${protocol}`);
      const { body: hook } = await call(api, token, 'POST', hooks, { name: 'cli' });
      const asks = { url: hook.ws_url, token: confused, headers: { 'Sec-WebSocket-Protocol': protocol } };
      for (let times = 0; times < perCaller; times++) {
        const refused = await refusal(asks);
        expect(refused.status).toBe(400);
        expect(JSON.parse(refused.body)).toMatchObject({
          message: 'Sec-WebSocket-Protocol is not a list of different names',
        });
      }
      expect((await call(api, token, 'GET', `${hooks}/${hook.id}`)).body.active).toBe(false);
      await using_(await openListener({ url: hook.ws_url, token: confused, protocol: 'gatepost.v1' }));
    },
  );

  test('counts for nothing once its listener has left while it connected', async () => {
    const hasty = await api.tokens.user('auth0|alice', 'admin:repo_hook', 'hasty');
    const { hostname, port, pathname } = new URL((await create()).ws_url);
    const head = [
      `GET ${pathname} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${hasty}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    for (let times = 0; times < perCaller; times++) {
      const socket = connect(Number(port), hostname);
      socket.end(`${head.join('\r\n')}\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1.1 503 /);
    }
    const hook = await create();
    await using _listener = await openListener({ url: hook.ws_url, token: hasty });
    expect(await deliver(hook)).toMatchObject({ status: 200 });
  });

  test('is closed when its token expires, while its hook waits for another socket', async () => {
    const claims = { aud: audience, sub: 'auth0|alice', client_id: 'a', azp: 'a', scope: 'repo', first_party: true };
    const hook = await create();
    const exp = Math.floor(Date.now() / 1000) + 3; // and five seconds more, for clocks that differ
    await using listener = await openListener({ url: hook.ws_url, token: await api.issuer.sign({ ...claims, exp }) });
    expect((await listener.closed).code).toBe(4401);
    await using _again = await openListener({ url: hook.ws_url, token });
    expect(await deliver(hook)).toMatchObject({ status: 200 });
  });

  test('is closed, and its hook deleted, when its listener may no longer manage the hook; not when the repository is renamed', async () => {
    const admin = await api.tokens.user('auth0|alice', 'repo');
    await call(api, admin, 'POST', '/orgs/acme/repos', { name: 'before' });
    const renamed = await create('/repos/acme/before/hooks', admin);
    await using _first = await openListener({ url: renamed.ws_url, token: admin });
    await call(api, admin, 'PATCH', '/repos/acme/before', { name: 'after' });
    await api.sql.query(`INSERT INTO memberships SELECT id, 'auth0|eve', 'admin' FROM accounts WHERE login = 'acme'`);
    const [hook, deleted] = [await create(), await create()];
    const eve = await api.tokens.user('auth0|eve', 'repo');
    await using listener = await openListener({ url: hook.ws_url, token: eve });
    await using other = await openListener({ url: deleted.ws_url, token });
    await api.sql.query(`DELETE FROM memberships WHERE subject = 'auth0|eve'`);
    await call(api, token, 'DELETE', `${hooks}/${deleted.id}`);
    expect((await listener.closed).code).toBe(4403);
    expect((await other.closed).code).toBe(4404);
    expect(await deliver(renamed)).toMatchObject({ status: 200 });
    await until('the hook is gone', async () => (await call(api, token, 'GET', `${hooks}/${hook.id}`)).status === 404);
  });
});

test('a hook with listeners cannot have request headers, which they would read', async () => {
  const headers = { request_headers: { Authorization: 'Bearer of somebody else' } };
  const refused = { status: 422, body: { errors: [{ field: 'request_headers' }] } };
  expect(await call(api, token, 'POST', hooks, { name: 'cli', active: false, ...headers })).toMatchObject(refused);
  const { id } = await create();
  expect(await call(api, token, 'PATCH', `${hooks}/${id}`, headers)).toMatchObject(refused);
  const { request_headers } = headers;
  expect(await call(api, token, 'PATCH', `${hooks}/${id}/config`, { headers: request_headers })).toMatchObject(refused);
  expect(await call(api, token, 'PATCH', `${hooks}/${id}`, { request_headers: {} })).toMatchObject({ status: 200 });
});

test('a request with an Upgrade header and a body is answered like any other', async () => {
  const headers = { upgrade: 'websocket', connection: 'Upgrade', 'content-length': '29' };
  const body = '{"name":"cli","active":false}';
  expect(await asked(hooks, headers, { method: 'POST', body })).toBe(201);
});

describe('the answer of a listener', () => {
  const big = (bytes: number) => Buffer.alloc(bytes, 'x').toString('base64');
  const cases: [string, FrameAnswer, object][] = [
    [
      'a body is kept up to 64 KiB',
      { Status: 200, Body: big(1_000_000) },
      { status: 200, body: Buffer.alloc(65_536, 'x') },
    ],
    ['no status', {}, { kind: 'error', code: 'HPE_INVALID_STATUS' }],
    ['a status that HTTP has not', { Status: 20 }, { kind: 'error', code: 'HPE_INVALID_STATUS' }],
    ['a header with a line break', { Status: 200, Header: { A: ['b\r\nC: d'] } }, { code: 'HPE_INVALID_HEADER_TOKEN' }],
    ['a header that is no name', { Status: 200, Header: { 'a b': ['c'] } }, { code: 'HPE_INVALID_HEADER_TOKEN' }],
    ['headers without end', { Status: 200, Header: { A: [big(20_000)] } }, { code: 'HPE_HEADER_OVERFLOW' }],
    ['a name of JavaScript', '{"Status":200,"Header":{"__proto__":["a"]},"Body":null}', { status: 200 }],
  ];
  test.each(cases)('%s', async (_what, answer, expected) => {
    const hook = await create();
    await using _listener = await openListener({ url: hook.ws_url, token, answer: () => answer });
    expect(await deliver(hook)).toMatchObject(expected);
  });

  test.each([
    ['no JSON', 'Hello', 1007],
    ['JSON of another shape', '[1]', 1007],
    ['more than 4 MiB', JSON.stringify({ Status: 200, Body: big(4_000_000) }), 1009],
  ])('ends its socket if it is %s', async (_what, answer, code) => {
    const hook = await create();
    await using listener = await openListener({ url: hook.ws_url, token, answer: () => answer });
    expect(await deliver(hook)).toMatchObject({ kind: 'error', code: 'ECONNRESET', hadResponse: true });
    expect((await listener.closed).code).toBe(code);
    await until('the hook is gone', async () => (await call(api, token, 'GET', `${hooks}/${hook.id}`)).status === 404);
  });

  test('counts only for a delivery that was sent', async () => {
    const hook = await create();
    await using listener = await openListener({ url: hook.ws_url, token, answer: () => ({ Status: 202 }) });
    for (const text of ['{"Status":500}', '{"Status":501,"Id":"1"}']) listener.send(text);
    expect(await deliver(hook)).toMatchObject({ status: 202 });
  });
});

const using_ = (listener: AsyncDisposable) => listener[Symbol.asyncDispose]();

/** The status of an answer to a request with these headers. */
function asked(
  path: string,
  headers: Record<string, string>,
  { method = 'GET', body = '' } = {},
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(api.base + path, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}`, 'user-agent': 'test' },
    });
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', (error) => reject(new Error(JSON.stringify([path, headers]), { cause: error }))).end(body);
  });
}
