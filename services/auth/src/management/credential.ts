/** A public key that an application signs its assertions with (private_key_jwt): the input, and what is stored. */
import { createPublicKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { z } from 'zod';
import type { Prisma } from '../database.ts';
import type { ClientCredentialModel } from '../generated/models.ts';
import { badBody } from './problem.ts';

export const expiresAt = z.iso
  .datetime({ offset: true })
  .refine((text) => /^(?!0000)\d{4}-/.test(new Date(text).toISOString()), 'Not in the years 1 to 9999, in UTC')
  .nullable();
export const credentialBody = z.strictObject({
  credential_type: z.literal('public_key'),
  name: z.string().max(128).optional(),
  pem: z.string().max(4_096),
  alg: z.enum(['RS256', 'RS384', 'PS256', 'ES256', 'EdDSA']).optional(),
  kid: z.string().min(1).max(64).optional(),
  expires_at: expiresAt.optional(),
  parse_expiry_from_cert: z.boolean().optional(),
});
export type CredentialBody = z.infer<typeof credentialBody>;

/** By id for the application's existing credentials; in full for a new application. */
export const authenticationMethods = z.strictObject({
  private_key_jwt: z.strictObject({
    credentials: z
      .array(z.strictObject({ id: z.string() }))
      .min(1)
      .max(2),
  }),
});
export const newAuthenticationMethods = z.strictObject({
  private_key_jwt: z.strictObject({ credentials: z.array(credentialBody).min(1).max(2) }),
});

/** They stay until the transaction ends. @throws ManagementProblem 400 when the client lacks any of them */
export async function holdCredentials(
  transaction: Prisma.TransactionClient,
  clientId: string,
  methods: z.infer<typeof authenticationMethods>,
): Promise<ClientCredentialModel[]> {
  const ids = methods.private_key_jwt.credentials.map(({ id }) => id);
  await transaction.$queryRaw`SELECT FROM client_credentials WHERE client_id = ${clientId} AND id = ANY(${ids}) FOR UPDATE`;
  const found = await transaction.clientCredential.findMany({ where: { clientId, id: { in: ids } } });
  const unknown = ids.find((id) => !found.some((credential) => credential.id === id));
  if (unknown !== undefined) throw badBody(`the client has no credential ${unknown}`);
  return found;
}

/** The data to store for a new credential. @throws ManagementProblem 400 if it is not a public key */
export async function makeCredential(body: CredentialBody) {
  const { key, certificate } = readPem(body.pem);
  const alg = body.alg ?? defaultAlgs[key.asymmetricKeyType ?? ''];
  if (alg === undefined || !fits(alg, key)) throw badBody('pem: not a key for this alg, or too short a one');
  const bare = key.export({ format: 'jwk' }) as JWK; // fails for key types that none of our algorithms uses
  const kid = body.kid ?? (await calculateJwkThumbprint(bare));
  const parsed = body.parse_expiry_from_cert ? certificate?.validToDate : undefined;
  return {
    id: `cred_${randomBytes(12).toString('hex')}`,
    name: body.name ?? '',
    kid,
    alg,
    jwk: { ...bare, kid, alg, use: 'sig' } as Prisma.InputJsonObject,
    expiresAt: parsed ?? dateOf(body.expires_at ?? null),
  };
}

const defaultAlgs: Record<string, CredentialBody['alg']> = { rsa: 'RS256', ec: 'ES256', ed25519: 'EdDSA' };

function fits(alg: string, key: KeyObject): boolean {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (alg === 'EdDSA') return key.asymmetricKeyType === 'ed25519';
  if (alg === 'ES256') return key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1';
  return key.asymmetricKeyType === 'rsa' && modulusLength >= 2_048;
}

function readPem(pem: string): { key: KeyObject; certificate?: X509Certificate } {
  if (pem.includes('PRIVATE KEY')) throw badBody('pem: this is a private key, which must stay private');
  try {
    if (!pem.includes('CERTIFICATE')) return { key: createPublicKey(pem) };
    const certificate = new X509Certificate(pem);
    return { key: certificate.publicKey, certificate };
  } catch {
    throw badBody('pem: neither a public key nor a certificate');
  }
}

export const dateOf = (text: string | null) => (text === null ? null : new Date(text));
