/** Networks exempt from enforcement, in the form that limits count (http/network.ts): an IPv6 address stands for its /64. */
import ipaddr from 'ipaddr.js';
import { networkOf } from '../http/network.ts';

/** @param network from networkOf; @param allowlist addresses and CIDR blocks */
export function isListed(allowlist: readonly string[], network: string): boolean {
  if (allowlist.length === 0) return false;
  const [text = ''] = network.split('/');
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return allowlist.some((entry) => {
    const [base = '', bits] = entry.split('/');
    if (bits === undefined || (base.includes(':') && Number(bits) > 64)) return networkOf(base) === network;
    const [from, length] = ipaddr.parseCIDR(entry);
    return from.kind() === address.kind() && address.match(from, length);
  });
}
