/** What the addresses of the gate's pages contain besides their paths. */
export const applicationTabs = {
  settings: 'Settings',
  start: 'Quick start',
  credentials: 'Credentials',
  apis: 'APIs',
  try: 'Try sign-in',
};
export type ApplicationTab = keyof typeof applicationTabs;
export type ApplicationSearch = { tab?: ApplicationTab };

export function validateApplicationSearch({ tab }: Record<string, unknown>): ApplicationSearch {
  return typeof tab === 'string' && Object.hasOwn(applicationTabs, tab) ? { tab: tab as ApplicationTab } : {};
}

export const organizationTabs = {
  settings: 'Settings',
  members: 'Members',
  invitations: 'Invitations',
  connections: 'Connections',
};
export type OrganizationTab = keyof typeof organizationTabs;
export type OrganizationSearch = { tab?: OrganizationTab };

export function validateOrganizationSearch({ tab }: Record<string, unknown>): OrganizationSearch {
  return typeof tab === 'string' && Object.hasOwn(organizationTabs, tab) ? { tab: tab as OrganizationTab } : {};
}

export type TemplateSearch = { template?: string };

export function validateTemplateSearch({ template }: Record<string, unknown>): TemplateSearch {
  return typeof template === 'string' ? { template } : {};
}

export const logKinds = {
  all: 'Everything',
  refused: 'Refused',
  logins: 'Sign-ins',
  tokens: 'Tokens',
  changes: 'Changes',
};
export type LogKind = keyof typeof logKinds;
export type LogSearch = { kind?: LogKind; client?: string; user?: string };

export function validateLogSearch({ kind, client, user }: Record<string, unknown>): LogSearch {
  return {
    ...(typeof kind === 'string' && kind !== 'all' && Object.hasOwn(logKinds, kind) && { kind: kind as LogKind }),
    ...(typeof client === 'string' && client !== '' && { client }),
    ...(typeof user === 'string' && user !== '' && { user }),
  };
}

export type UserSearch = { q?: string; page?: number };

/** A text that looks like a number has been parsed as one. */
export function validateUserSearch({ q, page }: Record<string, unknown>): UserSearch {
  return {
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
    ...(typeof page === 'number' && Number.isInteger(page) && page > 0 && { page }),
  };
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** What the list of people showed when this person was chosen from it. */
    usersSearch?: UserSearch;
  }
}
