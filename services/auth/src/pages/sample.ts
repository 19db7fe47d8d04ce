/** Every page with plausible contexts, in all its states: for the preview, and for the tests that look at each. */
import { qrPicture } from '../factors/totp.ts';
import type { Branding, CommonContext, PageContext, PageName } from './pages.ts';
import { renderPage } from './render.ts';
import { accountSamples } from './sample-account.ts';

const common = {
  tenant: { friendly_name: 'Gatepost', support_email: 'support@example.com' },
  application: { id: 'demo-web', name: 'Demo Web App' },
  redirectUri: 'http://localhost:4599/callback',
  hidden: { csrf: 'sample' },
  action: '#',
};
const user = { user_id: 'auth0|alice', email: 'alice@example.com', name: 'Alice Example' };
const apis = [
  { scopes: [{ value: 'openid' }, { value: 'profile' }, { value: 'email' }, { value: 'offline_access' }] },
  {
    name: 'Webhook API',
    identifier: 'http://localhost:4500/',
    scopes: [
      { value: 'repo', description: 'Full control of repositories and their hooks' },
      { value: 'read:repo_hook', description: 'Read and ping repository hooks' },
      { value: 'site_admin' },
    ],
  },
];

/** The logos that we know, and a company's own provider with a long name. */
const elsewhere = [
  { href: '#google', label: 'Google', mark: 'google-oauth2' },
  { href: '#github', label: 'GitHub', mark: 'github' },
  { href: '#microsoft', label: 'Microsoft', mark: 'windowslive' },
  { href: '#apple', label: 'Apple', mark: 'apple' },
  { href: '#acme', label: 'Acme International Holdings & Sons', mark: 'oidc' },
];

/** A challenge that no number solves. */
const captcha = JSON.stringify({
  algorithm: 'SHA-256',
  challenge: '0'.repeat(64),
  maxnumber: 9,
  salt: 's',
  signature: '',
});

type Sample = {
  name: string;
  page: PageName;
  /** `more` overrides the sample's values. */
  render: (
    languages?: string,
    branding?: Branding,
    template?: string,
    more?: Partial<CommonContext>,
  ) => ReturnType<typeof renderPage>;
};

function sample<Name extends PageName>(name: string, page: Name, context: PageContext<Name>): Sample {
  return {
    name,
    page,
    render: (uiLocales, branding, template, more) =>
      renderPage(page, { ...context, ...more, uiLocales, branding, template }),
  };
}

