/** People as the management API shows them, with the identities they log in by. */
import type { AccountModel, ConnectionModel } from '../generated/models.ts';
import { isSocial } from '../upstream/strategies.ts';
import type { Parts } from './parts.ts';

/** The shown part of an account: nothing that authenticates somebody. */
export type PresentedAccount = Omit<AccountModel, 'passwordHash' | 'credentialsVersion'>;

/** An account and the accounts linked to it. */
export type Person = { account: PresentedAccount; linked: PresentedAccount[] };

export async function withIdentities<Account extends PresentedAccount>(
  { db }: Pick<Parts, 'db'>,
  accounts: Account[],
): Promise<{ account: Account; linked: AccountModel[] }[]> {
  const ids = accounts.map(({ userId }) => userId);
  const linked = await db.account.findMany({ where: { linkedTo: { in: ids } }, orderBy: { userId: 'asc' } });
  return accounts.map((account) => ({ account, linked: linked.filter(({ linkedTo }) => linkedTo === account.userId) }));
}

export async function presentUsers(
  parts: Pick<Parts, 'db' | 'connections'>,
  accounts: PresentedAccount[],
): Promise<object[]> {
  const present = await presenter(parts);
  return (await withIdentities(parts, accounts)).map(present);
}

export async function presenter({ connections }: Pick<Parts, 'connections'>): Promise<(person: Person) => object> {
  const known = new Map((await connections.list()).map((connection) => [connection.name, connection]));
  return (person) => present(person, known);
}

/** Adds providers' tokens to identities whose connection stores them (`read:user_idp_tokens`). */
export async function withProvidersTokens(
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

/** Its user_id without the prefix, and its connection's strategy. */
export function identityOf(
  { userId, connection }: Pick<AccountModel, 'userId' | 'connection'>,
  known: ConnectionModel | undefined,
) {
  const [prefix = '', ...rest] = userId.split('|');
  const provider = known?.strategy ?? prefix;
  return { connection, provider, user_id: rest.join('|'), isSocial: isSocial(provider) };
}

/** Names for an account without any; user-search.ts finds it by the same ones. */
export function namesOf(account: PresentedAccount): { name: string; nickname: string } {
  const named = account.email ?? account.phoneNumber ?? account.username ?? account.userId;
  const unnamed = account.email ?? account.phoneNumber ?? account.userId;
  return {
    name: account.name ?? named,
    nickname: account.nickname ?? account.username ?? unnamed.split('@')[0]!,
  };
}

function present({ account, linked }: Person, known: Map<string, ConnectionModel>): object {
  const own = identityOf(account, known.get(account.connection));
  const others = linked.map((identity) => ({
    ...identityOf(identity, known.get(identity.connection)),
    profileData: profileOf(identity),
  }));
  return {
    user_id: account.userId,
    ...profileOf(account),
    blocked: account.blocked,
    identities: [own, ...others],
    user_metadata: account.userMetadata,
    app_metadata: account.appMetadata,
    logins_count: account.loginsCount,
    created_at: account.createdAt.toISOString(),
    updated_at: account.updatedAt.toISOString(),
  };
}

function profileOf(account: PresentedAccount): object {
  const known = {
    username: account.username,
    phone_number: account.phoneNumber,
    phone_verified: account.phoneNumber === null ? null : account.phoneVerified,
    given_name: account.givenName,
    family_name: account.familyName,
    picture: account.picture,
    last_login: account.lastLogin?.toISOString(),
    last_ip: account.lastIp,
    last_password_reset: account.lastPasswordReset?.toISOString(),
    email: account.email,
    email_verified: account.email === null ? null : account.emailVerified,
  };
  return {
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null && value !== undefined)),
    ...namesOf(account),
  };
}
