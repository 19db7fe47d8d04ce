/**
 * The first step of every request: makes its head say what we know rather than what the sender claims. The provider builds absolute URLs
 * from Host and X-Forwarded-*, so these always carry the issuer’s values. The client’s address comes from the socket, or from
 * X-Forwarded-For if a trusted proxy sent it. The issuer has no path: every route would have to be mounted below it, and no Auth0 SDK
 * expects one.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Log } from '@gatepost/runtime/log';
import ipaddr from 'ipaddr.js';

export type HeadRules = { issuer: URL; trustedProxies: string[]; log: Log };

export function makeHeadNormalizer({ issuer, trustedProxies, log }: HeadRules): (request: IncomingMessage) => void {
  const networks = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  const trusted = (address: string) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match([network, bits]));
  };
  const warn = makeProxyWarning(log);
  return (request) => {
    const { headers } = request;
    const peer = peerOf(request);
    const forwardedFor = headers['x-forwarded-for'];
    if ((forwardedFor ?? headers.forwarded) !== undefined && !trusted(peer)) warn(peer);
    const address = clientAddress(peer, forwardedFor, trusted);
    headers.host = issuer.host;
    headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
    headers['x-forwarded-for'] = address;
    delete headers['x-forwarded-host'];
    delete headers.forwarded;
  };
}

/**
 * Warns once that an unlisted peer forwards requests. On the open internet a client may have made up the header; a peer within our network
 * is certainly a proxy, so that is reported separately and with its address.
 */
function makeProxyWarning(log: Log): (peer: string) => void {
  const warned = new Set<boolean>();
  return (peer) => {
    if (warned.size === 2) return;
    const isOurs = ipaddr.isValid(peer) && ipaddr.process(peer).range() !== 'unicast';
    if (warned.has(isOurs)) return;
    warned.add(isOurs);
    log.warn(
      isOurs ? { 'proxy.address': peer } : {},
      'X-Forwarded-For or Forwarded came from a peer that TRUSTED_PROXIES does not list, and was ignored: if it is your proxy, everybody behind it now shares one address and its limits',
    );
  };
}

// Connections are kept alive, and parsing the address is the most expensive step here.
const peers = new WeakMap<object, string>();

/** The peer's address; an IPv4 one in IPv4 form. */
function peerOf({ socket }: IncomingMessage): string {
  let peer = peers.get(socket);
  if (peer === undefined) {
    const raw = socket.remoteAddress ?? '';
    peer = ipaddr.isValid(raw) ? ipaddr.process(raw).toString() : raw;
    peers.set(socket, peer);
  }
  return peer;
}

/**
 * The rightmost address that is not one of our proxies. An unreadable hop ends the walk at our last proxy, since anything before it may be
 * made up.
 */
function clientAddress(
  peer: string,
  forwardedFor: string | string[] | undefined,
  trusted: (address: string) => boolean,
): string {
  if (forwardedFor === undefined) return peer;
  const hops = String(forwardedFor)
    .split(',')
    .filter((hop) => hop.trim() !== '');
  let address = peer;
  while (trusted(address) && hops.length > 0) {
    const hop = hopAddress(hops.pop()!);
    if (hop === undefined) break;
    address = hop;
  }
  return address;
}

/**
 * The address in `198.51.100.7`, `198.51.100.7:4711`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:4711`, or one of these in
 * quotes (RFC 7239).
 */
function hopAddress(hop: string): string | undefined {
  const bare = hop.trim().replace(/^"(.*)"$/, '$1');
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(bare) ?? [];
  return parseAddress(bracketed ?? dotted ?? bare);
}

/** The address if the text is exactly one (IPv4 in IPv4 form); otherwise undefined. */
export function parseAddress(text: string): string | undefined {
  // The library alone would also accept `1` and `0x7f.1`, which no proxy writes.
  return isIP(text) === 0 ? undefined : ipaddr.process(text).toString();
}

/** The client's address, once the head has been normalized. */
export function addressOf(request: IncomingMessage): string {
  return String(request.headers['x-forwarded-for'] ?? '');
}
