import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { makeGuard } from '@gatepost/runtime/address';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { openReceiver } from '@gatepost/testkit/receiver';
import { expect, test } from '@jest/globals';
import { classify } from '../src/classify.ts';
import { makePost } from '../src/post.ts';

/** A forward proxy that knows one name, `receiver.test`, and notes what it was asked for. */
async function openProxy() {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming: IncomingMessage, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    const { port, pathname } = new URL(incoming.url ?? '');
    const onward = request({
      host: '127.0.0.2',
      port,
      path: pathname,
      method: incoming.method,
      headers: incoming.headers,
    });
    onward.on('response', (response) => response.pipe(outgoing.writeHead(response.statusCode ?? 502)));
    incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    asked.push(`CONNECT ${incoming.url}`);
    const onward = connect(Number(incoming.url?.split(':')[1]), '127.0.0.2', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(client).pipe(onward);
    });
    onward.on('error', () => client.destroy());
    client.on('error', () => onward.destroy());
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('deliveries leave through the proxy, in the clear and with TLS, and literal private addresses are refused all the same', async () => {
  using certificates = makeCertificates();
  await using proxy = await openProxy();
  await using plain = await openReceiver();
  await using secure = await openReceiver({ tls: certificates.issue({ name: 'receiver.test' }) });
  using post = makePost({ timeoutMs: 2_000, guard: makeGuard([]), extraRoots: certificates.root, proxyUrl: proxy.url });
  const outcomeOf = async (url: string) =>
    classify(
      await post({
        target: new URL(url),
        insecureSsl: false,
        headers: { 'Content-Type': 'application/json' },
        loggedHeaders: {},
        body: Buffer.from('{}'),
      }),
    );
  expect(await outcomeOf(`http://receiver.test:${plain.port}/a`)).toMatchObject({ status: 'OK' });
  expect(await outcomeOf(`https://receiver.test:${secure.port}/b`)).toMatchObject({ status: 'OK' });
  expect(await outcomeOf(`http://127.0.0.2:${plain.port}/c`)).toMatchObject({ error: 'EBLOCKED' });
  expect(proxy.asked).toEqual([`POST http://receiver.test:${plain.port}/a`, `CONNECT receiver.test:${secure.port}`]);
  expect(plain.received.map((one) => one.body.toString())).toEqual(['{}']);
  expect(secure.received.map((one) => one.path)).toEqual(['/b']);
});
