/** Where clients reach the gate: `ISSUER`, and with `AUTH_TLS_PORT` a second issuer by TLS (docs/reference/gate.md#a-second-issuer-with-tls). */
import { isLoopback } from '@gatepost/runtime/production';
import { type Certificate, readCertificate } from '@gatepost/runtime/tls';
import { type Env, tlsIssuerOf } from './config.ts';

export type Front = {
  issuer: string;
  port: number;
  /** Whether clients reach us by https; cookies are then for https only. */
  secure: boolean;
  /**
   * Whether browsers are told to use only https (RFC 6797). This applies to a host on all ports, so never on a developer's machine: nothing
   * there could be reached by http any more.
   */
  strict: boolean;
  certificate?: Certificate;
};

/** The first front is that of `ISSUER`. @throws Misconfigured for a TLS port without a certificate */
export function frontsOf(env: Env): Front[] {
  const tlsIssuer = tlsIssuerOf(env);
  const primary = frontOf(env.ISSUER, env.AUTH_PORT);
  if (tlsIssuer === undefined || env.AUTH_TLS_PORT === undefined) return [primary];
  return [primary, { ...frontOf(tlsIssuer, env.AUTH_TLS_PORT), certificate: readCertificate(env, 'AUTH_TLS_PORT') }];
}

function frontOf(issuer: string, port: number): Front {
  const { protocol, hostname } = new URL(issuer);
  const secure = protocol === 'https:';
  return { issuer, port, secure, strict: secure && !isLoopback(hostname) };
}
