/** Which authorization requests a person must confirm every time, whatever was allowed before. */
import type { KoaContextWithOIDC } from 'oidc-provider';

/**
 * RFC 8252 section 8.6: any program can claim a loopback port or a URI scheme and pose as a public native client, so a request from
 * such a client does not prove who is asking. No code and no scope is issued without somebody allowing it on a page in this very
 * interaction: not with prompt=none, not for the first party, and not by remembered consent. An https redirect is different: the
 * operating system hands it only to the application that has proven to own it (section 7.2).
 *
 * A device code is confirmed on the page where it is typed in (RFC 8628 section 3.3).
 */
export function needsConfirmation({ oidc }: KoaContextWithOIDC): boolean {
  const client = oidc.client!;
  if (client.applicationType !== 'native' || client.clientAuthMethod !== 'none') return false;
  if (oidc.route === 'code_verification' || oidc.route === 'device_resume') return false;
  return URL.parse(String(oidc.params?.redirect_uri))?.protocol !== 'https:';
}
