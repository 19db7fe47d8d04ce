/**
 * One-time codes of whoever has the address: a code is good only while the address opens the account that it opened when the code
 * was sent, as that account was then. An address that has changed hands since, or an account that has, leaves its codes behind.
 */
import type { CodePlace, OneTimeCodes } from './one-time-code.ts';
import { type AccountStore, stateText } from './store.ts';

/** @param channelOf the strategy of a connection, which says what its addresses are */
export function addressCodes(
  codes: OneTimeCodes,
  accounts: AccountStore,
  channelOf: (connection: string) => Promise<'email' | 'sms'>,
): OneTimeCodes {
  const bind = async <Place extends CodePlace>(place: Place): Promise<Place> => {
    const { connection, address, binding } = place;
    const account = await accounts.findAddressee(await channelOf(connection), connection, address);
    return { ...place, binding: JSON.stringify([binding, stateText(account)]) };
  };
  return {
    make: async (place) => codes.make(await bind(place)),
    check: async (place, code, keep) => codes.check(await bind(place), code, keep),
  };
}
