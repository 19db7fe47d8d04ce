/** `users` and `users-by-email`: people. */
import { z } from '@gatepost/runtime/env';
import { sessionsEnd, sessionsEnded } from '../accounts/end-access.ts';
import { parseUsername } from '../accounts/identifier.ts';
import { hashPassword, passwordMaxBytes, TooBusy } from '../accounts/password.ts';
import { passwordProblem } from '../accounts/signup.ts';
import { Prisma } from '../database.ts';
import type { AccountModel, ConnectionModel } from '../generated/models.ts';
import { isUpstream } from '../upstream/strategies.ts';
import { lengthMax } from './lucene.ts';
import { merge } from './merge.ts';
import { created, gone, ok, operation } from './operation.ts';
import { chooseFields, fieldsQuery, list, pageQuery, type Source } from './paging.ts';
import type { Parts } from './parts.ts';
import { checkNotAbove } from './permissions.ts';
import { namesOf, type Person, presenter, presentUsers, withIdentities, withProvidersTokens } from './present-user.ts';
import { badBody, conflict, ManagementProblem, missing } from './problem.ts';
import { searchCondition } from './search.ts';
import { httpUri, shortText } from './shapes.ts';
import { userFields, userOrder } from './user-search.ts';

const metadata = z.record(z.string().max(255), z.unknown());
const profile = {
  email: z.email().max(320),
  email_verified: z.boolean(),
  username: z.string().max(256),
  phone_number: z.string().regex(/^\+[1-9]\d{6,14}$/, 'Not a phone number such as +15555550100'),
  phone_verified: z.boolean(),
  password: z.string().min(1).max(passwordMaxBytes),
  blocked: z.boolean(),
  name: text(300),
  nickname: text(300),
  given_name: text(150),
  family_name: text(150),
  picture: httpUri,
  user_metadata: metadata,
  app_metadata: metadata,
  /** A mail asks whether the address is theirs. */
  verify_email: z.boolean(),
  // Auth0's clients send these along.
  verify_phone_number: z.boolean(),
  connection: shortText,
  client_id: shortText,
};
/** What a person's answer says that nobody sets: it may come back with the rest. */
const readOnly = {
  identities: z.unknown(),
  created_at: z.unknown(),
  updated_at: z.unknown(),
  last_login: z.unknown(),
  last_ip: z.unknown(),
  logins_count: z.unknown(),
  last_password_reset: z.unknown(),
  multifactor: z.unknown(),
};
const createBody = z.preprocess(
  withoutNulls(),
  z
    .strictObject({
      ...profile,
      ...readOnly,
      user_id: z.string().regex(/^(?:[\w.-]+\|)?[\w.@+-]{1,128}$/, 'Not a user id'),
    })
    .partial()
    .required({ connection: true }),
);
/** These a null takes away. */
const removable = [
  'email',
  'username',
  'phone_number',
  'name',
  'nickname',
  'given_name',
  'family_name',
  'picture',
] as const;
const updateBody = z.preprocess(
  withoutNulls(removable),
  z
    .strictObject({
      ...profile,
      ...readOnly,
      user_id: z.unknown(),
      email: profile.email.nullable(),
      username: profile.username.nullable(),
      phone_number: profile.phone_number.nullable(),
      name: profile.name.nullable(),
      nickname: profile.nickname.nullable(),
      given_name: profile.given_name.nullable(),
      family_name: profile.family_name.nullable(),
      picture: profile.picture.nullable(),
    })
    .partial(),
);

/** What decides who can sign in as somebody. */
const signsIn = ['password', 'email', 'email_verified', 'phone_number', 'phone_verified', 'username'] as const;

function text(max: number) {
  return z.string().trim().min(1).max(max);
}

/** Null is what some of Auth0's clients send for a field that they do not set. */
function withoutNulls(kept: readonly string[] = []) {
  const names = new Set(Object.keys({ ...profile, ...readOnly, user_id: true }).filter((name) => !kept.includes(name)));
  return (body: unknown) =>
    typeof body !== 'object' || body === null || Array.isArray(body)
      ? body
      : Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== null || !names.has(name)));
}

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
    // Whoever does without an order may have the same person on two pages.
    const isOrdered = query.primary_order !== 'false' || query.sort !== undefined;
    const order = isOrdered ? Prisma.sql`ORDER BY ${userOrder(query.sort)}` : Prisma.empty;
    return list('users', query, source(parts, where, order), await presenter(parts));
  },
});

