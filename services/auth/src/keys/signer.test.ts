/** Signatures in the form that JWS wants, whatever their numbers look like. */
import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { compactVerify, exportJWK, generateKeyPair, importJWK } from 'jose';
import type { ExternalSigningKey } from 'oidc-provider';
import { concatenated, signerOf } from './signer.ts';
import type { PrivateJwk } from './signing-keys.ts';

const base64url = (text: string) => Buffer.from(text).toString('base64url');

async function privateJwk(alg: string, crv?: string): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, ...(crv ? { crv } : {}) });
  return { ...(await exportJWK(privateKey)), alg, kid: 'k1', use: 'sig' };
}

test.each([
  ['ES256', undefined],
  ['EdDSA', 'Ed25519'],
  ['RS256', undefined],
])('a JWT signed with %s is verified by another library', async (alg, crv) => {
  const jwk = await privateJwk(alg, crv);
  const signer = signerOf(jwk) as ExternalSigningKey;
  const { d: _, ...publicJwk } = jwk;
  const key = await importJWK(publicJwk, alg);
  // One signature in 128 has a number with a leading zero byte: enough of them to meet some.
  for (let index = 0; index < 500; index += 1) {
    const input = `${base64url(JSON.stringify({ alg }))}.${base64url(`payload ${index}`)}`;
    const signature = Buffer.from(await signer.sign(Buffer.from(input)));
    await compactVerify(`${input}.${signature.toString('base64url')}`, key);
  }
});

test('the library reads only the public part of a signing key', async () => {
  const jwk = await privateJwk('ES256');
  const signer = signerOf(jwk) as ExternalSigningKey;
  expect(signer).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', kid: 'k1', use: 'sig', x: jwk.x, y: jwk.y });
  expect(signer.keyObject()).toMatchObject({ type: 'public' });
});

test('signing with a PS256 key is left to the library', async () => {
  const jwk = await privateJwk('PS256');
  expect(signerOf(jwk)).toBe(jwk);
});

test.each([
  ['both full', Buffer.alloc(32, 0x7f), Buffer.alloc(32, 0x01)],
  ['a first bit that would be a sign', Buffer.alloc(32, 0xff), Buffer.alloc(32, 0x80)],
  [
    'leading zeros',
    Buffer.concat([Buffer.alloc(3), Buffer.alloc(29, 5)]),
    Buffer.concat([Buffer.alloc(31), Buffer.of(1)]),
  ],
])('signature integers with %s become 32 bytes each', (_what, r, s) => {
  const integer = (number: Buffer) => {
    const digits = number.subarray(number.findIndex((byte) => byte !== 0));
    const signed = digits[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits;
    return Buffer.concat([Buffer.of(2, signed.length), signed]);
  };
  const body = Buffer.concat([integer(r), integer(s)]);
  expect(concatenated(Buffer.concat([Buffer.of(0x30, body.length), body]))).toEqual(Buffer.concat([r, s]));
});

test('a signature by another key is not valid', async () => {
  const signer = signerOf(await privateJwk('ES256')) as ExternalSigningKey;
  const other = createPublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  const own = signer.keyObject() as KeyObject;
  const data = Buffer.from('data');
  const signature = Buffer.from(await signer.sign(data));
  expect(verify('sha256', data, { key: other, dsaEncoding: 'ieee-p1363' }, signature)).toBe(false);
  expect(verify('sha256', data, { key: own, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
});
