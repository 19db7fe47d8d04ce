/** `clients`: applications. A secret is shown when it is made and never again: only its hash is kept. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { grantTypes } from '@gatepost/contracts/seed';
import { z } from '@gatepost/runtime/env';
import type { Seal } from '@gatepost/runtime/seal';
import { complianceLevels, fapiProblem } from '../clients/fapi.ts';
import { hour } from '../clients/lifetimes.ts';
import { clientMetadata } from '../clients/metadata.ts';
import { hashSecret, makeSecret } from '../clients/secret.ts';
import { type RegisteredClient, whole } from '../clients/store.ts';
import { type Database, Prisma } from '../database.ts';
import { isInTheClear } from '../http/loopback.ts';
import { authenticationMethods, findCredentials, makeCredential, newAuthenticationMethods } from './credential.ts';
import { changeInert, sentBack, showInert } from './inert.ts';
import { inertOfClient } from './inert-fields.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, ofArray, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, insufficientScope, missing } from './problem.ts';
import { allowedUri, httpUri, origin, scope, seconds, shortText } from './shapes.ts';

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
/** Auth0's, which the gate does not have: an application may name them, and gets nothing by them. */
const foreignGrantTypes = [
  'http://auth0.com/oauth/grant-type/mfa-oob',
  'http://auth0.com/oauth/grant-type/mfa-otp',
  'http://auth0.com/oauth/grant-type/mfa-recovery-code',
  'urn:openid:params:grant-type:ciba',
] as const;
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
  /** As it was called before. */
  oidc_backchannel_logout: backchannelLogout,
  require_pushed_authorization_requests: z.boolean(),
  require_proof_of_possession: z.boolean(),
  is_token_endpoint_ip_header_trusted: z.boolean(),
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
const createBody = sentBack(
  change.extend({ client_authentication_methods: newAuthenticationMethods.optional() }).required({ name: true }),
  readOnly,
);
const updateBody = sentBack(
  change.extend({ client_authentication_methods: authenticationMethods.nullable().optional() }),
  readOnly,
);
type ClientBody = z.infer<typeof change>;
type Update = z.output<typeof updateBody>;

/** Auth0's holder of what all applications share, such as a login page of one's own: tools ask for it, and there is nothing in it. */
const globalClient = {
  client_id: 'all-applications',
  name: 'All Applications',
  global: true,
  is_first_party: true,
  custom_login_page_on: false,
};

export const listClients = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    ...fieldsQuery,
    app_type: z.string().optional(),
    is_first_party: z.enum(['true', 'false']).optional(),
    is_global: z.enum(['true', 'false']).optional(),
  }),
  run: ({ parts, query, scopes }) =>
    query.is_global === 'true'
      ? list(
          'clients',
          query,
          ofArray([globalClient], ({ client_id }) => client_id),
          (client) => client,
        )
      : list('clients', query, source(parts.db, query), presenter(parts, scopes)),
});

export const createClient = operation({
  body: createBody,
  async run({ parts, body }) {
    const appType = body.app_type ?? 'regular_web';
    const keys = await Promise.all(
      body.client_authentication_methods?.private_key_jwt.credentials.map(makeCredential) ?? [],
    );
    const method =
      keys.length > 0 ? 'private_key_jwt' : (body.token_endpoint_auth_method ?? defaultAuthMethod(appType, body));
    const { secretHashes, secret } = secretFor(method, body.client_secret, []);
    const data = {
      ...columns(body, parts.seal),
      clientId: makeClientId(),
      name: body.name,
      appType,
      isFirstParty: body.is_first_party ?? true,
      grantTypes: ourGrantTypes(body.grant_types) ?? defaultGrants(appType, body.callbacks),
      tokenEndpointAuthMethod: method,
      secretHashes,
      clientMetadata: merge({}, body.client_metadata),
    };
    checkFrontChannel(data.grantTypes, body.callbacks);
    check(parts, { ...data, credentials: keys });
    const credentials = { create: keys.map((key) => ({ ...key, attached: true })) };
    const client = await parts.clients.create({ ...data, credentials } as Prisma.ClientCreateInput);
    parts.report.clientCreated(client.clientId);
    return created({ ...present(parts, client, true), ...(secret !== undefined && { client_secret: secret }) });
  },
});

export const getClient = operation({
  query: z.strictObject(fieldsQuery),
  run: async ({ parts, params, query, scopes }) =>
    ok(chooseFields(presenter(parts, scopes)(await load(parts, params.id)), query)),
});

