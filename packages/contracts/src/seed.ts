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
  'http://auth0.com/oauth/grant-type/mfa-otp',
  'http://auth0.com/oauth/grant-type/mfa-oob',
  'http://auth0.com/oauth/grant-type/mfa-recovery-code',
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
const text = z.string().max(300);

/** What the gate signs with. */
export const signingAlgs = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

const settings = z.strictObject({
  identifier_first: z.boolean().default(true).meta({
    description:
      'the sign-in page asks who, then for the password; also what lets `connection` start a passwordless connection',
    example: false,
  }),
  default_audience: z.string().nullable().default(null).meta({
    description: 'the API that tokens are for when a request names none; null: such an access token is opaque',
    example: 'http://localhost:3000/',
  }),
  mfa_policy: z.enum(['never', 'enrolled', 'always']).optional().meta({
    description:
      'when people are asked for a second factor: never, if they have set one up, or always; a request may ask for it in any case (`acr_values`)',
    example: 'always',
  }),
  guardian_factors: z
    .array(z.enum(['otp', 'sms', 'email', 'webauthn-roaming', 'webauthn-platform', 'recovery-code']))
    .optional()
    .meta({
      description: 'what people may set up as a second factor, by Auth0’s names; recovery codes come with any of them',
      example: ['otp'],
    }),
  account_self_service: z
    .strictObject({ enabled: z.boolean(), delete: z.boolean() })
    .partial()
    .optional()
    .meta({
      description: 'whether people have `/account`, and may delete their accounts there; both unless it says no',
      example: { delete: false },
    }),
  allow_signup: z.boolean().default(true).meta({ description: 'people may sign up by themselves', example: false }),
  default_id_token_alg: z.enum(signingAlgs).default('RS256').meta({
    description:
      'what the ID tokens of applications are signed with that the management API makes from now on, if they do not say (`jwt_configuration`)',
    example: 'ES256',
  }),
  oidc_conformant_claims: z.boolean().default(true).meta({
    description: 'of clients that do not say: claims of a person by the standard; false: as Auth0, in the ID token too',
    example: false,
  }),
});

const api = z.strictObject({
  identifier: name.meta({
    description: 'its audience, which requests and tokens name; it is never looked up',
    example: 'http://localhost:3000/',
  }),
  name: name.optional().meta({ description: 'shown on the consent page; the identifier otherwise', example: 'Notes' }),
  token_lifetime: seconds.default(86_400).meta({ description: 'of access tokens, in seconds', example: 3600 }),
  allow_offline_access: z.boolean().default(false).meta({
    description: 'clients may get refresh tokens for it (`offline_access`)',
    example: true,
  }),
  signing_alg: z.enum(signingAlgs).default('RS256').meta({
    description: 'how its access tokens are signed',
    example: 'ES256',
  }),
  token_dialect: z
    .enum(['access_token', 'access_token_authz', 'rfc9068_profile', 'rfc9068_profile_authz'])
    .default('access_token')
    .meta({
      description: "Auth0's names for the form of its tokens; RFC 9068's has `typ: at+jwt`",
      example: 'rfc9068_profile',
    }),
  skip_consent_for_verifiable_first_party_clients: z.boolean().default(true).meta({
    description: 'first-party clients do not ask people for consent to it',
    example: false,
  }),
  enforce_policies: z.boolean().default(false).meta({
    description: 'people get only those of its scopes that their roles and permissions allow (RBAC)',
    example: true,
  }),
  scopes: z
    .array(z.union([scopeToken, z.strictObject({ value: scopeToken, description: z.string().optional() })]))
    .default([])
    .meta({
      description: 'what may be allowed; the description is shown on the consent page',
      example: ['read:notes', { value: 'write:notes', description: 'Change your notes' }],
    }),
});

