/**
 * The way back to the application from a page whose interaction is gone. All that remains is a cookie with the application’s id,
 * set when the interaction began.
 */

import type { Client, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { accountClientId } from '../clients/account-client-id.ts';
import { appAddress } from '../clients/app-address.ts';
import type { OwnMetadata } from '../clients/metadata.ts';

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

/** Where its application starts a login, or else its origin (`appAddress`). */
export function linkBack(client: Client | undefined): string | undefined {
  if (!client) return undefined;
  if (client.clientId === accountClientId) return '/account';
  const { login_uri, initiateLoginUri } = client as Client & OwnMetadata & { initiateLoginUri?: string };
  return appAddress({
    loginUri: login_uri ?? initiateLoginUri,
    callbacks: client.redirectUris ?? [],
    isNative: client.applicationType === 'native',
  });
}
