/**
 * One entry per page: its texts, Auth0’s names for it (`prompt.name`, `prompt.screen.name`), the values in its texts, and whether a
 * tenant’s template may be used for it. The widgets of the same names hold the markup.
 */
import { accountScreens } from './account-screens.ts';
import type { Values } from './fill.ts';
import type { PageName, Pages } from './pages.ts';
import type { ScreenName } from './strings/en.ts';

export type Screen<Page> = {
  texts: ScreenName;
  prompt: string | ((page: Page) => string);
  screen: string | ((page: Page) => string);
  values?: (page: Page, language: string) => Values;
  title?: (page: Page) => string;
  lead?: (page: Page, values: Values) => string;
  /** Prompts use the tenant's template; errors and technical pages always use ours, so that they work whatever it does. */
  themed: boolean;
  /** A page of lists rather than one question. */
  wide?: boolean;
};

const byApplication = (_: unknown, values: Values) => (values.application === undefined ? 'leadPlain' : 'lead');
/** `1 minute`, `5 Minuten`. */
const inMinutes = (count: number, language: string) =>
  new Intl.NumberFormat(language, { style: 'unit', unit: 'minute', unitDisplay: 'long' }).format(count);
const passwordLength = (page: { passwordMinLength: number }) => ({ count: page.passwordMinLength });

const factorLeads = { otp: 'leadOtp', email: 'leadSent', sms: 'leadSent', 'recovery-code': 'leadRecovery' } as const;