const client = z.strictObject({
  client_id: name.meta({ description: 'the name by which it comes', example: 'notes-web' }),
  client_secret: z.string().min(1).optional().meta({
    description: 'kept as a hash. Another one than before becomes live beside it',
    example: 'a-long-random-secret',
  }),
  name: name.optional().meta({ description: 'shown to people; the `client_id` otherwise', example: 'Notes' }),
  app_type: z.enum(['regular_web', 'spa', 'native', 'non_interactive']).default('regular_web').meta({
    description: 'what kind of application it is: on a server, in a browser, installed, or a machine',
    example: 'spa',
  }),
  is_first_party: z
    .boolean()
    .default(true)
    .meta({ description: 'yours; false: people are asked for consent', example: false }),
  oidc_conformant_claims: z.boolean().optional().meta({
    description: "false for Auth0's SDKs, which read the person from the ID token; that of `settings` otherwise",
    example: false,
  }),
  jwt_configuration: z
    .strictObject({ alg: z.enum(signingAlgs) })
    .optional()
    .meta({
      description:
        "what its ID tokens are signed with. RS256 otherwise, the only one that Auth0's SDK for single-page applications takes; ES256 costs a tenth of it",
      example: { alg: 'ES256' },
    }),
  mfa_policy: z.enum(['never', 'enrolled', 'always']).optional().meta({
    description: 'when its people are asked for a second factor; as in `settings` otherwise',
    example: 'always',
  }),
  compliance_level: z.enum(['none', 'fapi2_sp_pkj_dpop']).optional().meta({
    description: 'what is demanded of it ([fapi.md](reference/fapi.md))',
    example: 'none',
  }),
  callbacks: z
    .array(uri)
    .default([])
    .meta({
      description: 'redirect URIs, compared to the letter; on loopback addresses of a native one any port will do',
      example: ['http://localhost:3000/callback'],
    }),
  allowed_logout_urls: z
    .array(uri)
    .default([])
    .meta({
      description: 'where a logout may lead to',
      example: ['http://localhost:3000/'],
    }),
  web_origins: z
    .array(origin)
    .default([])
    .meta({
      description: 'origins of pages that sign in silently (`web_message`)',
      example: ['http://localhost:3000'],
    }),
  allowed_origins: z
    .array(origin)
    .default([])
    .meta({
      description: 'origins of pages that call the token endpoint',
      example: ['http://localhost:3000'],
    }),
  // Beyond Auth0's names, the URI of a grant type that GRANT_PLUGINS adds.
  grant_types: z
    .array(
      z.union([
        z.enum(grantTypes),
        z.string().regex(/^[a-z][a-z0-9+.-]*:\S+$/, "must be one of Auth0's names, or a URI"),
      ]),
    )
    .default(['authorization_code', 'refresh_token'])
    .meta({
      description: `${grantTypes.map((type) => `\`${type}\``).join(', ')}, or the URI of one that \`GRANT_PLUGINS\` adds`,
      example: ['client_credentials'],
    }),
  token_endpoint_auth_method: z
    .enum(['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'])
    .optional()
    .meta({
      description:
        'how it proves who it is; by what it has otherwise: a secret, keys, or neither (then PKCE is demanded)',
      example: 'none',
    }),
  jwks: z
    .strictObject({ keys: z.array(z.looseObject({ kty: z.string() })) })
    .optional()
    .meta({
      description: 'its public keys, for `private_key_jwt`',
      example: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] },
    }),
  refresh_token: z
    .strictObject({
      rotation_type: z.enum(['rotating', 'non-rotating']).optional().meta({
        description: 'public clients rotate unless they say otherwise; of a token used twice all successors end',
        example: 'rotating',
      }),
      expiration_type: z.enum(['expiring', 'non-expiring']).optional().meta({
        description: 'whether the lifetimes count',
        example: 'expiring',
      }),
      token_lifetime: seconds.optional().meta({ description: 'from the sign-in on, in seconds', example: 2_592_000 }),
      idle_token_lifetime: seconds
        .optional()
        .meta({ description: 'since it was last used, in seconds', example: 1_296_000 }),
      leeway: z.number().int().min(0).optional().meta({
        description: 'for how long a rotated token still counts, in seconds; none otherwise',
        example: 10,
      }),
      policies: z
        .array(
          z.strictObject({
            audience: name.meta({
              description: 'an API that there is, `api/v2/` for the management API',
              example: 'http://localhost:3000/',
            }),
            scope: z.array(scopeToken).meta({ description: 'at most these scopes of it', example: ['read:notes'] }),
          }),
        )
        .optional()
        .meta({
          description:
            'for which other APIs a first-party application gets tokens by its refresh token (`audience`), without another sign-in',
        }),
    })
    .optional()
    .meta({ description: 'its refresh tokens' }),
  resource_server_identifier: z.string().optional().meta({
    description: 'the API that it serves: it may introspect tokens for that',
    example: 'http://localhost:3000/',
  }),
  is_token_endpoint_ip_header_trusted: z.boolean().optional().meta({
    description:
      "the password grant believes its `auth0-forwarded-for`, so that guesses count against a person's address",
    example: true,
  }),
  oidc_logout: z
    .strictObject({
      backchannel_logout_urls: z
        .array(z.url({ protocol: /^https?$/ }))
        .max(1)
        .meta({
          description: 'one URL, told of logouts. One inside needs [`OUTBOUND_ALLOWED_NETWORKS`](configuration.md)',
          example: ['https://app.example.com/backchannel-logout'],
        }),
      backchannel_logout_initiators: z
        .strictObject({
          mode: z
            .enum(['all', 'custom'])
            .meta({ description: 'all logouts, or those that are selected', example: 'custom' }),
          selected_initiators: z
            .array(name)
            .optional()
            .meta({
              description: "with `custom` only `rp-logout` starts anything; Auth0's others are taken",
              example: ['rp-logout'],
            }),
        })
        .optional()
        .meta({ description: 'which logouts it is told of' }),
    })
    .optional()
    .meta({ description: 'back-channel logout' }),
  client_grants: z
    .array(
      z.strictObject({
        audience: name.meta({
          description:
            'an API that there is; the management API is `<issuer>api/v2/`, or `api/v2/` whatever the issuer',
          example: 'http://localhost:3000/',
        }),
        scope: z
          .array(scopeToken)
          .default([])
          .meta({ description: 'scopes of that API', example: ['read:notes'] }),
      }),
    )
    .default([])
    .meta({ description: 'what it may get by `client_credentials`, without a person' }),
});