export const updateClient = operation({
  body: updateBody,
  async run({ parts, params, body, scopes }) {
    const client = await load(parts, params.id);
    checkMayChange(client, body, scopes);
    const methods = body.client_authentication_methods;
    const keys = methods ? await findCredentials(parts, client.clientId, methods) : methods === null ? [] : undefined;
    const given = keys?.length ? 'private_key_jwt' : body.token_endpoint_auth_method;
    const method = given ?? client.tokenEndpointAuthMethod;
    const { secretHashes, secret } = scopes.has('update:client_keys')
      ? secretFor(method, body.client_secret, client.secretHashes)
      : { secretHashes: client.secretHashes };
    const data = {
      ...columns(body, parts.seal, client),
      ...(given !== undefined && { tokenEndpointAuthMethod: given }),
      // Written only when it changes: a secret that is revoked meanwhile must not come back.
      ...(secretHashes !== client.secretHashes && { secretHashes }),
      ...(body.client_metadata && { clientMetadata: merge(client.clientMetadata as object, body.client_metadata) }),
    };
    if (body.grant_types || body.callbacks)
      checkFrontChannel(ourGrantTypes(body.grant_types) ?? client.grantTypes, body.callbacks ?? client.callbacks);
    check(parts, { ...client, ...data, ...(keys && { credentials: keys }) });
    const changed = { ...whatChanges(client, data), ...attaching(client, keys) };
    // A tool that writes back what it read changes nothing, `updated_at` least of all.
    const updated = Object.keys(changed).length === 0 ? client : await parts.clients.update(client.clientId, changed);
    if (updated !== client) parts.report.clientUpdated(client.clientId);
    return ok({ ...presenter(parts, scopes)(updated), ...(secret !== undefined && { client_secret: secret }) });
  },
});

export const deleteClient = operation({
  async run({ parts, params }) {
    const client = await parts.clients.find(params.id ?? '');
    if (!client) return gone;
    await parts.clients.remove(client.clientId);
    // Should the id ever be given again, what the old client had must not come back with it.
    await parts.db.$executeRaw`DELETE FROM artefacts WHERE client_id = ${client.clientId}`;
    return gone;
  },
});

/** The secret before stays live beside the new one, so that a running application can be given it; the one before that dies. */
export const rotateSecret = operation({
  body: z.strictObject({ revoke_previous: z.boolean().default(false) }),
  async run({ parts, params, body }) {
    const client = await load(parts, params.id);
    if (client.secretHashes.length === 0) throw badBody('the client has no secret');
    const secret = makeSecret();
    const kept = body.revoke_previous ? [] : client.secretHashes.slice(0, 1);
    const updated = await parts.clients.update(client.clientId, { secretHashes: [hashSecret(secret), ...kept] });
    parts.report.clientUpdated(client.clientId);
    return ok({ ...present(parts, updated, true), client_secret: secret });
  },
});

export async function load({ clients }: Parts, clientId = ''): Promise<RegisteredClient> {
  const client = await clients.find(clientId);
  if (!client) throw missing('client', 'The client does not exist');
  return client;
}

/** Whether other credentials are to count than do. */
function attaches({ credentials }: RegisteredClient, ids: string[] | undefined): boolean {
  return ids !== undefined && !isDeepStrictEqual(new Set(ids), new Set(credentials.map(({ id }) => id)));
}

function attaching(client: RegisteredClient, keys: { id: string }[] | undefined): Prisma.ClientUpdateInput {
  const ids = keys?.map(({ id }) => id);
  if (ids === undefined || !attaches(client, ids)) return {};
  return {
    credentials: {
      updateMany: [
        { where: { id: { notIn: ids } }, data: { attached: false } },
        { where: { id: { in: ids } }, data: { attached: true } },
      ],
    },
  };
}

/** The columns that get another value. */
function whatChanges(client: RegisteredClient, data: Record<string, unknown>): Prisma.ClientUpdateInput {
  const before = client as unknown as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(data).filter(
      ([name, value]) => !isDeepStrictEqual(before[name], value === Prisma.DbNull ? null : value),
    ),
  );
}

/** What oidc-provider would refuse at the client's first request is refused here. */
function check({ checkMetadata }: Parts, data: object): void {
  const columns = Object.entries({ ...blank, ...data }).map(([name, value]) => [
    name,
    value === Prisma.DbNull ? null : value,
  ]);
  const filled = Object.fromEntries(columns) as RegisteredClient;
  if (filled.tokenEndpointAuthMethod === 'private_key_jwt' && !filled.jwks && filled.credentials.length === 0)
    throw badBody('private_key_jwt needs jwks, or client_authentication_methods');
  const problem = fapiProblem(filled);
  if (problem !== undefined) throw badBody(problem);
  try {
    checkMetadata(clientMetadata(filled));
  } catch (error) {
    const { error_description: description } = error as { error_description?: unknown };
    if (typeof description !== 'string') throw error;
    throw badBody(description);
  }
}

