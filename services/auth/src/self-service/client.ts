/**
 * The application that people sign in to when they open `/account`: built in, without a database row, the same for every tenant. Nobody knows
 * its secret, so nobody gets a token for its codes: its sign-in leaves only the session in the browser, which the pages below `/account`
 * read.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { BuiltInClient } from '../adapter/clients.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { hashSecret, makeSecret } from '../clients/secret.ts';
import type { RegisteredClient } from '../clients/store.ts';
import type { SettingsStore } from '../settings/store.ts';
import { isSelfService } from './settings.ts';

export const callbackPath = '/account/callback';

/** Exists while the tenant enables these pages; when they are disabled, sign-ins in progress end too. @param issuers all of ours */
export function accountPages({ issuers, settings }: { issuers: string[]; settings: SettingsStore }): BuiltInClient {
  return { client: accountClient(issuers), isOpen: async () => isSelfService(await settings.load()) };
}

function accountClient(issuers: string[]): RegisteredClient {
  const since = new Date(0);
  return {
    clientId: accountClientId,
    name: '',
    description: null,
    logoUri: null,
    appType: 'regular_web',
    isFirstParty: true,
    secretHashes: [hashSecret(makeSecret())],
    callbacks: issuers.map((issuer) => `${baseUrlOf(issuer)}${callbackPath.slice(1)}`),
    allowedLogoutUrls: [],
    webOrigins: [],
    allowedOrigins: [],
    grantTypes: ['authorization_code'],
    tokenEndpointAuthMethod: 'client_secret_post',
    jwks: null,
    refreshToken: null,
    resourceServerIdentifier: null,
    oidcConformantClaims: null,
    clientMetadata: {},
    oidcMetadata: {},
    inert: {},
    unusedUntil: null,
    isVouchedFor: true,
    createdAt: since,
    updatedAt: since,
    grants: [],
    credentials: [],
  };
}
