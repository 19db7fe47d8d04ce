/** `users` and `users-by-email`: people. */
import { z } from 'zod';
import { endAccess, sessionsEnd, waitForSessionsEnd } from '../accounts/end-access.ts';
import { makePresentUser, type Person, presentUsers, withIdentities } from '../accounts/present-user.ts';
import type { Also } from '../accounts/store.ts';
import { Prisma } from '../database.ts';
import type { AccountModel } from '../generated/models.ts';
import { merge } from '../merge-metadata.ts';
import { lengthMax } from './lucene.ts';
import { created, gone, ok, operation } from './operation.ts';
import { chooseFields, fieldsQuery, list, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { checkTargetNotAbove } from './permissions.ts';
import { badBody, conflict, ManagementProblem, missing } from './problem.ts';
import { searchCondition } from './search.ts';
import { createBody, updateBody } from './user-body.ts';
import {
  checkIdentity,
  checkKeepsIdentifier,
  checkMayHave,
  columns,
  hashOf,
  prefixedUserId,
  updateOf,
  usernameOf,
  withoutDefaults,
} from './user-columns.ts';
import { userFields, userOrder } from './user-search.ts';

/** The fields that decide who can sign in as somebody. */
const signsIn = ['password', 'email', 'email_verified', 'phone_number', 'phone_verified', 'username'] as const;

export const listUsers = operation({
  query: z.strictObject({
    ...pageQuery,
    ...fieldsQuery,
    q: z.string().max(lengthMax).optional(),
    sort: z.string().max(100).optional(),
    connection: z.string().max(256).optional(),
    search_engine: z
      .enum(['v1', 'v3'], {
        error: 'Only the search engine v3 is supported (https://auth0.com/docs/manage-users/user-search)',
      })
      .optional(),
    primary_order: z.enum(['true', 'false']).optional(),
  }),
  async run({ parts, query }) {
    if ((query.page + 1) * query.per_page > reachable)
      throw new ManagementProblem(
        400,
        'invalid_paging',
        `You can only page through the first ${reachable} records. See https://auth0.com/docs/users/search/v3/view-search-results-by-page#limitation`,
      );
    const { q = '', connection } = query;
    const where = Prisma.sql`account.linked_to IS NULL AND ${searchCondition(q, userFields)} AND ${
      connection === undefined ? Prisma.sql`true` : Prisma.sql`account.connection = ${connection}`
    }`;
    // Without an order, the same person may appear on two pages.
    const isOrdered = query.primary_order !== 'false' || query.sort !== undefined;
    const order = isOrdered ? Prisma.sql`ORDER BY ${userOrder(query.sort)}` : Prisma.empty;
    return list('users', query, source(parts, where, order), await makePresentUser(parts));
  },
});

export const listUsersByEmail = operation({
  query: z.strictObject({ ...fieldsQuery, email: z.string().max(320) }),
  async run({ parts, query }) {
    const found = await parts.db.account.findMany({
      where: { email: query.email.toLowerCase(), linkedTo: null }, // as stored
      orderBy: { createdAt: 'asc' },
      take: 100,
    });
    return ok((await presentUsers(parts, found)).map((user) => chooseFields(user, query)));
  },
});

export const createUser = operation({
  body: createBody,
  async run({ parts, body }) {
    const connection = await parts.connections.find(body.connection);
    if (!connection) throw noConnection();
    checkIdentity(connection, body);
    const account = await parts.accounts.create({
      ...columns(body),
      ...usernameOf(body.username, connection),
      connection: connection.name,
      ...(body.user_id !== undefined && { userId: prefixedUserId(body.user_id, connection) }),
      ...(body.password !== undefined && { passwordHash: await hashOf(body.password, body.email) }),
      userMetadata: merge({}, body.user_metadata) as Prisma.InputJsonObject,
      appMetadata: merge({}, body.app_metadata) as Prisma.InputJsonObject,
    });
    if (account === 'no_connection') throw noConnection();
    if (!account) throw conflict('auth0_idp_error', 'The user already exists.');
    await askForProof(parts, account, body);
    return created((await presentUsers(parts, [account]))[0]);
  },
});

const noConnection = () => missing('connection', 'The connection does not exist.');

export const getUser = operation({
  query: z.strictObject(fieldsQuery),
  async run({ parts, params, query, scopes }) {
    const account = await loadUser(parts, params.id);
    const [user] = await presentUsers(parts, [account]);
    const shown = scopes.has('read:user_idp_tokens') ? await withProvidersTokens(parts, account, user!) : user!;
    return ok(chooseFields(shown, query));
  },
});

export const updateUser = operation({
  body: updateBody,
  async run({ parts, params, body, scopes: held }) {
    const account = await loadUser(parts, params.id);
    if (signsIn.some((field) => body[field] !== undefined)) await checkTargetNotAbove(parts, account, held);
    if (body.user_id !== undefined && body.user_id !== account.userId) throw badBody('user_id cannot be changed');
    if (body.connection !== undefined && body.connection !== account.connection)
      throw badBody('a user cannot be moved to another connection');
    const connection = await parts.connections.find(account.connection);
    checkMayHave(connection, body, account);
    // Blocking or a new password signs the person out everywhere.
    const ends = body.blocked === true || body.password !== undefined;
    const passwordHash =
      body.password === undefined ? undefined : await hashOf(body.password, body.email ?? account.email ?? undefined);
    // Taken after the wait for the hash, so that no session begun meanwhile outlives the old password.
    const mark = sessionsEnd();
    // From the row that it replaces: an address that its owner has changed meanwhile would otherwise become verified by this request.
    const change = (before: AccountModel) => {
      checkKeepsIdentifier(before, body, connection);
      return {
        ...updateOf(before, withoutDefaults(before, body)),
        // A username older than the rules may stay as it is.
        ...(body.username !== before.username && usernameOf(body.username, connection)),
        ...(passwordHash !== undefined && { passwordHash, lastPasswordReset: new Date() }),
        ...(ends && { sessionsNotBefore: mark }),
      };
    };
    const merged = { user: body.user_metadata, app: body.app_metadata };
    const also: Also | undefined = ends ? (transaction) => endAccess(transaction, account.userId) : undefined;
    const updated = await parts.accounts.update(account.userId, change, merged, also).catch((error: unknown) => {
      if (!(error instanceof Prisma.PrismaClientKnownRequestError)) throw error;
      if (error.code === 'P2002') throw badBody('The specified new email, username or phone number already exists');
      throw error;
    });
    if (ends) await waitForSessionsEnd(mark);
    await askForProof(parts, updated, body);
    if (body.password !== undefined) await parts.people.afterPasswordChange(updated);
    return ok((await presentUsers(parts, [updated]))[0]);
  },
});

export const deleteUser = operation({
  async run({ parts, params }) {
    const { id = '' } = params;
    const { count } = await parts.db.account.deleteMany({ where: { userId: id, linkedTo: null } });
    await endAccess(parts.db, id);
    if (count > 0) parts.report.userDeleted(id);
    return gone;
  },
});

/** If the mail cannot be sent now, it can be requested later (`jobs/verification-email`). */
async function askForProof(
  { verificationMails }: Parts,
  account: AccountModel,
  { verify_email, client_id: clientId }: { verify_email?: boolean | undefined; client_id?: string | undefined },
): Promise<void> {
  if (verify_email === true) await verificationMails.send({ account, clientId, languages: {} });
}

/** Adds providers' tokens to identities whose connection stores them (`read:user_idp_tokens`). */
async function withProvidersTokens(
  { db, upstreamTokens }: Parts,
  { userId }: AccountModel,
  user: object,
): Promise<object> {
  const linked = await db.account.findMany({ where: { linkedTo: userId }, orderBy: { userId: 'asc' } });
  const userIds = [userId, ...linked.map((account) => account.userId)]; // in the order of the identities
  const tokens = await upstreamTokens.find(userIds);
  const { identities } = user as { identities: object[] };
  return {
    ...user,
    identities: identities.map((identity, index) => ({ ...identity, ...tokens.get(userIds[index]!) })),
  };
}

/** @throws ManagementProblem 404 */
export async function loadUser({ accounts }: Parts, id = ''): Promise<AccountModel> {
  const account = await accounts.find(id);
  // An account that is linked belongs to another one.
  if (!account || account.linkedTo !== null) throw missing('user', 'The user does not exist.');
  return account;
}

/** How far a search can be paged through, as at Auth0; beyond that it must be refined. */
const reachable = 1_000;

/** The accounts that a search finds, in its order. */
function source(parts: Parts, where: Prisma.Sql, order: Prisma.Sql): Source<Person> {
  const { db, runSearch } = parts;
  return {
    async total() {
      const [row] = await runSearch<{ count: string }>(
        Prisma.sql`SELECT count(*) AS count FROM accounts account WHERE ${where}`,
      );
      return Number(row?.count ?? 0);
    },
    async items({ skip, take }) {
      const found = await runSearch<{ user_id: string }>(
        Prisma.sql`SELECT account.user_id FROM accounts account WHERE ${where} ${order} LIMIT ${take} OFFSET ${skip}`,
      );
      const ids = found.map(({ user_id }) => user_id);
      const accounts = await db.account.findMany({ where: { userId: { in: ids } } });
      const byId = new Map(accounts.map((account) => [account.userId, account]));
      // An account deleted meanwhile is left out.
      return withIdentities(
        parts,
        ids.flatMap((id) => byId.get(id) ?? []),
      );
    },
    key: ({ account }) => account.userId,
  };
}
