/** `client-grants`: the scopes of an API that a client gets on its own behalf. */
import { z } from 'zod';
import type { Database, Prisma } from '../database.ts';
import type { ClientGrantModel } from '../generated/models.ts';
import type { Api } from '../resources/store.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, fieldsQuery, list, ofArray, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, conflict, insufficientScope, missing } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';
import { scope, shortText } from './shapes.ts';

const scopes = z.array(scope).max(1_000);
/** Other Auth0 fields, each accepted with the only value it can have here. */
const standing = z
  .strictObject({
    allow_all_scopes: z.literal(false),
    allow_any_organization: z.literal(false),
    authorization_details_types: z.array(z.never()),
    organization_usage: z.literal('deny'),
    subject_type: z.literal('client'),
  })
  .partial();
const readOnly = ['id', 'is_system', 'default_for'];
const createBody = ignoringReadOnly(
  standing.extend({ client_id: shortText, audience: shortText, scope: scopes.default([]) }),
  readOnly,
);
const updateBody = ignoringReadOnly(standing.extend({ scope: scopes }), [...readOnly, 'client_id', 'audience']);

export const listClientGrants = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    ...fieldsQuery,
    audience: z.string().optional(),
    client_id: z.string().optional(),
    subject_type: z.enum(['client', 'user', 'anonymous_user']).optional(),
    allow_any_organization: z.enum(['true', 'false']).optional(),
    default_for: z.literal('third_party_clients').optional(),
  }),
  async run({ parts, query }) {
    const { subject_type: subject = 'client', allow_any_organization: anywhere, default_for } = query;
    // Each grant here is of one machine, outside of organizations.
    if (subject !== 'client' || anywhere === 'true' || default_for !== undefined)
      return list(
        'client_grants',
        query,
        ofArray<ClientGrantModel>([], ({ id }) => id),
        present,
      );
    const api = query.audience === undefined ? undefined : await parts.resources.find(query.audience);
    return list('client_grants', query, source(parts.db, query.client_id, api?.identifier ?? query.audience), present);
  },
});

export const createClientGrant = operation({
  body: createBody,
  async run({ parts, body, scopes: held }) {
    const client = await parts.clients.find(body.client_id);
    if (!client) throw missing('client', 'The client does not exist');
    const { client_id: clientId, scope } = body;
    const api = checkScopes(await parts.resources.find(body.audience), body.audience, scope);
    const { identifier: audience } = api;
    checkOwn(api, scope, held);
    const grant = await parts.clients.addGrant({ clientId, audience, scope }, holdScopes(parts, audience, scope));
    if (!grant) throw conflict('resource_exists', 'A client grant for this client and audience exists already');
    return created(present(grant));
  },
});

export const getClientGrant = operation({
  run: async ({ parts, params }) => ok(present(await load(parts, params.id))),
});

export const updateClientGrant = operation({
  body: updateBody,
  async run({ parts, params, body, scopes: held }) {
    const { id, audience } = await load(parts, params.id);
    const api = checkScopes(await parts.resources.find(audience), audience, body.scope);
    const scopeOf = ({ scope: before }: ClientGrantModel) => {
      const added = body.scope.filter((value) => !before.includes(value));
      checkOwn(api, added, held);
      return body.scope;
    };
    const changed = await parts.clients.changeGrant(id, scopeOf, holdScopes(parts, audience, body.scope));
    if (!changed) throw noGrant();
    return ok(present(changed));
  },
});

export const deleteClientGrant = operation({
  async run({ parts, params }) {
    await parts.clients.removeGrant(params.id ?? '');
    return gone;
  },
});

async function load({ db }: Parts, id = ''): Promise<ClientGrantModel> {
  const grant = await db.clientGrant.findUnique({ where: { id } });
  if (!grant) throw noGrant();
  return grant;
}

const noGrant = () => missing('client_grant', 'The client grant does not exist');

/** Nobody takes the scopes from their API, or deletes it, until the grant is written. */
function holdScopes({ resources }: Parts, audience: string, wanted: string[]) {
  return async (transaction: Prisma.TransactionClient) =>
    checkScopes((await resources.hold(transaction, [audience])).get(audience), audience, wanted);
}

function checkScopes(api: Api | undefined, audience: string, wanted: string[]): Api {
  if (!api) throw missing('resource_server', `No resource server has the identifier ${audience}`);
  const known = new Set(api.scopes.map(({ value }) => value));
  const unknown = wanted.filter((value) => !known.has(value));
  if (unknown.length > 0) throw badBody(`The API does not define these scopes: ${unknown.join(', ')}`);
  return api;
}

/**
 * Granting scopes of this API would allow granting them to oneself, so a token may grant only those that it holds
 * (docs/reference/management-api.md).
 */
export function checkOwn(api: Pick<Api, 'isSystem'>, added: string[], held: ReadonlySet<string>): void {
  const beyond = api.isSystem ? added.filter((value) => !held.has(value)) : [];
  if (beyond.length > 0) throw insufficientScope(beyond);
}

function source(db: Database, clientId: string | undefined, audience: string | undefined): Source<ClientGrantModel> {
  const where = { ...(clientId !== undefined && { clientId }), ...(audience !== undefined && { audience }) };
  return {
    total: () => db.clientGrant.count({ where }),
    items: ({ skip, take, after }) =>
      db.clientGrant.findMany({
        where: { ...where, ...(after !== undefined && { id: { gt: after } }) },
        orderBy: { id: 'asc' },
        skip,
        take,
      }),
    key: ({ id }) => id,
  };
}

function present(grant: ClientGrantModel): object {
  return {
    id: grant.id,
    client_id: grant.clientId,
    audience: grant.audience,
    scope: grant.scope,
    subject_type: 'client',
  };
}
