/**
 * An erroneous request to an application that a stranger has registered would make the gate an open redirector (RFC 9700 section 4.11.2).
 * Its errors are shown on a page, until a person takes part; only addresses on the person's own machine are gone to at once.
 */
import type { Client, Provider } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';
import { isLoopback } from '../http/loopback.ts';

export function keepErrorsFromStrangers(provider: Provider): void {
  // The library emits this before it decides where the error goes.
  provider.on('authorization.error', (ctx, error) => {
    const client = ctx.oidc.client as (Client & OwnMetadata) | undefined;
    if (ctx.oidc.route !== 'authorization' || client?.is_vouched_for !== false) return;
    if (!leadsElsewhere(String(ctx.oidc.params?.redirect_uri))) return;
    error.allow_redirect = false;
    ctx.status = 400; // that of some errors is a redirect's
  });
}

/** Not to this machine, and not to an app by a scheme of its own. */
function leadsElsewhere(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && /^https?:$/.test(url.protocol) && !isLoopback(url);
}
