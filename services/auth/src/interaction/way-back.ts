/**
 * The way back to the application from a page whose interaction is gone. All that remains is a cookie with the application’s id,
 * set when the interaction began.
 */

import type { Client, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { accountClientId } from '../clients/account-client-id.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { isLoopback } from '../http/loopback.ts';

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

/**
 * The address where the application starts a login, or else its origin. Undefined for an application without a web address: a native one
 * listens on this machine only while it waits for a login.
 */
export function linkBack(client: Client | undefined): string | undefined {
  if (!client) return undefined;
  if (client.clientId === accountClientId) return '/account';
  const { login_uri, initiateLoginUri } = client as Client & OwnMetadata & { initiateLoginUri?: string };
  const login = login_uri ?? initiateLoginUri;
  if (login && isWebAddress(URL.parse(login))) return login;
  const isOpen = (url: URL) => client.applicationType !== 'native' || !isLoopback(url);
  const callback = client.redirectUris?.map((uri) => URL.parse(uri)).find((url) => isWebAddress(url) && isOpen(url));
  return callback ? `${callback.origin}/` : undefined;
}

const isWebAddress = (url: URL | null): url is URL => url?.protocol === 'https:' || url?.protocol === 'http:';
