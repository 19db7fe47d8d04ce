/**
 * Signs with ES256 and EdDSA keys synchronously. The library’s own way (WebCrypto) takes 140 µs of CPU time per signature instead of 45,
 * and shares four threads with password hashes: issuing tokens was ten times slower while people logged in. RSA, which takes a
 * millisecond, is worth a thread.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { ExternalSigningKey } from 'oidc-provider';
import type { PrivateJwk } from './signing-keys.ts';

const signLater = promisify(sign) as (algorithm: string, data: Uint8Array, key: KeyObject) => Promise<Buffer>;
type Signature = (data: Uint8Array, key: KeyObject) => Buffer | Promise<Buffer>;

/** The key in the form of the library’s keystore: a synchronous signer, or the plain JWK where that gains nothing. */
export function signerOf(jwk: PrivateJwk): PrivateJwk | ExternalSigningKey {
  switch (jwk.alg) {
    case 'ES256':
      // Asking node:crypto for the JWS form would cost more than the signature, since it parses the key each time.
      return new Signer(jwk, (data, key) => concatenated(sign('sha256', data, key)));
    case 'EdDSA':
      return new Signer(jwk, (data, key) => sign(null, data, key));
    case 'RS256':
      return new Signer(jwk, (data, key) => signLater('sha256', data, key));
    default:
      return jwk;
  }
}

class Signer extends ExternalSigningKey {
  readonly #jwk: PrivateJwk;
  readonly #public: KeyObject;
  readonly #private: KeyObject;
  readonly #signature: Signature;

  constructor(jwk: PrivateJwk, signature: Signature) {
    super();
    this.#jwk = jwk;
    this.#private = createPrivateKey({ key: jwk, format: 'jwk' });
    this.#public = createPublicKey(this.#private);
    this.#signature = signature;
  }

  override get kid(): string {
    return this.#jwk.kid;
  }

  override get alg(): string {
    return this.#jwk.alg;
  }

  override keyObject(): KeyObject {
    return this.#public;
  }

  override sign(data: Uint8Array): Buffer | Promise<Buffer> {
    return this.#signature(data, this.#private);
  }
}

const size = 32; // P-256

/** R and S concatenated (RFC 7518 section 3.4), from the ASN.1 sequence of two integers that OpenSSL makes. */
export function concatenated(der: Uint8Array): Buffer {
  const signature = Buffer.alloc(2 * size);
  let at = 2; // past the sequence's tag and length, one byte each for P-256
  for (let end = size; end <= 2 * size; end += size) {
    const length = der[at + 1]!;
    const start = at + 2;
    // An integer is stored without leading zeros, and with one extra if its first bit would be a sign.
    const digits = der.subarray(start + Math.max(0, length - size), start + length);
    signature.set(digits, end - digits.length);
    at = start + length;
  }
  return signature;
}
