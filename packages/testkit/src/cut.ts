/** Makes a store go away and come back, as its clients see it: a TCP relay in front of the real one. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePorts } from './system.ts';

export type Cuttable = AsyncDisposable & {
  /** The store's URL, leading through the relay. */
  url: string;
  /** Breaks every connection and refuses new ones until `restore`. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Keeps connections, and accepts new ones, but passes nothing on until called with false. */
  hold(on: boolean): void;
  /** Where new connections lead from now on; existing ones stay as they are. */
  lead(storeUrl: string): void;
  /** How many bytes the store has sent. */
  sentBytes(): number;
};

export async function openCuttable(storeUrl: string): Promise<Cuttable> {
  let target = new URL(storeUrl);
  const sockets = new Set<Socket>();
  const pairs = new Set<readonly [from: Socket, to: Socket]>();
  const stores: Socket[] = [];
  let held = false;
  let server: Server | undefined;
  // One that no other test gets while nobody listens on it.
  const [port] = await freePorts(1);

  const relay = (client: Socket) => {
    const store = connect(Number(target.port), target.hostname);
    stores.push(store);
    const join = (from: Socket, to: Socket) => {
      const pair = [from, to] as const;
      sockets.add(from);
      pairs.add(pair);
      from.setNoDelay(true);
      if (!held) from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        pairs.delete(pair);
        to.destroy();
      });
    };
    join(client, store);
    join(store, client);
  };
  const listen = async () => {
    server = createServer(relay).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async () => {
    const closing = server;
    server = undefined;
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => (closing ? closing.close(() => resolve()) : resolve()));
  };

  const hold = (on: boolean) => {
    held = on;
    for (const [from, to] of pairs) {
      if (on) from.unpipe(to);
      else from.pipe(to);
    }
  };

  await listen();
  const { href: url } = Object.assign(new URL(storeUrl), { hostname: '127.0.0.1', port: String(port) });
  return {
    url,
    cut,
    restore: listen,
    hold,
    lead(otherUrl) {
      target = new URL(otherUrl);
    },
    sentBytes: () => stores.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    [Symbol.asyncDispose]: cut,
  };
}
