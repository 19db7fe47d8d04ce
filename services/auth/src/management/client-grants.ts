/** `client-grants`: which scopes of which API a client gets by itself. */
import { z } from '@gatepost/runtime/env';
import type { ClientStore } from '../clients/store.ts';
import type { Database } from '../database.ts';
import type { ClientGrantModel } from '../generated/models.ts';
import type { Api, ResourceStore } from '../resources/store.ts';
import { checkpointQuery, list, pageQuery, type Source } from './paging.ts';
import { badBody, conflict, insufficientScope, missing } from './problem.ts';
import { created, gone, ok, type Route, route } from './route.ts';
import { scope, shortText } from './shapes.ts';

const scopes = z.array(scope).max(1_000);

export function makeClientGrantRoutes(parts: {
  db: Database;
  clients: ClientStore;
  resources: ResourceStore;
}): Route[] {
  const { db, clients, resources } = parts;
  const load = async (id = '') => {
    const grant = await db.clientGrant.findUnique({ where: { id } });
    if (!grant) throw missing('client_grant', 'The client grant does not exist');
    return grant;
  };
  const checkScopes = async (audience: string, wanted: string[]) => {
    const api = await resources.find(audience);
    if (!api) throw missing('resource_server', `No resource server has the identifier ${audience}`);
    const known = new Set(api.scopes.map(({ value }) => value));
    const unknown = wanted.filter((value) => !known.has(value));
    if (unknown.length > 0) throw badBody(`The API does not define these scopes: ${unknown.join(', ')}`);
    return api;
  };
  /** Whoever grants scopes of this API could grant them to itself: of what opens it, only what it holds (docs/reference/management-api.md). */
  const checkOwn = (api: Api, added: string[], held: ReadonlySet<string>) => {
    const beyond = api.isSystem ? added.filter((value) => !held.has(value)) : [];
    if (beyond.length > 0) throw insufficientScope(beyond);
  };

  return [
    route({
      method: 'get',
      path: '/client-grants',
      scopes: ['read:client_grants'],
      query: z.strictObject({
        ...pageQuery,
        ...checkpointQuery,
        audience: z.string().optional(),
        client_id: z.string().optional(),
      }),
      handle: ({ query }) => list('client_grants', query, source(db, query.client_id, query.audience), present),
    }),
    route({
      method: 'post',
      path: '/client-grants',
      scopes: ['create:client_grants'],
      body: z.strictObject({ client_id: shortText, audience: shortText, scope: scopes.default([]) }),
      async handle({ body, scopes: held }) {
        const client = await clients.find(body.client_id);
        if (!client) throw missing('client', 'The client does not exist');
        checkOwn(await checkScopes(body.audience, body.scope), body.scope, held);
        const grant = await clients.addGrant(body.client_id, body.audience, body.scope);
        if (!grant) throw conflict('resource_exists', 'A client grant for this client and audience exists already');
        return created(present(grant));
      },
    }),
    route({
      method: 'get',
      path: '/client-grants/:id',
      scopes: ['read:client_grants'],
      handle: async ({ params }) => ok(present(await load(params.id))),
    }),
    route({
      method: 'patch',
      path: '/client-grants/:id',
      scopes: ['update:client_grants'],
      body: z.strictObject({ scope: scopes }),
      async handle({ params, body, scopes: held }) {
        const { clientId, audience, scope: before } = await load(params.id);
        const api = await checkScopes(audience, body.scope);
        const added = body.scope.filter((value) => !before.includes(value));
        checkOwn(api, added, held);
        return ok(present(await clients.grant(clientId, audience, body.scope)));
      },
    }),
    route({
      method: 'delete',
      path: '/client-grants/:id',
      scopes: ['delete:client_grants'],
      async handle({ params }) {
        await clients.removeGrants({ id: params.id ?? '' });
        return gone;
      },
    }),
  ];
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
