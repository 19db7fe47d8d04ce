/**
 * A gate that listens with TLS too, for SDKs that are given a domain and put `https://` before it. This process trusts it, as a
 * user's does by NODE_EXTRA_CA_CERTS.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import tls from 'node:tls';
import { makeCertificates } from '@gatepost/testkit/certificates';
import type { LogLines } from '@gatepost/testkit/log-lines';
import { freePort, openGate, type TestGate } from './gate.ts';

export type TlsGate = TestGate & {
  /** `localhost:PORT`, the port that speaks TLS. */
  domain: string;
  /** `https://` + domain + `/` */
  tlsIssuer: string;
};

export async function openTlsGate(
  seed: Parameters<typeof openGate>[0],
  env: Record<string, string> = {},
  log?: LogLines,
): Promise<TlsGate> {
  await using opening = new AsyncDisposableStack();
  const certificates = opening.use(makeCertificates());
  const { cert, key } = certificates.issue({ name: 'localhost' });
  const folder = dirname(certificates.rootFile);
  const files = { TLS_CERT_FILE: join(folder, 'gate.crt'), TLS_KEY_FILE: join(folder, 'gate.key') };
  writeFileSync(files.TLS_CERT_FILE, cert);
  writeFileSync(files.TLS_KEY_FILE, key);
  tls.setDefaultCACertificates([...tls.getCACertificates(), certificates.root]);
  const port = await freePort();
  const gate = opening.use(await openGate(seed, { AUTH_TLS_PORT: String(port), ...files, ...env }, log));
  const domain = `localhost:${port}`;
  const stack = opening.move();
  return {
    ...gate,
    domain,
    tlsIssuer: `https://${domain}/`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
