/** The pages below `/account` for sample.ts, in all their states. */
import type { AccountGroup } from './account.ts';
import type { CommonContext } from './pages.ts';

const at = new Date('2026-11-20T09:30:00Z');
const earlier = new Date('2026-10-02T18:05:00Z');
const longAddress = 'a.person.with.quite.a.long.address@subdomain.example.com';

const devices: AccountGroup[] = [
  {
    items: [
      {
        id: 'a',
        title: 'Firefox · Linux',
        notes: [{ key: 'here' }, { text: '192.0.2.7' }, { key: 'lastSeen', at }, { key: 'firstSeen', at: earlier }],
        actions: [{ action: 'end', key: 'endSession' }],
      },
      {
        id: 'b',
        kind: 'unknownDevice',
        notes: [{ text: '2001:db8:85a3:8d3:1319:8a2e:370:7348' }, { key: 'lastSeen', at: earlier }],
        actions: [{ action: 'end', key: 'endSession' }],
      },
    ],
    buttons: [{ action: 'others', key: 'endOthers' }],
  },
];
const security: AccountGroup[] = [
  {
    title: 'secondSteps',
    items: [
      {
        id: 'totp',
        kind: 'otp',
        notes: [
          { key: 'added', at: earlier },
          { key: 'lastUsed', at },
        ],
        actions: [{ action: 'remove', key: 'remove' }],
      },
      {
        id: 'phone',
        title: '••••••0100',
        kind: 'sms',
        notes: [{ key: 'added', at: earlier }],
        actions: [{ action: 'remove', key: 'remove' }],
      },
    ],
    links: [
      { href: '#otp', key: 'otp' },
      { href: '#sms', key: 'sms' },
      { href: '#email', key: 'emailCode' },
      { href: '#roaming', key: 'roaming' },
      { href: '#platform', key: 'platform' },
    ],
  },
  {
    title: 'passkeys',
    items: [
      {
        id: 'passkey',
        title: 'My <work> laptop',
        kind: 'passkey',
        notes: [{ key: 'added', at: earlier }],
        actions: [{ action: 'remove', key: 'remove' }],
        rename: { name: 'My <work> laptop' },
      },
    ],
    links: [{ href: '#passkey', key: 'passkey' }],
  },
  { title: 'recoveryCodes', about: 'recoveryLeft', items: [], buttons: [{ action: 'codes', key: 'recoveryNew' }] },
  { title: 'remembered', about: 'rememberedCount', items: [], buttons: [{ action: 'forget', key: 'forget' }] },
];
const signIns: AccountGroup[] = [
  {
    items: [
      { id: '', title: 'alice@example.com', kind: 'database', notes: [{ key: 'mainSignIn' }] },
      {
        id: 'github|1',
        title: 'GitHub',
        notes: [{ text: longAddress }],
        actions: [{ action: 'unlink', key: 'unlink' }],
      },
    ],
  },
  {
    title: 'linkAnother',
    items: [],
    buttons: [
      { action: 'link', key: 'add', id: 'google-oauth2', label: 'Google', mark: 'google-oauth2' },
      { action: 'link', key: 'add', id: 'acme', label: 'Acme International Holdings & Sons', mark: 'oidc' },
    ],
  },
];
const applications: AccountGroup[] = [
  {
    empty: 'applicationsEmpty',
    items: [
      {
        id: 'demo-web',
        title: 'Demo Web App',
        notes: [
          { text: 'openid, profile, email' },
          { text: 'https://api.example.com/: read:x, write:x' },
          { key: 'since', at },
        ],
        actions: [{ action: 'disconnect', key: 'disconnect' }],
      },
    ],
  },
];
const activity: AccountGroup[] = [
  {
    items: [
      { id: '3', kind: 'didLogIn', notes: [{ at }, { text: 'Demo Web App' }, { text: '192.0.2.7' }] },
      { id: '2', kind: 'failedLogin', notes: [{ at: earlier }, { text: '192.0.2.99' }] },
      { id: '1', kind: 'didEnrol', notes: [{ at: earlier }] },
    ],
  },
];
const sections = (
  ['profile', 'password', 'security', 'signIns', 'devices', 'applications', 'activity', 'data'] as const
).map((key) => ({ key, href: `#${key}` }));
const profile = [
  { id: 'name' as const, value: 'Alice Example' },
  { id: 'given_name' as const, value: '' },
  { id: 'family_name' as const, value: '' },
  { id: 'nickname' as const, value: 'alice' },
  { id: 'picture' as const, value: 'https://pictures.example.com/a/rather/long/address/of/a/picture.png' },
];

/** By name: the page and its contents. @param common shared by all of them */
export function accountSamples(common: CommonContext & { action: string }) {
  const password = { ...common, identifier: 'alice@example.com', hasMail: true, passwordMinLength: 12 };
  return {
    account: ['account', { ...common, sections, signOut: '#out' }],
    'account-saved': ['account', { ...common, sections, signOut: '#out', notice: 'signed_out' }],
    'account-profile': [
      'account-profile',
      { ...common, profile, email: 'alice@example.com', isVerified: true, emailPath: '#email', notice: 'saved' },
    ],
    'account-profile-problem': [
      'account-profile',
      { ...common, profile, email: longAddress, isVerified: false, emailPath: '#email', problems: ['picture_invalid'] },
    ],
    'account-profile-elsewhere': [
      'account-profile',
      { ...common, profile, email: longAddress, isVerified: true, provider: 'Acme' },
    ],
    'account-email': ['account-email', { ...common, typed: 'alice@example', problems: ['email_invalid'] }],
    'account-email-code': ['account-email', { ...common, sentTo: longAddress, problems: ['code_wrong'] }],
    'account-password': ['account-password', { ...password, way: 'old' }],
    'account-password-problem': ['account-password', { ...password, way: 'old', problems: ['old_password_wrong'] }],
    'account-password-mail': ['account-password', { ...password, way: 'mail', notice: 'mail' }],
    'account-password-none': ['account-password', { ...password, way: 'none' }],
    'account-security': ['account-list', { ...common, list: 'security', groups: security, codesLeft: 7, browsers: 2 }],
    'account-remove': [
      'account-confirm',
      { ...common, asks: 'removal', item: { title: longAddress, kind: 'emailCode' }, losesCodes: false, back: '#back' },
    ],
    'account-remove-last': [
      'account-confirm',
      { ...common, asks: 'removal', item: { kind: 'otp' }, losesCodes: true, back: '#back' },
    ],
    'account-new-codes': ['account-confirm', { ...common, asks: 'codes', back: '#back' }],
    'account-sign-ins': ['account-list', { ...common, list: 'signIns', groups: signIns, problems: ['link_taken'] }],
    'account-devices': ['account-list', { ...common, list: 'devices', groups: devices }],
    'account-applications': [
      'account-list',
      { ...common, list: 'applications', groups: applications, notice: 'removed' },
    ],
    'account-applications-none': [
      'account-list',
      { ...common, list: 'applications', groups: [{ items: [], empty: 'applicationsEmpty' }] },
    ],
    'account-activity': ['account-list', { ...common, list: 'activity', groups: activity }],
    'account-data': ['account-data', { ...common, download: '#download', deletion: '#delete' }],
    'account-delete': ['account-delete', { ...common, back: '#back', problems: ['confirm_missing'] }],
    'account-deleted': ['account-deleted', common],
  } as const;
}
