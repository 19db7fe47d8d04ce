/**
 * One-time codes that follow the account. A code works only while its email address or phone number still opens the account it
 * opened when the code was sent, and while that account is unchanged.
 */
import type { CodeRequest, OneTimeCodes } from './one-time-code.ts';
import { type AccountStore, stateText } from './store.ts';

/** @param channelOf the strategy of a connection, which says whether its recipients are email addresses or phone numbers */
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
