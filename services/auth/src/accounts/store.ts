/** People. */
import { randomBytes } from 'node:crypto';
import type { Account } from 'oidc-provider';
import { type Database, type Pool, Prisma } from '../database.ts';
import type { AccountModel } from '../generated/models.ts';
import { asking } from '../stores-away.ts';
import { type AccountForTokens, findForTokens } from './for-tokens.ts';

export type AccountStore = {
  find(userId: string): Promise<AccountModel | undefined>;
  /**
   * As oidc-provider wants it; undefined also for a blocked account, whose tokens then stop working at once, and for a session
   * that began (`from`, epoch seconds) before the account ended its sessions. `grantId` is the grant that will be asked for next.
   */
  findForTokens(
    userId: string,
    session?: { from: number | undefined; grantId: string | undefined },
  ): Promise<Account | undefined>;
  /** By email or username within a connection; by phone number where there is neither. */
  findByLogin(connection: string, login: string): Promise<AccountModel | undefined>;
  /** Any account that has proven to own the email address or phone number; the oldest if several. */
  findVerified(channel: 'email' | 'sms', address: string): Promise<AccountModel | undefined>;
  /** Undefined when the connection has an account with that email, username or number already. */
  create(account: Omit<Prisma.AccountCreateInput, 'userId'> & { userId?: string }): Promise<AccountModel | undefined>;
  update(userId: string, change: Prisma.AccountUpdateInput): Promise<AccountModel>;
};

export function makeAccountStore(db: Database, pool: Pool): AccountStore {
  const find = async (userId: string) => (await asking(db.account.findUnique({ where: { userId } }))) ?? undefined;
  return {
    find,
    async findForTokens(userId, session) {
      const account = await asking(findForTokens(pool, userId, session?.grantId));
      if (!account || account.blocked) return undefined;
      const endedAt = account.sessionsNotBefore?.getTime() ?? 0;
      if (session?.from !== undefined && session.from * 1000 < endedAt - 999) return undefined;
      return { accountId: account.userId, claims: async () => accountClaims(account) };
    },
    async findByLogin(connection, login) {
      // Both are kept in lower case, so equality is enough, and uses the unique indexes.
      const lower = login.toLowerCase();
      return (
        (await asking(
          db.account.findFirst({
            where: { connection, OR: [{ email: lower }, { username: lower }, { phoneNumber: login }] },
            orderBy: { createdAt: 'asc' },
          }),
        )) ?? undefined
      );
    },
    async findVerified(channel, address) {
      const where =
        channel === 'email'
          ? { email: address.toLowerCase(), emailVerified: true }
          : { phoneNumber: address, phoneVerified: true };
      return (await asking(db.account.findFirst({ where, orderBy: { createdAt: 'asc' } }))) ?? undefined;
    },
    async create({ userId, ...data }) {
      try {
        return await asking(db.account.create({ data: { ...data, userId: userId ?? newUserId(data.connection) } }));
      } catch (error) {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return undefined;
        throw error;
      }
    },
    update: (userId, data) => asking(db.account.update({ where: { userId }, data })),
  };
}

/** `auth0|…` for a database connection, `email|…` and `sms|…` for the others, as Auth0 does. */
function newUserId(connection: string): string {
  const prefix = connection === 'email' || connection === 'sms' ? connection : 'auth0';
  return `${prefix}|${randomBytes(12).toString('hex')}`;
}

/** Everything we know of a person by OpenID's names; oidc-provider picks what was granted. */
export function accountClaims(account: Omit<AccountForTokens, 'blocked' | 'sessionsNotBefore'>): {
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
