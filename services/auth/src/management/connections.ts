/** `connections`: where accounts come from. */
import { randomBytes } from 'node:crypto';
import { z } from '@gatepost/runtime/env';
import { Prisma } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, conflict, missing } from './problem.ts';

const options = z.record(z.string().max(100), z.unknown());
const strategy = z.enum(['auth0', 'email', 'sms']);

export const listConnections = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    ...fieldsQuery,
    name: z.string().optional(),
    strategy: z.union([z.string(), z.array(z.string())]).optional(),
  }),
  async run({ parts, query }) {
    const { name, strategy: strategies, ...paging } = query;
    const wanted = strategies === undefined ? undefined : new Set([strategies].flat());
    const found = (await parts.connections.list()).filter(
      (connection) => (name ?? connection.name) === connection.name && (wanted?.has(connection.strategy) ?? true),
    );
    return list(
      'connections',
      paging,
      ofArray(found, ({ id }) => id),
      present,
    );
  },
});

export const createConnection = operation({
  body: z.strictObject({
    name: z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,126}[A-Za-z0-9])?$/, 'Letters, digits and inner dashes only'),
    strategy,
    options: options.default({}),
  }),
  async run({ parts, body }) {
    // Accounts of a passwordless connection are named after it: `email|…`, `sms|…`.
    if (body.strategy !== 'auth0' && body.name !== body.strategy)
      throw badBody(`a connection of the strategy ${body.strategy} must have that name`);
    const id = `con_${randomBytes(12).toString('hex')}`;
    const data = { ...body, id, options: body.options as Prisma.InputJsonObject };
    const connection = await parts.db.connection.create({ data }).catch((error: unknown) => {
      if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
        throw conflict('connection_conflict', 'A connection with the same name already exists');
      throw error;
    });
    parts.connections.clear();
    return created(present(connection));
  },
});

export const getConnection = operation({
  query: z.strictObject(fieldsQuery),
  run: async ({ parts, params, query }) => ok(chooseFields(present(await load(parts, params.id)), query)),
});

export const updateConnection = operation({
  body: z.strictObject({ options: options.optional() }),
  async run({ parts, params, body }) {
    const before = await load(parts, params.id);
    const data = body.options === undefined ? {} : { options: body.options as Prisma.InputJsonObject };
    const connection = await parts.db.connection.update({ where: { id: before.id }, data });
    parts.connections.clear();
    return ok(present(connection));
  },
});

/** As in Auth0, a connection takes its accounts along. */
export const deleteConnection = operation({
  async run({ parts, params }) {
    const { id, name } = await load(parts, params.id);
    await parts.db.$transaction([
      parts.db
        .$executeRaw`DELETE FROM artefacts WHERE account_id IN (SELECT user_id FROM accounts WHERE connection = ${name})`,
      parts.db.account.deleteMany({ where: { connection: name } }),
      parts.db.connection.delete({ where: { id } }),
    ]);
    parts.connections.clear();
    return gone;
  },
});

async function load({ connections }: Parts, id = ''): Promise<ConnectionModel> {
  const connection = (await connections.list()).find((each) => each.id === id);
  if (!connection) throw missing('connection', 'The connection does not exist');
  return connection;
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
