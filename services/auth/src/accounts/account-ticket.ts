/**
 * A link for one account: to choose a new password, or to confirm the address. It works once, for a limited time, and only while the
 * account is unchanged since the link was made. A changed address or password, a block, an administrator’s change or the use of
 * another password link ends it.
 */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import type { AccountModel } from '../generated/models.ts';
import { makePastLinks } from './past-links.ts';
import { type AccountState, type AccountStore, stateOf, stateText } from './store.ts';

/** What is revealed even for a link that no longer works. */
type TicketData = {
  /** The account’s address, and where we sent the link, if we did; empty if there is none. */
  email: string;
  /** The application that requested it. */
  clientId?: string;
  uiLocales?: string;
  /** Where the browser goes once the link has been used, instead of our own page. */
  resultUrl?: string;
  /** Whether `resultUrl` is told the address. */
  includeEmail?: boolean;
};

export type AccountTicket = TicketData & {
  account: AccountState;
  /** We did not mail it, so holding it does not prove access to the mailbox. */
  unproven?: boolean;
};

/** A valid ticket, with the current account. */
export type LiveTicket = AccountTicket & { account: AccountModel };
export type PastTicket = TicketData & { userId: string; isUsed: boolean };

export type AccountTickets = {
  issue(ticket: AccountTicket, ttlSeconds: number): Promise<string>;
  /** Looks up the ticket without spending it: mail scanners open links too. */
  find(value: string): Promise<LiveTicket | undefined>;
  redeem(value: string): Promise<LiveTicket | undefined>;
  /** What is still known of a ticket that no longer works. */
  past(value: string): Promise<PastTicket | undefined>;
};

export function makeAccountTickets(
  kind: 'password-ticket' | 'verification-ticket',
  { redis, prefix, accounts }: { redis: Redis; prefix: string; accounts: AccountStore },
): AccountTickets {
  const key = (value: string) => `${prefix}${kind}:${hashId(value)}`;
  const past = makePastLinks<TicketData & { userId: string }>(redis, prefix, kind);
  const live = async (stored: string | null): Promise<LiveTicket | undefined> => {
    if (!stored) return undefined;
    const ticket = JSON.parse(stored) as AccountTicket;
    const account = await accounts.find(ticket.account?.userId ?? '');
    if (!account || account.blocked || (account.email ?? '') !== ticket.email) return undefined;
    return stateText(account) === stateText(ticket.account) ? { ...ticket, account } : undefined;
  };
  return {
    async issue({ account, unproven, ...kept }, ttlSeconds) {
      const value = randomBytes(32).toString('base64url');
      const stored = JSON.stringify({ ...kept, unproven, account: stateOf(account) });
      await redis.set(key(value), stored, 'EX', ttlSeconds);
      await past.remember(value, { ...kept, userId: account.userId }, ttlSeconds);
      return value;
    },
    find: async (value) => live(await redis.get(key(value))),
    async redeem(value) {
      const ticket = await live(await redis.getdel(key(value)));
      if (ticket) await past.markUsed(value);
      return ticket;
    },
    past: past.find,
  };
}
