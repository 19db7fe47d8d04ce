/**
 * The certificate of a signing key. It is self-signed and nobody checks its signature, but several of Auth0’s clients read the key
 * from it.
 */
import { webcrypto } from 'node:crypto';
import type { PrivateJwk } from './signing-keys.ts';

const years = 20;

const algorithms: Record<string, object> = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256', saltLength: 32 },
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
};

/** In PEM. */
export async function makeCertificate(privateJwk: PrivateJwk): Promise<string> {
  // Loaded here, because few processes ever make a certificate and these modules take 19 MB.
  await import('reflect-metadata'); // required by the next import
  const { X509CertificateGenerator } = await import('@peculiar/x509');
  const { kty, crv, n, e, x, y } = privateJwk;
  const signingAlgorithm = algorithms[privateJwk.alg] as webcrypto.RsaHashedImportParams;
  const imported = (jwk: object, usage: 'sign' | 'verify') =>
    webcrypto.subtle.importKey('jwk', jwk, signingAlgorithm, true, [usage]);
  const notBefore = new Date();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Gatepost',
      notBefore,
      notAfter: new Date(notBefore.getTime() + years * 365 * 86_400_000),
      signingAlgorithm,
      keys: {
        privateKey: await imported(privateJwk, 'sign'),
        publicKey: await imported({ kty, crv, n, e, x, y }, 'verify'),
      },
    },
    webcrypto as never, // compatible with the browser's
  );
  return certificate.toString('pem');
}
