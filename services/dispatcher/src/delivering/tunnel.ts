/**
 * Connections through a forward proxy (DELIVERY_PROXY_URL). The guard applies here too: we resolve and check the name ourselves and ask the
 * proxy for the checked address, never for the name, which it might resolve differently. TLS and the Host header keep the name. Plain HTTP
 * therefore also uses CONNECT: a proxy replaces a request's Host header by the host it was asked for (RFC 9112 section 3.2.2).
 */
import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent, request as httpRequest } from 'node:http';
import {
  Agent as HttpsAgent,
  type AgentOptions as HttpsAgentOptions,
  request as httpsRequest,
  type RequestOptions,
} from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Guard } from '@gatepost/runtime/address';
import { decoded } from '@gatepost/runtime/urls';
import type { Clock } from './clock.ts';

/** What an agent is asked to connect to, and the clock of the request that asks. */
type Target<Args extends ClientRequestArgs> = Args & { lookup: LookupFunction; clock: Clock };

/** Opens a connection to the host, a name or an address. @throws Blocked, a resolver error, or `ProxyRefused` */
export type OpenTunnel = (target: Target<ClientRequestArgs>, defaultPort: number) => Promise<Socket>;

/** The proxy did not make the connection. */
class ProxyRefused extends Error {
  override name = 'ProxyRefused';
  readonly code = 'ERR_PROXY_TUNNEL';
}

/** How many of a name's addresses are tried. */
const addressesMax = 4;

export function makeOpenTunnel(options: { proxyUrl: string; guard: Guard; timeoutMs: number }): OpenTunnel {
  const { guard, timeoutMs } = options;
  const proxy = new URL(options.proxyUrl);
  return async ({ host, port: given, lookup, clock }, defaultPort) => {
    const port = Number(given || defaultPort);
    clock.socket = performance.now();
    const addresses = await checkedAddresses(guard, String(host), lookup);
    clock.resolved = performance.now();
    let refused: ProxyRefused | undefined;
    for (const address of addresses.slice(0, addressesMax)) {
      try {
        const authority = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
        const socket = await connectThrough(proxy, authority, timeoutMs);
        clock.connected = performance.now();
        return socket;
      } catch (error) {
        if (!(error instanceof ProxyRefused)) throw error;
        refused = error; // the proxy may have no route to this address, but one to the next
      }
    }
    throw refused;
  };
}

function checkedAddresses(guard: Guard, host: string, lookup: LookupFunction): Promise<string[]> {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    guard.checkLiteral(name);
    if (isIP(name) !== 0) return resolve([name]);
    lookup(name, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve((found as { address: string }[]).map(({ address }) => address));
    });
  });
}

function connectThrough(proxy: URL, authority: string, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { username, password } = proxy;
  const credentials = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  const request = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
    method: 'CONNECT',
    host: proxy.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    path: authority,
    headers: { Host: authority, ...(username || password ? { 'Proxy-Authorization': `Basic ${credentials}` } : {}) },
    agent: false,
  });
  const late = Object.assign(new Error('the proxy does not answer'), { code: 'ETIMEDOUT' });
  const timer = setTimeout(() => request.destroy(late), timeoutMs);
  request.on('connect', ({ statusCode = 0 }, socket, head) => {
    clearTimeout(timer);
    if (statusCode >= 200 && statusCode <= 299) {
      if (head.length > 0) socket.unshift(head);
      return resolve(socket as Socket);
    }
    socket.destroy();
    reject(new ProxyRefused(`the proxy answered ${statusCode}`));
  });
  request.on('error', (error) => {
    clearTimeout(timer);
    reject(error);
  });
  request.end();
  return promise;
}

type Created = (error: Error | null, stream: Duplex) => void;

/** For `http:` receivers. */
export class TunnelAgent extends HttpAgent {
  readonly #open: OpenTunnel;
  constructor(options: AgentOptions, open: OpenTunnel) {
    super(options);
    this.#open = open;
  }
  override createConnection(target: Target<ClientRequestArgs>, created?: Created): undefined {
    this.#open(target, 80).then(
      (socket) => created?.(null, socket),
      (error) => created?.(error, undefined as never), // there is no socket, whatever the types say
    );
  }
}

/** For `https:` receivers: the tunnel carries TLS with the receiver itself. */
export class SecureTunnelAgent extends HttpsAgent {
  readonly #open: OpenTunnel;
  constructor(options: HttpsAgentOptions, open: OpenTunnel) {
    super(options);
    this.#open = open;
  }
  override createConnection(target: Target<RequestOptions>, created?: Created): undefined {
    this.#open(target, 443).then(
      (socket) => {
        const secure = super.createConnection({ ...target, socket } as RequestOptions)!;
        secure.once('secureConnect', () => {
          target.clock.secured = performance.now();
        });
        created?.(null, secure);
      },
      (error) => created?.(error, undefined as never), // as above
    );
  }
}
