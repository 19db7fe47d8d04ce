/** `clients`: applications. A secret is shown only when it is made: only its hash is stored. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { fapiProblem } from '../clients/fapi.ts';
import { clientMetadata, type RefreshTokenPolicy } from '../clients/metadata.ts';
import { hashSecret, makeSecret } from '../clients/secret.ts';
import { type RegisteredClient, withRelations } from '../clients/store.ts';
import { type Database, Prisma } from '../database.ts';
import type { ClientCredentialModel } from '../generated/models.ts';
import { isInTheClear } from '../http/loopback.ts';
import { merge } from '../merge-metadata.ts';
import type { Api } from '../resources/store.ts';
import { attachCredentials, checkMayChange, secretFor } from './client-authentication.ts';
import {
  type AppType,
  type AuthMethod,
  type ClientBody,
  type ClientUpdate,
  columns,
  createBody,
  ourGrantTypes,
  updateBody,
  withIdTokenAlg,
} from './client-body.ts';
import { checkOwn } from './client-grants.ts';
import { globalClient, present, presenter } from './client-view.ts';
import { holdCredentials, makeCredential } from './credential.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, ofArray, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, missing } from './problem.ts';

export const listClients = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    ...fieldsQuery,
    app_type: z.string().optional(),
    is_first_party: z.enum(['true', 'false']).optional(),
    is_global: z.enum(['true', 'false']).optional(),
    // Auth0's searches for what no application has here: an id elsewhere, and a grant for organizations.
    external_client_id: z.string().max(2_000).optional(),
    q: z
      .string()
      .regex(
        /^client_grant\.(?:organization_id:\S{1,256}|allow_any_organization:true)$/,
        'Not one of the queries of Auth0',
      )
      .optional(),
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
  async run({ parts, body, scopes: held }) {
    checkPolicies(await policiesOf(parts, body.refresh_token), null, held);
    const appType = body.app_type ?? 'regular_web';
    const keys = await Promise.all(
      body.client_authentication_methods?.private_key_jwt.credentials.map(makeCredential) ?? [],
    );
    const method =
      keys.length > 0 ? 'private_key_jwt' : (body.token_endpoint_auth_method ?? defaultAuthMethod(appType, body));
    const { secretHashes, secret } = secretFor(method, body.client_secret, []);
    const { defaultIdTokenAlg } = await parts.settings.load();
    const data = {
      ...columns(withIdTokenAlg(body, defaultIdTokenAlg), parts.seal),
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
    const policies = await policiesOf(parts, body.refresh_token);
    const methods = body.client_authentication_methods;
    const made: Partial<ReturnType<typeof changeOf>> = {};
    const updated = await parts.clients.update(client.clientId, async (before, transaction) => {
      checkPolicies(policies, before.refreshToken, scopes);
      const { clientId } = before;
      const keys = methods ? await holdCredentials(transaction, clientId, methods) : methods === null ? [] : undefined;
      Object.assign(made, changeOf(parts, before, { body, keys, scopes }));
      return made.data;
    });
    if (made.data) parts.report.clientUpdated(client.clientId);
    const { secret } = made;
    return ok({ ...presenter(parts, scopes)(updated), ...(secret !== undefined && { client_secret: secret }) });
  },
});

/**
 * What a request changes of an application, and the new secret to show, if there is one. Without data when a tool writes back what it
 * read: then not even `updated_at` changes.
 */
function changeOf(
  parts: Parts,
  client: RegisteredClient,
  {
    body,
    keys,
    scopes,
  }: { body: ClientUpdate; keys: ClientCredentialModel[] | undefined; scopes: ReadonlySet<string> },
): { data?: Prisma.ClientUpdateInput; secret?: string } {
  checkMayChange(client, body, scopes);
  if (
    keys === undefined &&
    client.credentials.length > 0 &&
    (body.token_endpoint_auth_method ?? 'private_key_jwt') !== 'private_key_jwt'
  )
    throw badBody('another token_endpoint_auth_method requires client_authentication_methods: null');
  const given = keys?.length ? 'private_key_jwt' : body.token_endpoint_auth_method;
  const { secretHashes, ...made } = scopes.has('update:client_keys')
    ? secretFor(given ?? client.tokenEndpointAuthMethod, body.client_secret, client.secretHashes)
    : { secretHashes: client.secretHashes };
  const data = {
    ...columns(body, parts.seal, client),
    ...(given !== undefined && { tokenEndpointAuthMethod: given }),
    secretHashes,
    clientMetadata: merge(client.clientMetadata as object, body.client_metadata),
  };
  if (body.grant_types || body.callbacks)
    checkFrontChannel(ourGrantTypes(body.grant_types) ?? client.grantTypes, body.callbacks ?? client.callbacks);
  check(parts, { ...client, ...data, ...(keys && { credentials: keys }) });
  const changed = { ...changedColumns(client, data), ...attachCredentials(client, keys) };
  return { ...made, ...(Object.keys(changed).length > 0 && { data: changed }) };
}

