/**
 * The tenant's own words on our pages (`prompts/{prompt}/custom-text/{language}`): how Auth0's keys map to our texts, and what a text may
 * contain. They are plain text, escaped like ours, never markup.
 */
import { complete, fill, type Values } from './fill.ts';
import type { ScreenName, Strings } from './strings/en.ts';

/** By screen and key, as at Auth0. */
export type ScreenTexts = Record<string, Record<string, string>>;
/** For each language (its BCP 47 tag in lower case), the texts of all prompts by `prompt/screen` and key. */
export type CustomTexts = Record<string, ScreenTexts>;

/** The places of our texts: `title` on the page itself, `common.email` outside of it; `pageTitle` is the browser's. */
type Placeholders = Record<string, string>;

const top = { pageTitle: 'pageTitle', title: 'title', description: 'lead' };
const form = { ...top, buttonText: 'submit' };
const names = {
  emailPlaceholder: 'common.email',
  phonePlaceholder: 'common.phone',
  usernameOnlyPlaceholder: 'common.username',
  usernamePlaceholder: 'common.emailOrUsername',
  usernameOrEmailPlaceholder: 'common.emailOrUsername',
  phoneOrEmailPlaceholder: 'common.emailOrPhone',
  phoneOrUsernameOrEmailPlaceholder: 'common.anyIdentifier',
};
const passwordField = {
  passwordPlaceholder: 'common.password',
  showPasswordText: 'common.showPassword',
  hidePasswordText: 'common.hidePassword',
};
const toSignup = {
  footerText: 'signupQuestion',
  footerLinkText: 'signup',
  signupActionText: 'signupQuestion',
  signupActionLinkText: 'signup',
};
const elsewhere = { separatorText: 'common.or', federatedConnectionButtonText: 'common.continueWith' };
const noName = { 'no-email': 'problems.identifier_missing', 'no-username': 'problems.identifier_missing' };
const wrongName = { ...noName, 'invalid-email-format': 'problems.identifier_unusable' };
const wrongPassword = {
  'wrong-credentials': 'problems.wrong_credentials',
  'wrong-email-credentials': 'problems.wrong_credentials',
  'no-password': 'problems.password_missing',
};
const newPassword = {
  passwordSecurityText: 'hint',
  'no-password': 'problems.password_missing',
  'password-too-weak': 'problems.password_too_short',
  'password-too-common': 'problems.password_too_common',
};
const wrongEmail = { 'no-email': 'problems.email_invalid', 'invalid-email-format': 'problems.email_invalid' };
const code = {
  ...form,
  placeholder: 'label',
  resendActionText: 'resend',
  editEmailText: 'edit',
  'no-code': 'problems.code_missing',
  'invalid-code': 'problems.code_wrong',
  'invalid-otp-code-format': 'problems.code_wrong',
  'invalid-expired-code': 'problems.code_expired',
};

const factorCode = {
  pageTitle: 'pageTitle',
  title: 'title',
  buttonText: 'submit',
  placeholder: 'label',
  rememberMeText: 'remember',
  pickAuthenticatorText: 'other',
  'no-code': 'problems.code_missing',
  'invalid-code': 'problems.code_wrong',
  'invalid-otp-code-format': 'problems.code_wrong',
};
const sentCode = {
  ...factorCode,
  description: 'leadSent',
  resendActionText: 'resend',
  'invalid-expired-code': 'problems.code_expired',
};
const factorNames = {
  authenticatorNamesOTP: 'otp',
  authenticatorNamesEmail: 'email',
  authenticatorNamesSMS: 'sms',
  authenticatorNamesWebauthnRoaming: 'roaming',
  authenticatorNamesWebauthnPlatform: 'platform',
  authenticatorNamesRecoveryCode: 'recovery',
};
const another = { pickAuthenticatorText: 'other' };

