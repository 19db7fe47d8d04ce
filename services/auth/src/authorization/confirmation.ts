/** Which authorization requests a person confirms each time, whatever was allowed before. */
import type { KoaContextWithOIDC } from 'oidc-provider';

/**
 * RFC 8252 section 8.6: anybody's program can take a loopback port or a scheme and call itself a public native client, so that a
 * request of such a client proves nothing about who asks. No code, and no scope, is given without a person who allows it on a
 * page in this very interaction: not by prompt=none, not to the first party, not by a consent that is remembered. An https redirect
 * is one that the operating system gives to the application that proved to own it (section 7.2).
 *
 * A device code is confirmed on a page of its own (RFC 8628 section 3.3), where it is typed in.
 */
export function needsConfirmation({ oidc }: KoaContextWithOIDC): boolean {
  const client = oidc.client!;
  if (client.applicationType !== 'native' || client.clientAuthMethod !== 'none') return false;
  if (oidc.route === 'code_verification' || oidc.route === 'device_resume') return false;
  return URL.parse(String(oidc.params?.redirect_uri))?.protocol !== 'https:';
}
