/**
 * One-time codes of whoever has the address: a code is good only while the address opens the account that it opened when the code
 * was sent, as that account was then. An address that has changed hands since, or an account that has, leaves its codes behind.
 */
import type { CodeRequest, OneTimeCodes } from './one-time-code.ts';
import { type AccountStore, stateText } from './store.ts';

/** @param channelOf the strategy of a connection, which says what its addresses are */
export function addressCodes(
  codes: OneTimeCodes,
  accounts: AccountStore,
  channelOf: (connection: string) => Promise<'email' | 'sms'>,
): OneTimeCodes {
  const bind = async <Request extends CodeRequest>(request: Request): Promise<Request> => {
    const { connection, recipient, binding } = request;
    const account = await accounts.findAddressee(await channelOf(connection), connection, recipient);
    return { ...request, binding: JSON.stringify([binding, stateText(account)]) };
  };
  return {
    make: async (request) => codes.make(await bind(request)),
    check: async (request, code, keep) => codes.check(await bind(request), code, keep),
  };
}
