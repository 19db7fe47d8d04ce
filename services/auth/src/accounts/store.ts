/** People. */
import { randomBytes } from 'node:crypto';
import { type Database, type Pool, Prisma } from '../database.ts';
import type { AccountModel } from '../generated/models.ts';
import { parted } from '../merge-metadata.ts';
import { upstreamPrefixes } from '../upstream/strategies.ts';
import { type AccountForTokens, findForTokens } from './for-tokens.ts';
import { parseIdentifier } from './identifier.ts';

/** A state of an account: identifies this very account (not a later one with the same id) until its credentials change. */
export type AccountState = Pick<AccountModel, 'userId' | 'incarnation' | 'credentialsVersion'>;

/** Picks the columns that make up its state. */
export function stateOf({ userId, incarnation, credentialsVersion }: AccountState): AccountState {
  return { userId, incarnation, credentialsVersion };
}

/** The same text for the same state of the same account, and for no other. */
export function stateText(state: AccountState | undefined): string {
  return state ? `${state.incarnation}.${state.credentialsVersion}` : 'nobody';
}

/** Whether the account is open and unchanged since `state`. */
export function isUnchanged(
  account: (AccountState & Pick<AccountModel, 'blocked'>) | undefined,
  state: AccountState,
): account is NonNullable<typeof account> {
  return account !== undefined && !account.blocked && stateText(account) === stateText(state);
}

/** An account in oidc-provider’s form, with what its grants are bound to. */
export type TokenAccount = {
  accountId: string;
  incarnation: string;
  connection: string;
  /** When the proof of identity dates from, in epoch seconds, if known: that of a session, or of the request that proves a password. */
  from?: number | undefined;
  /** The types of its authentication methods. */
  factors: string[];
  claims: () => Promise<{ sub: string; [claim: string]: unknown }>;
};

export type MetadataChange = { user?: Record<string, unknown> | undefined; app?: Record<string, unknown> | undefined };

/** What a change of an account brings with it, in the same transaction: both happen or neither. */
export type Also = (transaction: Prisma.TransactionClient, changed: AccountModel) => Promise<unknown>;

export type AccountStore = {
  /** Includes an account that is linked to another. */
  find(userId: string): Promise<AccountModel | undefined>;
  /**
   * The account in oidc-provider’s form. Also undefined for a blocked account, whose tokens then stop working at once; for a
   * session that began (`from`, epoch seconds) before the account ended its sessions; and for a session of an earlier account with
   * that id. `grantId` is the grant that will be needed next.
   */
  findForTokens(
    userId: string,
    session?: { from: number | undefined; incarnation: string | undefined; grantId?: string | undefined },
  ): Promise<TokenAccount | undefined>;
  /**
   * Finds an account by the typed login, within a connection. An email address never finds a username, nor does a number. If several
   * accounts share a number, those that have verified it come first, then the oldest.
   */
  findByLogin(connection: string, login: string): Promise<AccountModel | undefined>;
  /**
   * The account that a proven email address or phone number opens: the oldest one that has verified it, in any of our own connections,
   * or else the connection’s own account, created for it but no longer marked as verified. An address asserted by another provider
   * opens nothing here.
   */
  findAddressee(channel: 'email' | 'sms', connection: string, recipient: string): Promise<AccountModel | undefined>;
  /** The account it logs in to: the one it is linked to, or itself. Names and proofs belong to the account by which it was found. */
  ownerOf(account: AccountModel): Promise<AccountModel | undefined>;
  /** The connections of the linked identities, without the account's own. */
  linkedConnections(userId: string): Promise<string[]>;
  /**
   * Undefined when the connection already has an account with that email, username or number.
   * @param account with `connectionId` only for that very connection, not for a later one of the same name
   */
  create(
    account: Omit<Prisma.AccountCreateInput, 'userId'> & { userId?: string; connectionId?: string },
  ): Promise<AccountModel | 'no_connection' | undefined>;
  /**
   * @param change what to write, or what makes it from the current row; then concurrent changes wait for each other, and none is lost
   * @param metadata merged into the account's metadata in the database, so that concurrent changes do not overwrite each other; null removes a key
   */
  update(
    userId: string,
    change: Prisma.AccountUpdateInput | ((before: AccountModel) => Prisma.AccountUpdateInput),
    metadata?: MetadataChange,
    also?: Also,
  ): Promise<AccountModel>;
  /** Changes an account in one step if it is still in that state; undefined if not. */
  updateState(state: AccountState, change: Prisma.AccountUpdateInput, also?: Also): Promise<AccountModel | undefined>;
};

const columnOf = { email: 'email', phone: 'phoneNumber', username: 'username' } as const;

