/**
 * The built-in API with whose tokens people manage their second factors in an application's own pages (Auth0's MFA API:
 * https://auth0.com/docs/secure/multi-factor-authentication/manage-mfa-auth0-apis/manage-authenticator-factors-mfa-api).
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { freshSeconds } from '../factors/fresh.ts';
import type { Api } from './store.ts';

export type MfaScope = 'enroll' | 'read:authenticators' | 'remove:authenticators';

const scopes: Record<MfaScope, string> = {
  enroll: 'Set up second steps for you',
  'read:authenticators': 'See your second steps',
  'remove:authenticators': 'Remove your second steps',
};

const id = 'mfa';

export const isMfaApi = (api: Pick<Api, 'id'> | undefined): boolean => api?.id === id;

/** The API's audiences, one per issuer; all of them mean the API named after the first issuer. */
export const mfaAudiences = (issuers: string[]): Set<string> =>
  new Set(issuers.map((issuer) => `${baseUrlOf(issuer)}mfa/`));

export function mfaApi(issuer: string): Api {
  const epoch = new Date(0);
  return {
    id,
    identifier: `${baseUrlOf(issuer)}mfa/`,
    name: 'Gatepost MFA API',
    // No older login may change anything (factors/access.ts).
    tokenLifetime: freshSeconds,
    allowOfflineAccess: false,
    enforcePolicies: false,
    signingAlg: 'RS256',
    tokenDialect: 'access_token',
    skipConsent: true,
    inert: {},
    scopes: Object.entries(scopes).map(([value, description]) => ({ value, description })),
    createdAt: epoch,
    updatedAt: epoch,
    isSystem: false,
  };
}