/** `prompt/screen`: Auth0's keys, and our places for them. docs/reference/management-api.md lists them. */
export const customizable: Record<string, { page: ScreenName; places: Placeholders; values?: 'identifier' }> = {
  'login/login': {
    page: 'login',
    places: {
      ...form,
      ...names,
      ...passwordField,
      ...toSignup,
      ...elsewhere,
      forgotPasswordText: 'forgot',
      ...wrongName,
      ...wrongPassword,
    },
  },
  'login-id/login-id': { page: 'identifier', places: { ...form, ...names, ...toSignup, ...elsewhere, ...wrongName } },
  'login-password/login-password': {
    page: 'password',
    places: {
      ...form,
      ...passwordField,
      forgotPasswordText: 'forgot',
      editEmailText: 'common.change',
      ...wrongPassword,
    },
  },
  'login-passwordless/login-passwordless-email-code': { page: 'code', places: code, values: 'identifier' },
  'login-passwordless/login-passwordless-sms-otp': {
    page: 'code',
    places: { ...code, title: 'titleSms' },
    values: 'identifier',
  },
  'login-passwordless/login-passwordless-email-link': { page: 'loginLink', places: form, values: 'identifier' },
  'email-otp-challenge/email-otp-challenge': { page: 'code', places: code, values: 'identifier' },
  'signup/signup': {
    page: 'signup',
    places: {
      ...form,
      emailPlaceholder: 'common.email',
      ...passwordField,
      ...newPassword,
      loginActionText: 'loginQuestion',
      loginActionLinkText: 'login',
      ...elsewhere,
      ...wrongEmail,
      'email-in-use': 'problems.signup_refused',
    },
  },
  'consent/consent': {
    page: 'consent',
    places: {
      pageTitle: 'pageTitle',
      title: 'title',
      messageSingleTenant: 'lead',
      messageMultipleTenants: 'lead',
      acceptButtonText: 'submit',
      declineButtonText: 'deny',
    },
  },
  'device-flow/device-code-activation': {
    page: 'deviceCode',
    places: {
      ...form,
      placeholder: 'label',
      'no-code': 'problems.user_code_missing',
      'invalid-code': 'problems.user_code_wrong',
      'invalid-expired-code': 'problems.user_code_wrong',
    },
  },
  'device-flow/device-code-activation-allowed': {
    page: 'deviceDone',
    places: { pageTitle: 'pageTitle', eventTitle: 'title', description: 'lead' },
  },
  'device-flow/device-code-activation-denied': {
    page: 'deviceDone',
    places: { pageTitle: 'pageTitle', eventTitle: 'titleDenied', description: 'leadDenied' },
  },
  'device-flow/device-code-confirmation': {
    page: 'deviceConfirm',
    places: { ...top, confirmationText: 'caution', confirmButtonText: 'submit', cancelButtonText: 'deny' },
  },
  'reset-password/reset-password-request': {
    page: 'forgotPassword',
    places: {
      pageTitle: 'pageTitle',
      title: 'title',
      descriptionEmail: 'lead',
      buttonText: 'submit',
      placeholderEmail: 'common.email',
      backToLoginLinkText: 'common.back',
      ...wrongEmail,
      'too-many-email': 'problems.too_many_mails',
    },
  },
  'reset-password/reset-password-email': {
    page: 'passwordMailSent',
    places: {
      pageTitle: 'pageTitle',
      title: 'title',
      emailDescription: 'lead',
      resendLinkText: 'again',
      'too-many-email': 'problems.too_many_mails',
    },
    values: 'identifier',
  },
  'reset-password/reset-password': {
    page: 'newPassword',
    places: { ...form, ...passwordField, passwordPlaceholder: 'label', ...newPassword },
    values: 'identifier',
  },
  'reset-password/reset-password-success': {
    page: 'passwordChanged',
    places: { pageTitle: 'pageTitle', eventTitle: 'title', description: 'lead', buttonText: 'common.backTo' },
  },
  'email-verification/email-verification-result': {
    page: 'emailVerified',
    places: { pageTitle: 'pageTitle', verifiedTitle: 'title', verifiedDescription: 'lead' },
  },
  'mfa-otp/mfa-otp-challenge': { page: 'factorCode', places: { ...factorCode, description: 'leadOtp' } },
  'mfa-otp/mfa-otp-enrollment-qr': {
    page: 'enrolOtp',
    places: {
      ...form,
      placeholder: 'label',
      ...another,
      'no-code': 'problems.code_missing',
      'invalid-code': 'problems.code_wrong',
      'invalid-otp-code-format': 'problems.code_wrong',
    },
  },
  'mfa-email/mfa-email-challenge': { page: 'factorCode', places: sentCode, values: 'identifier' },
  'mfa-sms/mfa-sms-challenge': { page: 'factorCode', places: sentCode, values: 'identifier' },
  'mfa-sms/mfa-sms-enrollment': { page: 'enrolAddress', places: { ...form, ...another } },
  'mfa-recovery-code/mfa-recovery-code-challenge': {
    page: 'factorCode',
    places: {
      pageTitle: 'pageTitle',
      title: 'title',
      description: 'leadRecovery',
      buttonText: 'submit',
      placeholder: 'labelRecovery',
      ...another,
      'no-code': 'problems.code_missing',
      'invalid-code': 'problems.recovery_code_wrong',
    },
  },
  'mfa-recovery-code/mfa-recovery-code-enrollment': { page: 'recoveryCodes', places: form },
  'mfa-webauthn/mfa-webauthn-roaming-challenge': {
    page: 'factorKey',
    places: { ...form, rememberMeText: 'remember', ...another },
  },
  'mfa-webauthn/mfa-webauthn-roaming-enrollment': { page: 'enrolKey', places: { ...form, ...another } },
  'mfa/mfa-login-options': { page: 'factorChoice', places: { ...top, ...factorNames } },
  'mfa/mfa-begin-enroll-options': {
    page: 'factorChoice',
    places: { pageTitle: 'pageTitle', title: 'titleEnrol', description: 'leadEnrol', ...factorNames },
  },
  'passkeys/passkey-enrollment': {
    page: 'enrolKey',
    places: {
      pageTitle: 'pageTitle',
      title: 'titlePasskey',
      description: 'leadPasskey',
      createButtonText: 'submitPasskey',
      continueButtonText: 'skip',
    },
  },
  'organizations/organization-selection': {
    page: 'organization',
    places: { ...form, placeholder: 'label', 'invalid-organization': 'problems.organization_unknown' },
  },
  'organizations/organization-picker': { page: 'organizationChoice', places: top },
  'logout/logout': {
    page: 'logout',
    places: { ...top, acceptButtonText: 'submit', declineButtonText: 'deny' },
  },
  'logout/logout-complete': { page: 'loggedOut', places: { ...top, eventTitle: 'title' } },
};

