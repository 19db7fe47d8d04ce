/** Of the management API's answers, what the console reads. The whole is in the gate's /openapi.json. */
export type AppType = 'regular_web' | 'spa' | 'native' | 'non_interactive';

export type RefreshTokenSettings = {
  rotation_type?: 'rotating' | 'non-rotating';
  expiration_type?: 'expiring' | 'non-expiring';
  token_lifetime?: number;
  idle_token_lifetime?: number;
  leeway?: number;
};

export type Application = {
  client_id: string;
  /** Right after it was made. */
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
  refresh_token?: RefreshTokenSettings;
  require_pushed_authorization_requests: boolean;
  require_proof_of_possession: boolean;
  is_token_endpoint_ip_header_trusted: boolean;
  created_at: string;
  updated_at: string;
};

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
  options?: Record<string, unknown>;
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
