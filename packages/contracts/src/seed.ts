/**
 * The seed file (infra/demo/seed.yaml is one): declarative clients, users, APIs, organizations and repositories. The gate applies its
 * part, the post its own; both refuse the whole file when any key is unknown. Field names are those of Auth0's Management API.
 */
import { z } from 'zod';
import { readYaml } from './read-yaml.ts';

/** Grant types by Auth0's names. */
export const grantTypes = [
  'authorization_code',
  'implicit',
  'password',
  'http://auth0.com/oauth/grant-type/password-realm',
  'client_credentials',
  'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code',
  'urn:ietf:params:oauth:grant-type:token-exchange',
  'http://auth0.com/oauth/grant-type/passwordless/otp',
] as const;

const name = z.string().trim().min(1).max(256);
const scopeToken = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: printable ASCII without space, quote or backslash');
const uri = z.string().refine((value) => URL.canParse(value), 'must be an absolute URI');
const origin = z
  .string()
  .refine(
    (value) => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin, such as https://app.example.com',
  );
const seconds = z.number().int().positive();

const settings = z.strictObject({
  identifier_first: z.boolean().default(true),
  default_audience: z.string().nullable().default(null),
  allow_signup: z.boolean().default(true),
  oidc_conformant_claims: z.boolean().default(true),
});

const api = z.strictObject({
  identifier: name,
  name: name.optional(),
  token_lifetime: seconds.default(86_400),
  allow_offline_access: z.boolean().default(false),
  signing_alg: z.enum(['RS256', 'PS256', 'ES256', 'EdDSA']).default('RS256'),
  token_dialect: z
    .enum(['access_token', 'access_token_authz', 'rfc9068_profile', 'rfc9068_profile_authz'])
    .default('access_token'),
  skip_consent_for_verifiable_first_party_clients: z.boolean().default(true),
  scopes: z
    .array(z.union([scopeToken, z.strictObject({ value: scopeToken, description: z.string().optional() })]))
    .default([]),
});

const client = z.strictObject({
  client_id: name,
  client_secret: z.string().min(1).optional(),
  name: name.optional(),
  app_type: z.enum(['regular_web', 'spa', 'native', 'non_interactive']).default('regular_web'),
  is_first_party: z.boolean().default(true),
  oidc_conformant_claims: z.boolean().optional(),
  compliance_level: z.enum(['none', 'fapi2_sp_pkj_dpop']).optional(),
  callbacks: z.array(uri).default([]),
  allowed_logout_urls: z.array(uri).default([]),
  web_origins: z.array(origin).default([]),
  allowed_origins: z.array(origin).default([]),
  // Beyond Auth0's names, the URI of a grant type that GRANT_PLUGINS adds.
  grant_types: z
    .array(
      z.union([
        z.enum(grantTypes),
        z.string().regex(/^[a-z][a-z0-9+.-]*:\S+$/, "must be one of Auth0's names, or a URI"),
      ]),
    )
    .default(['authorization_code', 'refresh_token']),
  token_endpoint_auth_method: z
    .enum(['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'])
    .optional(),
  jwks: z.strictObject({ keys: z.array(z.looseObject({ kty: z.string() })) }).optional(),
  refresh_token: z
    .strictObject({
      rotation_type: z.enum(['rotating', 'non-rotating']).optional(),
      expiration_type: z.enum(['expiring', 'non-expiring']).optional(),
      token_lifetime: seconds.optional(),
      idle_token_lifetime: seconds.optional(),
      leeway: z.number().int().min(0).optional(),
    })
    .optional(),
  resource_server_identifier: z.string().optional(),
  is_token_endpoint_ip_header_trusted: z.boolean().optional(),
  oidc_logout: z
    .strictObject({
      backchannel_logout_urls: z.array(z.url({ protocol: /^https?$/ })).max(1),
      backchannel_logout_initiators: z
        .strictObject({ mode: z.enum(['all', 'custom']), selected_initiators: z.array(name).optional() })
        .optional(),
    })
    .optional(),
  client_grants: z.array(z.strictObject({ audience: name, scope: z.array(scopeToken).default([]) })).default([]),
});

const user = z.strictObject({
  user_id: z.string().regex(/^[^|\s]+\|\S+$/, 'must be `connection|id`, such as auth0|alice'),
  email: z.email().optional(),
  email_verified: z.boolean().default(false),
  nickname: z.string().max(300).optional(),
  name: z.string().max(300).optional(),
  given_name: z.string().max(300).optional(),
  family_name: z.string().max(300).optional(),
  picture: z.url().optional(),
  phone_number: z
    .string()
    .regex(/^\+[1-9]\d{6,14}$/, 'must be E.164, such as +15555550100')
    .optional(),
  password: z.string().min(1).optional(),
});

const connection = z.strictObject({ name, strategy: z.enum(['auth0', 'email', 'sms']) });

const login = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/, 'must be letters, digits, `.`, `_` and `-`');
const repositoryName = z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be letters, digits, `.`, `_` and `-`');

const organization = z.strictObject({
  login,
  members: z.array(z.strictObject({ subject: name, role: z.enum(['admin', 'member']) })).default([]),
  repositories: z.array(repositoryName).default([]),
  throttle: z.strictObject({ rate: z.number().positive(), burst: z.number().positive() }).optional(),
});

const seed = z.strictObject({
  settings: settings.optional(),
  apis: z.array(api).default([]),
  clients: z.array(client).default([]),
  users: z.array(user).default([]),
  connections: z.array(connection).default([]),
  organizations: z.array(organization).default([]),
});

export type Seed = z.infer<typeof seed>;
export type SeedApi = z.infer<typeof api>;
export type SeedClient = z.infer<typeof client>;
export type SeedUser = z.infer<typeof user>;
export type SeedOrganization = z.infer<typeof organization>;

/** Parses the text of a seed file, whose name goes into the error. @throws Misconfigured with the path of everything that is wrong, unknown keys included. */
export function parseSeed(text: string, file = ''): Seed {
  return readYaml(`seed file ${file}`.trim(), seed, text);
}