function source(
  db: Database,
  query: { app_type?: string | undefined; is_first_party?: string | undefined },
): Source<RegisteredClient> {
  const where: Prisma.ClientWhereInput = {
    ...(query.app_type !== undefined && { appType: { in: query.app_type.split(',') } }),
    ...(query.is_first_party !== undefined && { isFirstParty: query.is_first_party === 'true' }),
  };
  return {
    total: () => db.client.count({ where }),
    items: ({ skip, take, after }) =>
      db.client.findMany({
        where: after === undefined ? where : { AND: [where, { clientId: { gt: after } }] },
        include: whole,
        orderBy: { clientId: 'asc' },
        skip,
        take,
      }),
    key: ({ clientId }) => clientId,
  };
}

function present({ issuer, seal }: Parts, client: RegisteredClient, withKeys: boolean): object {
  const oidc = client.oidcMetadata as Record<string, unknown>;
  const { oidc_logout: logout, grant_types: grantTypes, ...inert } = showInert(client.inert, seal, withKeys);
  return {
    tenant: tenantOf(issuer),
    ...inertDefaults,
    ...inert,
    jwt_configuration: { ...inertDefaults.jwt_configuration, ...(inert.jwt_configuration as object | undefined) },
    client_id: client.clientId,
    name: client.name,
    description: client.description ?? '',
    ...(client.logoUri !== null && { logo_uri: client.logoUri }),
    app_type: client.appType,
    global: false,
    is_first_party: client.isFirstParty,
    oidc_conformant_claims: client.oidcConformantClaims,
    compliance_level: oidc.compliance_level ?? null,
    callbacks: client.callbacks,
    allowed_logout_urls: client.allowedLogoutUrls,
    web_origins: client.webOrigins,
    allowed_origins: client.allowedOrigins,
    grant_types: grantTypes ?? client.grantTypes,
    ...(client.credentials.length === 0
      ? { token_endpoint_auth_method: client.tokenEndpointAuthMethod }
      : {
          client_authentication_methods: {
            private_key_jwt: { credentials: client.credentials.map(({ id }) => ({ id })) },
          },
        }),
    client_metadata: client.clientMetadata,
    ...(client.refreshToken !== null && { refresh_token: client.refreshToken }),
    ...(withKeys && client.jwks !== null && { jwks: client.jwks }),
    ...(client.resourceServerIdentifier !== null && { resource_server_identifier: client.resourceServerIdentifier }),
    ...presentLogout(oidc, logout as object | undefined),
    require_pushed_authorization_requests: oidc.require_pushed_authorization_requests === true,
    require_proof_of_possession: oidc.dpop_bound_access_tokens === true,
    is_token_endpoint_ip_header_trusted: oidc.is_token_endpoint_ip_header_trusted === true,
    created_at: client.createdAt.toISOString(),
    updated_at: client.updatedAt.toISOString(),
  };
}

/** Keys are shown to whoever may read or replace them (Auth0: `read:client_keys`). */
function presenter(parts: Parts, scopes: ReadonlySet<string>): (client: RegisteredClient) => object {
  const withKeys = scopes.has('read:client_keys') || scopes.has('update:client_keys');
  return (client) => present(parts, client, withKeys);
}

/** What Auth0 shows of an application that nobody has set any of it for. */
const inertDefaults = {
  allowed_clients: [],
  cross_origin_authentication: false,
  custom_login_page_on: false,
  jwt_configuration: { alg: 'RS256', lifetime_in_seconds: 10 * hour, secret_encoded: false },
  oidc_conformant: true,
  sso_disabled: false,
};

/** Auth0's name of a tenant is the first label of its host. */
function tenantOf(issuer: string): string {
  return new URL(issuer).hostname.split('.')[0] as string;
}

/**
 * By what a client authenticates nobody may change who could then be that client without being trusted with it: at Auth0,
 * `client_secret` takes `update:client_keys`. The method is no less: without one, or with a fresh secret, anybody is the client.
 */
function checkMayChange(client: RegisteredClient, body: Update, scopes: ReadonlySet<string>): void {
  const {
    client_secret,
    jwks,
    token_endpoint_auth_method: method,
    client_authentication_methods: methods,
    ...rest
  } = body;
  const ids = methods === null ? [] : methods?.private_key_jwt.credentials.map(({ id }) => id);
  const changesMethod = method !== undefined && method !== client.tokenEndpointAuthMethod;
  const changesKeys = client_secret !== undefined || jwks !== undefined || changesMethod || attaches(client, ids);
  if (changesKeys && !scopes.has('update:client_keys')) throw insufficientScope(['update:client_keys']);
  const changesMore = Object.values(rest).some((value) => value !== undefined);
  if (changesMore && !scopes.has('update:clients')) throw insufficientScope(['update:clients']);
}

