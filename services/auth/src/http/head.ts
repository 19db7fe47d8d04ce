/**
 * What every request passes first: its head is made to say what we know rather than what its sender claims. The provider builds
 * absolute URLs from Host and X-Forwarded-*, so those always carry the issuer's; the client's address comes from the socket, or
 * from X-Forwarded-For if a trusted proxy sent it.
 */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

export type HeadRules = { issuer: URL; trustedProxies: string[] };

export function makeHeadNormalizer({ issuer, trustedProxies }: HeadRules): (request: IncomingMessage) => void {
  const networks = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  const trusted = (address: string) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return networks.some(
      ([network, bits]) => network.kind() === parsed.kind() && parsed.match([network, bits] as never),
    );
  };
  return (request) => {
    const { headers } = request;
    const address = clientAddress(peerOf(request), headers['x-forwarded-for'], trusted);
    headers.host = issuer.host;
    headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
    headers['x-forwarded-for'] = address;
    delete headers['x-forwarded-host'];
    delete headers.forwarded;
  };
}

// Connections are kept alive, and parsing an address costs more than all else here.
const peers = new WeakMap<object, string>();

/** The address at the other end of the socket, IPv4 in its own form. */
function peerOf({ socket }: IncomingMessage): string {
  let peer = peers.get(socket);
  if (peer === undefined) {
    const raw = socket.remoteAddress ?? '';
    peer = ipaddr.isValid(raw) ? ipaddr.process(raw).toString() : raw;
    peers.set(socket, peer);
  }
  return peer;
}

/** The rightmost address that no proxy of ours has. */
function clientAddress(
  peer: string,
  forwardedFor: string | string[] | undefined,
  trusted: (address: string) => boolean,
): string {
  if (forwardedFor === undefined) return peer;
  const hops = String(forwardedFor)
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => ipaddr.isValid(hop));
  let address = peer;
  while (trusted(address) && hops.length > 0) address = hops.pop()!;
  return address === peer ? peer : ipaddr.process(address).toString();
}

/** The client's address, once the head is normalized. */
export function addressOf(request: IncomingMessage): string {
  return String(request.headers['x-forwarded-for'] ?? '');
}
