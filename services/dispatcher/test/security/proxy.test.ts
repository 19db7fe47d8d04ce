/** Deliveries through a forward proxy: the guard holds as it does without one. */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { makeGuard } from '@gatepost/runtime/address';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { openReceiver } from '@gatepost/testkit/receiver';
import { expect, test } from '@jest/globals';
import { classify } from '../../src/delivering/classify.ts';
import { makePost, type Post } from '../../src/delivering/post.ts';

/** A forward proxy that connects wherever it is asked to, and notes where. */
async function openProxy(answer?: (incoming: IncomingMessage, client: Socket) => boolean) {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    outgoing.writeHead(405).end();
  });
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    asked.push(`CONNECT ${incoming.url}`);
    authorizations.push(incoming.headers['proxy-authorization']);
    client.on('error', () => {});
    if (answer?.(incoming, client)) return;
    const { hostname, port } = new URL(`http://${incoming.url}`);
    const onward = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(client).pipe(onward);
    });
    onward.on('error', () => client.destroy());
    client.on('error', () => onward.destroy());
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    asked,
    authorizations,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Names of the test; what has none here is not known. */
const names: Record<string, string[]> = {
  'receiver.test': ['127.0.0.2'],
  'inside.test': ['127.0.0.3'],
  'mixed.test': ['127.0.0.2', '10.0.0.1'],
  'two.test': ['127.0.0.4', '127.0.0.2'],
};
const resolve = ((name: string, _options: unknown, callback: (error: Error | null, found?: unknown) => void) => {
  const found = names[name];
  if (!found) return callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }));
  callback(
    null,
    found.map((address) => ({ address, family: 4 })),
  );
}) as never;
const guard = makeGuard(['127.0.0.2/32', '127.0.0.4/32'], resolve);
const lookupsAtOnce = 12;

async function attemptAt(post: Post, url: string, insecureSsl = false) {
  const target = new URL(url);
  const headers = { 'Content-Type': 'application/json', Host: target.host };
  return post({ accountId: 1, target, insecureSsl, headers, loggedHeaders: {}, body: Buffer.from('{}') });
}
const outcomeOf = async (...attempt: Parameters<typeof attemptAt>) => classify(await attemptAt(...attempt));

test('deliveries go through the proxy to the address that was checked, and keep the host name for TLS and the receiver', async () => {
  using certificates = makeCertificates();
  await using proxy = await openProxy();
  await using plain = await openReceiver();
  await using secure = await openReceiver({ tls: certificates.issue({ name: 'receiver.test' }) });
  using post = makePost({
    timeoutMs: 60_000,
    guard,
    lookupsAtOnce,
    extraRoots: certificates.root,
    proxyUrl: proxy.url,
  });
  expect(await outcomeOf(post, `http://receiver.test:${plain.port}/a?b`)).toMatchObject({ status: 'OK' });
  expect(await outcomeOf(post, `https://receiver.test:${secure.port}/b`)).toMatchObject({ status: 'OK' });
  expect(await outcomeOf(post, `http://127.0.0.2:${plain.port}/c`)).toMatchObject({ status: 'OK' });
  // Another connection for the name, though the address is the same; the kept one for what came before.
  expect(await outcomeOf(post, `http://receiver.test:${plain.port}/d`)).toMatchObject({ status: 'OK' });
  expect(proxy.asked).toEqual([
    `CONNECT 127.0.0.2:${plain.port}`,
    `CONNECT 127.0.0.2:${secure.port}`,
    `CONNECT 127.0.0.2:${plain.port}`,
  ]);
  expect(plain.received.map(({ path, headers, body }) => [path, headers.host, body.toString()])).toEqual([
    ['/a?b', `receiver.test:${plain.port}`, '{}'],
    ['/c', `127.0.0.2:${plain.port}`, '{}'],
    ['/d', `receiver.test:${plain.port}`, '{}'],
  ]);
  expect(secure.received.map((one) => one.path)).toEqual(['/b']);
  expect(proxy.authorizations).toEqual([undefined, undefined, undefined]);
});

test('behind the proxy the receiver’s certificate must match its name, unless the hook has insecure_ssl', async () => {
  using certificates = makeCertificates();
  await using proxy = await openProxy();
  await using other = await openReceiver({ tls: certificates.issue({ name: 'other.test' }) });
  using post = makePost({
    timeoutMs: 60_000,
    guard,
    lookupsAtOnce,
    extraRoots: certificates.root,
    proxyUrl: proxy.url,
  });
  const url = `https://receiver.test:${other.port}/`;
  expect(await outcomeOf(post, url)).toMatchObject({ reason: 'certificate' });
  expect(other.received).toEqual([]);
  expect(await outcomeOf(post, url, true)).toMatchObject({ status: 'OK' });
});