const permissions = z
  .array(
    z.strictObject({
      audience: name.meta({
        description: 'an API that there is; the management API is `<issuer>api/v2/`, or `api/v2/` whatever the issuer',
        example: 'http://localhost:3000/',
      }),
      scope: z
        .array(scopeToken)
        .optional()
        .meta({ description: 'scopes of that API; all of them otherwise', example: ['read:notes'] }),
    }),
  )
  .default([]);

const role = z.strictObject({
  name: name.meta({ description: 'its name, which no other role has', example: 'Editor' }),
  description: text.optional().meta({ description: 'what it is for', example: 'Writes and changes notes' }),
  is_default: z
    .boolean()
    .default(false)
    .meta({ description: 'everybody has it, without being given it', example: true }),
  permissions: permissions.meta({ description: 'what it allows; of an API named here these and no others' }),
});

const user = z.strictObject({
  user_id: z
    .string()
    .regex(/^[^|\s]+\|\S+$/, 'must be `connection|id`, such as auth0|alice')
    .meta({
      description: 'the `sub` of their tokens: `auth0|`, `email|` or `sms|` and an id of your own',
      example: 'auth0|maria',
    }),
  email: z.email().optional().meta({ description: 'kept in lower case', example: 'maria@example.com' }),
  email_verified: z.boolean().default(false).meta({ description: 'whether it is known to be theirs', example: true }),
  nickname: text.optional().meta({ description: 'the claim `nickname`', example: 'maria' }),
  name: text.optional().meta({ description: 'the claim `name`', example: 'Maria Example' }),
  given_name: text.optional().meta({ description: 'the claim `given_name`', example: 'Maria' }),
  family_name: text.optional().meta({ description: 'the claim `family_name`', example: 'Example' }),
  picture: z.url().optional().meta({ description: 'the claim `picture`', example: 'https://example.com/maria.png' }),
  phone_number: z
    .string()
    .regex(/^\+[1-9]\d{6,14}$/, 'must be E.164, such as +15555550100')
    .optional()
    .meta({ description: 'counts as verified', example: '+15555550123' }),
  password: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'kept as a hash', example: 'a long password of your own' }),
  roles: z
    .array(name)
    .default([])
    .meta({ description: 'names of roles that they have', example: ['Editor'] }),
  permissions: permissions.meta({ description: 'what they may beside; of an API named here these and no others' }),
});

