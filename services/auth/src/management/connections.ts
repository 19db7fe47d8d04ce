/** `connections`: where accounts come from. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { sessionsEnd, waitForSessionsEnd } from '../accounts/end-access.ts';
import { type Database, Prisma } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { isEnabled } from '../settings/connections.ts';
import { changeInert, sealSecrets, showInert } from '../settings/inert.ts';
import { optionsProblem } from '../upstream/options.ts';
import { isUpstream, type Strategy, strategies } from '../upstream/strategies.ts';
import { inertOfConnection } from './inert-fields.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, chooseFields, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, conflict, ManagementProblem, missing } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';

const options = z.record(z.string().max(100), z.unknown());
const strategy = z.enum(['auth0', 'email', 'sms', ...(Object.keys(strategies) as Strategy[])]);
/** The text of a provider's button (upstream/offered.ts), stored with the fields that have no effect. */
const shown = {
  ...inertOfConnection,
  display_name: z.string().max(128).nullable(),
  show_as_button: z.boolean().nullable(),
};
const writable = { options, enabled_clients: z.array(z.string()), ...shown };
const readOnly = ['id', 'provisioning_ticket_url'];
const change = z.strictObject(writable).partial();
const updateBody = ignoringReadOnly(change, [...readOnly, 'name', 'strategy']);
const createBody = ignoringReadOnly(
  change.extend({
    name: z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,126}[A-Za-z0-9])?$/, 'Letters, digits and inner dashes only'),
    strategy,
  }),
  readOnly,
);

export const listConnections = operation({
  query: z.strictObject({
    ...pageQuery,
    ...checkpointQuery,
    ...fieldsQuery,
    name: z.string().optional(),
    strategy: z.union([z.string(), z.array(z.string())]).optional(),
  }),
  async run({ parts, query, scopes }) {
    const { name, strategy: strategies, ...paging } = query;
    const wanted = strategies === undefined ? undefined : new Set([strategies].flat());
    const found = (await parts.connections.list()).filter(
      (connection) => (name ?? connection.name) === connection.name && (wanted?.has(connection.strategy) ?? true),
    );
    return list(
      'connections',
      paging,
      ofArray(found, ({ id }) => id),
      await presenter(parts, scopes),
    );
  },
});

export const createConnection = operation({
  body: createBody,
  async run({ parts, body, scopes }) {
    // Accounts of a passwordless connection are named after it: `email|…`, `sms|…`.
    if ((body.strategy === 'email' || body.strategy === 'sms') && body.name !== body.strategy)
      throw badBody(`a connection of the strategy ${body.strategy} must have that name`);
    checkOptions(body.strategy, body.options ?? {});
    await checkClients(parts.db, body.enabled_clients ?? []);
    const id = `con_${randomBytes(12).toString('hex')}`;
    const { name, strategy } = body;
    const data = { ...columns(parts, body), id, name, strategy };
    const connection = await parts.db.connection.create({ data }).catch((error: unknown) => {
      if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
        throw conflict('connection_conflict', 'A connection with the same name already exists');
      throw error;
    });
    parts.connections.clear();
    return created((await presenter(parts, scopes))(connection));
  },
});

export const getConnection = operation({
  query: z.strictObject(fieldsQuery),
  run: async ({ parts, params, query, scopes }) =>
    ok(chooseFields((await presenter(parts, scopes))(await load(parts, params.id)), query)),
});

export const updateConnection = operation({
  body: updateBody,
  async run({ parts, params, body, scopes }) {
    const { id, name, strategy } = await load(parts, params.id);
    await checkClients(parts.db, body.enabled_clients ?? []);
    const isAbove = body.options && isUpstream(strategy) && (await parts.permissions.aboveIn(name, scopes));
    const namesAll = new Set(body.enabled_clients).size === (await parts.db.client.count());
    const connection = await parts.connections.update(id, (before) => {
      const options = body.options && { ...unchangedSecret(parts, before, body.options), ...body.options };
      if (options) checkOptions(strategy, options);
      if (isAbove) checkSameIdentities(parts, before, options);
      // Sent back as it was read, a connection stays open to later applications, too.
      const enabled_clients = before.everyClient && namesAll ? undefined : body.enabled_clients;
      return columns(parts, { ...body, options, enabled_clients }, before);
    });
    return ok((await presenter(parts, scopes))(connection));
  },
});

/**
 * As at Auth0, a connection's accounts are deleted with it. The connection goes first: whoever creates an account holds it meanwhile, so
 * there is no account that the statements after this do not see. For people whose account there was linked to another, it is unknown which
 * sessions it began, so all of theirs end, as when one is unlinked (accounts/link.ts).
 */
