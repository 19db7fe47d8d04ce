/**
 * The certificate with which `npm start` serves https on this machine, and the root that signed it, which a developer's programs are
 * told to trust. The root's key is thrown away at once: nobody can sign anything else that they would believe.
 */
import { KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import type { Extension } from '@peculiar/x509';
import { writePrivate } from './home.ts';

/** By which programs are told of the bundle: Node, Python (one of two, by its library) and Go, curl. */
export const trustVariables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'];

const dayMs = 86_400_000;
const renewBeforeMs = 30 * dayMs;

/**
 * The chain and the key, for the services; the root to trust, and a bundle of it and all that Node trusts here, for programs that trust
 * what one file holds and nothing else. Good for a year; made at the first call, and again when they end within 30 days.
 */
export async function keepCertificates(home: string, now = Date.now()) {
  const path = (name: string) => join(home, 'tls', name);
  const files = {
    key: path('localhost.key'),
    root: path('root.pem'),
    bundle: path('bundle.pem'),
    cert: path('localhost.pem'),
  };
  const validTo = existsSync(files.cert) ? new X509Certificate(readFileSync(files.cert)).validToDate.getTime() : 0;
  if (validTo - now > renewBeforeMs) return files;
  const { key, cert, root } = await makeCertificates();
  writePrivate(files.key, key);
  writePrivate(files.root, root);
  writePrivate(files.bundle, [root, ...getCACertificates().map((pem) => `${pem.trim()}\n`)].join(''));
  writePrivate(files.cert, cert + root); // the last: where it is, the others are
  return files;
}

export type CertificateFiles = Awaited<ReturnType<typeof keepCertificates>>;

async function makeCertificates(): Promise<Record<'root' | 'cert' | 'key', string>> {
  await import('reflect-metadata'); // the next one wants it
  const x509 = await import('@peculiar/x509');
  // The same to it as the browser's.
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const newKeys = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const [rootKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const issuer = 'CN=Gatepost development root';
  const sign = async (subject: string, publicKey: webcrypto.CryptoKey, ...extensions: Extension[]) => {
    const subjectKey = await x509.SubjectKeyIdentifierExtension.create(publicKey);
    const authorityKey = await x509.AuthorityKeyIdentifierExtension.create(rootKeys.publicKey);
    const notBefore = new Date(Date.now() - dayMs); // a clock that is behind, in a container say, should take it too
    const signed = { subject, issuer, publicKey, notBefore, extensions: [...extensions, subjectKey, authorityKey] };
    const certificate = await x509.X509CertificateGenerator.create({ ...signed, signingKey: rootKeys.privateKey });
    return `${certificate.toString('pem')}\n`;
  };
  const isAuthority = new x509.BasicConstraintsExtension(true, 0, true);
  const signs = new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true);
  const serves = new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]);
  const names = new x509.SubjectAlternativeNameExtension([
    { type: 'dns', value: 'localhost' },
    { type: 'ip', value: '127.0.0.1' },
    { type: 'ip', value: '::1' },
  ]);
  return {
    root: await sign(issuer, rootKeys.publicKey, isAuthority, signs),
    cert: await sign('CN=localhost', keys.publicKey, serves, names),
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
