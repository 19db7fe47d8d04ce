/** `connections`: where accounts come from. */
import { randomBytes } from 'node:crypto';
import { z } from '@gatepost/runtime/env';
import { type Database, Prisma } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';
import { badBody, conflict, missing } from './problem.ts';
import { created, gone, ok, type Route, route } from './route.ts';

const options = z.record(z.string().max(100), z.unknown());
const strategy = z.enum(['auth0', 'email', 'sms']);

export function makeConnectionRoutes({ db, connections }: { db: Database; connections: ConnectionStore }): Route[] {
  const load = async (id = '') => {
    const connection = (await connections.list()).find((each) => each.id === id);
    if (!connection) throw missing('connection', 'The connection does not exist');
    return connection;
  };

  return [
    route({
      method: 'get',
      path: '/connections',
      scopes: ['read:connections'],
      query: z.strictObject({
        ...pageQuery,
        ...checkpointQuery,
        ...fieldsQuery,
        name: z.string().optional(),
        strategy: z.union([z.string(), z.array(z.string())]).optional(),
      }),
      async handle({ query }) {
        const { name, strategy: strategies, ...paging } = query;
        const wanted = strategies === undefined ? undefined : new Set([strategies].flat());
        const found = (await connections.list()).filter(
          (connection) => (name ?? connection.name) === connection.name && (wanted?.has(connection.strategy) ?? true),
        );
        return list(
          'connections',
          paging,
          ofArray(found, ({ id }) => id),
          present,
        );
      },
    }),
    route({
      method: 'post',
      path: '/connections',
      scopes: ['create:connections'],
      body: z.strictObject({
        name: z
          .string()
          .regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,126}[A-Za-z0-9])?$/, 'Letters, digits and inner dashes only'),
        strategy,
        options: options.default({}),
      }),
      async handle({ body }) {
        // Accounts of a passwordless connection are named after it: `email|…`, `sms|…`.
        if (body.strategy !== 'auth0' && body.name !== body.strategy)
          throw badBody(`a connection of the strategy ${body.strategy} must have that name`);
        const id = `con_${randomBytes(12).toString('hex')}`;
        const data = { ...body, id, options: body.options as Prisma.InputJsonObject };
        const connection = await db.connection.create({ data }).catch((error: unknown) => {
          if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
            throw conflict('connection_conflict', 'A connection with the same name already exists');
          throw error;
        });
        connections.clear();
        return created(present(connection));
      },
    }),
    route({
      method: 'get',
      path: '/connections/:id',
      scopes: ['read:connections'],
      query: z.strictObject(fieldsQuery),
      handle: async ({ params, query }) => ok(chooseFields(present(await load(params.id)), query)),
    }),
    route({
      method: 'patch',
      path: '/connections/:id',
      scopes: ['update:connections'],
      body: z.strictObject({ options: options.optional() }),
      async handle({ params, body }) {
        const before = await load(params.id);
        const data = body.options === undefined ? {} : { options: body.options as Prisma.InputJsonObject };
        const connection = await db.connection.update({ where: { id: before.id }, data });
        connections.clear();
        return ok(present(connection));
      },
    }),
    route({
      // As in Auth0, a connection takes its accounts along.
      method: 'delete',
      path: '/connections/:id',
      scopes: ['delete:connections'],
      async handle({ params }) {
        const { id, name } = await load(params.id);
        await db.$transaction([
          db.$executeRaw`DELETE FROM artefacts WHERE account_id IN (SELECT user_id FROM accounts WHERE connection = ${name})`,
          db.account.deleteMany({ where: { connection: name } }),
          db.connection.delete({ where: { id } }),
        ]);
        connections.clear();
        return gone;
      },
    }),
  ];
}

function present(connection: ConnectionModel): object {
  return {
    id: connection.id,
    name: connection.name,
    strategy: connection.strategy,
    options: connection.options,
    realms: [connection.name],
    is_domain_connection: false,
    enabled_clients: [],
  };
}
