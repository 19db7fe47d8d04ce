/**
 * `http` and `https` for packages: Node's own, over connections that end in this process. The gate performs the requests, as for `fetch`;
 * it speaks TLS, follows no redirect by itself, and checks each address.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { FetchedAnswer } from './messages.ts';
import { type Ask, bodyMaxBytes } from './outside.ts';

type Connection = { origin: string; client: Duplex };
type Target = { host?: string | null; hostname?: string | null; port?: number | string | null };

const { getBuiltinModule } = process;
/** What a client needs. Servers are left out, as are WebSockets, which would take another way to the network. */
// biome-ignore format: a list
const ofClients = [
  'Agent', 'ClientRequest', 'IncomingMessage', 'METHODS', 'OutgoingMessage', 'STATUS_CODES', 'get', 'globalAgent', 'maxHeaderSize', 'request',
  'validateHeaderName', 'validateHeaderValue',
];
/** Headers of the connection rather than of the message. */
const ownHeaders = ['connection', 'keep-alive', 'transfer-encoding'];

let opened: { http: object; https: object } | undefined;

/** @returns the same two objects on each call */
export function openHttp(ask: Ask): { http: object; https: object } {
  opened ??= open(ask);
  return opened;
}

function open(ask: Ask) {
  const [http, https] = [getBuiltinModule('http'), getBuiltinModule('https')];
  const connections = new WeakMap<Duplex, Connection>();
  // The gate decides what a client may send.
  const taking = { requireHostHeader: false, maxHeaderSize: 1024 * 1024 };
  const server = http.createServer(taking, (request, response) => {
    const connection = connections.get(request.socket)!;
    void answer(ask, connection.origin, request, response).catch((error: Error) => {
      connection.client.destroy(Object.assign(error, { code: 'ECONNREFUSED' }));
    });
  });
  // The caller and the gate measure time.
  server.requestTimeout = server.headersTimeout = 0;
  const connect = (protocol: string, { host, hostname, port }: Target) => {
    const [client, ours] = duplexPair();
    const name = String(hostname || host || 'localhost');
    const origin = `${protocol}//${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port ?? ''}`;
    connections.set(ours, { origin, client });
    ours.on('error', () => {});
    server.emit('connection', ours);
    return asSocket(client, protocol);
  };
  const kinds = [
    ['http:', http],
    ['https:', https],
  ] as const;
  for (const [protocol, { Agent }] of kinds)
    Object.defineProperty(Agent.prototype, 'createConnection', {
      value: (options: Target) => connect(protocol, options),
      configurable: true,
      writable: true,
    });
  return { http: clientOf(http), https: clientOf(https) };
}

function clientOf(module: object): object {
  const found = ofClients.filter((name) => Object.hasOwn(module, name));
  return Object.fromEntries(found.map((name) => [name, Reflect.get(module, name)]));
}

async function answer(ask: Ask, origin: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '', method = 'GET', rawHeaders } = request;
  if (!url.startsWith('/')) throw new Error(`${url} is not asked for: no proxy is spoken to`);
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > bodyMaxBytes) throw new Error(`a body of more than ${bodyMaxBytes} bytes`);
    parts.push(part);
  }
  const headers = pairs(rawHeaders).filter(([name]) => !ownHeaders.includes(name.toLowerCase()));
  const body = bytes > 0 ? { body: Buffer.concat(parts).toString('base64') } : {};
  write(response, method, await ask({ url: `${origin}${url}`, method, headers, redirect: 'manual', ...body }));
}

function write(response: ServerResponse, method: string, { status, statusText, headers, body }: FetchedAnswer): void {
  const bytes = Buffer.from(body, 'base64');
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304;
  const left = hasBody ? [...ownHeaders, 'content-length'] : ownHeaders;
  const kept = headers.filter(([name]) => !left.includes(name.toLowerCase()));
  if (hasBody) kept.push(['content-length', String(bytes.length)]);
  response.sendDate = false;
  response.shouldKeepAlive = false;
  response.writeHead(status, statusText, kept.flat()).end(hasBody ? bytes : undefined);
}

const pairs = (raw: string[]): [string, string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1]!] as [string, string]] : []));

/** The methods of a socket that Node's client uses beside reading and writing. */
function asSocket(client: Duplex, protocol: string): Duplex {
  let timer: NodeJS.Timeout | undefined;
  const same = () => client;
  client.on('close', () => clearTimeout(timer));
  return Object.assign(client, {
    ...(protocol === 'https:' && { encrypted: true, authorized: true }),
    ref: same,
    unref: same,
    setKeepAlive: same,
    setNoDelay: same,
    setTimeout(ms: number, onTimeout?: () => void) {
      clearTimeout(timer);
      if (onTimeout) client.once('timeout', onTimeout);
      if (ms > 0) timer = setTimeout(() => client.emit('timeout'), ms);
      return client;
    },
  });
}