export const screens: { [Name in PageName]: Screen<Pages[Name]> } = {
  ...accountScreens,
  identifier: { texts: 'identifier', prompt: 'login-id', screen: 'login-id', themed: true },
  password: { texts: 'password', prompt: 'login-password', screen: 'login-password', themed: true },
  login: { texts: 'login', prompt: 'login', screen: 'login', themed: true },
  code: {
    texts: 'code',
    prompt: 'login-passwordless',
    screen: ({ channel }) => (channel === 'sms' ? 'login-passwordless-sms-otp' : 'login-passwordless-email-code'),
    values: ({ sentTo }) => ({ identifier: sentTo }),
    title: ({ channel }) => (channel === 'sms' ? 'titleSms' : 'title'),
    themed: true,
  },
  'factor-code': {
    texts: 'factorCode',
    prompt: ({ factor }) => `mfa-${factor}`,
    screen: ({ factor }) => `mfa-${factor}-challenge`,
    values: ({ sentTo }) => ({ identifier: sentTo }),
    lead: ({ factor }) => factorLeads[factor],
    themed: true,
  },
  'factor-key': { texts: 'factorKey', prompt: 'mfa-webauthn', screen: 'mfa-webauthn-roaming-challenge', themed: true },
  'factor-choice': {
    texts: 'factorChoice',
    prompt: 'mfa',
    screen: ({ enrol }) => (enrol ? 'mfa-begin-enroll-options' : 'mfa-login-options'),
    title: ({ enrol }) => (enrol ? 'titleEnrol' : 'title'),
    lead: ({ enrol }, { application }) =>
      enrol ? (application === undefined ? 'leadEnrolPlain' : 'leadEnrol') : 'lead',
    themed: true,
  },
  'enrol-otp': { texts: 'enrolOtp', prompt: 'mfa-otp', screen: 'mfa-otp-enrollment-qr', themed: true },
  'enrol-address': {
    texts: 'enrolAddress',
    prompt: ({ channel }) => `mfa-${channel}`,
    screen: ({ channel }) => `mfa-${channel}-enrollment`,
    title: ({ channel }) => (channel === 'email' ? 'titleEmail' : 'title'),
    themed: true,
  },
  'enrol-key': {
    texts: 'enrolKey',
    prompt: ({ kind }) => (kind === 'passkey' ? 'passkeys' : 'mfa-webauthn'),
    screen: ({ kind }) => (kind === 'passkey' ? 'passkey-enrollment' : 'mfa-webauthn-roaming-enrollment'),
    title: ({ kind }) => (kind === 'passkey' ? 'titlePasskey' : 'title'),
    lead: ({ kind }) => (kind === 'passkey' ? 'leadPasskey' : 'lead'),
    themed: true,
  },
  'recovery-codes': {
    texts: 'recoveryCodes',
    prompt: 'mfa-recovery-code',
    screen: 'mfa-recovery-code-enrollment',
    themed: true,
  },
  'login-link': {
    texts: 'loginLink',
    prompt: 'login-passwordless',
    screen: 'login-passwordless-email-link',
    values: ({ email }) => ({ identifier: email }),
    themed: true,
  },
  'sign-in-as': {
    texts: 'signInAs',
    prompt: 'login-passwordless',
    screen: 'login-passwordless-confirmation',
    values: ({ identifier }) => ({ identifier }),
    themed: true,
  },
  signup: { texts: 'signup', prompt: 'signup', screen: 'signup', values: passwordLength, themed: true },
  consent: {
    texts: 'consent',
    prompt: 'consent',
    screen: 'consent',
    values: ({ redirectHost }) => ({ host: redirectHost }),
    themed: true,
  },
  organization: {
    texts: 'organization',
    prompt: 'organizations',
    screen: 'organization-selection',
    lead: byApplication,
    themed: true,
  },
  'organization-choice': {
    texts: 'organizationChoice',
    prompt: 'organizations',
    screen: 'organization-picker',
    lead: ({ without }, values) => (without ? 'leadWithout' : byApplication(undefined, values)),
    themed: true,
  },
  'device-code': { texts: 'deviceCode', prompt: 'device-flow', screen: 'device-code-activation', themed: true },
  'device-confirm': { texts: 'deviceConfirm', prompt: 'device-flow', screen: 'device-code-confirmation', themed: true },
  'device-done': {
    texts: 'deviceDone',
    prompt: 'device-flow',
    screen: ({ outcome }) => `device-code-activation-${outcome}`,
    title: ({ outcome }) => (outcome === 'allowed' ? 'title' : 'titleDenied'),
    lead: ({ outcome }) => (outcome === 'allowed' ? 'lead' : 'leadDenied'),
    themed: true,
  },
  logout: { texts: 'logout', prompt: 'logout', screen: 'logout', lead: byApplication, themed: true },
  'logged-out': { texts: 'loggedOut', prompt: 'logout', screen: 'logout-complete', themed: true },
  error: {
    texts: 'error',
    prompt: 'error',
    screen: 'error',
    title: ({ error }) => `title${errorKind(error)}`,
    lead: ({ error }) => `lead${errorKind(error)}`,
    themed: false,
  },
  stale: {
    texts: 'stale',
    prompt: 'error',
    screen: 'stale',
    lead: ({ back }) => (back === undefined ? 'leadPlain' : 'lead'),
    themed: false,
  },
  'too-many-attempts': {
    texts: 'tooManyAttempts',
    prompt: 'error',
    screen: 'too-many-attempts',
    values: ({ minutes }, language) => ({ duration: minutes && inMinutes(minutes, language) }),
    lead: ({ minutes }) => (minutes ? 'lead' : 'leadPlain'),
    themed: false,
  },
  'forgot-password': {
    texts: 'forgotPassword',
    prompt: 'reset-password',
    screen: 'reset-password-request',
    themed: true,
  },
  'password-mail-sent': {
    texts: 'passwordMailSent',
    prompt: 'reset-password',
    screen: 'reset-password-email',
    values: ({ email }) => ({ identifier: email }),
    lead: ({ email }) => (email === undefined ? 'leadSame' : 'lead'),
    themed: true,
  },
  'login-mail-sent': {
    texts: 'passwordMailSent',
    prompt: 'login-passwordless',
    screen: 'login-passwordless-email-link-sent',
    lead: () => 'leadSame',
    themed: true,
  },
  'verification-mail-sent': {
    texts: 'passwordMailSent',
    prompt: 'email-verification',
    screen: 'email-verification-sent',
    lead: () => 'leadSame',
    themed: true,
  },
  'verify-email': {
    texts: 'verifyEmail',
    prompt: 'email-verification',
    screen: 'email-verification',
    values: ({ email }) => ({ identifier: email }),
    lead: byApplication,
    themed: true,
  },
  'email-verified': {
    texts: 'emailVerified',
    prompt: 'email-verification',
    screen: 'email-verification-result',
    themed: true,
  },
  'dead-link': {
    texts: 'deadLink',
    prompt: 'error',
    screen: ({ reason }) => `link-${reason}`,
    title: ({ reason }) => `title${capitalized(reason)}`,
    lead: ({ reason, renewal, back }) =>
      renewal !== 'none' ? `lead${capitalized(reason)}` : back === undefined ? 'leadPlain' : 'leadBack',
    themed: false,
  },
  'new-password': {
    texts: 'newPassword',
    prompt: 'reset-password',
    screen: 'reset-password',
    values: ({ email, passwordMinLength }) => ({ identifier: email, count: passwordMinLength }),
    themed: true,
  },
  'password-changed': {
    texts: 'passwordChanged',
    prompt: 'reset-password',
    screen: 'reset-password-success',
    themed: true,
  },
  'form-post': {
    texts: 'formPost',
    prompt: 'form-post',
    screen: 'form-post',
    values: ({ action }) => ({ host: URL.parse(action)?.host || undefined }),
    themed: false,
  },
  'web-message': { texts: 'webMessage', prompt: 'web-message', screen: 'web-message', themed: false },
};

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function errorKind(error: string): '' | 'Unavailable' | 'Denied' | 'Missing' {
  switch (error) {
    case 'temporarily_unavailable':
    case 'server_error':
      return 'Unavailable';
    case 'access_denied':
      return 'Denied';
    case 'not_found':
      return 'Missing';
    default:
      return '';
  }
}
