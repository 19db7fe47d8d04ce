/** The network that a request comes from, as limits count it. */
import ipaddr from 'ipaddr.js';

/**
 * The network of an address: an IPv4 address by itself; for IPv6 the /64, since whoever has one address there has all of them (RFC 4291
 * section 2.5.4, RFC 6177). Anything else counts as a network of its own.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const { parts } = parsed as ipaddr.IPv6;
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
