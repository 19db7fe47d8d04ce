/**
 * Connections whose people sign in elsewhere: Auth0's names for the strategies, and what is known of each provider. The connection can
 * override every address, for a provider that a company runs itself.
 */
import type { ConnectionModel } from '../generated/models.ts';

/** `directory`: its owner decides who is in it; elsewhere anybody can create an account. */
export type StrategyDefinition = {
  protocol: 'oidc' | 'oauth2';
  kind: 'social' | 'directory';
  /** The provider's name, as people know it. */
  label?: string;
  issuer?: string;
  discoveryUrl?: string;
  authorizationURL?: string;
  tokenURL?: string;
  userInfoURL?: string;
  scope: string[];
  /** The `prompt` value that makes a signed-in person authenticate again there, or at least choose an account. */
  reauthenticate?: string;
  /** Supports `max_age`, and then states when somebody signed in (OpenID Connect Core, 3.1.2.1). If others state it, that is checked too. */
  maxAge?: true;
  /** The parameter in which it accepts the expected login. */
  hint?: string;
  /** Its `email` claim can be any text its administrators choose. */
  unprovenEmail?: true;
  responseMode?: 'form_post';
  /** Sends the name at the first sign-in only. */
  nameOnce?: true;
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
    // From its metadata (https://github.com/login/oauth/.well-known/openid-configuration).
    issuer: 'https://github.com/login/oauth',
    scope: ['read:user', 'user:email'],
    // https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
    reauthenticate: 'select_account',
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
    nameOnce: true,
  },
} as const satisfies Record<string, StrategyDefinition>;

export type Strategy = keyof typeof strategies;

export function isUpstream(strategy: string): strategy is Strategy {
  return Object.hasOwn(strategies, strategy);
}

/** Auth0's `isSocial` of an identity. */
export function isSocial(strategy: string): boolean {
  return isUpstream(strategy) && strategies[strategy].kind === 'social';
}

/**
 * The id of the account that the provider calls `subject`. Two connections never share one, whatever their providers say: a name
 * contains no bar, and only one connection is named after its strategy.
 */
export function userIdOf({ strategy, name }: Pick<ConnectionModel, 'strategy' | 'name'>, subject: string): string {
  const isPreset = isUpstream(strategy) && (strategies[strategy] as StrategyDefinition).label !== undefined;
  return isPreset && name === strategy ? `${strategy}|${subject}` : `${strategy}|${name}|${subject}`;
}

/** Prefixes of other providers' accounts, which no address, number or name finds. The index accounts_email_idx uses the same list. */
export const upstreamPrefixes = Object.keys(strategies).map((strategy) => `${strategy}|`);
