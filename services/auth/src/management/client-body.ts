/** The fields of an application that are accepted, and the columns that store them. */
import { grantTypes } from '@gatepost/contracts/seed-client';
import { signingAlgs } from '@gatepost/contracts/seed-shapes';
import type { Seal } from '@gatepost/runtime/seal';
import { z } from 'zod';
import { complianceLevels } from '../clients/fapi.ts';
import type { RegisteredClient } from '../clients/store.ts';
import { Prisma } from '../database.ts';
import { mfaPolicies } from '../factors/types.ts';
import { httpUri } from '../http/http-uri.ts';
import { changeInert } from '../settings/inert.ts';
import { inertDefaults } from './client-view.ts';
import { authenticationMethods, newAuthenticationMethods } from './credential.ts';
import { inertOfClient } from './inert-fields.ts';
import { ignoringReadOnly } from './read-only.ts';
import { allowedUri, origin, scope, seconds, shortText } from './shapes.ts';

const authMethod = z.enum(['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt']);
const appType = z.enum(['regular_web', 'spa', 'native', 'non_interactive']);
const refreshToken = z.strictObject({
  rotation_type: z.enum(['rotating', 'non-rotating']).optional(),
  expiration_type: z.enum(['expiring', 'non-expiring']).optional(),
  token_lifetime: seconds.optional(),
  idle_token_lifetime: seconds.optional(),
  leeway: z.number().int().min(0).max(3_600).optional(),
  infinite_token_lifetime: z.boolean().optional(),
  infinite_idle_token_lifetime: z.boolean().optional(),
  policies: z
    .array(z.strictObject({ audience: shortText, scope: z.array(scope) }))
    .nullable()
    .optional(),
});
/** Auth0's, which the gate lacks: an application may name them, without effect. */
const foreignGrantTypes = ['urn:openid:params:grant-type:ciba'] as const;
const backchannelLogout = z.strictObject({
  backchannel_logout_urls: z.array(httpUri).max(1).optional(),
  backchannel_logout_initiators: z
    .strictObject({ mode: z.enum(['all', 'custom']), selected_initiators: z.array(shortText).max(20).optional() })
    .optional(),
  backchannel_logout_session_metadata: z.record(z.string(), z.unknown()).nullable().optional(),
});

