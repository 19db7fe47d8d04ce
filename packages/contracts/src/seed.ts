/**
 * The seed file (infra/demo/seed.yaml is one): declarative clients, users, APIs, organizations and repositories. The gate and the post each
 * apply their part; both refuse the whole file when any key is unknown. Field names are those of Auth0's Management API.
 */
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { z } from 'zod';
import { readYaml } from './read-yaml.ts';
import { client } from './seed-client.ts';
import { emailAddress, name, scopeToken, seconds, signingAlgs, text } from './seed-shapes.ts';

const settings = z.strictObject({
  identifier_first: z.boolean().default(true).meta({
    description:
      'the sign-in page asks who is signing in, then for the password; it also lets `connection` start a passwordless connection',
    example: false,
  }),
  default_audience: z.string().nullable().default(null).meta({
    description: 'the API that tokens are for when a request names none; null: that access token is opaque',
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
      description: 'whether people have `/account`, and may delete their accounts there; both unless set to `false`',
      example: { delete: false },
    }),
  allow_signup: z.boolean().default(true).meta({ description: 'people may sign up by themselves', example: false }),
  default_id_token_alg: z.enum(signingAlgs).default('RS256').meta({
    description:
      'how ID tokens are signed for applications that the management API creates from now on, unless their `jwt_configuration` says otherwise',
    example: 'ES256',
  }),
  oidc_conformant_claims: z.boolean().default(true).meta({
    description:
      'for clients that do not set it: claims about a person where the standard has them; false: in the ID token too, as at Auth0',
    example: false,
  }),
});

const api = z.strictObject({
  identifier: name.meta({
    description: 'its audience, which requests and tokens name; it is never looked up',
    example: 'http://localhost:3000/',
  }),
  name: name.optional().meta({ description: 'shown on the consent page; the identifier otherwise', example: 'Notes' }),
  token_lifetime: seconds.default(86_400).meta({ description: 'of its access tokens, in seconds', example: 3600 }),
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
      description: 'what can be allowed; the description is shown on the consent page',
      example: ['read:notes', { value: 'write:notes', description: 'Change your notes' }],
    }),
});

const permissions = z
  .array(
    z.strictObject({
      audience: name.meta({
        description: 'an existing API; the management API is `<issuer>api/v2/`, or `api/v2/` whatever the issuer',
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
  name: name.meta({ description: 'its name, which must be unique', example: 'Editor' }),
  description: text.optional().meta({ description: 'what it is for', example: 'Writes and changes notes' }),
  is_default: z
    .boolean()
    .default(false)
    .meta({ description: 'everybody has it without being given it', example: true }),
  permissions: permissions.meta({ description: 'what it allows; for an API named here, these and no others' }),
});

const user = z.strictObject({
  user_id: z
    .string()
    .regex(/^[^|\s]+\|\S+$/, 'must be `connection|id`, such as auth0|alice')
    .meta({
      description: 'the `sub` of their tokens: `auth0|`, `email|` or `sms|` and your own id',
      example: 'auth0|maria',
    }),
  email: emailAddress.optional().meta({ description: 'kept in lower case', example: 'maria@example.com' }),
  email_verified: z
    .boolean()
    .default(false)
    .meta({ description: 'whether the address is known to be theirs', example: true }),
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
  permissions: permissions.meta({
    description: 'what they may do besides; for an API named here, these and no others',
  }),
});

const connection = z.strictObject({
  name: name.meta({ description: 'its name in requests', example: 'email' }),
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
      description: "Auth0's options for the strategy; secrets among them are kept sealed",
      example: { client_id: 'gatepost', client_secret: 'a-secret', discovery_url: 'https://login.example.com' },
    }),
});

const login = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/, 'must be letters, digits, `.`, `_` and `-`');
const repositoryName = z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be letters, digits, `.`, `_` and `-`');

const organization = z.strictObject({
  login: login.meta({ description: 'its name, ignoring case', example: 'orchard' }),
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

const gateOrganization = z.strictObject({
  name: z
    .string()
    .regex(/^(?!org_)[a-z0-9][a-z0-9_-]{0,49}$/, 'must be small letters, digits, `-` and `_`')
    .meta({ description: 'its name, as in the `organization` parameter of a request', example: 'orchard' }),
  display_name: text.optional().meta({ description: 'what people read', example: 'Orchard Ltd' }),
  metadata: z
    .record(z.string().min(1).max(255), z.string().max(255))
    .default({})
    .meta({
      description:
        'your own values; `gatepost_account: "true"` makes it an account of the webhook API too (docs/reference/organization-accounts.md)',
      example: { gatepost_account: 'true' },
    }),
  connections: z
    .array(
      z.strictObject({
        name: name.meta({ description: 'an existing connection', example: 'Username-Password-Authentication' }),
        assign_membership_on_login: z
          .boolean()
          .default(false)
          .meta({ description: 'whoever signs in with it becomes a member', example: true }),
        show_as_button: z.boolean().default(true).meta({
          description: "whether a provider has a button on its pages, whatever the connection's own value",
          example: false,
        }),
        is_signup_enabled: z
          .boolean()
          .default(false)
          .meta({ description: 'people may sign up with it, if that makes them members', example: true }),
      }),
    )
    .default([])
    .meta({ description: 'what its members sign in with; any connection if none is named' }),
  members: z
    .array(
      z.strictObject({
        user_id: name.meta({ description: 'an existing person', example: 'auth0|maria' }),
        roles: z
          .array(name)
          .default([])
          .meta({ description: 'names of roles that they have within it', example: ['Editor'] }),
      }),
    )
    .default([])
    .meta({ description: 'who belongs to it' }),
});

/** The whole file. docs/seed.md is generated from each key's `description` and each value's `example`. */
export const seedSchema = z.strictObject({
  settings: settings.optional().meta({ description: 'Settings of the gate as a whole.' }),
  apis: z.array(api).default([]).meta({ description: 'What access tokens are for.' }),
  clients: z.array(client).default([]).meta({ description: 'Applications and machines.' }),
  roles: z.array(role).default([]).meta({ description: 'What people may do, if an API enforces it.' }),
  users: z.array(user).default([]).meta({ description: 'People who can sign in.' }),
  connections: z.array(connection).default([]).meta({ description: 'Ways to sign in.' }),
  gate_organizations: z
    .array(gateOrganization)
    .default([])
    .meta({ description: "The gate's organizations, in Auth0's sense." }),
  organizations: z.array(organization).default([]).meta({ description: 'Accounts of the webhook API.' }),
});

export type Seed = z.infer<typeof seedSchema>;
export type SeedApi = z.infer<typeof api>;
export type SeedClient = z.infer<typeof client>;
export type SeedPermissions = z.infer<typeof permissions>;
export type SeedUser = z.infer<typeof user>;
export type SeedConnection = z.infer<typeof connection>;
export type SeedGateOrganization = z.infer<typeof gateOrganization>;
export type SeedOrganization = z.infer<typeof organization>;

/** Parses a seed file; its name goes into the error. @throws Misconfigured with the path of every problem, unknown keys included. */
export function parseSeed(text: string, file = ''): Seed {
  return readYaml(`seed file ${file}`.trim(), seedSchema, text);
}

/** Runs a check of a file that was parsed. @throws Misconfigured with the file's name, since another seed file has the same paths. */
export async function inSeedFile(file: string, check: () => void | Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw error instanceof Misconfigured ? new Misconfigured(`bad seed file ${file}`, error.problems) : error;
  }
}
