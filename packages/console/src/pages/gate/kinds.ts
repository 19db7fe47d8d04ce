import type { AppType } from '../../api/management-types.ts';

/** Kinds of applications, in Auth0's words. */
export const kinds: Record<AppType, { short: string; text: string; about: string }> = {
  regular_web: {
    short: 'Web',
    text: 'Regular web application',
    about: 'Pages from a server, which can keep a secret: Express, Next.js, Django, Spring …',
  },
  spa: {
    short: 'Single page',
    text: 'Single-page application',
    about: 'Code in the browser, which cannot keep a secret: React, Vue, plain JavaScript …',
  },
  native: {
    short: 'Native',
    text: 'Native application',
    about: 'An app on a phone, a computer or a television, or a command line tool.',
  },
  non_interactive: {
    short: 'Machine',
    text: 'Machine to machine application',
    about: 'A service or script that calls APIs on its own, without a user.',
  },
};

/** Grant types by their Auth0 names. */
export const grantTypes = [
  ['authorization_code', 'Authorization Code'],
  ['implicit', 'Implicit'],
  ['refresh_token', 'Refresh Token'],
  ['client_credentials', 'Client Credentials'],
  ['password', 'Password'],
  ['http://auth0.com/oauth/grant-type/password-realm', 'Password with a realm'],
  ['urn:ietf:params:oauth:grant-type:device_code', 'Device Code'],
  ['http://auth0.com/oauth/grant-type/passwordless/otp', 'Passwordless OTP'],
  ['http://auth0.com/oauth/grant-type/mfa-otp', 'MFA: code from an app'],
  ['http://auth0.com/oauth/grant-type/mfa-oob', 'MFA: code by email or text message'],
  ['http://auth0.com/oauth/grant-type/mfa-recovery-code', 'MFA: recovery code'],
  ['urn:ietf:params:oauth:grant-type:token-exchange', 'Token Exchange'],
] as const;

export const algorithms = [
  ['RS256', 'RS256, which every SDK supports'],
  ['PS256', 'PS256'],
  ['ES256', 'ES256, a tenth of the CPU time'],
  ['EdDSA', 'EdDSA'],
] as const;
