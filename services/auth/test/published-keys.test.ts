/** The JWKS as Auth0's clients read it: RS256 with a certificate, keys of other algorithms only while something uses them. */
import { X509Certificate } from 'node:crypto';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { createLocalJWKSet, importX509, type JWK, jwtVerify } from 'jose';
import { openGate, type TestGate } from './gate.ts';
import { managerSeed, openManager } from './manager.ts';
import { apis, machine } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const seed = {
  apis: apis.slice(0, 1),
  clients: [
    machine,
    managerSeed(['create:resource_servers', 'delete:resource_servers', 'create:client_grants', 'read:signing_keys']),
  ],
};
const gate = stack.use(await openGate(seed));

const jwks = async (at: TestGate = gate) => (await at.get('.well-known/jwks.json')).json.keys as JWK[];
const algs = async () => (await jwks()).map(({ alg }) => alg);
async function tokenOf(client_id: string, audience: string): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id, client_secret: `${client_id}-secret`, audience };
  return (await gate.post('oauth/token', form)).json.access_token as string;
}
const manage = await openManager(gate);

// omniauth-auth0 and auth0-PHP read the key from `x5c` alone; auth0-python takes every key for an RSA key.
test('with RS256 everywhere the JWKS holds only RS256 keys, with certificates that verify our tokens', async () => {
  const { headers } = await gate.get('.well-known/jwks.json');
  expect(headers.get('content-type')).toBe('application/jwk-set+json; charset=utf-8');
  const [key, ...others] = await jwks();
  expect(others).toEqual([]);
  expect(key).toEqual({
    kty: 'RSA',
    alg: 'RS256',
    use: 'sig',
    kid: expect.any(String),
    n: expect.any(String),
    e: 'AQAB',
    x5c: [expect.any(String)],
    x5t: expect.any(String),
  });
  const certificate = new X509Certificate(Buffer.from(key!.x5c![0]!, 'base64'));
  expect(certificate.publicKey.export({ format: 'jwk' })).toMatchObject({ n: key!.n, e: key!.e });
  expect(Buffer.from(key!.x5t!, 'base64url').toString('hex').toUpperCase()).toBe(
    certificate.fingerprint.replaceAll(':', ''),
  );
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.validToDate.getTime()).toBeGreaterThan(Date.now() + 10 * 365 * 86_400_000);
  const pem = `-----BEGIN CERTIFICATE-----\n${key!.x5c![0]!.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`;
  const { protectedHeader } = await jwtVerify(
    await tokenOf('machine', apis[0]!.identifier),
    await importX509(pem, 'RS256'),
  );
  expect(protectedHeader.kid).toBe(key!.kid);
});

test('a certificate is the same in every process and after a restart, and in the management API', async () => {
  const [key] = await jwks();
  const again = { DATABASE_URL: gate.databaseUrl, SECRETS_KEY: gate.env.SECRETS_KEY! };
  await using other = await openGate(seed, again);
  expect((await jwks(other))[0]).toEqual(key);
  const shown = (await manage('GET', `keys/signing/${key!.kid}`)).json as Record<string, string>;
  const certificate = new X509Certificate(shown.cert!);
  expect(certificate.raw.toString('base64')).toBe(key!.x5c![0]);
  expect(shown).toMatchObject({
    fingerprint: certificate.fingerprint,
    thumbprint: Buffer.from(key!.x5t!, 'base64url').toString('hex').toUpperCase(),
  });
});

test('keys without a certificate get one at the start, and all processes show it', async () => {
  const [before] = await jwks();
  await gate.pool.query('UPDATE signing_keys SET certificate = NULL');
  await using _other = await openGate(seed, {
    DATABASE_URL: gate.databaseUrl,
    SECRETS_KEY: gate.env.SECRETS_KEY!,
  });
  const after = await until('the new certificate', async () => {
    const [key] = await jwks();
    return key!.x5t !== undefined && key!.x5t !== before!.x5t && key;
  });
  expect(after).toMatchObject({ kid: before!.kid, n: before!.n });
});

test('a key of another algorithm is published while an API uses it, and until the last token it signed has expired', async () => {
  const identifier = 'urn:other';
  const { json } = await manage('POST', 'resource-servers', {
    identifier,
    signing_alg: 'ES256',
    token_lifetime: 600,
    scopes: [{ value: 'read:x' }],
  });
  expect(await algs()).toEqual(['RS256', 'ES256']);
  await manage('POST', 'client-grants', { client_id: 'machine', audience: identifier, scope: ['read:x'] });
  const token = await tokenOf('machine', identifier);
  expect((await manage('DELETE', `resource-servers/${(json as { id: string }).id}`)).status).toBe(204);
  await jwtVerify(token, createLocalJWKSet({ keys: await jwks() }), { audience: identifier });
  const { rows } = await gate.pool.query("SELECT until > now() + interval '9 minutes' AS ok FROM former_signing_algs");
  expect(rows).toEqual([{ ok: true }]);
  await gate.pool.query("UPDATE former_signing_algs SET until = now() - interval '1 second'");
  expect(await algs()).toEqual(['RS256']);
});

test('a client with another algorithm for ID tokens has its key published, until ten hours after it stops', async () => {
  await gate.pool.query(
    `INSERT INTO clients (client_id, oidc_metadata) VALUES ('es', '{"id_token_signed_response_alg": "EdDSA"}'), ('fapi', '{"compliance_level": "fapi2_sp_pkj_mtls"}')`,
  );
  expect((await algs()).sort()).toEqual(['EdDSA', 'PS256', 'RS256']);
  await gate.pool.query("DELETE FROM clients WHERE client_id IN ('es', 'fapi')");
  const { rows } = await gate.pool.query(
    "SELECT alg FROM former_signing_algs WHERE until > now() + interval '10 hours' ORDER BY alg",
  );
  expect(rows.map(({ alg }) => alg)).toEqual(['EdDSA', 'PS256']);
  expect((await algs()).sort()).toEqual(['EdDSA', 'PS256', 'RS256']);
});
