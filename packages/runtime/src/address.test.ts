import { expect, test } from '@jest/globals';
import ipaddr from 'ipaddr.js';
import { isAllowed, makeGuard } from './address.ts';
import { cloudMetadata } from './cloud-metadata.ts';

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.1',
  '192.167.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
])('%s may be connected to', (address) => {
  expect(isAllowed(address, [])).toBe(true);
});

test.each([
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1', // translated (RFC 2765)
  '::127.0.0.1', // compatible
  '64:ff9b::7f00:1', // NAT64
  '64:ff9b::808:808', // NAT64, even of a public address
  '64:ff9b:1::a00:1', // local NAT64
  '100::1', // discard
  '2001::1', // Teredo
  '2001:20::1', // ORCHID
  '2001:db8::1',
  '2002:7f00:1::1', // 6to4
  '2002:808:808::1',
  '3fff::1',
  '5f00::1', // segment routing
  'fc00::1',
  'fd00:ec2::254', // metadata
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1', // site-local
  'ff02::1',
  'not an address',
])('%s is refused', (address) => {
  expect(isAllowed(address, [])).toBe(false);
});

test.each(cloudMetadata)('the cloud metadata address %s is refused even within an exempt network', (address) => {
  const kind = ipaddr.parse(address).kind();
  expect(isAllowed(address, [])).toBe(false);
  expect(isAllowed(address, [ipaddr.parseCIDR(kind === 'ipv4' ? '0.0.0.0/0' : '::/0')])).toBe(false);
  if (kind === 'ipv4') expect(isAllowed(`::ffff:${address}`, [ipaddr.parseCIDR('0.0.0.0/0')])).toBe(false);
  if (kind === 'ipv6') expect(isAllowed(`${address}%eth0`, [ipaddr.parseCIDR('::/0')])).toBe(false);
  // Unless an operator names that very address.
  expect(isAllowed(address, [ipaddr.parseCIDR(`${address}/${kind === 'ipv4' ? 32 : 128}`)])).toBe(true);
});

test.each(['168.63.129.15', '168.63.129.17', '192.80.8.123', '192.80.8.125'])(
  'the address %s next to a metadata address may be connected to',
  (address) => {
    expect(isAllowed(address, [])).toBe(true);
  },
);

test('an exempt network allows its own addresses, mapped ones too, and no others', () => {
  const exempt = ['127.0.0.2/32', 'fd00::/8'].map((cidr) => ipaddr.parseCIDR(cidr));
  expect(isAllowed('127.0.0.2', exempt)).toBe(true);
  expect(isAllowed('::ffff:127.0.0.2', exempt)).toBe(true);
  expect(isAllowed('fd00::1', exempt)).toBe(true);
  expect(isAllowed('127.0.0.3', exempt)).toBe(false);
});

test.each(['http://127.1/', 'http://0x7f000001/', 'http://017700000001/', 'http://[::1]/', 'http://[::ffff:7f00:1]/'])(
  '%s is refused without a DNS query, however it is spelled',
  (url) => {
    const guard = makeGuard([]);
    expect(() => guard.checkLiteral(new URL(url).hostname)).toThrow(expect.objectContaining({ code: 'EBLOCKED' }));
    expect(() => guard.checkLiteral('example.com')).not.toThrow();
  },
);
