/** A TCP relay in front of a store, for relays that understand the traffic. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Relay = AsyncDisposable & {
  /** The store's URL, leading through the relay. */
  url: string;
  /** Breaks all connections; new ones are accepted. */
  cut(): void;
};

/** `link` joins the two ends of each new connection. */
export async function openRelay(storeUrl: string, link: (client: Socket, server: Socket) => void): Promise<Relay> {
  const target = new URL(storeUrl);
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => {}); // 'close' follows
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    link(client, server);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(0, '127.0.0.1', resolve);
  });
  const url = new URL(storeUrl);
  url.hostname = '127.0.0.1';
  url.port = String((listener.address() as AddressInfo).port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => listener.close(resolve));
      cut();
      await closed;
    },
  };
}

/** A whole message of a protocol, as on the wire. */
export type Framed = { type: string; bytes: Buffer };

/** Makes a function that takes incoming bytes and answers with the messages completed by them. */
export function makeFrames(next: (bytes: Buffer) => Framed | undefined): (chunk: Buffer) => Framed[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const frames: Framed[] = [];
    for (let frame = next(rest); frame; frame = next(rest)) {
      frames.push(frame);
      rest = rest.subarray(frame.bytes.length);
      if (rest.length === 0) break;
    }
    return frames;
  };
}
