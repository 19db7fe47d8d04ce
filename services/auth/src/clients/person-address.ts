/**
 * The network address of the person on whose behalf an application asks. The application may state it in Auth0’s header
 * `auth0-forwarded-for` if it has authenticated and is trusted with it (`is_token_endpoint_ip_header_trusted`). In all other cases
 * the header is ignored: otherwise every guess could claim an address, and so a limit, of its own.
 */
import type { IncomingMessage } from 'node:http';
import type { Client } from 'oidc-provider';
import { addressOf, parseAddress } from '../http/head.ts';
import type { Report } from '../report.ts';
import type { OwnMetadata } from './metadata.ts';

export function personAddress(
  request: IncomingMessage,
  asked: { client: Client; isAuthenticated: boolean; report: Report },
): string {
  const { client, isAuthenticated, report } = asked;
  const claimed = String(request.headers['auth0-forwarded-for'] ?? '');
  if (claimed === '') return addressOf(request);
  const isTrusted = isAuthenticated && (client as Client & OwnMetadata).is_token_endpoint_ip_header_trusted;
  const address = isTrusted ? parseAddress(claimed) : undefined;
  if (address === undefined) {
    report.claimedAddressIgnored(client.clientId, isTrusted ? 'no_address' : 'not_trusted');
    return addressOf(request);
  }
  // For what follows, the log and the tenant’s actions, the request comes from the person as well.
  request.headers['x-forwarded-for'] = address;
  return address;
}
