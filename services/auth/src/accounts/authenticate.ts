/** Checks a login and its password, for the hosted page and the password grant alike. */
import type { AccountModel } from '../generated/models.ts';
import { networkOf } from '../http/network.ts';
import type { AttemptLimits, Closed } from '../protection/attempt-limits.ts';
import type { BreachedPasswords } from '../protection/breached/breached-passwords.ts';
import { parseIdentifier } from './identifier.ts';
import { hashPassword, isOurs, passwordMatches } from './password.ts';
import { delayRefusal, makeShare } from './share.ts';
import type { AccountStore } from './store.ts';
import { type Subject, subjectOf } from './subject.ts';
import { type Asker, TooBusy } from './turns.ts';

export type Authentication =
  /** `holder` is the account or linked identity whose password it is, as it was checked, but for a new hash of the same password. */
  | { kind: 'right'; account: AccountModel; holder: AccountModel }
  /** Also for an unknown or blocked account, so that outsiders cannot tell them apart. The subject is for the log. */
  | { kind: 'wrong'; subject: Subject }
  | { kind: 'locked'; seconds: number; subject: Subject; reason: Closed['reason'] }
  /** The password is right, but known to others. */
  | { kind: 'leaked'; account: AccountModel; holder: AccountModel; subject: Subject }
  /** `excess`: because of the many other requests from this network. */
  | { kind: 'busy'; excess: boolean };

/** How many attempts from one network are processed at a time. */
const networkMax = 64;

export type Authenticate = (given: {
  connection: string;
  login: string;
  password: string;
  /** The person's network address, for the limits. */
  address: string;
  /** The application. */
  clientId: string;
}) => Promise<Authentication>;

export function makeAuthenticate({
  accounts,
  attemptLimits,
  breached,
}: {
  accounts: AccountStore;
  attemptLimits: AttemptLimits;
  breached: Pick<BreachedPasswords, 'refusesLogin'>;
}): Authenticate {
  const share = makeShare(networkMax);
  return async ({ connection, login, password, address, clientId }) => {
    const network = networkOf(address);
    // Checked before any store is asked, so that requests beyond a network’s share cost next to nothing.
    using slot = share.take(network);
    if (!slot) {
      await delayRefusal();
      return { kind: 'busy', excess: true };
    }
    const identifier = parseIdentifier(login);
    const account = identifier && (await accounts.findByLogin(connection, identifier.value));
    const subject = subjectOf(connection, login, account);
    const attempt = await attemptLimits.begin(subject, { ip: address, clientId });
    if (attempt.kind === 'closed') return { kind: 'locked', seconds: attempt.seconds, reason: attempt.reason, subject };
    if (attempt.kind === 'busy') return { kind: 'busy', excess: true };
    let matches: boolean;
    try {
      matches = await passwordMatches(password, account?.passwordHash, { network, account: subject.key });
    } catch (error) {
      // An attempt that we could not answer must not count against anybody.
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
    if (await breached.refusesLogin(password, owner.userId, { ip: address, network, clientId }))
      return { kind: 'leaked', account: owner, holder: account!, subject };
    const holder = await rehash(account!, password, { network, account: subject.key });
    return { kind: 'right', account: holder.userId === owner.userId ? holder : owner, holder };
  };

  /** Replaces an imported hash with our own at the first login, or at a later one if we are busy now. */
  async function rehash(account: AccountModel, password: string, asker: Asker): Promise<AccountModel> {
    if (isOurs(account.passwordHash!)) return account;
    try {
      const changed = await accounts.updateState(account, { passwordHash: await hashPassword(password, asker) });
      return changed ?? account;
    } catch (error) {
      if (error instanceof TooBusy) return account;
      throw error;
    }
  }
}