/** Pages with two names at Auth0; texts under the left one take precedence. */
const aliases: Record<string, string> = {
  'login-passwordless/login-passwordless-email-code': 'email-otp-challenge/email-otp-challenge',
};

/** Auth0's names of values, mapped to ours. */
const values = {
  clientName: 'application',
  companyName: 'company',
  organizationName: 'organization',
  tenantName: 'tenant',
  email: 'identifier',
  connectionName: 'connection',
} as const;
/** Each button has its own provider. */
const withConnection = 'common.continueWith';
const textMaxLength = 1_000;

/** The first problem with a prompt's texts, with its path; undefined if there is none. */
export function checkCustomTexts(prompt: string, texts: ScreenTexts): string | undefined {
  for (const [screen, given] of Object.entries(texts)) {
    const known = customizable[`${prompt}/${screen}`];
    if (known === undefined) return `${prompt}.${screen}: the pages have no such screen`;
    for (const [key, text] of Object.entries(given)) {
      const path = `${prompt}.${screen}.${key}`;
      if (!Object.hasOwn(known.places, key)) return `${path}: the page has no such text`;
      if (text.length > textMaxLength) return `${path}: longer than ${textMaxLength} characters`;
      const names = Object.keys(values).filter(
        (name) =>
          (name !== 'email' || known.values === 'identifier') &&
          (name !== 'connectionName' || known.places[key] === withConnection),
      );
      const leftover = text.replaceAll(/\$\{(\w+)\}/g, (whole, name) => (names.includes(name) ? '' : whole));
      if (/[{}]/.test(leftover))
        return `${path}: braces stand around values only, which are ${names.map((name) => `\${${name}}`).join(', ')}`;
    }
  }
  return undefined;
}

/** Our texts with the tenant's in their places. A text whose value this page lacks stays ours, and so does one left blank. */
export function customize(
  strings: Strings,
  given: { texts: CustomTexts | undefined; tag: string; screen: string; values: Values },
): { strings: Strings; pageTitle?: string } {
  const tag = given.tag.toLowerCase();
  const ofLanguage = { ...given.texts?.[tag.split('-', 1)[0] as string], ...given.texts?.[tag] };
  const known = customizable[given.screen];
  const own = { ...ofLanguage[aliases[given.screen] ?? ''], ...ofLanguage[given.screen] };
  if (known === undefined || Object.keys(own).length === 0) return { strings };
  const changed: Record<string, Record<string, string>> = {};
  let pageTitle: string | undefined;
  for (const [key, auth0Text] of Object.entries(own)) {
    const text = auth0Text.replaceAll(/\$\{(\w+)\}/g, (_, name: keyof typeof values) => `{${values[name]}}`);
    for (const place of placesOf(known.places[key])) {
      const [section, name] = place.includes('.') ? (place.split('.') as [string, string]) : [known.page, place];
      const filled = place === withConnection ? { ...given.values, connection: '' } : given.values;
      if (!complete(text, filled) || (text.trim() === '' && !name.startsWith('lead'))) continue;
      if (place === 'pageTitle') pageTitle = text;
      // Apart from the page's own texts, only a few are filled where they are shown.
      else if (section === 'common' && name !== 'backTo' && place !== withConnection)
        changed.common = { ...changed.common, [name]: fill(text, given.values) };
      else changed[section] = { ...changed[section], [name]: text };
    }
  }
  const merged = Object.entries(changed).map(([section, texts]) => [
    section,
    { ...strings[section as keyof Strings], ...texts },
  ]);
  return { strings: { ...strings, ...Object.fromEntries(merged) }, ...(pageTitle !== undefined && { pageTitle }) };
}

/** A tenant's text replaces both forms of a text that we have in two. */
function placesOf(place: string | undefined): string[] {
  if (place === undefined) return [];
  return place === 'lead' || place === 'leadEnrol' ? [place, `${place}Plain`] : [place];
}