/** The live secrets of a client that authenticates by `method`, and the one to show, if there is a new one. */
function secretFor(
  method: string,
  given: string | undefined,
  live: string[],
): { secretHashes: string[]; secret?: string } {
  if (method === 'none') {
    if (given !== undefined) throw badBody('a client that does not authenticate has no client_secret');
    return { secretHashes: [] };
  }
  const needed = method === 'client_secret_post' || method === 'client_secret_basic';
  const secret = given ?? (needed && live.length === 0 ? makeSecret() : undefined);
  return secret === undefined ? { secretHashes: live } : { secretHashes: [hashSecret(secret)], secret };
}

/** The columns that the body sets; what it leaves out stays as it is. */
function columns(body: ClientBody, seal: Seal, before?: RegisteredClient): Record<string, unknown> {
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

/** Of fields that do something, the part that does nothing. */
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

function ourGrantTypes(types: ClientBody['grant_types']): string[] | undefined {
  const foreign = new Set<string>(foreignGrantTypes);
  return types?.filter((type) => !foreign.has(type));
}

function presentLogout(oidc: Record<string, unknown>, inert: object | undefined): { oidc_logout?: object } {
  const { backchannel_logout_uri: url, backchannel_logout_initiators: initiators } = oidc;
  const logout = {
    ...(url !== undefined && { backchannel_logout_urls: [url] }),
    ...(initiators !== undefined && { backchannel_logout_initiators: initiators }),
    ...inert,
  };
  return Object.keys(logout).length > 0 ? { oidc_logout: logout } : {};
}

/** What has no column: registration metadata by its OpenID name, and a switch of Auth0's by its own. */
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
    ...(body.compliance_level !== undefined && { compliance_level: body.compliance_level ?? undefined }),
    ...(body.is_token_endpoint_ip_header_trusted !== undefined && {
      is_token_endpoint_ip_header_trusted: body.is_token_endpoint_ip_header_trusted,
    }),
  };
  if (Object.keys(set).length === 0) return undefined;
  // What was never set is off.
  const isNews = ([name, value]: [string, unknown]) =>
    value !== undefined && (value !== false || Object.hasOwn(before, name));
  return Object.fromEntries(Object.entries({ ...before, ...set }).filter(isNews));
}

/** Auth0's way with metadata: what is named is set, null removes, the rest stays. */
export function merge(before: object, change: Record<string, unknown> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}

function defaultAuthMethod(type: z.infer<typeof appType>, body: ClientBody): z.infer<typeof authMethod> {
  if (type === 'spa' || type === 'native') return 'none';
  return body.jwks && body.client_secret === undefined ? 'private_key_jwt' : 'client_secret_post';
}

const defaultGrantTypes: Record<z.infer<typeof appType>, string[]> = {
  regular_web: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
  spa: ['authorization_code', 'implicit', 'refresh_token'],
  native: ['authorization_code', 'implicit', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  non_interactive: ['client_credentials'],
};

/** What a client gets that names no grant types: not the implicit one where its tokens would cross a network in the clear. */
function defaultGrants(type: z.infer<typeof appType>, callbacks: string[] = []): string[] {
  const isClear = callbacks.some(isInTheClear);
  return defaultGrantTypes[type].filter((grant) => !(grant === 'implicit' && isClear));
}

function checkFrontChannel(grantTypes: string[], callbacks: string[] = []): void {
  const clear = grantTypes.includes('implicit') ? callbacks.find(isInTheClear) : undefined;
  if (clear !== undefined)
    throw badBody(`the grant type implicit sends tokens, and ${clear} would get them in the clear`);
}

/** A client as the database would fill it in. */
const blank = {
  clientId: '',
  name: '',
  description: null,
  logoUri: null,
  appType: 'regular_web',
  isFirstParty: true,
  oidcConformantClaims: null,
  secretHashes: [],
  callbacks: [],
  allowedLogoutUrls: [],
  webOrigins: [],
  allowedOrigins: [],
  grantTypes: [],
  tokenEndpointAuthMethod: 'client_secret_post',
  jwks: null,
  refreshToken: null,
  resourceServerIdentifier: null,
  clientMetadata: {},
  oidcMetadata: {},
  inert: {},
  grants: [],
  credentials: [],
};

/** 32 letters and digits, as Auth0's: 190 bits. */
function makeClientId(): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  let id = '';
  while (id.length < 32)
    for (const byte of randomBytes(48)) if (byte < 248 && id.length < 32) id += alphabet[byte % 62];
  return id;
}
