/** `resource-servers`: APIs. The management API is listed among them, and cannot be changed. */
import { z } from 'zod';
import { audienceOf } from '../resources/audience.ts';
import type { Api, Scope } from '../resources/store.ts';
import { tokenDialects } from '../resources/token-dialect.ts';
import { changeInert, showInert } from '../settings/inert.ts';
import { inertOfResourceServer } from './inert-fields.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, conflict, ManagementProblem, missing } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';
import { scope, shortText } from './shapes.ts';

const writable = {
  name: shortText,
  scopes: z.array(z.strictObject({ value: scope, description: z.string().max(500).optional() })).max(1_000),
  signing_alg: z.enum(['RS256', 'PS256', 'ES256', 'EdDSA']),
  token_dialect: z.enum(tokenDialects),
  token_lifetime: z.number().int().min(1).max(2_592_000),
  allow_offline_access: z.boolean(),
  enforce_policies: z.boolean(),
  skip_consent_for_verifiable_first_party_clients: z.boolean(),
  ...inertOfResourceServer,
};
const readOnly = ['id', 'is_system', 'client_id'];
const change = z.strictObject(writable).partial();
const updateBody = ignoringReadOnly(change, [...readOnly, 'identifier']);
const createBody = ignoringReadOnly(
  change.extend({
    identifier: z
      .string()
      .min(1)
      .max(600)
      .refine((value) => audienceOf(value) === value, 'The name of another API, as it is spelled inside'),
  }),
  readOnly,
);

export const listResourceServers = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    identifiers: z.union([z.string(), z.array(z.string())]).optional(),
    ...fieldsQuery,
  }),
  async run({ parts, query, scopes }) {
    const { identifiers, ...paging } = query;
    const wanted = identifiers === undefined ? undefined : new Set([identifiers].flat());
    const apis = (await parts.resources.list()).filter((api) => wanted?.has(api.identifier) ?? true);
    return list(
      'resource_servers',
      paging,
      ofArray(apis, ({ id }) => id),
      presenter(parts, scopes),
    );
  },
});

export const createResourceServer = operation({
  body: createBody,
  async run({ parts, body, scopes }) {
    const { identifier } = body;
    if (await parts.resources.find(identifier)) throw exists(identifier);
    const api = await parts.resources.create({
      ...columns(body),
      inert: changeInert(inertOfResourceServer, body, parts),
      identifier,
      name: body.name ?? identifier,
      scopes: scopesOf(body.scopes ?? []),
    });
    return created(presenter(parts, scopes)(api));
  },
});

export const getResourceServer = operation({
  query: z.strictObject(fieldsQuery),
  run: async ({ parts, params, query, scopes }) =>
    ok(chooseFields(presenter(parts, scopes)(await load(parts, params.id)), query)),
});

export const updateResourceServer = operation({
  body: updateBody,
  async run({ parts, params, body, scopes: held }) {
    const { identifier } = await loadOwn(parts, params.id);
    const api = await parts.resources.update(identifier, ({ inert }) => ({
      ...columns(body),
      ...(body.scopes && { scopes: scopesOf(body.scopes) }),
      inert: changeInert(inertOfResourceServer, body, { seal: parts.seal, before: inert }),
    }));
    // The grants lose what the API has lost.
    parts.clients.clear();
    return ok(presenter(parts, held)(api));
  },
});

export const deleteResourceServer = operation({
  async run({ parts, params }) {
    const { identifier } = await loadOwn(parts, params.id);
    await parts.resources.remove(identifier, async ({ settings }) => {
      const { defaultAudience } = await settings.findUniqueOrThrow({ where: { id: 1 } });
      // Every request that names no audience would be for an API that is gone.
      if (defaultAudience === identifier)
        throw conflict(
          'default_audience',
          'The API is the default_audience of tenants/settings: name another there, or none',
        );
    });
    parts.clients.clear();
    return gone;
  },
});

/** By its id or its identifier. */
async function load({ resources }: Parts, id = ''): Promise<Api> {
  const [named, all] = await Promise.all([resources.find(id), resources.list()]);
  const api = all.find((each) => each.id === (named?.id ?? id));
  if (!api) throw missing('resource_server', 'The resource server does not exist');
  return api;
}

async function loadOwn(parts: Parts, id: string | undefined): Promise<Api> {
  const api = await load(parts, id);
  if (api.isSystem) throw new ManagementProblem(403, 'operation_not_supported', 'A system API cannot be changed');
  return api;
}

function columns(body: z.infer<typeof change>): Partial<Columns> {
  const given: Partial<Columns> = {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.signing_alg !== undefined && { signingAlg: body.signing_alg }),
    ...(body.token_dialect !== undefined && { tokenDialect: body.token_dialect }),
    ...(body.token_lifetime !== undefined && { tokenLifetime: body.token_lifetime }),
    ...(body.allow_offline_access !== undefined && { allowOfflineAccess: body.allow_offline_access }),
    ...(body.enforce_policies !== undefined && { enforcePolicies: body.enforce_policies }),
  };
  const skip = body.skip_consent_for_verifiable_first_party_clients;
  return skip === undefined ? given : { ...given, skipConsent: skip };
}

type Columns = Pick<
  Api,
  'name' | 'signingAlg' | 'tokenDialect' | 'tokenLifetime' | 'allowOfflineAccess' | 'enforcePolicies' | 'skipConsent'
>;

function scopesOf(scopes: NonNullable<z.infer<typeof change>['scopes']>): Scope[] {
  if (new Set(scopes.map(({ value }) => value)).size < scopes.length) throw badBody('A scope is given twice');
  return scopes.map(({ value, description }) => ({ value, ...(description && { description }) }));
}

function exists(identifier: string): ManagementProblem {
  return conflict('resource_conflict', `A resource server with the identifier ${identifier} exists already`);
}

/** A secret is shown to callers who may replace it. */
function presenter({ seal }: Parts, scopes: ReadonlySet<string>): (api: Api) => object {
  return (api) => present(api, showInert(api.inert, seal, scopes.has('update:resource_servers')));
}

function present(api: Api, inert: object): object {
  return {
    token_lifetime_for_web: api.tokenLifetime,
    ...inert,
    id: api.id,
    identifier: api.identifier,
    // Tools recognize the management API by this name, and leave it alone.
    name: api.isSystem ? 'Auth0 Management API' : api.name,
    is_system: api.isSystem,
    scopes: api.scopes,
    signing_alg: api.signingAlg,
    token_lifetime: api.tokenLifetime,
    token_dialect: api.tokenDialect,
    allow_offline_access: api.allowOfflineAccess,
    enforce_policies: api.enforcePolicies,
    skip_consent_for_verifiable_first_party_clients: api.skipConsent,
  };
}