const writable = {
  name: shortText,
  description: z.string().max(140).nullable(),
  logo_uri: z.union([httpUri, z.literal('')]).nullable(),
  app_type: appType,
  is_first_party: z.boolean(),
  oidc_conformant_claims: z.boolean().nullable(),
  compliance_level: z.enum(complianceLevels).nullable(),
  /** When its users are asked for a second factor; null: the tenant's policy. */
  mfa_policy: z.enum(mfaPolicies).nullable(),
  callbacks: z.array(allowedUri).max(100),
  allowed_logout_urls: z.array(allowedUri).max(100),
  web_origins: z.array(origin).max(100),
  allowed_origins: z.array(origin).max(100),
  grant_types: z.array(z.enum([...grantTypes, ...foreignGrantTypes])),
  token_endpoint_auth_method: authMethod,
  client_secret: z.string().min(16).max(255),
  client_metadata: z.record(z.string().max(255), z.string().max(255).nullable()),
  refresh_token: refreshToken.nullable(),
  jwks: z.strictObject({ keys: z.array(z.looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']) })).max(10) }).nullable(),
  resource_server_identifier: shortText.nullable(),
  oidc_logout: backchannelLogout,
  /** The former name of `oidc_logout`. */
  oidc_backchannel_logout: backchannelLogout,
  require_pushed_authorization_requests: z.boolean(),
  require_proof_of_possession: z.boolean(),
  is_token_endpoint_ip_header_trusted: z.boolean(),
  organization_usage: z.enum(['deny', 'allow', 'require']).nullable(),
  organization_require_behavior: z.enum(['no_prompt', 'pre_login_prompt', 'post_login_prompt']).nullable(),
  ...inertOfClient,
};
const readOnly = [
  'callback_url_template',
  'client_id',
  'created_at',
  'external_client_id',
  'external_metadata_created_by',
  'external_metadata_type',
  'global',
  'jwks_uri',
  'owners',
  'signing_keys',
  'tenant',
  'updated_at',
];
const change = z.strictObject(writable).partial();
export const createBody = ignoringReadOnly(
  change.extend({ client_authentication_methods: newAuthenticationMethods.optional() }).required({ name: true }),
  readOnly,
);
export const updateBody = ignoringReadOnly(
  change.extend({ client_authentication_methods: authenticationMethods.nullable().optional() }),
  readOnly,
);
export type AppType = z.infer<typeof appType>;
export type AuthMethod = z.infer<typeof authMethod>;
export type ClientBody = z.infer<typeof change>;
export type ClientUpdate = z.output<typeof updateBody>;

/** The columns that the body sets; fields it leaves out stay unchanged. */
export function columns(body: ClientBody, seal: Seal, before?: RegisteredClient): Record<string, unknown> {
  const given: Record<string, unknown> = {
    name: body.name,
    description: body.description === '' ? null : body.description,
    logoUri: body.logo_uri === '' ? null : body.logo_uri,
    appType: body.app_type,
    isFirstParty: body.is_first_party,
    oidcConformantClaims: body.oidc_conformant_claims,
    callbacks: body.callbacks,
    allowedLogoutUrls: body.allowed_logout_urls,
    webOrigins: body.web_origins,
    allowedOrigins: body.allowed_origins,
    grantTypes: ourGrantTypes(body.grant_types),
    tokenEndpointAuthMethod: body.token_endpoint_auth_method,
    refreshToken: body.refresh_token === null ? Prisma.DbNull : body.refresh_token,
    jwks: body.jwks === null ? Prisma.DbNull : body.jwks,
    resourceServerIdentifier: body.resource_server_identifier,
    oidcMetadata: oidcMetadata(body, before?.oidcMetadata as object | undefined),
    inert: changeInert(
      { ...inertOfClient, ...inertParts },
      { ...body, ...inertPartsOf(body) },
      { seal, before: before?.inert, defaults: inertDefaults },
    ),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Parts without effect of fields that do have one. */
const inertParts = { grant_types: z.unknown(), oidc_logout: z.unknown() };

function inertPartsOf({ grant_types: grantTypes, ...body }: ClientBody): Record<string, unknown> {
  const logout = body.oidc_logout ?? body.oidc_backchannel_logout;
  const { backchannel_logout_urls: _urls, backchannel_logout_initiators: _initiators, ...rest } = logout ?? {};
  const isForeign = grantTypes?.some((type) => !ourGrantTypes([type])?.length);
  return {
    grant_types: grantTypes && (isForeign ? grantTypes : null),
    oidc_logout: logout && (Object.keys(rest).length > 0 ? rest : null),
  };
}

export function ourGrantTypes(types: ClientBody['grant_types']): string[] | undefined {
  const foreign = new Set<string>(foreignGrantTypes);
  return types?.filter((type) => !foreign.has(type));
}

/** Gives a new application the tenant's ID token algorithm if it names none; FAPI has its own. */
export function withIdTokenAlg<Body extends ClientBody>(body: Body, alg: string): Body {
  if (alg === 'RS256' || body.compliance_level || namesAlg(body as Algs)) return body;
  return { ...body, jwt_configuration: { ...(body.jwt_configuration as object | undefined), alg } };
}

type Algs = { jwt_configuration?: { alg?: unknown } | null };
const namesAlg = ({ jwt_configuration: jwt }: Algs) => jwt === null || jwt?.alg !== undefined;

/** The algorithm for ID tokens; RS256 (undefined) also for Auth0 algorithms that we do not sign with. */
function idTokenAlg({ jwt_configuration: jwt }: Algs): string | undefined {
  return signingAlgs.find((alg) => alg !== 'RS256' && alg === jwt?.alg);
}

/** Fields without a column: registration metadata by its OpenID name, and a switch of Auth0's by its own. */
function oidcMetadata(body: ClientBody, before: object = {}): object | undefined {
  const logout = body.oidc_logout ?? body.oidc_backchannel_logout;
  const urls = logout?.backchannel_logout_urls;
  const set: Record<string, unknown> = {
    ...(urls && { backchannel_logout_uri: urls[0], backchannel_logout_session_required: urls[0] && true }),
    ...(logout && { backchannel_logout_initiators: logout.backchannel_logout_initiators }),
    ...(body.require_pushed_authorization_requests !== undefined && {
      require_pushed_authorization_requests: body.require_pushed_authorization_requests,
    }),
    ...(body.require_proof_of_possession !== undefined && {
      dpop_bound_access_tokens: body.require_proof_of_possession,
    }),
    ...(body.organization_usage !== undefined && { organization_usage: body.organization_usage ?? undefined }),
    ...(body.organization_require_behavior !== undefined && {
      organization_require_behavior: body.organization_require_behavior ?? undefined,
    }),
    ...(body.compliance_level !== undefined && { compliance_level: body.compliance_level ?? undefined }),
    ...(body.mfa_policy !== undefined && { mfa_policy: body.mfa_policy ?? undefined }),
    ...(namesAlg(body as Algs) && { id_token_signed_response_alg: idTokenAlg(body as Algs) }),
    ...(body.is_token_endpoint_ip_header_trusted !== undefined && {
      is_token_endpoint_ip_header_trusted: body.is_token_endpoint_ip_header_trusted,
    }),
  };
  if (Object.keys(set).length === 0) return undefined;
  // A switch that was never set is off.
  const isChange = ([name, value]: [string, unknown]) =>
    value !== undefined && (value !== false || Object.hasOwn(before, name));
  return Object.fromEntries(Object.entries({ ...before, ...set }).filter(isChange));
}
