/** The rows of screens.ts for the pages below `/account`. They are not login prompts, so tenants' templates do not apply. */
import type { AccountPages } from './account.ts';
import type { Screen } from './screens.ts';

const passwordLeads = { old: 'passwordCaution', mail: 'passwordMail', none: 'passwordNone' } as const;
const listTitles = {
  security: 'security',
  signIns: 'signIns',
  devices: 'devicesTitle',
  applications: 'applicationsTitle',
  activity: 'activityTitle',
} as const;
const listLeads = {
  security: 'securityLead',
  signIns: 'signInsLead',
  devices: 'devicesLead',
  applications: 'applicationsLead',
  activity: 'activityLead',
} as const;
const base = { texts: 'account', prompt: 'account', themed: false, wide: true } as const;

export const accountScreens: { [Name in keyof AccountPages]: Screen<AccountPages[Name]> } = {
  account: { ...base, screen: 'account', lead: () => 'lead' },
  'account-profile': {
    ...base,
    screen: 'account-profile',
    values: ({ provider }) => ({ connection: provider }),
    title: () => 'profile',
    lead: ({ provider }) => (provider === undefined ? 'profileLead' : 'profileElsewhere'),
  },
  'account-email': {
    ...base,
    screen: 'account-email',
    values: ({ sentTo }) => ({ identifier: sentTo }),
    title: () => 'emailTitle',
    lead: ({ sentTo }) => (sentTo === undefined ? 'emailLead' : 'emailSent'),
  },
  'account-password': {
    ...base,
    screen: 'account-password',
    values: ({ passwordMinLength }) => ({ count: passwordMinLength }),
    title: () => 'passwordTitle',
    lead: ({ way }) => passwordLeads[way],
  },
  'account-list': {
    ...base,
    screen: ({ list }) => `account-${list === 'signIns' ? 'sign-ins' : list}`,
    values: ({ codesLeft, browsers }) => ({ count: codesLeft, browsers }),
    title: ({ list }) => listTitles[list],
    lead: ({ list }) => listLeads[list],
  },
  'account-confirm': {
    ...base,
    screen: 'account-confirm',
    title: ({ asks }) => (asks === 'removal' ? 'removeTitle' : 'codesTitle'),
    lead: ({ asks, losesCodes }) => (asks === 'codes' ? 'codesLead' : losesCodes ? 'removeLast' : 'removeLead'),
  },
  'account-data': { ...base, screen: 'account-data', title: () => 'data', lead: () => 'dataLead' },
  'account-delete': { ...base, screen: 'account-delete', title: () => 'deleteTitle', lead: () => 'deleteLead' },
  'account-deleted': { ...base, screen: 'account-deleted', title: () => 'deletedTitle', lead: () => 'deletedLead' },
};
