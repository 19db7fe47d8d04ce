/** The account that a proven email address or phone number opens. */
import type { AccountStore } from '../accounts/store.ts';
import type { Asked, PeopleActions } from '../actions/people.ts';
import type { AccountModel } from '../generated/models.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { Channel } from './message.ts';

export type OpenAccount = (
  channel: Channel,
  connection: string,
  recipient: string,
  asked: Asked & { clientId: string },
) => Promise<AccountModel | SignUpDenied | undefined>;

/** An action refused the new account. */
export class SignUpDenied {
  /** Shown to the person, in the action’s own words. */
  readonly said: string;
  constructor(said: string) {
    this.said = said;
  }
}

/**
 * The account already proven to own it, in any connection; else a new one of the passwordless connection, if sign-up is open and no action
 * refuses it. Undefined for a blocked account, for one that may not sign in to the client, or if none may be created.
 */
export function makeOpenAccount(
  accounts: AccountStore,
  settings: SettingsStore,
  connections: Pick<ConnectionStore, 'opens'>,
  actions: PeopleActions,
): OpenAccount {
  const open: OpenAccount = async (channel, connection, recipient, asked) => {
    const known = await accounts.findAddressee(channel, connection, recipient);
    if (known?.blocked) return undefined;
    if (known && !(await connections.opens(known.connection, asked.clientId))) return undefined;
    const proof =
      channel === 'email' ? { email: recipient, emailVerified: true } : { phoneNumber: recipient, phoneVerified: true };
    // Only if the account has not just been given another address.
    if (known) return isProven(known, channel) ? known : accounts.updateState(known, proof);
    if (!(await settings.load()).allowSignup) return undefined;
    const user = channel === 'email' ? { email: recipient } : { phone_number: recipient };
    const admitted = await actions.beforeSignUp({ ...asked, connection, user });
    if (admitted.kind === 'denied') return new SignUpDenied(admitted.message);
    const { userMetadata, appMetadata } = admitted;
    const made = await accounts.create({ connection, ...proof, userMetadata, appMetadata });
    if (made === 'no_connection') return undefined;
    // Two devices may finish at once; if so, the other has just created it.
    if (!made) return accounts.findAddressee(channel, connection, recipient);
    await actions.afterSignUp(made, asked);
    return made;
  };
  return async (...given) => {
    const account = await open(...given);
    if (account instanceof SignUpDenied) return account;
    const owner = account && (await accounts.ownerOf(account));
    return owner?.blocked ? undefined : owner;
  };
}

function isProven({ emailVerified, phoneVerified }: AccountModel, channel: Channel): boolean {
  return channel === 'email' ? emailVerified : phoneVerified;
}
