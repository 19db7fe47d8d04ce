import { useQuery } from '@tanstack/react-query';
import { type Management, openManagement } from '../../api/management.ts';
import { useConsole } from '../../session/context.ts';
import type { Session } from '../../session/session.ts';
import type { NavigationItem } from '../navigation.ts';

const opened = new WeakMap<Session, Management>();

/** The gate's management API, used as the signed-in person. */
export function useManagement(): Management {
  const { session } = useConsole();
  const api = opened.get(session) ?? openManagement(session);
  opened.set(session, api);
  return api;
}

export const scopesQuery = (api: Management) => ({
  queryKey: ['gate', 'scopes'],
  queryFn: () => api.scopes(),
  staleTime: 60_000,
});

const items = [
  ['read:clients', { to: '/gate/applications', text: 'Applications' }],
  ['read:resource_servers', { to: '/gate/apis', text: 'APIs' }],
  ['read:users', { to: '/gate/users', text: 'Users' }],
  ['read:roles', { to: '/gate/roles', text: 'Roles' }],
  ['read:organizations', { to: '/gate/organizations', text: 'Organizations' }],
  ['read:connections', { to: '/gate/connections', text: 'Connections' }],
  ['read:guardian_factors', { to: '/gate/multi-factor', text: 'Multi-factor' }],
  ['read:actions', { to: '/gate/actions', text: 'Actions' }],
  ['read:attack_protection', { to: '/gate/attack-protection', text: 'Attack protection' }],
  ['read:logs', { to: '/gate/log', text: 'Log' }],
  ['read:branding', { to: '/gate/sign-in-page', text: 'Sign-in page' }],
  ['read:email_templates', { to: '/gate/email-templates', text: 'Email templates' }],
  ['read:signing_keys', { to: '/gate/keys', text: 'Signing keys' }],
  ['read:tenant_settings', { to: '/gate/settings', text: 'Tenant settings' }],
] as const satisfies readonly [string, NavigationItem][];

/** The gate pages that the person may open. */
export function useGateNavigation(): NavigationItem[] {
  const { data } = useQuery(scopesQuery(useManagement()));
  return items.flatMap(([scope, item]) => (data?.has(scope) ? [item] : []));
}
