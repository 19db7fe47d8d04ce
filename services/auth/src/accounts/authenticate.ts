/** A login and its password: the one place that both the hosted page and the password grant ask. */
import type { AccountModel } from '../generated/models.ts';
import { networkOf } from '../http/network.ts';
import { parseIdentifier } from './identifier.ts';
import type { Lockout } from './lockout.ts';
import { passwordMatches } from './password.ts';
import { holdBack, makeShare } from './share.ts';
import type { AccountStore } from './store.ts';
import { type Subject, subjectOf } from './subject.ts';
import { TooBusy } from './turns.ts';

export type Authentication =
  | { kind: 'right'; account: AccountModel }
  /** Also for an unknown or blocked account: nobody outside learns which. The subject is for the log. */
  | { kind: 'wrong'; subject: Subject }
  | { kind: 'locked'; seconds: number; subject: Subject }
  /** `excess`: because of all the others that come from this network. */
  | { kind: 'busy'; excess: boolean };

/** Of so many tries from one network we do anything at a time. */
const networkMax = 64;

export type Authenticate = (given: {
  connection: string;
  login: string;
  password: string;
  /** Where the person is, for the lockout. */
  address: string;
}) => Promise<Authentication>;

export function makeAuthenticate(accounts: AccountStore, lockout: Lockout): Authenticate {
  const share = makeShare(networkMax);
  return async ({ connection, login, password, address }) => {
    const network = networkOf(address);
    // Before any store is asked: what comes beyond its network's share costs next to nothing.
    using slot = share.take(network);
    if (!slot) {
      await holdBack();
      return { kind: 'busy', excess: true };
    }
    const identifier = parseIdentifier(login);
    const account = identifier && (await accounts.findByLogin(connection, identifier.value));
    const subject = subjectOf(connection, login, account);
    const attempt = await lockout.begin(subject.key, network);
    if (attempt.kind === 'closed') return { kind: 'locked', seconds: attempt.seconds, subject };
    if (attempt.kind === 'busy') return { kind: 'busy', excess: true };
    let matches: boolean;
    try {
      matches = await passwordMatches(password, account?.passwordHash, { network, account: subject.key });
    } catch (error) {
      // Nobody is shut out for having tried while we could not answer.
      await attempt.takenBack();
      if (error instanceof TooBusy) return { kind: 'busy', excess: error.excess };
      throw error;
    }
    const owner = matches && account && !account.blocked ? await accounts.ownerOf(account) : undefined;
    if (!owner || owner.blocked) {
      await attempt.failed();
      return { kind: 'wrong', subject };
    }
    await attempt.succeeded();
    return { kind: 'right', account: owner };
  };
}
