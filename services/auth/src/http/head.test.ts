import type { IncomingMessage } from 'node:http';
import { openLog } from '@gatepost/runtime/log';
import { expect, test } from '@jest/globals';
import { addressOf, makeHeadNormalizer } from './head.ts';

const trustedProxies = ['10.0.0.0/8', 'fd00::/8'];
const requestOf = (remoteAddress: string, headers: Record<string, string>) =>
  ({ headers: { host: 'evil.example', ...headers }, socket: { remoteAddress } }) as unknown as IncomingMessage;

function normalizer() {
  const warnings: object[] = [];
  const log = openLog('test', 'silent');
  log.warn = ((fields: object) => warnings.push(fields)) as never;
  return { warnings, normalize: makeHeadNormalizer({ issuer: new URL('https://gate.example/'), trustedProxies, log }) };
}

test.each([
  // peer, X-Forwarded-For, the client's address
  ['203.0.113.9', '198.51.100.7', '203.0.113.9'], // anybody may claim anything
  ['10.0.0.1', undefined, '10.0.0.1'],
  ['10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['10.0.0.1', '1.2.3.4, 198.51.100.7', '198.51.100.7'], // what stands before it is the client's claim
  ['10.0.0.1', '198.51.100.7, 10.0.0.2', '198.51.100.7'],
  ['fd00::1', '2001:db8::7', '2001:db8::7'],
  // As Azure's gateways and others write them, and RFC 7239 does.
  ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
  ['10.0.0.1', '[2001:db8::7]', '2001:db8::7'],
  ['10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['10.0.0.1', '"[2001:db8::7]:4711"', '2001:db8::7'],
  ['10.0.0.1', '198.51.100.7:4711, 10.0.0.2:80', '198.51.100.7'],
  ['10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
  ['10.0.0.1', '198.51.100.7,, 10.0.0.2,', '198.51.100.7'], // empty elements of a list count for nothing
  // Behind a hop that cannot be read, what stands before it may be anybody's claim.
  ['10.0.0.1', '198.51.100.7, unknown', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.7, unknown, 10.0.0.2', '10.0.0.2'],
  ['10.0.0.1', '198.51.100.7, 999.1.1.1', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.7, 3232235777', '10.0.0.1'], // no address that anybody writes
  ['10.0.0.1', '198.51.100.7, 10.0.0.2:port', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.7, [10.0.0.2', '10.0.0.1'],
])('a connection from %s with X-Forwarded-For %j has the client address %s', (peer, forwardedFor, expected) => {
  const { normalize } = normalizer();
  const request = requestOf(peer, forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor });
  normalize(request);
  expect(addressOf(request)).toBe(expected);
  expect(request.headers).toEqual({
    host: 'gate.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': expected,
  });
});

test('behind an unlisted proxy one warning says that all clients share one address', () => {
  const { normalize, warnings } = normalizer();
  normalize(requestOf('192.168.0.1', {}));
  normalize(requestOf('10.0.0.1', { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7' }));
  expect(warnings).toEqual([]);
  normalize(requestOf('192.168.0.1', { 'x-forwarded-for': '198.51.100.7' }));
  normalize(requestOf('192.168.0.1', { forwarded: 'for=198.51.100.7' }));
  expect(warnings).toEqual([{ 'proxy.address': '192.168.0.1' }]);
  // A client's own header on the open internet does not use that warning up, and its address is not logged.
  const other = normalizer();
  for (const peer of ['8.8.8.8', '8.8.4.4', '192.168.0.1', '192.168.0.2'])
    other.normalize(requestOf(peer, { forwarded: 'for=198.51.100.7' }));
  expect(other.warnings).toEqual([{}, { 'proxy.address': '192.168.0.1' }]);
});
