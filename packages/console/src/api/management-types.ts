/** The parts of the management API's answers that the console reads. All of it is in the gate's /openapi.json. */
export type AppType = 'regular_web' | 'spa' | 'native' | 'non_interactive';

export type RefreshTokenSettings = {
  rotation_type?: 'rotating' | 'non-rotating';
  expiration_type?: 'expiring' | 'non-expiring';
  token_lifetime?: number;
  idle_token_lifetime?: number;
  infinite_token_lifetime?: boolean;
  infinite_idle_token_lifetime?: boolean;
  leeway?: number;
};

export type Application = {
  client_id: string;
  /** Only right after its creation. */
  client_secret?: string;
  name: string;
  description: string;
  logo_uri?: string;
  app_type: AppType;
  global: boolean;
  is_first_party: boolean;
  callbacks: string[];
  allowed_logout_urls: string[];
  web_origins: string[];
  allowed_origins: string[];
  grant_types: string[];
  token_endpoint_auth_method?: 'none' | 'client_secret_post' | 'client_secret_basic' | 'private_key_jwt';
  jwt_configuration: { alg: string };
  /** null: as in the tenant's settings. */
  oidc_conformant_claims: boolean | null;
  refresh_token?: RefreshTokenSettings;
  require_pushed_authorization_requests: boolean;
  require_proof_of_possession: boolean;
  is_token_endpoint_ip_header_trusted: boolean;
  organization_usage?: 'deny' | 'allow' | 'require';
  organization_require_behavior?: 'no_prompt' | 'pre_login_prompt' | 'post_login_prompt';
  initiate_login_uri?: string;
  created_at: string;
  updated_at: string;
};

export type TokenDialect = 'access_token' | 'access_token_authz' | 'rfc9068_profile' | 'rfc9068_profile_authz';

export type ResourceServer = {
  id: string;
  identifier: string;
  name: string;
  is_system: boolean;
  scopes: { value: string; description?: string }[];
  signing_alg: string;
  token_lifetime: number;
  allow_offline_access: boolean;
  skip_consent_for_verifiable_first_party_clients: boolean;
  enforce_policies?: boolean;
  token_dialect: TokenDialect;
};

export type ClientGrant = { id: string; client_id: string; audience: string; scope: string[] };

export type Identity = { connection: string; provider: string; user_id: string };

export type User = {
  user_id: string;
  name: string;
  nickname?: string;
  email?: string;
  email_verified?: boolean;
  username?: string;
  phone_number?: string;
  blocked: boolean;
  identities: Identity[];
  logins_count: number;
  last_login?: string;
  last_ip?: string;
  last_password_reset?: string;
  created_at: string;
  updated_at: string;
  user_metadata: object;
  app_metadata: object;
};

export type UserSession = {
  id: string;
  created_at: string;
  authenticated_at: string;
  last_interacted_at: string | null;
  expires_at: string;
  clients: { client_id: string }[];
  device?: { last_ip: string; last_user_agent: string };
  authentication: { methods: { name: string }[] };
};

export type Consent = { id: string; clientID: string; audience?: string; scope: string[] };

export type RefreshToken = {
  id: string;
  client_id: string;
  created_at: string;
  idle_expires_at: string | null;
  expires_at: string | null;
  rotating: boolean;
  resource_servers: { audience: string; scopes: string }[];
};

export type Connection = {
  id: string;
  name: string;
  strategy: 'auth0' | 'email' | 'sms' | string;
  enabled_clients?: string[];
  options?: Record<string, unknown> & {
    validation?: { username?: { min?: number | null; max?: number | null } };
    authentication_methods?: { passkey?: { enabled?: boolean } };
  };
  display_name?: string | null;
  show_as_button?: boolean | null;
};

export type LogEntry = {
  log_id: string;
  date: string;
  type: string;
  description: string;
  client_id?: string;
  user_id?: string;
  ip?: string;
  details: Record<string, unknown>;
};

export type SigningKey = {
  kid: string;
  alg: string;
  cert: string;
  fingerprint?: string;
  current: boolean;
  next: boolean;
  previous: boolean;
  current_since: string;
  current_until?: string;
  revoked: boolean;
  revoked_at?: string;
};

export type TenantSettings = {
  friendly_name: string;
  picture_url: string;
  support_email: string;
  support_url: string;
  default_audience: string;
  identifier_first: boolean;
  allow_signup: boolean;
  oidc_conformant_claims: boolean;
  default_id_token_alg: string;
  enabled_locales: string[];
};

export type Branding = {
  logo_url?: string;
  favicon_url?: string;
  colors?: { primary?: string; page_background?: string | object };
  font?: { url?: string };
};

export type Role = { id: string; name: string; description?: string; is_default?: boolean };

/** A permission of a role, or of a person; the latter says where it comes from. */
export type HeldPermission = {
  resource_server_identifier: string;
  resource_server_name: string;
  permission_name: string;
  description?: string;
  sources?: { source_id: string; source_name: string; source_type: 'DIRECT' | 'ROLE' }[];
};

/** A person in a list of people. */
export type Member = { user_id: string; name: string; email?: string; roles?: { id: string; name: string }[] };

export type Organization = {
  id: string;
  name: string;
  display_name: string;
  branding?: { logo_url?: string; colors?: { primary?: string; page_background?: string } };
};

export type OrganizationConnection = {
  connection_id: string;
  assign_membership_on_login: boolean;
  show_as_button: boolean;
  is_signup_enabled: boolean;
  connection: { name: string; strategy: string };
};

export type Invitation = {
  id: string;
  inviter: { name: string };
  invitee: { email: string };
  client_id: string;
  roles: string[];
  created_at: string;
  expires_at: string;
  /** Only right after its creation. */
  invitation_url?: string;
};

export type AuthenticationMethod = {
  id: string;
  type: string;
  name?: string;
  phone_number?: string;
  email?: string;
  created_at?: string;
  last_auth_at?: string;
  /** How many recovery codes are left. */
  left?: number;
};

export type Factor = { name: string; enabled: boolean };

export type EmailTemplate = {
  template: string;
  enabled: boolean;
  body: string | null;
  from: string | null;
  subject: string | null;
  resultUrl: string | null;
  urlLifetimeInSeconds: number | null;
  includeEmailInRedirect: boolean;
};

export type ActionVersion = { id: string; number: number; deployed: boolean; created_at: string };

export type Action = {
  id: string;
  name: string;
  supported_triggers: { id: string }[];
  code: string;
  secrets: { name: string }[];
  /** npm packages that its code requires. */
  dependencies: { name: string; version: string }[];
  all_changes_deployed: boolean;
  deployed_version?: ActionVersion;
};

export type ActionBinding = { id: string; display_name: string; action: { id: string; name: string } };

/** The result of a run that failed or refused somebody. */
export type ActionExecution = {
  trigger_id: string;
  results: { action_name: string; error: { msg: string } | null; started_at: string; ended_at: string }[];
};