export function makeAccountStore(db: Database, pool: Pool): AccountStore {
  const find = async (userId: string) => (await db.account.findUnique({ where: { userId } })) ?? undefined;
  return {
    find,
    async findForTokens(userId, session) {
      const account = await findForTokens(pool, userId, session?.grantId);
      if (!account || account.blocked || account.linkedTo !== null) return undefined;
      if (session && isSessionEnded(session, account)) return undefined;
      const { userId: accountId, incarnation, connection, factors } = account;
      const claims = async () => accountClaims(account);
      return { accountId, incarnation, connection, from: session?.from, factors, claims };
    },
    async findByLogin(connection, login) {
      const identifier = parseIdentifier(login);
      if (!identifier) return undefined;
      return (
        (await db.account.findFirst({
          where: { connection, [columnOf[identifier.kind]]: identifier.value },
          // Only numbers may be shared by several accounts.
          orderBy: [{ phoneVerified: 'desc' }, { createdAt: 'asc' }],
        })) ?? undefined
      );
    },
    async findAddressee(channel, connection, recipient) {
      const own = { NOT: { OR: upstreamPrefixes.map((prefix) => ({ userId: { startsWith: prefix } })) } };
      const where =
        channel === 'email'
          ? { email: recipient.toLowerCase(), OR: [{ emailVerified: true }, { connection }] }
          : { phoneNumber: recipient, OR: [{ phoneVerified: true }, { connection }] };
      const proven = channel === 'email' ? { emailVerified: 'desc' as const } : { phoneVerified: 'desc' as const };
      return (
        (await db.account.findFirst({ where: { AND: [own, where] }, orderBy: [proven, { createdAt: 'asc' }] })) ??
        undefined
      );
    },
    ownerOf: async (account) => (account.linkedTo === null ? account : find(account.linkedTo)),
    async linkedConnections(userId) {
      const linked = await db.account.findMany({ where: { linkedTo: userId }, select: { connection: true } });
      return linked.map(({ connection }) => connection);
    },
    async create({ userId, connectionId = null, ...data }) {
      try {
        return await db.$transaction(async (transaction) => {
          // Held until the account is there, so that a deletion of the connection finds it (management/connections.ts).
          const held = await transaction.$queryRaw<object[]>`
            SELECT id FROM connections WHERE name = ${data.connection} AND id = coalesce(${connectionId}, id) FOR KEY SHARE`;
          if (held.length === 0) return 'no_connection';
          return transaction.account.create({ data: { ...data, userId: userId ?? newUserId(data.connection) } });
        });
      } catch (error) {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return undefined;
        throw error;
      }
    },
    async update(userId, change, { user = {}, app = {} } = {}, also) {
      const hasMetadata = Object.keys(user).length + Object.keys(app).length > 0;
      if (typeof change !== 'function' && !hasMetadata && !also)
        return db.account.update({ where: { userId }, data: change });
      const [ofUser, ofApp] = [parted(user), parted(app)];
      return db.$transaction(async (transaction) => {
        const data = typeof change === 'function' ? change(await lockAccount(transaction, userId)) : change;
        if (hasMetadata)
          await transaction.$executeRaw`
            UPDATE accounts SET user_metadata = (user_metadata - ${ofUser.removed}::text[]) || ${ofUser.set}::jsonb,
                                app_metadata = (app_metadata - ${ofApp.removed}::text[]) || ${ofApp.set}::jsonb
             WHERE user_id = ${userId}`;
        const updated = await transaction.account.update({ where: { userId }, data });
        await also?.(transaction, updated);
        return updated;
      });
    },
    async updateState({ userId, incarnation, credentialsVersion }, data, also) {
      const where = { userId, incarnation, credentialsVersion };
      if (!also) return (await db.account.updateManyAndReturn({ where, data }))[0];
      return db.$transaction(async (transaction) => {
        const [changed] = await transaction.account.updateManyAndReturn({ where, data });
        if (changed) await also(transaction, changed);
        return changed;
      });
    },
  };
}

/** @returns the account as it stays until the transaction ends */
async function lockAccount(transaction: Prisma.TransactionClient, userId: string): Promise<AccountModel> {
  await transaction.$queryRaw`SELECT FROM accounts WHERE user_id = ${userId} FOR UPDATE`;
  return transaction.account.findUniqueOrThrow({ where: { userId } });
}

/** Whether the account has ended this session, or the session belongs to an earlier account with that id. */
export function isSessionEnded(
  session: { from: number | undefined; incarnation: string | undefined },
  account: Pick<AccountModel, 'sessionsNotBefore' | 'incarnation'>,
): boolean {
  const endedAt = account.sessionsNotBefore?.getTime() ?? 0;
  if (session.from !== undefined && Math.round(session.from * 1000) < endedAt - 999) return true;
  return session.incarnation !== account.incarnation;
}

/** `auth0|…` for a database connection, `email|…` and `sms|…` for the others, as Auth0 does. */
export function newUserId(connection?: string): string {
  const prefix = connection === 'email' || connection === 'sms' ? connection : 'auth0';
  return `${prefix}|${randomBytes(12).toString('hex')}`;
}

/** Everything we know about a person, under OpenID’s names; oidc-provider picks the granted claims. */
export function accountClaims(
  account: Omit<
    AccountForTokens,
    'blocked' | 'sessionsNotBefore' | 'incarnation' | 'connection' | 'linkedTo' | 'factors'
  >,
): {
  sub: string;
  [claim: string]: unknown;
} {
  const known: Record<string, unknown> = {
    name: account.name ?? account.nickname ?? account.email ?? account.phoneNumber,
    given_name: account.givenName,
    family_name: account.familyName,
    nickname: account.nickname ?? account.username ?? account.email?.split('@')[0],
    picture: account.picture,
    updated_at: account.updatedAt.toISOString(),
    email: account.email,
    email_verified: account.email ? account.emailVerified : null,
    phone_number: account.phoneNumber,
    phone_number_verified: account.phoneNumber ? account.phoneVerified : null,
  };
  const present = Object.fromEntries(Object.entries(known).filter(([, value]) => value != null));
  return { sub: account.userId, ...present };
}
