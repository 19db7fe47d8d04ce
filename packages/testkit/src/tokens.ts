/** An issuer of access tokens for a test: its own key, and a JWKS server that serves it. */
import { createServer } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { freePorts } from './system.ts';

export type Issuer = AsyncDisposable & {
  /** With its trailing slash. */
  issuer: string;
  jwksUrl: string;
  /**
   * A signed access token (RFC 9068) with `claims`; `iss`, `iat`, `exp` (an hour) and `jti` are added unless given. With `client_id` equal to
   * `sub` it is a machine's token.
   */
  sign(claims: JWTPayload, header?: { alg?: string; typ?: string; kid?: string }): Promise<string>;
  /** Replaces the key, as a gate does on rotation; the old one is no longer served. */
  rotate(): Promise<void>;
  /** Makes the server available, or refuse connections like a gate that is away. */
  serve(on: boolean): Promise<void>;
  /** How often the keys were read. */
  reads(): number;
};

const alg = 'RS256';
type Key = { kid: string; privateKey: CryptoKey; jwk: object };
/** Keys of closed issuers, for reuse: making a key takes longer than everything else. Issuers open at the same time never share one. */
const idle = new Set<Key>();

/** Opens one on 127.0.0.1. */
export async function openIssuer(): Promise<Issuer> {
  let key = takeIdle() ?? (await makeKey());
  let reads = 0;
  const makeServer = () =>
    createServer((_request, response) => {
      reads += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [key.jwk] }));
    });
  let server = makeServer();
  // One that no other test gets while it is away.
  const [port] = await freePorts(1);
  const listen = () =>
    new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  await listen();
  const issuer = `http://127.0.0.1:${port}/`;
  return {
    issuer,
    jwksUrl: `${issuer}.well-known/jwks.json`,
    sign(claims, header) {
      const now = Math.floor(Date.now() / 1000);
      const payload = { iss: issuer, iat: now, exp: now + 3600, jti: crypto.randomUUID(), ...claims };
      return new SignJWT(payload)
        .setProtectedHeader({ alg, typ: 'at+jwt', kid: key.kid, ...header })
        .sign(key.privateKey);
    },
    async rotate() {
      key = await makeKey();
    },
    async serve(on) {
      if (!on) return close();
      server = makeServer();
      await listen();
    },
    reads: () => reads,
    async [Symbol.asyncDispose]() {
      await close();
      idle.add(key);
    },
  };
}

function takeIdle(): Key | undefined {
  const [key] = idle;
  if (key) idle.delete(key);
  return key;
}

async function makeKey(): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const kid = crypto.randomUUID();
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}
