/** The outcome of an attempt, in GitHub's words (docs/reference/delivery.md); derived from error codes, never from message text. Pure. */
import { isIPv6 } from 'node:net';
import { type DeliveryStatus, deliveryStatus } from '@gatepost/contracts/delivery';
import type { Attempt } from './post.ts';

export type FailureReason = 'host' | 'network' | 'timeout' | 'certificate' | 'response';

export type Outcome =
  | { kind: 'delivered'; status: DeliveryStatus; statusCode: number; error: null }
  | { kind: 'failed'; reason: FailureReason; status: DeliveryStatus; statusCode: number; error: string | null };

/** `undefined` when the fault is ours (no file handles, memory, local port or broker): such an attempt does not count. */
export function classify(attempt: Attempt): Outcome | undefined {
  switch (attempt.kind) {
    case 'response': {
      const { status } = attempt;
      if (status >= 200 && status <= 299)
        return { kind: 'delivered', status: deliveryStatus.ok, statusCode: status, error: null };
      return failed('response', status, `HTTP ${status}`);
    }
    case 'timeout':
      return failed('timeout', 504, `no complete response, ${attempt.phase}`);
    case 'error': {
      const { code } = attempt;
      if (ours.has(code)) return undefined;
      // A response head arrived, then the connection ended mid-response: the answer is not valid HTTP.
      if (attempt.hadResponse) return failed('response', 502, `${code} within the response`);
      // Node adds advice for whoever runs it, after a semicolon.
      if (certificate.has(code)) return failed('certificate', 502, attempt.message.split('; ', 1)[0]!);
      if (code.startsWith('HPE_')) return failed('response', 502, code);
      if (code === 'ETIMEDOUT') return failed('timeout', 504, code);
      if (host.has(code) || code.startsWith('EAI_')) return failed('host', 502, code);
      // What a listener reports about the receiver behind it.
      if (code === 'ELISTENER') return failed('network', 502, attempt.message);
      return failed('network', 502, code);
    }
  }
}

/**
 * The code of an error of got's. A machine without IPv6 has EADDRNOTAVAIL for every IPv6 address, which is not the lack of local ports that
 * it means for IPv4: the address cannot be reached.
 */
export function codeOf(error: Error & { code?: string }): string {
  const { code = 'ERR_UNKNOWN', cause } = error;
  if (code !== 'EADDRNOTAVAIL') return code;
  const each = (cause instanceof AggregateError ? cause.errors : [cause]) as { code?: string; address?: string }[];
  return each.find((one) => one.code !== code || !isIPv6(one.address ?? ''))?.code ?? 'ENETUNREACH';
}

function failed(reason: FailureReason, statusCode: number, error: string): Outcome {
  return { kind: 'failed', reason, status: deliveryStatus[reason], statusCode, error };
}

const ours = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL', 'EAI_MEMORY', 'EAI_SYSTEM', 'EBROKER']);

// The name has no address, the address is not allowed, or the network blocks it.
const host = new Set([
  'ENOTFOUND',
  'ENODATA',
  'EBLOCKED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EACCES',
  'EPERM',
]);

// OpenSSL's verification results as Node names them (tls documentation, "X509 certificate error codes"), and a host name mismatch.
const certificate = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'CERT_SIGNATURE_FAILURE',
  'CRL_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  'OUT_OF_MEM',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'INVALID_CA',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_PURPOSE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'HOSTNAME_MISMATCH',
  'UNSPECIFIED', // such as a key that is too small
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
]);
