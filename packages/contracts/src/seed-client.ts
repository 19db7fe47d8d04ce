/** A client in a seed file: an application or a machine, with the field names of Auth0's Management API. */
import { z } from 'zod';
import { name, origin, scopeToken, seconds, signingAlgs, uri } from './seed-shapes.ts';

/** Grant types by their Auth0 names. */
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

export const client = z.strictObject({
  client_id: name.meta({ description: 'the id it identifies itself with', example: 'notes-web' }),
  client_secret: z.string().min(1).optional().meta({
    description:
      'kept as a hash. A different one becomes valid in addition to the one before, which stays if this is left out',
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
    description: "false for Auth0's SDKs, which read the person from the ID token; as in `settings` otherwise",
    example: false,
  }),
  jwt_configuration: z
    .strictObject({ alg: z.enum(signingAlgs) })
    .optional()
    .meta({
      description:
        "how its ID tokens are signed; RS256 otherwise, the only one that Auth0's SDK for single-page applications accepts. ES256 costs a tenth of it",
      example: { alg: 'ES256' },
    }),
  organization_usage: z.enum(['deny', 'allow', 'require']).optional().meta({
    description:
      'whether its people sign in to organizations of the gate (`organization` in the request); `deny` otherwise',
    example: 'allow',
  }),
  mfa_policy: z.enum(['never', 'enrolled', 'always']).optional().meta({
    description: 'when its people are asked for a second factor; as in `settings` otherwise',
    example: 'always',
  }),
  compliance_level: z.enum(['none', 'fapi2_sp_pkj_dpop']).optional().meta({
    description: 'what is required of it ([fapi.md](reference/fapi.md))',
    example: 'none',
  }),
  callbacks: z
    .array(uri)
    .default([])
    .meta({
      description: 'redirect URIs, compared literally; at loopback addresses a native application may use any port',
      example: ['http://localhost:3000/callback'],
    }),
  allowed_logout_urls: z
    .array(uri)
    .default([])
    .meta({
      description: 'where people may be sent after a logout',
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
      description: 'origins of pages that call the token endpoint, beside `web_origins` and those of the callbacks',
      example: ['http://localhost:3000'],
    }),
  // In addition to Auth0's names, the URI of a grant type that GRANT_PLUGINS adds.
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
        'how it proves who it is; otherwise by what it has, here or from before: a secret, keys, or neither (then PKCE is required)',
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
        description: 'public clients always rotate, others if `rotating`; using a token twice ends all its successors',
        example: 'rotating',
      }),
      expiration_type: z.enum(['expiring', 'non-expiring']).optional().meta({
        description: 'whether the lifetimes apply',
        example: 'expiring',
      }),
      token_lifetime: seconds
        .optional()
        .meta({ description: 'counted from the sign-in, in seconds', example: 2_592_000 }),
      idle_token_lifetime: seconds
        .optional()
        .meta({ description: 'counted from its last use (a tenth less at worst), in seconds', example: 1_296_000 }),
      leeway: z.number().int().min(0).optional().meta({
        description: 'how long a rotated token still counts, in seconds; otherwise not at all',
        example: 10,
      }),
      policies: z
        .array(
          z.strictObject({
            audience: name.meta({
              description: 'an existing API; `api/v2/` for the management API',
              example: 'http://localhost:3000/',
            }),
            scope: z.array(scopeToken).meta({ description: 'at most these scopes of it', example: ['read:notes'] }),
          }),
        )
        .optional()
        .meta({
          description:
            'other APIs for which a first-party application gets tokens with its refresh token (`audience`), without another sign-in',
        }),
    })
    .optional()
    .meta({ description: 'its refresh tokens' }),
  resource_server_identifier: z.string().optional().meta({
    description: 'the API that it serves: it may introspect tokens for it',
    example: 'http://localhost:3000/',
  }),
  is_token_endpoint_ip_header_trusted: z.boolean().optional().meta({
    description:
      "the password grant trusts its `auth0-forwarded-for`, so that guesses count against a person's address",
    example: true,
  }),
  oidc_logout: z
    .strictObject({
      backchannel_logout_urls: z
        .array(z.url({ protocol: /^https?$/ }))
        .max(1)
        .meta({
          description:
            'one URL, notified of logouts. A private address needs [`OUTBOUND_ALLOWED_NETWORKS`](configuration.md)',
          example: ['https://app.example.com/backchannel-logout'],
        }),
      backchannel_logout_initiators: z
        .strictObject({
          mode: z
            .enum(['all', 'custom'])
            .meta({ description: 'all logouts, or only selected ones', example: 'custom' }),
          selected_initiators: z
            .array(name)
            .optional()
            .meta({
              description: "with `custom` only `rp-logout` has an effect; Auth0's others are accepted",
              example: ['rp-logout'],
            }),
        })
        .optional()
        .meta({ description: 'which logouts it is notified of' }),
    })
    .optional()
    .meta({ description: 'back-channel logout' }),
  client_grants: z
    .array(
      z.strictObject({
        audience: name.meta({
          description: 'an existing API; the management API is `<issuer>api/v2/`, or `api/v2/` whatever the issuer',
          example: 'http://localhost:3000/',
        }),
        scope: z
          .array(scopeToken)
          .default([])
          .meta({ description: 'scopes of that API', example: ['read:notes'] }),
      }),
    )
    .default([])
    .meta({ description: 'what it may get with `client_credentials`, without a person' }),
});
