/**
 * The guard: which addresses a URL from outside may lead us to. The address is checked at connection time and used as checked, so that a
 * name cannot change between check and use.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { cloudMetadata } from './cloud-metadata.ts';

/** A refused address, as a connection error: the delivery fails with "Failed to connect to host". */
export class Blocked extends Error {
  override name = 'Blocked';
  readonly code = 'EBLOCKED';
}

export type Guard = {
  /** @throws Blocked when `host` (as in `URL.hostname`) is a forbidden address. Names pass, and are checked by `lookup`. */
  checkLiteral(host: string): void;
  /** For `net.connect`: resolves a name, and refuses it if any of its addresses is refused. */
  lookup: LookupFunction;
};

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** `allowedNetworks` are CIDRs exempt from the guard (DELIVERY_ALLOWED_NETWORKS). */
export function makeGuard(allowedNetworks: string[], resolve: typeof lookup = lookup): Guard {
  const exempt = allowedNetworks.map((cidr) => ipaddr.parseCIDR(cidr));
  const allowed = (address: string) => isAllowed(address, exempt);
  return {
    checkLiteral(host) {
      const address = host.startsWith('[') ? host.slice(1, -1) : host;
      if (isIP(address) !== 0 && !allowed(address)) throw new Blocked(`${address} is not a public address`);
    },
    lookup: (hostname, options, callback) => {
      resolve(hostname, { ...(options as LookupOptions), all: true }, (error, found) => {
        if (error) return callback(error, '', 0);
        const addresses = found as LookupAddress[];
        if (addresses.length === 0) {
          const nothing = Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
          return callback(nothing, '', 0);
        }
        if (!addresses.every(({ address }) => allowed(address)))
          return callback(new Blocked(`${hostname} resolves to an address that is not public`), '', 0);
        if (options.all) return callback(null, addresses);
        const { address, family } = addresses[0]!;
        callback(null, address, family);
      });
    },
  };
}

/**
 * IPv4: only addresses outside all special-purpose registries. IPv6: only global unicast (2000::/3), without its ranges that carry IPv4
 * addresses or are reserved; so neither mapped, NAT64, 6to4 nor Teredo addresses lead into our own network.
 */
export function isAllowed(text: string, exempt: Network[]): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text); // turns a mapped IPv6 address into its IPv4 address
  const isMetadata = metadata.has(address.toNormalizedString().split('%', 1)[0]!);
  const exempts = ([network, bits]: Network) =>
    network.kind() === address.kind() &&
    address.match(network, bits) &&
    (!isMetadata || bits === 8 * network.toByteArray().length); // the exact address was listed
  if (exempt.some(exempts)) return true;
  if (isMetadata) return false;
  const refused = address.kind() === 'ipv4' ? refusedIPv4 : refusedIPv6;
  if (address.kind() === 'ipv6' && !address.match(ipaddr.IPv6.parse('2000::'), 3)) return false;
  return !refused.some(([network, bits]) => address.match(network, bits));
}

const metadata = new Set(cloudMetadata.map((address) => ipaddr.parse(address).toNormalizedString()));

// IANA special-purpose address registries (RFC 6890 and its updates), multicast and reserved space.
const refusedIPv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map((cidr) => ipaddr.parseCIDR(cidr));

// Within 2000::/3; everything outside is refused altogether (loopback, NAT64 64:ff9b::/96, unique local, link-local, multicast, …).
const refusedIPv6 = [
  '2001::/23', // protocol assignments, Teredo, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map((cidr) => ipaddr.parseCIDR(cidr));