export const listUsersByEmail = operation({
  query: z.strictObject({ ...fieldsQuery, email: z.string().max(320) }),
  async run({ parts, query }) {
    const found = await parts.db.account.findMany({
      where: { email: query.email.toLowerCase(), linkedTo: null }, // as they are kept
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
    if (!connection) throw missing('connection', 'The connection does not exist.');
    checkIdentity(connection, body);
    const account = await parts.accounts.create({
      ...columns(body),
      ...usernameOf(body.username, connection),
      connection: connection.name,
      ...(body.user_id !== undefined && { userId: userIdOf(body.user_id, connection) }),
      ...(body.password !== undefined && { passwordHash: await hashOf(body.password, body.email) }),
      userMetadata: merge({}, body.user_metadata) as Prisma.InputJsonObject,
      appMetadata: merge({}, body.app_metadata) as Prisma.InputJsonObject,
    });
    if (!account) throw conflict('auth0_idp_error', 'The user already exists.');
    await askForProof(parts, account, body);
    return created((await presentUsers(parts, [account]))[0]);
  },
});

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
    if (signsIn.some((field) => body[field] !== undefined)) await checkNotAbove(parts, account, held);
    if (body.user_id !== undefined && body.user_id !== account.userId) throw badBody('user_id cannot be changed');
    if (body.connection !== undefined && body.connection !== account.connection)
      throw badBody('a user cannot be moved to another connection');
    const connection = await parts.connections.find(account.connection);
    checkStillNamed(account, body, connection);
    // Whoever is blocked, or has a new password, is signed out everywhere.
    const ends = body.blocked === true || body.password !== undefined;
    const mark = sessionsEnd();
    const change = {
      ...(await updateOf(account, withoutDefaults(account, body))),
      // One from before the rules may stay as it is.
      ...(body.username !== account.username && usernameOf(body.username, connection)),
      ...(ends && { sessionsNotBefore: mark }),
    };
    const updated = await parts.accounts.update(account.userId, change).catch((error: unknown) => {
      if (!(error instanceof Prisma.PrismaClientKnownRequestError)) throw error;
      if (error.code === 'P2025') throw missing('user', 'The user does not exist.'); // deleted meanwhile
      if (error.code === 'P2002') throw badBody('The specified new email, username or phone number already exists');
      throw error;
    });
    if (ends) {
      await parts.endAccess(account.userId);
      await sessionsEnded(mark);
    }
    await askForProof(parts, updated, body);
    if (body.password !== undefined) await parts.people.afterPasswordChange(updated, {});
    return ok((await presentUsers(parts, [updated]))[0]);
  },
});

export const deleteUser = operation({
  async run({ parts, params }) {
    const { id = '' } = params;
    const { count } = await parts.db.account.deleteMany({ where: { userId: id, linkedTo: null } });
    await parts.endAccess(id);
    if (count > 0) parts.report.userDeleted(id);
    return gone;
  },
});

export const revokeAccess = operation({
  async run({ parts, params }) {
    const { userId } = await loadUser(parts, params.id);
    const mark = sessionsEnd();
    await parts.accounts.update(userId, { sessionsNotBefore: mark });
    await parts.endAccess(userId);
    await sessionsEnded(mark);
    return { status: 202 };
  },
});

/** A mail that cannot be sent now can be asked for later (`jobs/verification-email`). */
async function askForProof(
  { verificationMails }: Parts,
  account: AccountModel,
  { verify_email, client_id: clientId }: { verify_email?: boolean | undefined; client_id?: string | undefined },
): Promise<void> {
  if (verify_email === true) await verificationMails.send({ account, clientId, languages: {} });
}

/** @throws ManagementProblem 404 */
export async function loadUser({ accounts }: Parts, id = ''): Promise<AccountModel> {
  const account = await accounts.find(id);
  // One that is linked to another is that one's.
  if (!account || account.linkedTo !== null) throw missing('user', 'The user does not exist.');
  return account;
}

/** Most of what a search finds can be paged through, as at Auth0: whoever wants more refines it. */
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
      // One that was deleted meanwhile is left out.
      return withIdentities(
        parts,
        ids.flatMap((id) => byId.get(id) ?? []),
      );
    },
    key: ({ account }) => account.userId,
  };
}

/** A connection decides what names its accounts. */
function checkIdentity(connection: ConnectionModel, body: z.infer<typeof createBody>): void {
  if (connection.strategy === 'sms' && body.phone_number === undefined)
    throw badBody('Missing required property: phone_number');
  if (connection.strategy === 'email' && body.email === undefined) throw badBody('Missing required property: email');
  if (isUpstream(connection.strategy))
    throw badBody('users of this connection are made when they sign in there for the first time');
  if (connection.strategy !== 'auth0') {
    if (body.password !== undefined) throw badBody('a passwordless connection has no password');
    return;
  }
  if (body.email === undefined && body.username === undefined) throw badBody('Missing required property: email');
  if (body.password === undefined) throw badBody('Missing required property: password');
}

