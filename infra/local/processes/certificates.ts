/**
 * The certificate with which `npm start` serves https on this machine, and the root that signed it, which a developer's programs are
 * told to trust. The root's key is thrown away at once: nobody can sign anything else that they would believe.
 */
import { KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { writePrivate } from './home.ts';

export type CertificateFiles = {
  /** The certificate's chain and key, for the services. */
  cert: string;
  key: string;
  /** What to trust. */
  root: string;
  /** The root and all that Node trusts here, for programs that trust what one file holds and nothing else. */
  bundle: string;
};

/** By which programs are told of the bundle: Node, Python (one of two, by its library) and Go, curl. */
export const trustVariables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'];

const dayMs = 86_400_000;
/** Apple's systems take no certificate that is good for longer than 825 days, whoever signed it. */
const goodForMs = 820 * dayMs;
const renewBeforeMs = 30 * dayMs;
const names = [
  { type: 'dns' as const, value: 'localhost' },
  { type: 'ip' as const, value: '127.0.0.1' },
  { type: 'ip' as const, value: '::1' },
];

/** Makes them at the first call, and again when the certificate ends within 30 days or a file is missing. */
export async function keepCertificates(home: string, now = Date.now()): Promise<CertificateFiles> {
  const path = (name: string) => join(home, 'tls', name);
  const files = {
    cert: path('localhost.pem'),
    key: path('localhost.key'),
    root: path('root.pem'),
    bundle: path('bundle.pem'),
  };
  if (isGood(files, now)) return files;
  const made = await makeCertificates(now);
  writePrivate(files.key, made.key);
  writePrivate(files.cert, made.cert + made.root);
  writePrivate(files.root, made.root);
  writePrivate(files.bundle, [made.root, ...getCACertificates().map((pem) => `${pem.trim()}\n`)].join(''));
  return files;
}

function isGood(files: CertificateFiles, now: number): boolean {
  if (!Object.values(files).every((file) => existsSync(file))) return false;
  try {
    const certificate = new X509Certificate(readFileSync(files.cert));
    const isSigned = certificate.verify(new X509Certificate(readFileSync(files.root)).publicKey);
    return isSigned && Date.parse(certificate.validTo) - now > renewBeforeMs;
  } catch {
    return false; // damaged
  }
}

async function makeCertificates(now: number): Promise<{ root: string; cert: string; key: string }> {
  await import('reflect-metadata'); // the next one wants it
  const x509 = await import('@peculiar/x509');
  // The same to it as the browser's.
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const newKeys = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const [rootKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  // A clock that is a little behind, in a container say, should take it too.
  const common = {
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + goodForMs),
    signingAlgorithm: algorithm,
  };
  const { digitalSignature, keyCertSign } = x509.KeyUsageFlags;
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...common,
    name: 'CN=Gatepost development root',
    keys: rootKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(rootKeys.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...common,
    subject: 'CN=localhost',
    issuer: root.subject,
    signingKey: rootKeys.privateKey,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(rootKeys.publicKey),
    ],
  });
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
  return { root: `${root.toString('pem')}\n`, cert: `${certificate.toString('pem')}\n`, key };
}
