/**
 * The certificate with which `npm start` serves https on this machine, and the root that signed it, for a developer's programs to
 * trust. The root's key is discarded at once, so that nothing else can be signed with it.
 */
import { KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import type { Extension } from '@peculiar/x509';
import { writePrivate } from './home.ts';

/** How programs find the bundle: Node; Python (either of two, by library) and Go; curl. */
export const trustVariables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'];

const dayMs = 86_400_000;

/**
 * The chain and the key, for the services; the root to trust, and a bundle of it and everything Node trusts here, for programs that
 * trust only one file. Valid for a year; made at the first call, and again when they expire within 30 days.
 */
export async function keepCertificates(home: string, now = Date.now()) {
  const at = (name: string) => join(home, 'tls', name);
  const files = { key: at('localhost.key'), root: at('root.pem'), bundle: at('bundle.pem'), cert: at('localhost.pem') };
  const validTo = existsSync(files.cert) ? new X509Certificate(readFileSync(files.cert)).validToDate.getTime() : 0;
  if (validTo - now > 30 * dayMs) return files;
  const { key, cert, root } = await makeCertificates();
  writePrivate(files.key, key);
  writePrivate(files.root, root);
  writePrivate(files.bundle, [root, ...getCACertificates().map((pem) => `${pem.trim()}\n`)].join(''));
  writePrivate(files.cert, cert + root); // last: if it exists, so do the others
  return files;
}

export type CertificateFiles = Awaited<ReturnType<typeof keepCertificates>>;

async function makeCertificates() {
  await import('reflect-metadata'); // @peculiar/x509 needs it
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const newKeys = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const [rootKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const issuer = 'CN=Gatepost development root';
  const notBefore = new Date(Date.now() - dayMs); // for clocks that are behind, such as a container's
  const sign = async (subject: string, publicKey: webcrypto.CryptoKey, ...more: Extension[]) => {
    const subjectKey = await x509.SubjectKeyIdentifierExtension.create(publicKey);
    const authorityKey = await x509.AuthorityKeyIdentifierExtension.create(rootKeys.publicKey);
    const signed = { subject, issuer, publicKey, notBefore, extensions: [...more, subjectKey, authorityKey] };
    const certificate = await x509.X509CertificateGenerator.create({ ...signed, signingKey: rootKeys.privateKey });
    return `${certificate.toString('pem')}\n`;
  };
  const isAuthority = new x509.BasicConstraintsExtension(true, 0, true);
  const signs = new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true);
  const serves = new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]);
  const addresses = ['127.0.0.1', '::1'].map((value) => ({ type: 'ip' as const, value }));
  const names = new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }, ...addresses]);
  return {
    root: await sign(issuer, rootKeys.publicKey, isAuthority, signs),
    cert: await sign('CN=localhost', keys.publicKey, serves, names),
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
