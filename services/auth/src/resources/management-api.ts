/** The built-in API whose tokens open `api/v2` (docs/reference/management-api.md). */
import type { Api } from './store.ts';

const resources: Record<string, string[]> = {
  clients: ['read', 'create', 'update', 'delete'],
  client_keys: ['read', 'update'],
  client_grants: ['read', 'create', 'update', 'delete'],
  resource_servers: ['read', 'create', 'update', 'delete'],
  users: ['read', 'create', 'update', 'delete'],
  connections: ['read', 'create', 'update', 'delete'],
  sessions: ['read', 'delete'],
  refresh_tokens: ['read', 'delete'],
  device_credentials: ['read', 'delete'],
  grants: ['read', 'delete'],
  logs: ['read'],
  stats: ['read'],
  branding: ['read', 'update', 'delete'],
  tenant_settings: ['read', 'update'],
  signing_keys: ['read', 'create', 'update'],
  registration_tokens: ['create'],
};

export function managementApi(issuer: string): Api {
  const epoch = new Date(0);
  return {
    id: 'management',
    identifier: `${issuer}api/v2/`,
    name: 'Gatepost Management API',
    tokenLifetime: 86_400,
    allowOfflineAccess: false,
    signingAlg: 'RS256',
    tokenDialect: 'access_token',
    skipConsent: false,
    scopes: Object.entries(resources).flatMap(([resource, verbs]) =>
      verbs.map((verb) => ({ value: `${verb}:${resource}` })),
    ),
    createdAt: epoch,
    updatedAt: epoch,
    isSystem: true,
  };
}