/** What names an account in its connection is not taken away. */
function checkStillNamed(
  account: AccountModel,
  body: z.infer<typeof updateBody>,
  connection: ConnectionModel | undefined,
): void {
  const { email = account.email, username = account.username, phone_number = account.phoneNumber } = body;
  if (connection && isUpstream(connection.strategy)) return;
  if (connection?.strategy === 'sms' ? phone_number === null : email === null && username === null)
    throw badBody(`Missing required property: ${connection?.strategy === 'sms' ? 'phone_number' : 'email'}`);
}

/** Without the names that we made up from others, when they come back: they go on following those. */
function withoutDefaults<Body extends z.infer<typeof updateBody>>(account: AccountModel, body: Body): Body {
  const shown = namesOf(account);
  const isDefault = (field: 'name' | 'nickname') => account[field] === null && body[field] === shown[field];
  return {
    ...body,
    ...(isDefault('name') && { name: undefined }),
    ...(isDefault('nickname') && { nickname: undefined }),
  };
}

/** With its prefix, as we answer it, or without, as Auth0 has it. */
function userIdOf(given: string, connection: ConnectionModel): string {
  const prefix = `${prefixOf(connection)}|`;
  const id = given.startsWith(prefix) ? given.slice(prefix.length) : given;
  if (id.includes('|')) throw badBody(`user_id of this connection begins with ${prefix}`);
  return prefix + id;
}

function prefixOf({ strategy, name }: ConnectionModel): string {
  return strategy === 'auth0' ? 'auth0' : name;
}

/** The profile's columns that the body sets. */
function columns(body: Partial<z.infer<typeof updateBody>>) {
  const given = {
    email: body.email === null ? null : body.email?.toLowerCase(),
    emailVerified: body.email_verified,
    phoneNumber: body.phone_number,
    phoneVerified: body.phone_verified,
    blocked: body.blocked,
    name: body.name,
    nickname: body.nickname,
    givenName: body.given_name,
    familyName: body.family_name,
    picture: body.picture,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof typeof given]?: Exclude<(typeof given)[Key], undefined>;
  };
}

function usernameOf(
  given: string | null | undefined,
  connection: ConnectionModel | undefined,
): { username?: string | null } {
  if (given === undefined || given === null) return given === null ? { username: null } : {};
  const parsed = parseUsername(given, connection ?? { options: {} });
  if ('problem' in parsed) throw badBody(parsed.problem);
  return parsed;
}

/** What a change of these fields writes. */
async function updateOf(account: AccountModel, body: z.infer<typeof updateBody>): Promise<Prisma.AccountUpdateInput> {
  const email = body.email === null ? undefined : (body.email?.toLowerCase() ?? account.email ?? undefined);
  // A new address or number is nobody's until it is proven, or said to be.
  const unproven = email !== (account.email ?? undefined) && body.email_verified === undefined;
  const phone = body.phone_number === undefined ? account.phoneNumber : body.phone_number;
  const phoneUnproven = phone === null || (phone !== account.phoneNumber && body.phone_verified === undefined);
  return {
    ...columns(body),
    ...(unproven && { emailVerified: false }),
    ...(phoneUnproven && { phoneVerified: false }),
    ...(body.password !== undefined && {
      passwordHash: await hashOf(body.password, email),
      lastPasswordReset: new Date(),
    }),
    ...(body.user_metadata && { userMetadata: changed(account.userMetadata, body.user_metadata) }),
    ...(body.app_metadata && { appMetadata: changed(account.appMetadata, body.app_metadata) }),
  };
}

/** Auth0 merges metadata at its first level; an empty object clears it. */
function changed(before: Prisma.JsonValue, change: Record<string, unknown>): Prisma.InputJsonObject {
  const start = Object.keys(change).length === 0 ? {} : (before as object);
  return merge(start, change) as Prisma.InputJsonObject;
}

async function hashOf(password: string, email: string | undefined): Promise<string> {
  const problem = passwordProblem(password, email ?? '');
  if (problem === 'password_too_short') throw weak('Password is too short');
  if (problem === 'password_too_common') throw weak('Password is too common');
  try {
    return await hashPassword(password);
  } catch (error) {
    if (error instanceof TooBusy) throw new ManagementProblem(503, 'temporarily_unavailable', 'Try again in a moment');
    throw error;
  }
}

function weak(message: string): ManagementProblem {
  return new ManagementProblem(400, 'invalid_password', `PasswordStrengthError: ${message}`);
}
