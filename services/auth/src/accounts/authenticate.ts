/** A login and its password: the one place that both the hosted page and the password grant ask. */
import type { AccountModel } from '../generated/models.ts';
import { parseIdentifier } from './identifier.ts';
import type { Lockout } from './lockout.ts';
import { passwordMatches, TooBusy } from './password.ts';
import type { AccountStore } from './store.ts';

export type Authentication =
  | { kind: 'right'; account: AccountModel }
  /** Also for an unknown or blocked account: nobody outside learns which. */
  | { kind: 'wrong' }
  | { kind: 'locked'; seconds: number }
  | { kind: 'busy' };

export type Authenticate = (given: {
  connection: string;
  login: string;
  password: string;
  /** Where the person is, for the lockout. */
  address: string;
}) => Promise<Authentication>;

export function makeAuthenticate(accounts: AccountStore, lockout: Lockout): Authenticate {
  return async ({ connection, login, password, address }) => {
    const attempt = await lockout.attempt(login, address);
    if (!attempt.allowed) return { kind: 'locked', seconds: attempt.seconds };
    const identifier = parseIdentifier(login);
    let account: AccountModel | undefined;
    try {
      account = identifier && (await accounts.findByLogin(connection, identifier.value));
      const matches = await passwordMatches(password, account?.passwordHash);
      if (!matches || !account || account.blocked) return { kind: 'wrong' };
    } catch (error) {
      // Nobody is shut out for having tried while we could not answer.
      await lockout.takeBack(login, address);
      if (error instanceof TooBusy) return { kind: 'busy' };
      throw error;
    }
    await lockout.clear(login, address);
    return { kind: 'right', account };
  };
}
