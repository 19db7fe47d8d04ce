/**
 * Which URLs a hook may have (docs/reference/webhooks-api.md#hooks). Names are not resolved here: the dispatcher’s guard checks where they
 * lead.
 */
import ipaddr from 'ipaddr.js';
import { ApiError } from '../http/errors.ts';
import { guideUrl } from '../meta/guides.ts';
import { type HookUrl, joinUrl } from './credentials.ts';

const maxLength = 2048;

/**
 * Checks the URL of a hook. Loopback addresses are refused in any spelling, except those other than 127.0.0.1 that `allowedNetworks` lists.
 * @throws ApiError 422 that says what is wrong with it.
 */
export function checkUrl(given: HookUrl, allowedNetworks: readonly string[]): void {
  const url = joinUrl(given);
  if (url === '') throw refuse('url cannot be blank');
  if (url.length > maxLength) throw refuse(`url is too long (maximum is ${maxLength} characters)`);
  // Characters that RFC 3986 does not allow in a URL: a parser would silently drop, encode or misread them.
  if (!/^[\x21-\x7e]+$/.test(url) || /["<>\\^`{|}]/.test(url)) throw refuse(notValid);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url) || /^[^/:]+:\d+(\/|$)/.test(url)) throw refuse('url is missing a scheme');
  if (!/^https?:/i.test(url)) throw refuse('url must use http(s) scheme');
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) throw refuse(notValid);
  const parsed = new URL(url);
  if (!isReadable(parsed.username) || !isReadable(parsed.password) || !isWithoutCredentials(given.url))
    throw refuse(notValid);
  if (parsed.port === '0') throw refuse(notValid); // nobody can listen there
  if (isLocal(parsed.hostname, allowedNetworks))
    throw refuse('URL host localhost is not supported', guideUrl('localReceivers'));
}

/** Percent-encoded UTF-8 without control characters, which RFC 7617 does not allow. */
function isReadable(text: string): boolean {
  try {
    return /^\P{Cc}*$/u.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

/** The part cut off must be everything that the parser takes for credentials, since the rest is shown. */
function isWithoutCredentials(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username === '' && password === '';
}

const notValid = "The URL you've entered is not valid. Please make sure that you encode all special characters first";

const refuse = (message: string, documentationUrl?: string) =>
  new ApiError(422, 'Validation Failed', {
    errors: [{ resource: 'Hook', code: 'custom', field: 'url', message }],
    ...(documentationUrl && { documentationUrl }),
  });

/** `hostname` as returned by the URL parser: lower case, IPv4 in dotted form whatever its spelling was, IPv6 in brackets. */
function isLocal(hostname: string, allowedNetworks: readonly string[]): boolean {
  const name = hostname.replace(/\.+$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  const literal = name.replace(/^\[(.*)\]$/, '$1');
  if (!ipaddr.isValid(literal)) return false;
  return everyReading(ipaddr.parse(literal)).some((address) => {
    const range = address.range();
    if (range !== 'loopback' && range !== 'unspecified') return false;
    return address.toString() === '127.0.0.1' || !allowedNetworks.some((network) => contains(network, address));
  });
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The address, and any IPv4 address that it wraps: mapped, compatible (::a.b.c.d), NAT64 (64:ff9b::/96) or 6to4 (2002::/16). */
function everyReading(address: Address): Address[] {
  if (address.kind() === 'ipv4') return [address];
  const bytes = address.toByteArray();
  const embedded = (start: number) => ipaddr.fromByteArray(bytes.slice(start, start + 4));
  const zeroUpTo = (end: number) => bytes.slice(0, end).every((byte) => byte === 0);
  if (zeroUpTo(10) && bytes[10] === 0xff && bytes[11] === 0xff) return [embedded(12)];
  if (zeroUpTo(12) && !zeroUpTo(15)) return [address, embedded(12)];
  if (address.match(ipaddr.parseCIDR('64:ff9b::/96') as [ipaddr.IPv6, number])) return [embedded(12)];
  if (address.match(ipaddr.parseCIDR('2002::/16') as [ipaddr.IPv6, number])) return [embedded(2)];
  return [address];
}

function contains(network: string, address: Address): boolean {
  const [base, bits] = ipaddr.parseCIDR(network);
  return base.kind() === address.kind() && address.match([base, bits] as [ipaddr.IPv4, number]);
}
