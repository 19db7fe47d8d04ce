/** The built-in API whose tokens open `api/v2` (docs/reference/management-api.md). */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Api } from './store.ts';

const resources: Record<string, string[]> = {
  clients: ['read', 'create', 'update', 'delete'],
  client_keys: ['read', 'update'],
  client_credentials: ['read', 'create', 'update', 'delete'],
  client_grants: ['read', 'create', 'update', 'delete'],
  resource_servers: ['read', 'create', 'update', 'delete'],
  users: ['read', 'create', 'update', 'delete'],
  user_idp_tokens: ['read'],
  authentication_methods: ['read', 'create', 'update', 'delete'],
  guardian_factors: ['read', 'update'],
  mfa_policies: ['read', 'update'],
  user_tickets: ['create'],
  connections: ['read', 'create', 'update', 'delete'],
  roles: ['read', 'create', 'update', 'delete'],
  organizations: ['read', 'create', 'update', 'delete'],
  organization_members: ['read', 'create', 'delete'],
  organization_member_roles: ['read', 'create', 'delete'],
  organization_connections: ['read', 'create', 'update', 'delete'],
  organization_invitations: ['read', 'create', 'delete'],
  sessions: ['read', 'delete'],
  refresh_tokens: ['read', 'delete'],
  device_credentials: ['read', 'delete'],
  grants: ['read', 'delete'],
  logs: ['read'],
  logs_users: ['read'],
  stats: ['read'],
  branding: ['read', 'update', 'delete'],
  email_templates: ['read', 'create', 'update'],
  tenant_settings: ['read', 'update'],
  signing_keys: ['read', 'create', 'update'],
  encryption_keys: ['update'],
  registration_tokens: ['create'],
  actions: ['read', 'create', 'update', 'delete'],
  // For features we lack (../management/absent.ts): tools request these scopes, and are told that the feature is missing.
  attack_protection: ['read', 'update'],
  connection_profiles: ['read'],
  custom_domains: ['read'],
  custom_signing_keys: ['read'],
  directory_provisionings: ['read'],
  email_provider: ['read'],
  event_streams: ['read'],
  flows: ['read'],
  flows_vault_connections: ['read'],
  forms: ['read'],
  hooks: ['read'],
  log_streams: ['read'],
  network_acls: ['read'],
  phone_providers: ['read'],
  phone_templates: ['read'],
  prompts: ['read', 'update'],
  rate_limit_policies: ['read'],
  rules: ['read'],
  rules_configs: ['read'],
  scim_config: ['read'],
  self_service_profiles: ['read'],
  token_exchange_profiles: ['read'],
  user_attribute_profiles: ['read'],
};

/** The API's audiences, one per issuer; all of them mean the API named after the first issuer. */
export function managementAudiences(issuers: string[]): Set<string> {
  return new Set(issuers.map((issuer) => `${baseUrlOf(issuer)}api/v2/`));
}

export function managementApi(issuer: string): Api {
  const epoch = new Date(0);
  return {
    id: 'management',
    identifier: `${baseUrlOf(issuer)}api/v2/`,
    name: 'Gatepost Management API',
    tokenLifetime: 86_400,
    allowOfflineAccess: false,
    enforcePolicies: true,
    signingAlg: 'RS256',
    tokenDialect: 'access_token',
    skipConsent: false,
    inert: {},
    scopes: Object.entries(resources).flatMap(([resource, verbs]) =>
      verbs.map((verb) => ({ value: `${verb}:${resource}` })),
    ),
    createdAt: epoch,
    updatedAt: epoch,
    isSystem: true,
  };
}
