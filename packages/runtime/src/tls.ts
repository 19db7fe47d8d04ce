/** A server's own TLS: its certificate from two files, and a server that uses it. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { Misconfigured } from './misconfigured.ts';
import { existingFile } from './values.ts';

/** The chain and its key, PEM. */
export type Certificate = { cert: string; key: string };

export const certificateVariables = {
  TLS_CERT_FILE: existingFile
    .optional()
    .meta({ description: 'PEM file with the certificate of the TLS port and its chain; read at start' }),
  TLS_KEY_FILE: existingFile.optional().meta({ description: "PEM file with that certificate's private key" }),
};

/** @throws Misconfigured if a file is missing or the two do not belong together. Neither is quoted. */
export function readCertificate(
  { TLS_CERT_FILE, TLS_KEY_FILE }: { TLS_CERT_FILE?: string | undefined; TLS_KEY_FILE?: string | undefined },
  portVariable: string,
): Certificate {
  if (!TLS_CERT_FILE || !TLS_KEY_FILE)
    throw new Misconfigured('bad environment', [`${portVariable} is set: it needs TLS_CERT_FILE and TLS_KEY_FILE too`]);
  try {
    const certificate = { cert: readFileSync(TLS_CERT_FILE, 'utf8'), key: readFileSync(TLS_KEY_FILE, 'utf8') };
    createSecureContext(certificate);
    return certificate;
  } catch {
    throw new Misconfigured('bad environment', [
      'TLS_CERT_FILE, TLS_KEY_FILE: must be readable PEM files with a certificate and its own key',
    ]);
  }
}

/** An https server with a certificate, http without. A handshake has the same deadline as a request's head. */
export function createServerWith(
  certificate: Certificate | undefined,
  options: ServerOptions & { headersTimeout: number },
  listener: RequestListener,
): Server {
  if (!certificate) return createServer(options, listener);
  return createTlsServer({ ...options, ...certificate, handshakeTimeout: options.headersTimeout }, listener);
}
