/** The options of a connection to another provider, in Auth0's names; options without effect here are stored beside them. */
import { createPrivateKey } from 'node:crypto';
import type { Seal } from '@gatepost/runtime/seal';
import { z } from 'zod';
import type { ConnectionModel } from '../generated/models.ts';
import { isLoopback } from '../http/loopback.ts';
import { inWords } from '../http/parse-shape.ts';
import { showInert } from '../settings/inert.ts';
import { keyAlgs } from './client-key.ts';
import { commonEndpointOf, everybody } from './directories.ts';
import { isUpstream, type Strategy, type StrategyDefinition, strategies } from './strategies.ts';

const address = z
  .string()
  .max(2_048)
  .refine((text) => isSafe(text), 'must be an https URL (http on this machine only), without user and fragment');
const text = z.string().min(1).max(2_048);
const flag = z.boolean();
/** Tools send null for options they do not set. */
const optional = <T extends z.ZodType>(type: T) =>
  type
    .nullish()
    .transform((value): z.infer<T> | undefined => value ?? undefined)
    .optional();

const domain = z
  .string()
  .max(253)
  .regex(/^(?:[a-z0-9-]+\.)+[a-z0-9-]+$/i, 'must be a domain such as example.com')
  .toLowerCase();

const shape = z.looseObject({
  client_id: text,
  client_secret: optional(text),
  token_endpoint_auth_method: optional(z.enum(['client_secret_post', 'client_secret_basic', 'private_key_jwt'])),
  token_endpoint_auth_signing_alg: optional(z.enum(keyAlgs)),
  private_key: optional(z.string().max(8_192)),
  type: optional(
    z.literal('back_channel', { error: 'only back_channel: the front channel would send tokens through the browser' }),
  ),
  discovery_url: optional(address),
  issuer: optional(text),
  authorization_endpoint: optional(address),
  token_endpoint: optional(address),
  jwks_uri: optional(address),
  userinfo_endpoint: optional(address),
  end_session_endpoint: optional(address),
  authorizationURL: optional(address),
  tokenURL: optional(address),
  userInfoURL: optional(address),
  logoutUrl: optional(address),
  scope: optional(z.union([z.string().max(2_048), z.array(z.string().max(255)).max(100)])),
  pkce_enabled: optional(flag),
  connection_settings: optional(z.looseObject({ pkce: optional(z.enum(['auto', 'S256', 'disabled'])) })),
  attribute_map: optional(
    z.looseObject({
      mapping_mode: optional(z.enum(['bind_all', 'use_map', 'basic_profile'])),
      attributes: optional(z.record(z.string(), z.unknown())),
    }),
  ),
  fieldsMap: optional(z.record(z.string(), z.string())),
  upstream_params: optional(
    z.record(
      z.string(),
      z.union([z.looseObject({ alias: z.string() }), z.looseObject({ value: z.string().max(1_024) })]).nullable(),
    ),
  ),
  authParams: optional(z.record(z.string(), z.string().max(1_024))),
  authParamsMap: optional(z.record(z.string(), z.string())),
  domain_aliases: optional(z.array(domain).max(1_000)),
  icon_url: optional(address),
  tenant_domain: optional(z.string().max(255)),
  tenantId: optional(z.string().max(255)),
  use_common_endpoint: optional(flag),
  /** Ours: the ids of the directories whose people may use a common endpoint; `*` for all. */
  allowed_tenants: optional(z.array(z.union([z.guid().toLowerCase(), z.literal(everybody)])).max(1_000)),
  team_id: optional(text),
  kid: optional(text),
  app_secret: optional(z.string().max(4_096)),
  set_user_root_attributes: optional(z.enum(['on_each_login', 'on_first_login', 'never_on_login'])),
  should_trust_email_verified_connection: optional(
    z.enum(['never_set_emails_as_verified', 'always_set_emails_as_verified']),
  ),
  federated_connections_access_tokens: optional(z.looseObject({ active: optional(flag) })),
  /** Ours: a separate callback address for this provider (docs/decisions/0242). */
  own_callback: optional(flag),
});

export type Options = z.infer<typeof shape>;

/** Parameters that each request sets itself. */
const reserved = new Set([
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
]);

/** The options with their secrets unsealed. @throws when they are incomplete */
export function openOptions(connection: Pick<ConnectionModel, 'options'>, seal: Seal): Options {
  return shape.parse(showInert(connection.options, seal, true));
}

