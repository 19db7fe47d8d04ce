import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import type { z } from 'zod';
import {
  certificatesFile,
  cidrList,
  host,
  httpUrl,
  integer,
  issuerUrl,
  networkList,
  positive,
  secondsList,
} from './values.ts';

test('a file of certificates holds at least one, and nothing that only looks like one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const isTaken = (content: string) => {
    writeFileSync(join(folder, 'ca.pem'), content);
    return certificatesFile.safeParse(join(folder, 'ca.pem')).success;
  };
  const [one = '', other = ''] = rootCertificates;
  const broken = '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----';
  expect(isTaken(`# the company's\n${one}\n${other}\n`)).toBe(true);
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  const withdrawn = broken.replaceAll(/^/gm, '# ');
  for (const beside of [key, withdrawn]) expect(isTaken(`${beside}\n${one}`)).toBe(true);
  for (const content of ['', 'garbage', broken, withdrawn, `${one}\n${broken}`]) expect(isTaken(content)).toBe(false);
  expect(certificatesFile.safeParse(folder).success).toBe(false);
  rmSync(folder, { recursive: true });
});

describe('each kind of value reads', () => {
  test.each([
    [integer(1, 10), '10', 10],
    [integer(1, 10), '11', undefined],
    [integer(1, 10), '1.5', undefined],
    [integer(1, 10), '0x1', undefined],
    [positive, '0.5', 0.5],
    [positive, '0', undefined],
    [positive, ' ', undefined],
    [positive, 'Infinity', undefined],
    [cidrList, '10.0.0.0/8, ::1/128', ['10.0.0.0/8', '::1/128']],
    [networkList, 'loopback,10.0.0.1, ::1', ['127.0.0.0/8', '::1/128', '10.0.0.1/32', '::1/128']],
    [networkList, '10.0.0.0/8, true', undefined],
    [networkList, '1', undefined],
    [networkList, 'constructor', undefined],
    [secondsList(300), '5, 300', [5, 300]],
    [secondsList(300), '5, 301', undefined],
    [httpUrl, 'ftp://x', undefined],
    [httpUrl, 'http:gate:secret@db', undefined],
    [issuerUrl, 'http://[', undefined],
    [issuerUrl, 'https://gate.example/', 'https://gate.example/'],
    [issuerUrl, 'https://gate.example', 'https://gate.example'],
    [issuerUrl, 'https://gate.example/?a=/', undefined],
    [host, '0.0.0.0', '0.0.0.0'],
    [host, 'fe80::1%eth0', 'fe80::1%eth0'],
    [host, 'my_host.internal', 'my_host.internal'],
    [host, 'a b', undefined],
    [host, '[::1]', undefined],
    [host, '127.0.0.1:80', undefined],
    [host, '127.0.0.300', undefined],
  ])('%# %j', (kind, value, expected) => {
    const result = (kind as z.ZodType).safeParse(value);
    expect(result.success ? result.data : undefined).toEqual(expected);
  });
});
