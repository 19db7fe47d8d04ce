import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterAll, expect, test } from '@jest/globals';
import { keepCertificates } from './certificates.ts';

const home = mkdtempSync(join(tmpdir(), 'certificates-'));
afterAll(() => rmSync(home, { recursive: true }));
const day = 86_400_000;

test('clients that trust the root or bundle reach this machine by https; others do not', async () => {
  const files = await keepCertificates(home);
  const server = createServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const faultFor = (ca?: Buffer) =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, ...(ca && { ca }) }, () => resolve(undefined));
      socket.once('error', (error) => resolve((error as NodeJS.ErrnoException).code));
      socket.once('close', () => socket.destroy()).once('secureConnect', () => socket.end());
    });
  expect(await faultFor(readFileSync(files.root))).toBeUndefined();
  expect(await faultFor(readFileSync(files.bundle))).toBeUndefined();
  expect(await faultFor()).toBe('SELF_SIGNED_CERT_IN_CHAIN');
  await new Promise((resolve) => server.close(resolve));

  const certificate = new X509Certificate(readFileSync(files.cert));
  expect(certificate.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
  expect([certificate.ca, new X509Certificate(readFileSync(files.root)).ca]).toEqual([false, true]);
  expect(statSync(files.key).mode & 0o777).toBe(0o600);
});

test('they are made once, and again when they expire within 30 days', async () => {
  const files = await keepCertificates(home);
  const keyNow = () => readFileSync(files.key, 'utf8');
  const first = keyNow();
  await keepCertificates(home, Date.now() + 320 * day);
  expect(keyNow()).toBe(first);
  await keepCertificates(home, Date.now() + 340 * day);
  expect(keyNow()).not.toBe(first);
});
