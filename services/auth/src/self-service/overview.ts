/** The page that leads to the others. */
import { accountClientId } from '../clients/account-client-id.ts';
import type { AccountSection } from '../pages/account.ts';
import { securityOf, securityPath } from './security.ts';
import type { Visit } from './visit.ts';

const sections: AccountSection[] = [
  { key: 'profile', href: '/account/profile' },
  { key: 'password', href: '/account/password' },
  { key: 'security', href: securityPath },
  { key: 'signIns', href: '/account/sign-ins' },
  { key: 'devices', href: '/account/devices' },
  { key: 'applications', href: '/account/applications' },
  { key: 'activity', href: '/account/activity' },
  { key: 'data', href: '/account/data' },
];

export async function showOverview(visit: Visit): Promise<void> {
  const signOut = `/v2/logout?${new URLSearchParams({ client_id: accountClientId })}`;
  const hasSecurity = (await securityOf(visit)).groups.length > 0;
  const shown = sections.filter(({ key }) => key !== 'security' || hasSecurity);
  return visit.show('account', { path: '/account', sections: shown, signOut }, await visit.recall('/account'));
}
