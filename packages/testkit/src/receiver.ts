/** A receiver of webhooks that records what it gets and misbehaves when told to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export type Received = {
  method: string;
  /** Path with query. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** Names and values in turn, as on the wire. */
  rawHeaders: string[];
  body: Buffer;
  /** When the body was complete, ms since 1970. */
  at: number;
};

/** How the receiver handles a request; by default with a prompt, empty 200. */
export type Behaviour = {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Waits before it answers. */
  delayMs?: number;
  /** Answers once this has resolved. */
  after?: Promise<void>;
  fault?:
    | 'hang' // never answers
    | 'hang_after_head' // sends the head, then nothing
    | 'drip' // sends a byte of the body every 50 ms, for ever
    | 'close' // closes without an answer
    | 'close_in_body' // promises 1000 bytes, sends 10, closes
    | 'reset' // resets the connection
    | 'informational_flood' // 103 after 103, for ever
    | 'switch_protocols'; // 101
  /** Written to the socket unchanged; the socket then ends. */
  raw?: string;
};

export type Receiver = AsyncDisposable & {
  /** Where it listens, such as `http://127.0.0.2:40123`. */
  url: string;
  port: number;
  received: Received[];
  /** TCP connections accepted so far. */
  connections(): number;
  /** Changes its behaviour from now on. */
  behave(behaviour: Behaviour | ((request: Received, index: number) => Behaviour)): void;
};

/** Listens on `host` (127.0.0.2, which a test's guard allows), with TLS if a certificate is given. */
export async function openReceiver(
  options: {
    host?: string;
    port?: number;
    tls?: { key: string; cert: string };
    behave?: Behaviour | ((request: Received, index: number) => Behaviour);
  } = {},
): Promise<Receiver> {
  const host = options.host ?? '127.0.0.2';
  const received: Received[] = [];
  let behave = options.behave ?? {};
  let connections = 0;
  const sockets = new Set<Socket>();

  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // the sender gave up
    }
    const entry: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks),
      at: Date.now(),
    };
    const index = received.push(entry) - 1;
    answer(response, typeof behave === 'function' ? behave(entry, index) : behave);
  };
  const server = options.tls ? createTlsServer(options.tls, onRequest) : createServer(onRequest);
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // senders may give up at any time
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${options.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    received,
    connections: () => connections,
    behave(behaviour) {
      behave = behaviour;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(response: ServerResponse, behaviour: Behaviour): void {
  if (behaviour.delayMs) {
    setTimeout(() => answer(response, { ...behaviour, delayMs: 0 }), behaviour.delayMs).unref();
    return;
  }
  if (behaviour.after) {
    const { after, ...then } = behaviour;
    void after.then(() => answer(response, then));
    return;
  }
  const { socket } = response;
  if (behaviour.raw !== undefined) return void socket?.end(behaviour.raw);
  switch (behaviour.fault) {
    case 'hang':
      return;
    case 'hang_after_head':
      return void response.writeHead(200, { 'content-length': '100' }).write('0123456789');
    case 'drip': {
      response.writeHead(200).flushHeaders();
      repeat(response, () => response.write('.'));
      return;
    }
    case 'close':
      return void socket?.end();
    case 'close_in_body':
      return void socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n0123456789');
    case 'reset':
      return void socket?.resetAndDestroy();
    case 'informational_flood':
      repeat(response, () => socket?.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'));
      return;
    case 'switch_protocols':
      return void socket?.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n');
    case undefined:
      response.writeHead(behaviour.status ?? 200, behaviour.headers).end(behaviour.body);
  }
}

function repeat(response: ServerResponse, write: () => void): void {
  const timer = setInterval(write, 50);
  response.once('close', () => clearInterval(timer));
}
