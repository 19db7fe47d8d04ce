import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { makeGuard } from '@gatepost/runtime/address';
import { type Certificates, makeCertificates } from '@gatepost/testkit/certificates';
import { type Behaviour, openReceiver } from '@gatepost/testkit/receiver';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { classify, codeOf } from '../src/delivering/classify.ts';
import { makePost, type Post } from '../src/delivering/post.ts';
import type { DeliveryRequest } from '../src/delivering/request.ts';

const lookupsAtOnce = 12;

// Names of this test only; none leaves the machine.
const names: Record<string, { address: string; family: number }[]> = {
  'receiver.test': [{ address: '127.0.0.2', family: 4 }],
  'both.test': [
    { address: '127.0.0.2', family: 4 },
    { address: '127.0.0.3', family: 4 },
  ],
  'mapped.test': [{ address: '::ffff:127.0.0.3', family: 6 }],
};
const resolve = ((name: string, _options: object, callback: (...args: unknown[]) => void) => {
  const found = names[name];
  if (found) return setImmediate(callback, null, found);
  setImmediate(callback, Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
}) as unknown as typeof import('node:dns').lookup;

/** Listens, and accepts nothing until it is told to. */
const fullReceiver = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:http').createServer((_request, response) => response.end());
  server.listen({ port: 0, host: '127.0.0.2', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(workerData, 0, 0);
  });`;

// Only what is to time out gets little time.
const patientMs = 60_000;
const impatientMs = 1_000;

describe('outcomes', () => {
  let certificates: Certificates;
  let post: Post;
  let impatient: Post;
  const body = Buffer.from('{}');
  const request = (url: string, more: Partial<DeliveryRequest> = {}): DeliveryRequest => ({
    accountId: 1,
    target: new URL(url),
    insecureSsl: false,
    headers: { 'Content-Type': 'application/json' },
    loggedHeaders: {},
    body,
    ...more,
  });
  const outcomeOf = async (url: string, more: Partial<DeliveryRequest> = {}, by = post) => {
    const attempt = await by(request(url, more));
    const outcome = classify(attempt);
    return { attempt, status: outcome?.status, code: outcome?.statusCode, error: outcome?.error };
  };

  beforeAll(() => {
    certificates = makeCertificates();
    const open = (timeoutMs: number) =>
      makePost({
        timeoutMs,
        guard: makeGuard(['127.0.0.2/32'], resolve),
        lookupsAtOnce,
        extraRoots: certificates.root,
      });
    post = open(patientMs);
    impatient = open(impatientMs);
  });
  afterAll(() => {
    post[Symbol.dispose]();
    impatient[Symbol.dispose]();
    certificates[Symbol.dispose]();
  });

  const network = { status: 'Failed to connect to network', code: 502 };
  const timedOut = { status: 'Timed out', code: 504 };
  const notHttp = { status: 'Invalid HTTP response', code: 502 };
  test.each<[string, Behaviour, object]>([
    ['200', {}, { status: 'OK', code: 200, error: null }],
    ['204', { status: 204 }, { status: 'OK', code: 204, error: null }],
    ['299', { status: 299 }, { status: 'OK', code: 299 }],
    [
      'a redirect, which is not followed',
      { status: 302, headers: { location: '/x' } },
      { status: 'Invalid HTTP response', code: 302 },
    ],
    ['304', { status: 304 }, { status: 'Invalid HTTP response', code: 304 }],
    ['404', { status: 404 }, { status: 'Invalid HTTP response', code: 404, error: 'HTTP 404' }],
    ['500', { status: 500 }, { status: 'Invalid HTTP response', code: 500 }],
    ['101', { fault: 'switch_protocols' }, { status: 'Invalid HTTP response', code: 101 }],
    ['no answer', { fault: 'hang' }, timedOut],
    ['a head and then nothing', { fault: 'hang_after_head' }, timedOut],
    ['a body without end, byte by byte', { fault: 'drip' }, timedOut],
    ['103 after 103', { fault: 'informational_flood' }, timedOut],
    ['a close before the answer', { fault: 'close' }, network],
    ['a reset before the answer', { fault: 'reset' }, { ...network, error: 'ECONNRESET' }],
    ['a close within the body', { fault: 'close_in_body' }, notHttp],
    ['something that is not HTTP', { raw: 'SSH-2.0-OpenSSH_9.2\r\n' }, { ...notHttp, error: 'HPE_INVALID_CONSTANT' }],
    ['a head that is too large', { headers: { 'x-large': 'x'.repeat(20_000) } }, notHttp],
  ])('%s', async (_name, behave, expected) => {
    await using receiver = await openReceiver({ behave });
    const by = expected === timedOut ? impatient : post;
    expect(await outcomeOf(receiver.url, {}, by)).toMatchObject(expected);
    expect(receiver.received).toHaveLength(1);
  });

  test('a refused connection is recorded as a failure to connect', async () => {
    const receiver = await openReceiver();
    await receiver[Symbol.asyncDispose]();
    expect(await outcomeOf(receiver.url)).toMatchObject({ ...network, error: 'ECONNREFUSED' });
  });

  test('an unknown host name is recorded as a failure to connect', async () => {
    expect(await outcomeOf('http://nowhere.test/')).toMatchObject({
      status: 'Failed to connect to host',
      code: 502,
      error: 'ENOTFOUND',
    });
  });

  // As Node and got make them; a machine without IPv6 answers every connection to such an address with this.
  test('an IPv6 address on a machine without IPv6 is a receiver that cannot be reached; without local ports, the fault is ours', () => {
    const none = (address: string) => Object.assign(new Error('connect'), { code: 'EADDRNOTAVAIL', address });
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', address: '192.0.2.1' });
    const by = (cause: Error & { code?: string }) =>
      Object.assign(new Error('by got', { cause }), { code: cause.code! });
    const several = (...errors: Error[]) => by(Object.assign(new AggregateError(errors), { code: 'EADDRNOTAVAIL' }));
    expect(codeOf(by(none('2001:db8::1')))).toBe('ENETUNREACH');
    expect(codeOf(several(none('2001:db8::1'), none('2001:db8::2')))).toBe('ENETUNREACH');
    expect(codeOf(several(none('2001:db8::1'), refused))).toBe('ECONNREFUSED');
    expect(codeOf(several(none('2001:db8::1'), none('192.0.2.1')))).toBe('EADDRNOTAVAIL');
    expect(codeOf(by(none('192.0.2.1')))).toBe('EADDRNOTAVAIL');
  });

  test.each([
    'http://127.0.0.3:PORT/',
    'http://127.1.2.3:PORT/',
    'http://2130706435:PORT/',
    'http://[::ffff:127.0.0.3]:PORT/',
    'http://[::1]:PORT/',
    'http://both.test:PORT/',
    'http://mapped.test:PORT/',
    'http://0.0.0.0:PORT/',
  ])('a hook at %s is refused without a connection', async (url) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    // On every address of the machine, so that a guard that fails is seen to.
    await new Promise<void>((resolve) => server.listen(0, '::', resolve));
    const { port } = server.address() as { port: number };
    expect(await outcomeOf(url.replace('PORT', String(port)))).toMatchObject({
      status: 'Failed to connect to host',
      code: 502,
      error: 'EBLOCKED',
    });
    await new Promise((resolve) => server.close(resolve));
    expect(connections).toBe(0);
  });

  test('an allowed host name is resolved, and the phases of the delivery are timed', async () => {
    await using receiver = await openReceiver();
    const url = `http://receiver.test:${receiver.port}/`;
    const first = await outcomeOf(url);
    expect(first.status).toBe('OK');
    expect(first.attempt.timings).toMatchObject({ dns: expect.any(Number), connect: expect.any(Number), tls: null });
    const second = await outcomeOf(url);
    expect(second.attempt.timings).toMatchObject({ dns: null, connect: null });
    expect(receiver.connections()).toBe(1);
  });

  test('while the name servers of one account’s hooks are silent, another account’s deliveries are made', async () => {
    // Looks up sixteen names at once, as libuv does; silent ones until the end of the test.
    const { promise: atEnd, resolve: end } = Promise.withResolvers<void>();
    let free = 16;
    const queue: (() => void)[] = [];
    const asLibuv = ((name: string, options: object, callback: (...args: unknown[]) => void) => {
      const look = async () => {
        free -= 1;
        if (name.startsWith('silent')) await atEnd;
        free += 1;
        resolve(name, options, callback as never);
        queue.shift()?.();
      };
      if (free > 0) void look();
      else queue.push(look);
    }) as unknown as typeof import('node:dns').lookup;
    await using receiver = await openReceiver();
    using one = makePost({ timeoutMs: patientMs, guard: makeGuard(['127.0.0.2/32'], asLibuv), lookupsAtOnce });
    const silent = Array.from({ length: 20 }, (_, hook) => outcomeOf(`http://silent${hook}.test/`, {}, one));
    const other = await outcomeOf(`http://receiver.test:${receiver.port}/`, { accountId: 2 }, one);
    expect(other).toMatchObject({ status: 'OK' });
    end();
    for (const outcome of await Promise.all(silent)) expect(outcome).toMatchObject({ error: 'ENOTFOUND' });
  });

  test('a name that is not looked up in time is told apart from a receiver that does not answer', async () => {
    const never = (() => {}) as unknown as typeof import('node:dns').lookup;
    const guard = makeGuard(['127.0.0.2/32'], never);
    using post = makePost({ timeoutMs: impatientMs, guard, lookupsAtOnce });
    for (const scheme of ['http', 'https'])
      expect(await outcomeOf(`${scheme}://silent.test/`, {}, post)).toMatchObject({
        ...timedOut,
        error: 'no complete response, while looking up the name',
      });
  });

  test('a receiver that is slow to accept a connection gets the delivery, though its other address cannot be reached', async () => {
    // Full: it accepts a connection only when the system asks again, a second later.
    const opened = new Int32Array(new SharedArrayBuffer(4));
    const receiver = new Worker(fullReceiver, { eval: true, workerData: opened });
    const [port] = await once(receiver, 'message');
    const waiting = [connect(port, '127.0.0.2'), connect(port, '127.0.0.2')];
    await Promise.all(waiting.map((socket) => once(socket, 'connect')));
    const dual = ((_name: string, _options: object, callback: (...args: unknown[]) => void) => {
      callback(null, [
        { address: '127.0.0.2', family: 4 },
        { address: '::1', family: 6 },
      ]);
      setImmediate(() => {
        Atomics.store(opened, 0, 1);
        Atomics.notify(opened, 0);
      });
    }) as unknown as typeof import('node:dns').lookup;
    const guard = makeGuard(['127.0.0.2/32', '::1/128'], dual);
    using far = makePost({ timeoutMs: patientMs, guard, lookupsAtOnce });
    expect(await outcomeOf(`http://dual.test:${port}/`, {}, far)).toMatchObject({ status: 'OK' });
    for (const socket of waiting) socket.destroy();
    await receiver.terminate();
  });

  test('an idle connection that the receiver has closed is not counted as its failure', async () => {
    await using receiver = await openReceiver({ behave: (_request, index) => (index === 1 ? { fault: 'reset' } : {}) });
    expect((await outcomeOf(receiver.url)).status).toBe('OK');
    expect((await outcomeOf(receiver.url)).status).toBe('OK');
    expect(receiver.received).toHaveLength(3);
    expect(receiver.connections()).toBe(2);
  });

  test('a response is kept as it came, up to 64 KiB', async () => {
    const large = Buffer.alloc(10_000_000, 'a');
    await using receiver = await openReceiver({
      behave: { body: large, headers: { 'content-encoding': 'gzip', 'set-cookie': ['a=1', 'b=2'] } },
    });
    const { attempt, status } = await outcomeOf(receiver.url);
    expect(status).toBe('OK');
    expect(attempt).toMatchObject({ kind: 'response', headers: { 'set-cookie': 'a=1, b=2' } });
    expect(attempt.kind === 'response' && attempt.body.length).toBe(65_536);
  });

  describe('certificates', () => {
    const certificate = { status: 'Peer certificate cannot be authenticated with given CA certificates', code: 502 };
    const at = async (tls: { key: string; cert: string }, host: string, insecureSsl = false) => {
      await using receiver = await openReceiver({ tls });
      return await outcomeOf(`https://${host}:${receiver.port}/`, { insecureSsl });
    };

    test('a valid certificate is accepted', async () => {
      const good = await at(certificates.issue({ name: 'receiver.test' }), 'receiver.test');
      expect(good).toMatchObject({ status: 'OK' });
      expect(good.attempt.timings.tls).toEqual(expect.any(Number));
      expect(await at(certificates.issue({ name: '127.0.0.2' }), '127.0.0.2')).toMatchObject({ status: 'OK' });
    });
    test('a self-signed certificate is accepted only with insecure_ssl', async () => {
      const tls = certificates.selfSigned('receiver.test');
      expect(await at(tls, 'receiver.test')).toMatchObject({ ...certificate, error: 'self-signed certificate' });
      expect(await at(tls, 'receiver.test', true)).toMatchObject({ status: 'OK' });
      expect(await at(tls, 'receiver.test')).toMatchObject(certificate);
    });
    test('an incomplete certificate chain is refused', async () => {
      const tls = certificates.issue({ name: 'receiver.test', chain: false });
      const error = 'unable to verify the first certificate';
      expect(await at(tls, 'receiver.test')).toMatchObject({ ...certificate, error });
    });
    test('an expired certificate is refused', async () => {
      const tls = certificates.issue({ name: 'receiver.test', expired: true });
      expect(await at(tls, 'receiver.test')).toMatchObject({ ...certificate, error: 'certificate has expired' });
    });
    test('a certificate of another host is refused', async () => {
      expect(await at(certificates.issue({ name: 'other.test' }), 'receiver.test')).toMatchObject(certificate);
    });
    test('a receiver that does not speak TLS is refused', async () => {
      await using receiver = await openReceiver();
      expect(await outcomeOf(`https://receiver.test:${receiver.port}/`)).toMatchObject(network);
    });
    test('a receiver that never finishes the TLS handshake times out', async () => {
      const server = createServer((socket) => void socket.resume().on('error', () => {}));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
      const { port } = server.address() as { port: number };
      expect(await outcomeOf(`https://receiver.test:${port}/`, {}, impatient)).toMatchObject({
        ...timedOut,
        error: expect.stringContaining('connecting'),
      });
      await new Promise((resolve) => server.close(resolve));
    });
  });
});