/** The problem with the options of a new or changed connection, with its path; undefined if there is none. */
export function optionsProblem(strategy: Strategy, given: Record<string, unknown>): string | undefined {
  const parsed = shape.safeParse(given, { error: inWords });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `options.${issue!.path.join('.')}: ${issue!.message}`;
  }
  const options = parsed.data;
  const named = { ...options.upstream_params, ...options.authParams, ...options.authParamsMap };
  const taken = Object.keys(named).find((name) => reserved.has(name));
  if (taken) return `options: ${taken} cannot be set: each request has its own`;
  return missing(strategy, options);
}

function missing(strategy: Strategy, options: Options): string | undefined {
  const definition: StrategyDefinition = strategies[strategy];
  if (strategy === 'apple') {
    const lacking = (['team_id', 'kid', 'app_secret'] as const).find((name) => options[name] === undefined);
    return lacking && `options.${lacking} is missing: Apple expects a secret made from team_id, kid and app_secret`;
  }
  if (commonEndpointOf(strategy, options) !== undefined && !options.allowed_tenants?.length)
    return 'options.allowed_tenants is missing: the ids of the directories whose people may sign in, or "*" for everybody';
  if (options.token_endpoint_auth_method === 'private_key_jwt') {
    if (definition.protocol !== 'oidc')
      return 'options.token_endpoint_auth_method: private_key_jwt is only for OpenID providers';
    if (options.private_key === undefined)
      return 'options.private_key is missing: the key that signs, as PEM (PKCS #8)';
    if (!isKey(options))
      return 'options.private_key is not a private key as PEM (PKCS #8) for token_endpoint_auth_signing_alg';
  }
  if (
    strategy === 'waad' &&
    !commonEndpointOf(strategy, options) &&
    directoryOf(options) === undefined &&
    !options.discovery_url
  )
    return 'options.tenant_domain is missing: a domain of the directory such as contoso.onmicrosoft.com, or its id';
  if (strategy === 'oauth2') {
    const lacking = (['authorizationURL', 'tokenURL'] as const).find((name) => options[name] === undefined);
    if (lacking) return `options.${lacking} is missing`;
    return options.userInfoURL === undefined
      ? 'options.userInfoURL is missing: the address that answers who signed in, as JSON. Scripts (scripts.fetchUserProfile) are not run; fieldsMap says what each field means'
      : undefined;
  }
  const isStatic = options.issuer && options.authorization_endpoint && options.token_endpoint && options.jwks_uri;
  if (strategy === 'oidc' && !options.discovery_url && !isStatic && !options.issuer)
    return 'options.discovery_url is missing (or issuer, with or without authorization_endpoint, token_endpoint and jwks_uri)';
  return definition.protocol === 'oauth2' && !options.client_secret ? 'options.client_secret is missing' : undefined;
}

/** PEM (PKCS #8), of the key type that the algorithm needs. */
function isKey({ private_key: pem = '', token_endpoint_auth_signing_alg: alg = 'RS256' }: Options): boolean {
  try {
    const kind = createPrivateKey(pem).asymmetricKeyType;
    const wanted = alg === 'EdDSA' ? 'ed25519' : alg.startsWith('ES') ? 'ec' : 'rsa';
    return pem.includes('BEGIN PRIVATE KEY') && kind === wanted;
  } catch {
    return false;
  }
}

/** The directory's id, or one of its domains. Not the address for all directories: anybody could create one, with people in it. */
export function directoryOf({ tenantId, tenant_domain }: Options): string | undefined {
  const tenant = tenantId ?? tenant_domain;
  // Microsoft ignores case.
  return tenant && /^[\w.-]+$/.test(tenant) && !['common', 'organizations', 'consumers'].includes(tenant.toLowerCase())
    ? tenant
    : undefined;
}

/** The email domains of the people the connection is for (home realm discovery). */
export function domainsOf({ strategy, options }: Pick<ConnectionModel, 'strategy' | 'options'>): string[] {
  const { domain_aliases: domains } = options as { domain_aliases?: unknown };
  if (!isUpstream(strategy) || !Array.isArray(domains)) return [];
  return domains.filter((each) => typeof each === 'string').map((each) => each.toLowerCase());
}

function isSafe(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'https:' || isLoopback(url);
}
