/** Sits between a client and PostgreSQL and counts the passing statements, by the client's messages (PostgreSQL, ch. 54.7). */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export type StatementCounter = AsyncDisposable & {
  /** The database's URL through the counter. */
  url: string;
  /** The statements since the last call, by their text, including `BEGIN` and `COMMIT`; resets the count. */
  take(): Map<string, number>;
};

export async function openStatementCounter(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl);
  let counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {}); // the other end notices by the close
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    const read = makeMessageReader((text) => counts.set(text, (counts.get(text) ?? 0) + 1));
    client.on('data', read);
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port); // it listens on TCP
  return {
    url: url.href,
    take() {
      const taken = counts;
      counts = new Map();
      return taken;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Calls `onStatement` with the text of every simple query and of every execution of a prepared one. */
function makeMessageReader(onStatement: (text: string) => void): (chunk: Buffer) => void {
  const prepared = new Map<string, string>();
  const portals = new Map<string, string>();
  let rest = Buffer.alloc(0);
  let started = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      // The first message, the start-up, has no type.
      const typeLength = started ? 1 : 0;
      if (rest.length < typeLength + 4) return;
      const end = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < end) return;
      const type = started ? String.fromCharCode(rest[0]!) : '';
      const [first = '', second = ''] = rest.toString('utf8', typeLength + 4, end).split('\0');
      if (type === 'Q') onStatement(first);
      else if (type === 'P') prepared.set(first, second);
      else if (type === 'B') portals.set(first, prepared.get(second) ?? second);
      else if (type === 'E') onStatement(portals.get(first) ?? first);
      started = true;
      rest = rest.subarray(end);
    }
  };
}
