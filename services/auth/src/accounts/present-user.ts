/** People as Auth0 shows them, in its management API, to actions and in exports: with the identities they log in by. */
import type { Database } from '../database.ts';
import type { AccountModel, ConnectionModel } from '../generated/models.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { isSocial } from '../upstream/strategies.ts';

/** The shown part of an account: nothing that authenticates somebody. */
export type PresentedAccount = Omit<AccountModel, 'passwordHash' | 'credentialsVersion'>;

/** An account and the accounts linked to it. */
export type Person = { account: PresentedAccount; linked: PresentedAccount[] };

export async function withIdentities<Account extends PresentedAccount>(
  { db }: { db: Database },
  accounts: Account[],
): Promise<{ account: Account; linked: AccountModel[] }[]> {
  const ids = accounts.map(({ userId }) => userId);
  const linked = await db.account.findMany({ where: { linkedTo: { in: ids } }, orderBy: { userId: 'asc' } });
  return accounts.map((account) => ({ account, linked: linked.filter(({ linkedTo }) => linkedTo === account.userId) }));
}

export async function presentUsers(
  parts: { db: Database; connections: ConnectionStore },
  accounts: PresentedAccount[],
): Promise<object[]> {
  const present = await makePresentUser(parts);
  return (await withIdentities(parts, accounts)).map(present);
}

export async function makePresentUser({
  connections,
}: {
  connections: ConnectionStore;
}): Promise<(person: Person) => object> {
  const known = new Map((await connections.list()).map((connection) => [connection.name, connection]));
  return (person) => present(person, known);
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