export const deleteClient = operation({
  async run({ parts, params }) {
    await parts.clients.remove(params.id ?? '');
    return gone;
  },
});

/** The previous secret stays live beside the new one while applications are updated; the one before it is revoked. */
export const rotateSecret = operation({
  body: z.strictObject({ revoke_previous: z.boolean().default(false) }),
  async run({ parts, params, body }) {
    const client = await load(parts, params.id);
    const secret = makeSecret();
    const updated = await parts.clients.update(client.clientId, ({ secretHashes }) => {
      if (secretHashes.length === 0) throw badBody('the client has no secret');
      return { secretHashes: [hashSecret(secret), ...(body.revoke_previous ? [] : secretHashes.slice(0, 1))] };
    });
    parts.report.clientUpdated(client.clientId);
    return ok({ ...present(parts, updated, true), client_secret: secret });
  },
});

type Policy = { audience: string; scope: string[]; api: Api | undefined };

/** The wanted policies with their APIs. */
function policiesOf({ resources }: Parts, wanted: ClientBody['refresh_token']): Promise<Policy[]> {
  const policies = wanted?.policies ?? [];
  return Promise.all(policies.map(async (policy) => ({ ...policy, api: await resources.find(policy.audience) })));
}

/** A policy gives an application people's tokens for another API (library/grants/refresh-token.ts); for ours, the rule of client grants applies. */
function checkPolicies(wanted: Policy[], before: unknown, held: ReadonlySet<string>): void {
  const known = (before as RefreshTokenPolicy | null)?.policies ?? [];
  for (const { audience, scope, api } of wanted) {
    const had = known.find((policy) => policy.audience === audience)?.scope ?? [];
    if (api)
      checkOwn(
        api,
        scope.filter((value) => !had.includes(value)),
        held,
      );
  }
}

export async function load({ clients }: Parts, clientId = ''): Promise<RegisteredClient> {
  const client = await clients.find(clientId);
  if (!client) throw missing('client', 'The client does not exist');
  return client;
}

/** The columns whose values change. */
function changedColumns(client: RegisteredClient, data: Record<string, unknown>): Prisma.ClientUpdateInput {
  const before: Record<string, unknown> = { ...client };
  return Object.fromEntries(
    Object.entries(data).filter(
      ([name, value]) => !isDeepStrictEqual(before[name], value === Prisma.DbNull ? null : value),
    ),
  );
}

/** Refuses here what oidc-provider would refuse at the client's first request. */
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
  query: { [Name in 'app_type' | 'is_first_party' | 'external_client_id' | 'q']?: string | undefined },
): Source<RegisteredClient> {
  const where: Prisma.ClientWhereInput = {
    ...((query.external_client_id ?? query.q) !== undefined && { clientId: { in: [] } }),
    ...(query.app_type !== undefined && { appType: { in: query.app_type.split(',') } }),
    ...(query.is_first_party !== undefined && { isFirstParty: query.is_first_party === 'true' }),
  };
  return {
    total: () => db.client.count({ where }),
    items: ({ skip, take, after }) =>
      db.client.findMany({
        where: after === undefined ? where : { AND: [where, { clientId: { gt: after } }] },
        include: withRelations,
        orderBy: { clientId: 'asc' },
        skip,
        take,
      }),
    key: ({ clientId }) => clientId,
  };
}

function defaultAuthMethod(type: AppType, body: ClientBody): AuthMethod {
  if (type === 'spa' || type === 'native') return 'none';
  return body.jwks && body.client_secret === undefined ? 'private_key_jwt' : 'client_secret_post';
}

const defaultGrantTypes: Record<AppType, string[]> = {
  regular_web: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
  spa: ['authorization_code', 'implicit', 'refresh_token'],
  native: ['authorization_code', 'implicit', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  non_interactive: ['client_credentials'],
};

/** The default grant types: without implicit where tokens would cross a network in the clear. */
function defaultGrants(type: AppType, callbacks: string[] = []): string[] {
  const isClear = callbacks.some(isInTheClear);
  return defaultGrantTypes[type].filter((grant) => !(grant === 'implicit' && isClear));
}

function checkFrontChannel(grantTypes: string[], callbacks: string[] = []): void {
  const clear = grantTypes.includes('implicit') ? callbacks.find(isInTheClear) : undefined;
  if (clear !== undefined)
    throw badBody(`the grant type implicit sends tokens, and ${clear} would get them in the clear`);
}

/** A client with the database's default values. */
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
  unusedUntil: null,
  isVouchedFor: true,
  grants: [],
  credentials: [],
};

/** 32 letters and digits, like Auth0's: 190 bits. */
function makeClientId(): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  let id = '';
  while (id.length < 32)
    for (const byte of randomBytes(48)) if (byte < 248 && id.length < 32) id += alphabet[byte % 62];
  return id;
}
