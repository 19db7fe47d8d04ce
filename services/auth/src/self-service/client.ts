/**
 * The application that people sign in to when they open `/account`: built in, in no table, for every tenant the same. It needs no secret and
 * gets no tokens: what its sign-in leaves behind is the session in the browser, which the pages below `/account` read.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { accountClientId } from '../clients/account-client-id.ts';
import type { RegisteredClient } from '../clients/store.ts';

export const callbackPath = '/account/callback';

/** @param issuers all of ours */
export function accountClient(issuers: string[]): RegisteredClient {
  const since = new Date(0);
  return {
    clientId: accountClientId,
    name: '',
    description: null,
    logoUri: null,
    appType: 'regular_web',
    isFirstParty: true,
    secretHashes: [],
    callbacks: issuers.map((issuer) => `${baseUrlOf(issuer)}${callbackPath.slice(1)}`),
    allowedLogoutUrls: [],
    webOrigins: [],
    allowedOrigins: [],
    grantTypes: ['authorization_code'],
    tokenEndpointAuthMethod: 'none',
    jwks: null,
    refreshToken: null,
    resourceServerIdentifier: null,
    oidcConformantClaims: null,
    clientMetadata: {},
    oidcMetadata: {},
    inert: {},
    createdAt: since,
    updatedAt: since,
    grants: [],
    credentials: [],
  };
}