test.each([
  ['http://127.0.0.3:1/', 'EBLOCKED'],
  ['http://[::ffff:127.0.0.3]:1/', 'EBLOCKED'],
  ['http://inside.test:1/', 'EBLOCKED'],
  ['https://inside.test:1/', 'EBLOCKED'],
  ['https://mixed.test:1/', 'EBLOCKED'],
  ['http://unknown.test:1/', 'ENOTFOUND'],
])('the proxy is never asked for the internal address %s', async (url, error) => {
  await using proxy = await openProxy();
  using post = makePost({ timeoutMs: 60_000, guard, lookupsAtOnce, proxyUrl: proxy.url });
  expect(await outcomeOf(post, url)).toMatchObject({ status: 'Failed to connect to host', error });
  expect(proxy.asked).toEqual([]);
});

test('a proxy that cannot reach one address is asked for the next, with the credentials of its URL', async () => {
  await using receiver = await openReceiver();
  await using proxy = await openProxy((incoming, client) => {
    const refuses = incoming.url?.startsWith('127.0.0.4') ?? false;
    if (refuses) client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
    return refuses;
  });
  using post = makePost({ timeoutMs: 60_000, guard, lookupsAtOnce, proxyUrl: `http://us%40er:p%3Aw@${proxy.host}` });
  expect(await outcomeOf(post, `http://two.test:${receiver.port}/`)).toMatchObject({ status: 'OK' });
  expect(proxy.asked).toEqual([`CONNECT 127.0.0.4:${receiver.port}`, `CONNECT 127.0.0.2:${receiver.port}`]);
  expect(proxy.authorizations[0]).toBe(`Basic ${Buffer.from('us@er:p:w').toString('base64')}`);
});

test('behind the proxy the phases of a delivery are timed', async () => {
  using certificates = makeCertificates();
  await using proxy = await openProxy();
  await using plain = await openReceiver();
  await using secure = await openReceiver({ tls: certificates.issue({ name: 'receiver.test' }) });
  using post = makePost({
    timeoutMs: 60_000,
    guard,
    lookupsAtOnce,
    extraRoots: certificates.root,
    proxyUrl: proxy.url,
  });
  const timingsAt = async (url: string) => (await attemptAt(post, url)).timings;
  const taken = expect.any(Number);
  const reused = { dns: null, connect: null, tls: null, first_byte: taken };
  for (const [url, tls] of [
    [`http://receiver.test:${plain.port}/`, null],
    [`https://receiver.test:${secure.port}/`, taken],
  ] as const) {
    expect(await timingsAt(url)).toMatchObject({ dns: taken, connect: taken, tls, first_byte: taken });
    expect(await timingsAt(url)).toMatchObject(reused);
  }
});

test('a receiver behind the proxy that does not answer is told apart from one that cannot be reached', async () => {
  using certificates = makeCertificates();
  await using proxy = await openProxy();
  const hang = { fault: 'hang' } as const;
  await using plain = await openReceiver({ behave: hang });
  await using secure = await openReceiver({ behave: hang, tls: certificates.issue({ name: 'receiver.test' }) });
  using post = makePost({
    timeoutMs: 1_000,
    guard,
    lookupsAtOnce,
    extraRoots: certificates.root,
    proxyUrl: proxy.url,
  });
  for (const url of [`http://receiver.test:${plain.port}/`, `https://receiver.test:${secure.port}/`])
    expect(await outcomeOf(post, url)).toMatchObject({ error: 'no complete response, while waiting for the head' });
  expect([plain.received.length, secure.received.length]).toEqual([1, 1]);
});

test('a name that is not looked up in time is told apart behind the proxy, too', async () => {
  await using proxy = await openProxy();
  const silent = makeGuard([], (() => {}) as never);
  using post = makePost({ timeoutMs: 300, guard: silent, lookupsAtOnce, proxyUrl: proxy.url });
  for (const scheme of ['http', 'https'])
    expect(await outcomeOf(post, `${scheme}://silent.test/`)).toMatchObject({
      status: 'Timed out',
      error: 'no complete response, while looking up the name',
    });
  expect(proxy.asked).toEqual([]);
});

test('a proxy that refuses, is away or never answers fails that delivery only', async () => {
  await using refusing = await openProxy((_incoming, client) => {
    client.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    return true;
  });
  await using hanging = await openProxy(() => true);
  for (const [proxyUrl, timeoutMs, expected] of [
    [refusing.url, 60_000, { status: 'Failed to connect to network', error: 'ERR_PROXY_TUNNEL' }],
    ['http://127.0.0.1:1', 60_000, { status: 'Failed to connect to network', error: 'ECONNREFUSED' }],
    [hanging.url, 300, { status: 'Timed out', error: 'no complete response, while connecting' }],
  ] as const)
    for (const scheme of ['http', 'https']) {
      using post = makePost({ timeoutMs, guard, lookupsAtOnce, proxyUrl });
      expect(await outcomeOf(post, `${scheme}://receiver.test:1/`)).toMatchObject(expected);
    }
});