export const deleteConnection = operation({
  async run({ parts, params }) {
    const { id, name } = await load(parts, params.id);
    const mark = sessionsEnd();
    const [, ended] = await parts.db.$transaction([
      parts.db.connection.deleteMany({ where: { id } }),
      // Before the grants, so that one being written is either seen by their deletion, or refused because of the mark.
      parts.db.$executeRaw`
        UPDATE accounts SET sessions_not_before = ${mark}, updated_at = now()
         WHERE user_id IN (SELECT linked_to FROM accounts WHERE connection = ${name})`,
      parts.db.$executeRaw`
        DELETE FROM artefacts WHERE account_id IN (
          SELECT unnest(ARRAY[user_id, linked_to]) FROM accounts WHERE connection = ${name})`,
      parts.db.account.deleteMany({ where: { connection: name } }),
    ]);
    parts.connections.clear();
    parts.organizations.clear();
    if (ended > 0) await waitForSessionsEnd(mark);
    return gone;
  },
});

/**
 * Choosing the provider, or the claim that identifies a person, allows signing in as anybody of this connection. So it takes a token that
 * holds everything that any of these people may do here; any other may only write back what it read.
 * @throws ManagementProblem 403
 */
function checkSameIdentities(
  { seal }: Parts,
  { options: before }: ConnectionModel,
  options: Record<string, unknown> | undefined,
): void {
  if (isDeepStrictEqual(options, showInert(before, seal, true))) return;
  throw new ManagementProblem(
    403,
    'insufficient_scope',
    'Somebody who signs in with this connection may do more here than this token may',
  );
}

/**
 * Auth0's tools export options without their secret, and importing those must not break all sign-ins: an omitted secret is kept as long
 * as it belongs to the same client there.
 */
function unchangedSecret(
  { seal }: Parts,
  before: ConnectionModel,
  given: Record<string, unknown>,
): { client_secret?: unknown } {
  if (!isUpstream(before.strategy) || given.client_secret !== undefined) return {};
  const { client_secret, ...stands } = showInert(before.options, seal, true);
  const isSame = ['client_id', 'token_endpoint_auth_method'].every((name) => stands[name] === given[name]);
  return isSame && client_secret !== undefined ? { client_secret } : {};
}

/** @throws ManagementProblem 400 if the options do not suffice to use the provider */
function checkOptions(strategy: string, options: Record<string, unknown>): void {
  const problem = isUpstream(strategy) ? optionsProblem(strategy, options) : undefined;
  if (problem) throw badBody(problem);
}

export async function load({ connections }: Parts, id = ''): Promise<ConnectionModel> {
  const connection = (await connections.list()).find((each) => each.id === id);
  if (!connection) throw missing('connection', 'The connection does not exist');
  return connection;
}

/** The columns that the body sets; `options` as a whole, as at Auth0, except for a kept secret (above). */
function columns({ seal }: Parts, body: z.infer<typeof change>, before?: ConnectionModel) {
  const inert = changeInert(shown, body, { seal, before: before?.inert });
  return {
    ...(body.options !== undefined && { options: sealSecrets(body.options, seal) }),
    ...(inert && { inert }),
    ...(body.enabled_clients !== undefined && { everyClient: false, enabledClients: body.enabled_clients }),
  };
}

/** What Auth0 shows for a connection's options that were never set. */
const defaultOptions: Record<string, object> = {
  auth0: { disable_self_service_change_password: false },
  email: { email: { body: '' } },
};

/** Secret options are shown to callers who may replace them. */
export async function presenter(
  { seal, db }: Parts,
  scopes: ReadonlySet<string>,
): Promise<(connection: ConnectionModel) => object> {
  const withSecrets = scopes.has('update:connections');
  const known = (await db.client.findMany({ select: { clientId: true }, orderBy: { clientId: 'asc' } })).map(
    ({ clientId }) => clientId,
  );
  return (connection) => ({
    is_domain_connection: false,
    realms: [connection.name],
    ...showInert(connection.inert, seal, withSecrets),
    id: connection.id,
    name: connection.name,
    strategy: connection.strategy,
    options: { ...defaultOptions[connection.strategy], ...showInert(connection.options, seal, withSecrets) },
    enabled_clients: known.filter((clientId) => isEnabled(connection, clientId)),
  });
}

/** @throws ManagementProblem 400 when one of them does not exist */
export async function checkClients(db: Database, clientIds: string[]): Promise<void> {
  const known = await db.client.findMany({ where: { clientId: { in: clientIds } }, select: { clientId: true } });
  const unknown = clientIds.filter((clientId) => !known.some((client) => client.clientId === clientId));
  if (unknown.length > 0) throw badBody(`there is no client ${unknown.join(', ')}`);
}
