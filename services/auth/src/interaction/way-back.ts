/**
 * The way back to the application from a page whose interaction is gone. All that remains is a cookie with the application’s id,
 * set when the interaction began.
 */

import type { Client, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { accountClientId } from '../clients/account-client-id.ts';

const cookieOf = ({ issuer }: Provider) => (issuer.startsWith('https:') ? '__Host-application' : '_application');
const ttlMs = 24 * 3_600_000;

type Cookies = Pick<KoaContextWithOIDC, 'cookies'>;

export function rememberClients(provider: Provider): void {
  provider.on('interaction.started', (ctx) => {
    const clientId = ctx.oidc.client?.clientId;
    if (clientId)
      ctx.cookies.set(cookieOf(provider), Buffer.from(clientId).toString('base64url'), {
        signed: true,
        httpOnly: true,
        sameSite: 'lax',
        maxAge: ttlMs,
      });
  });
}

export async function rememberedClient(provider: Provider, { cookies }: Cookies): Promise<Client | undefined> {
  const value = cookies.get(cookieOf(provider), { signed: true });
  return value ? provider.Client.find(Buffer.from(value, 'base64url').toString()) : undefined;
}

/** The address where the application starts a login, or else its origin. Undefined for an application without a web address. */
export function linkBack(client: Client | undefined): string | undefined {
  if (client?.clientId === accountClientId) return '/account';
  const initiate = (client as { initiateLoginUri?: string } | undefined)?.initiateLoginUri;
  if (initiate) return initiate;
  const callback = client?.redirectUris?.map((uri) => URL.parse(uri)).find((url) => url?.protocol.startsWith('http'));
  return callback ? `${callback.origin}/` : undefined;
}