const connection = z.strictObject({
  name: name.meta({ description: 'the name that requests give', example: 'email' }),
  strategy: z
    .enum(['auth0', 'email', 'sms', 'oidc', 'oauth2', 'google-oauth2', 'github', 'windowslive', 'waad', 'apple'])
    .meta({
      description:
        'passwords, one-time codes and links by mail or text message, or another provider (docs/reference/sign-in-elsewhere.md)',
      example: 'email',
    }),
  display_name: text.optional().meta({ description: "what a provider's button says", example: 'Acme' }),
  show_as_button: z
    .boolean()
    .optional()
    .meta({ description: 'whether a provider has a button on the sign-in page', example: true }),
  options: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({
      description: "Auth0's options of the strategy; secrets among them are kept sealed",
      example: { client_id: 'gatepost', client_secret: 'a-secret', discovery_url: 'https://login.example.com' },
    }),
});

const login = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/, 'must be letters, digits, `.`, `_` and `-`');
const repositoryName = z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be letters, digits, `.`, `_` and `-`');

const organization = z.strictObject({
  login: login.meta({ description: 'its name, without regard to case', example: 'orchard' }),
  members: z
    .array(
      z.strictObject({
        subject: name.meta({
          description: "the `sub` of the member's tokens: a person's `user_id`, a machine's `client_id`",
          example: 'auth0|maria',
        }),
        role: z.enum(['admin', 'member']).meta({ description: 'admins manage hooks', example: 'admin' }),
      }),
    )
    .default([])
    .meta({ description: 'who belongs to it' }),
  repositories: z
    .array(repositoryName)
    .default([])
    .meta({ description: 'their names', example: ['apples'] }),
  throttle: z
    .strictObject({
      rate: z.number().positive().meta({ description: 'deliveries a second', example: 100 }),
      burst: z.number().positive().meta({ description: 'deliveries at once', example: 1000 }),
    })
    .optional()
    .meta({ description: 'its limit; `THROTTLE_RATE` and `THROTTLE_BURST` otherwise' }),
});

/** The whole file. Each key has its `description`, and each that holds a value an `example`: docs/seed.md is made of them. */
export const seedSchema = z.strictObject({
  settings: settings.optional().meta({ description: 'Of the gate as a whole.' }),
  apis: z.array(api).default([]).meta({ description: 'What access tokens are for.' }),
  clients: z.array(client).default([]).meta({ description: 'Applications and machines.' }),
  roles: z.array(role).default([]).meta({ description: 'What people may do, where an API enforces it.' }),
  users: z.array(user).default([]).meta({ description: 'People who can sign in.' }),
  connections: z.array(connection).default([]).meta({ description: 'Ways to sign in.' }),
  organizations: z.array(organization).default([]).meta({ description: 'Accounts of the webhook API.' }),
});

export type Seed = z.infer<typeof seedSchema>;
export type SeedApi = z.infer<typeof api>;
export type SeedClient = z.infer<typeof client>;
export type SeedPermissions = z.infer<typeof permissions>;
export type SeedUser = z.infer<typeof user>;
export type SeedConnection = z.infer<typeof connection>;
export type SeedOrganization = z.infer<typeof organization>;

/** Parses the text of a seed file, whose name goes into the error. @throws Misconfigured with the path of everything that is wrong, unknown keys included. */
export function parseSeed(text: string, file = ''): Seed {
  return readYaml(`seed file ${file}`.trim(), seedSchema, text);
}
