/**
 * Fields that Auth0 documents for applications, APIs, connections and the tenant, without effect here. Types are checked, and unknown
 * names refused; which words a text may be is Auth0's business. docs/reference/management-api.md lists them.
 */
import { z } from 'zod';

const text = z.string();
const texts = z.array(text);
const flag = z.boolean();
const count = z.number().int();
const quota = z.strictObject({
  client_credentials: z.strictObject({ enforce: flag, per_day: count, per_hour: count }).partial(),
});
const page = z.strictObject({ enabled: flag, html: text }).partial();
const active = z.strictObject({ active: flag });
/** Auth0 leaves these open. */
const open = z.record(z.string(), z.unknown());
const nullable = <T extends z.ZodRawShape>(fields: T) =>
  // The same fields, each also accepting null.
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, (field as z.ZodType).nullable()]),
  ) as unknown as {
    [Name in keyof T]: z.ZodNullable<T[Name]>;
  };

export const inertOfClient = nullable({
  addons: z.record(z.string(), open.nullable()),
  allowed_clients: texts,
  anonymous_sessions: active,
  async_approval_notification_channels: texts,
  b2b_integration_configuration: z.strictObject({ sso_profiles: texts, integration_type: text }).partial(),
  client_aliases: texts,
  /** The former name of cross_origin_authentication. */
  cross_origin_auth: flag,
  cross_origin_authentication: flag,
  cross_origin_loc: text,
  custom_login_page: text,
  custom_login_page_on: flag,
  custom_login_page_preview: text,
  default_organization: z.strictObject({ organization_id: text, flows: texts }).partial(),
  encryption_key: z.strictObject({ pub: text, cert: text, subject: text }).partial(),
  express_configuration: open,
  fedcm_login: z.strictObject({ google: z.strictObject({ is_enabled: flag }).partial() }).partial(),
  form_template: text,
  identity_assertion_authorization_grant: active,
  initiate_login_uri: text,
  jwt_configuration: z
    .strictObject({ lifetime_in_seconds: count, secret_encoded: flag, scopes: open, alg: text })
    .partial(),
  mobile: z
    .strictObject({
      android: z.strictObject({ app_package_name: text, sha256_cert_fingerprints: texts }).partial(),
      ios: z.strictObject({ team_id: text, app_bundle_identifier: text }).partial(),
    })
    .partial(),
  my_organization_configuration: open,
  native_social_login: z.strictObject({ apple: open, facebook: open, google: open }).partial(),
  oidc_conformant: flag,
  organization_discovery_methods: texts,
  par_request_expiry: count,
  redirection_policy: text,
  session_transfer: z
    .strictObject({
      can_create_session_transfer_token: flag,
      enforce_cascade_revocation: flag,
      allowed_authentication_methods: texts.nullable(),
      enforce_device_binding: text,
      allow_refresh_token: flag,
      enforce_online_refresh_tokens: flag,
      delegation: open.nullable(),
    })
    .partial(),
  signed_request_object: z
    .strictObject({ required: flag, credentials: z.array(z.strictObject({ id: text })) })
    .partial(),
  skip_non_verifiable_callback_uri_confirmation_prompt: flag,
  sso: flag,
  sso_disabled: flag,
  third_party_security_mode: text,
  token_exchange: z.strictObject({ allow_any_profile_of_type: texts }).partial(),
  token_quota: quota,
  token_vault_privileged_access: open,
});

export const inertOfResourceServer = nullable({
  allow_online_access: flag,
  allow_online_access_with_ephemeral_sessions: flag,
  authorization_details: z.array(z.unknown()),
  authorization_policy: z.strictObject({ policy_id: text }),
  consent_policy: text,
  proof_of_possession: z.strictObject({ mechanism: text, required: flag, required_for: text.optional() }),
  signing_secret: z.string().min(16),
  subject_type_authorization: z.strictObject({ user: open, client: open, anonymous_user: open }).partial(),
  token_encryption: z.strictObject({
    format: text,
    encryption_key: z.strictObject({ name: text.optional(), alg: text, kid: text.optional(), pem: text }),
  }),
  token_lifetime_for_anonymous_access_tokens: count,
  token_lifetime_for_web: count,
  verification_location: text,
});

export const inertOfConnection = nullable({
  authentication: active,
  connected_accounts: active,
  cross_app_access_requesting_app: active,
  cross_app_access_resource_app: z.strictObject({ status: text }),
  is_domain_connection: flag,
  metadata: z.record(z.string(), z.string().max(255).nullable()),
  realms: texts,
});

export const inertOfTenant = nullable({
  acr_values_supported: texts,
  allow_organization_name_in_authentication_api: flag,
  allowed_logout_urls: texts,
  authorization_response_iss_parameter_supported: flag,
  change_password: page,
  client_id_metadata_document_supported: flag,
  country_codes: z.strictObject({ list: texts, mode: text }),
  customize_mfa_in_postlogin_action: flag,
  default_directory: text,
  default_redirection_uri: text,
  default_token_quota: z.strictObject({ clients: quota, organizations: quota }).partial(),
  device_flow: z.strictObject({ charset: text, mask: text }).partial(),
  dynamic_client_registration_security_mode: text,
  enable_ai_guide: flag,
  ephemeral_session_lifetime: z.number(),
  error_page: z.strictObject({ html: text, show_log_link: flag, url: text }).partial(),
  flags: z.record(z.string().regex(/^[a-z0-9_]{1,100}$/), flag),
  guardian_mfa_page: page,
  idle_ephemeral_session_lifetime: z.number(),
  idle_session_lifetime: z.number(),
  include_session_metadata_in_tenant_logs: flag,
  legacy_sandbox_version: text,
  mtls: z.strictObject({ enable_endpoint_aliases: flag }).partial(),
  oidc_logout: z.strictObject({ rp_logout_end_session_endpoint_discovery: flag }).partial(),
  phone_consolidated_experience: flag,
  pushed_authorization_requests_supported: flag,
  resource_parameter_profile: text,
  sandbox_version: text,
  security_headers: open,
  session_cookie: z.strictObject({ mode: text }),
  session_lifetime: z.number(),
  sessions: z.strictObject({ oidc_logout_prompt_enabled: flag, anonymous: open.nullable() }).partial(),
  skip_non_verifiable_callback_uri_confirmation_prompt: flag,
  universal_login: open,
});
