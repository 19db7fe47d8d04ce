/**
 * Connections whose people sign in elsewhere: Auth0's names of their strategies, and what is known of each provider. Every address
 * can be named by the connection instead, for a provider that a company runs itself.
 */
import type { ConnectionModel } from '../generated/models.ts';

/** `directory`: who is in it is its owner's decision; elsewhere anybody may have made himself an account. */
export type Known = {
  protocol: 'oidc' | 'oauth2';
  kind: 'social' | 'directory';
  /** As people know it. */
  label?: string;
  issuer?: string;
  discoveryUrl?: string;
  authorizationURL?: string;
  tokenURL?: string;
  userInfoURL?: string;
  scope: string[];
  /** How somebody is asked to prove himself anew there, though he is signed in (`prompt`). */
  reauthenticate?: string;
  /** Takes `max_age`, and then says when somebody signed in (OpenID Connect Core, 3.1.2.1). What others say of it is checked as well. */
  maxAge?: true;
  /** By what name it takes whom we expect. */
  hint?: string;
  /** Its `email` claim is any text that its administrators like. */
  unprovenEmail?: true;
  responseMode?: 'form_post';
};

const microsoft = 'https://login.microsoftonline.com';

export const strategies = {
  oidc: {
    protocol: 'oidc',
    kind: 'directory',
    scope: ['openid', 'profile', 'email'],
    reauthenticate: 'login',
    maxAge: true,
    hint: 'login_hint',
  },
  oauth2: { protocol: 'oauth2', kind: 'social', scope: [] },
  'google-oauth2': {
    protocol: 'oidc',
    kind: 'social',
    label: 'Google',
    discoveryUrl: 'https://accounts.google.com/.well-known/openid-configuration',
    scope: ['openid', 'profile', 'email'],
    reauthenticate: 'select_account',
    hint: 'login_hint',
  },
  github: {
    protocol: 'oauth2',
    kind: 'social',
    label: 'GitHub',
    authorizationURL: 'https://github.com/login/oauth/authorize',
    tokenURL: 'https://github.com/login/oauth/access_token',
    userInfoURL: 'https://api.github.com/user',
    // In its metadata (https://github.com/login/oauth/.well-known/openid-configuration).
    issuer: 'https://github.com/login/oauth',
    scope: ['read:user', 'user:email'],
    hint: 'login',
  },
  windowslive: {
    protocol: 'oidc',
    kind: 'social',
    label: 'Microsoft',
    // The tenant of all personal accounts.
    discoveryUrl: `${microsoft}/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0/.well-known/openid-configuration`,
    scope: ['openid', 'profile', 'email'],
    reauthenticate: 'login',
    hint: 'login_hint',
    unprovenEmail: true,
  },
  waad: {
    protocol: 'oidc',
    kind: 'directory',
    label: 'Microsoft',
    discoveryUrl: `${microsoft}/{tenant}/v2.0/.well-known/openid-configuration`,
    scope: ['openid', 'profile', 'email'],
    reauthenticate: 'login',
    hint: 'login_hint',
    unprovenEmail: true,
  },
  apple: {
    protocol: 'oidc',
    kind: 'social',
    label: 'Apple',
    discoveryUrl: 'https://appleid.apple.com/.well-known/openid-configuration',
    scope: ['openid', 'name', 'email'],
    responseMode: 'form_post',
  },
} as const satisfies Record<string, Known>;

export type Strategy = keyof typeof strategies;

export function isUpstream(strategy: string): strategy is Strategy {
  return Object.hasOwn(strategies, strategy);
}

/** Auth0's `isSocial` of an identity. */
export function isSocial(strategy: string): boolean {
  return isUpstream(strategy) && strategies[strategy].kind === 'social';
}

/**
 * The account of whoever the provider calls `subject`. Two connections never share one, whatever their providers say: a name has no
 * bar in it, and only one connection has that of its strategy.
 */
export function userIdOf({ strategy, name }: Pick<ConnectionModel, 'strategy' | 'name'>, subject: string): string {
  const isPreset = isUpstream(strategy) && (strategies[strategy] as Known).label !== undefined;
  return isPreset && name === strategy ? `${strategy}|${subject}` : `${strategy}|${name}|${subject}`;
}

/** Accounts of other providers' people: no address, number or name finds them. The index accounts_email_idx says the same. */
export const upstreamPrefixes = Object.keys(strategies).map((strategy) => `${strategy}|`);