export const samples: Sample[] = [
  sample('identifier', 'identifier', { ...common, kinds: ['email', 'phone'], signup: true }),
  sample('identifier-passkey', 'identifier', { ...common, kinds: ['email'], signup: true, passkey: '{}' }),
  sample('identifier-elsewhere', 'identifier', { ...common, kinds: ['email'], signup: true, elsewhere }),
  sample('identifier-only-elsewhere', 'identifier', { ...common, kinds: [], elsewhere }),
  sample('login-elsewhere', 'login', { ...common, kinds: ['email'], forgot: true, signup: true, elsewhere }),
  sample('signup-elsewhere', 'signup', { ...common, login: true, passwordMinLength: 12, elsewhere }),
  sample('identifier-problem', 'identifier', {
    ...common,
    kinds: ['email', 'phone'],
    identifier: 'alice@',
    problems: ['identifier_unusable'],
    signup: true,
  }),
  sample('password', 'password', { ...common, identifier: 'alice@example.com', edit: '#e', code: true, forgot: '#f' }),
  sample('password-problem', 'password', {
    ...common,
    identifier: 'a.person.with.quite.a.long.address@subdomain.example.com',
    edit: '#e',
    forgot: '#f',
    problems: ['wrong_credentials'],
  }),
  sample('login', 'login', { ...common, kinds: ['email'], forgot: true, signup: true }),
  sample('login-problem', 'login', {
    ...common,
    kinds: ['email'],
    identifier: 'alice@example.com',
    problems: ['wrong_credentials'],
    forgot: true,
    signup: true,
  }),
  sample('code', 'code', { ...common, channel: 'email', sentTo: 'alice@example.com', edit: '#e', resend: true }),
  sample('code-problem', 'code', {
    ...common,
    channel: 'sms',
    sentTo: '+15555550100',
    edit: '#e',
    resend: true,
    resent: true,
    password: '#p',
    problems: ['code_wrong'],
  }),
  sample('factor-otp', 'factor-code', { ...common, factor: 'otp', remember: true, other: true }),
  sample('factor-email', 'factor-code', {
    ...common,
    factor: 'email',
    sentTo: 'a••••@example.com',
    resend: true,
    resent: true,
    remember: true,
    other: true,
  }),
  sample('factor-sms-problem', 'factor-code', {
    ...common,
    factor: 'sms',
    sentTo: '••••••0100',
    resend: true,
    problems: ['code_wrong'],
  }),
  sample('factor-recovery', 'factor-code', { ...common, factor: 'recovery-code', other: true }),
  sample('factor-key', 'factor-key', { ...common, options: '{}', remember: true, other: true }),
  sample('factor-choice', 'factor-choice', { ...common, enrol: false, factors: ['otp', 'roaming', 'recovery'] }),
  sample('factor-choice-enrol', 'factor-choice', {
    ...common,
    enrol: true,
    factors: ['otp', 'sms', 'email', 'roaming', 'platform'],
  }),
  sample('enrol-otp', 'enrol-otp', {
    ...common,
    picture: qrPicture(
      'otpauth://totp/Gatepost:alice%40example.com?issuer=Gatepost&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    ),
    key: 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
    other: true,
  }),
  sample('enrol-sms', 'enrol-address', { ...common, channel: 'sms', problems: ['phone_invalid'], other: true }),
  sample('enrol-email', 'enrol-address', { ...common, channel: 'email', address: 'alice@example.com' }),
  sample('enrol-key', 'enrol-key', { ...common, kind: 'key', options: '{}', other: true }),
  sample('enrol-passkey', 'enrol-key', { ...common, kind: 'passkey', options: '{}' }),
  sample('recovery-codes', 'recovery-codes', {
    ...common,
    codes: Array.from({ length: 10 }, (_, index) => `4T${index}K-9WPA-XR7M-2HQZ`),
  }),
  sample('login-link', 'login-link', { ...common, email: 'alice@example.com' }),
  sample('sign-in-as', 'sign-in-as', { ...common, identifier: 'mallory@example.com' }),
  sample('sign-in-as-other', 'sign-in-as', {
    ...common,
    user,
    identifier: 'a.person.with.quite.a.long.address@subdomain.example.com',
  }),
  sample('signup', 'signup', { ...common, login: true, passwordMinLength: 12 }),
  sample('signup-problem', 'signup', {
    ...common,
    email: 'alice@',
    login: true,
    passwordMinLength: 12,
    problems: ['email_invalid', 'password_too_short'],
  }),
  sample('signup-captcha', 'signup', { ...common, login: true, passwordMinLength: 12, captcha }),
  sample('password-captcha', 'password', {
    ...common,
    identifier: 'alice@example.com',
    edit: '#e',
    forgot: '#f',
    captcha,
    problems: ['captcha_failed'],
  }),
  sample('forgot-captcha', 'forgot-password', { ...common, back: true, captcha }),
  sample('consent', 'consent', { ...common, user, apis, redirectHost: 'localhost:4599' }),
  sample('organization', 'organization', { ...common, without: false }),
  sample('organization-problem', 'organization', {
    ...common,
    without: true,
    organization: 'orchrad',
    problems: ['organization_unknown'],
  }),
  sample('organization-choice', 'organization-choice', {
    ...common,
    without: true,
    organizations: [
      { id: 'org_1', label: 'Orchard Ltd' },
      { id: 'org_2', label: 'The International Association of Millers and Bakers' },
    ],
  }),
  sample('device-code', 'device-code', common),
  sample('device-code-problem', 'device-code', { ...common, userCode: 'WDJB-MJH', problems: ['user_code_wrong'] }),
  sample('device-confirm', 'device-confirm', { ...common, userCode: 'WDJB-MJHT' }),
  sample('device-done', 'device-done', { ...common, outcome: 'allowed' }),
  sample('device-denied', 'device-done', { ...common, outcome: 'denied' }),
  sample('logout', 'logout', { ...common, user }),
  sample('logged-out', 'logged-out', { ...common, back: '#back' }),
  sample('error', 'error', {
    tenant: common.tenant,
    error: 'invalid_request',
    description: "redirect_uri did not match any of the client's registered redirect_uris",
    reference: '0f8fad5b-d9cb-469f-a165-70867728950e',
  }),
  sample('error-unavailable', 'error', { ...common, error: 'temporarily_unavailable', back: '#again' }),
  sample('stale', 'stale', { ...common, back: '#again' }),
  sample('stale-plain', 'stale', { tenant: common.tenant }),
  sample('too-many-attempts', 'too-many-attempts', { ...common, back: '#back', minutes: 10 }),
  sample('too-many-attempts-reset', 'too-many-attempts', { ...common, back: '#back', minutes: 10, reset: '#reset' }),
  sample('forgot-password', 'forgot-password', { ...common, back: true }),
  sample('password-mail-sent', 'password-mail-sent', { ...common, email: 'alice@example.com', signIn: '#login' }),
  sample('password-mail-resent', 'password-mail-sent', { ...common, back: '#back', resent: true }),
  sample('login-mail-sent', 'login-mail-sent', { ...common, back: '#back' }),
  sample('verification-mail-sent', 'verification-mail-sent', { ...common, back: '#back' }),
  sample('verify-email', 'verify-email', {
    ...common,
    email: 'a.person.with.quite.a.long.address@subdomain.example.com',
  }),
  sample('email-verified', 'email-verified', { ...common, back: '#back' }),
  sample('dead-link-used', 'dead-link', { ...common, reason: 'used', renewal: 'known', back: '#back' }),
  sample('dead-link-unknown', 'dead-link', {
    ...common,
    reason: 'unknown',
    renewal: 'asks',
    email: 'alice@',
    problems: ['email_invalid'],
  }),
  sample('dead-link-plain', 'dead-link', { ...common, reason: 'expired', renewal: 'none' }),
  sample('new-password', 'new-password', { ...common, email: 'alice@example.com', passwordMinLength: 12 }),
  sample('password-changed', 'password-changed', { ...common, back: '#back' }),
  sample('form-post', 'form-post', {
    ...common,
    action: 'http://localhost:4599/callback',
    fields: { code: 'sample-code', state: '"><script>alert(1)</script>', iss: 'http://localhost:4400/' },
  }),
  sample('web-message', 'web-message', {
    ...common,
    origin: 'http://localhost:4599',
    response: { error: 'login_required', state: '</script>\u2028', iss: 'http://localhost:4400/' },
  }),
  ...Object.entries(accountSamples({ ...common, application: undefined, user })).map(([name, [page, context]]) =>
    // The type of each row has checked that page and context belong together.
    sample(name, page, context as never),
  ),
];
