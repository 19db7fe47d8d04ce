/**
 * The link in a password mail. It proves, once and within an hour, that somebody reads that mailbox, and only while the account is
 * as it was when the link was made. A changed address or password, a block, an administrator’s change or the use of another link
 * ends it.
 */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import type { AccountModel } from '../generated/models.ts';
import { makePastLinks } from './past-links.ts';
import { type AccountState, type AccountStore, stateOf, stateText } from './store.ts';

export type PasswordTicket = {
  account: AccountState;
  /** Where the link was sent. */
  email: string;
  /** The application from which it was requested. */
  clientId?: string;
};

/** A valid ticket, with the current account. */
export type LiveTicket = PasswordTicket & { account: AccountModel };

export type PasswordTickets = {
  issue(ticket: PasswordTicket): Promise<string>;
  /** Looks it up without spending it: mail scanners open links too. */
  find(value: string): Promise<LiveTicket | undefined>;
  redeem(value: string): Promise<LiveTicket | undefined>;
  /** What is still known of one that no longer works. */
  past(value: string): Promise<PastTicket | undefined>;
};

type Kept = { email: string; clientId?: string };
export type PastTicket = Kept & { isUsed: boolean };

export const passwordTicketTtlSeconds = 3_600;

export function makePasswordTickets(redis: Redis, prefix: string, accounts: AccountStore): PasswordTickets {
  const key = (value: string) => `${prefix}password-ticket:${hashId(value)}`;
  const past = makePastLinks<Kept>(redis, prefix, 'password-ticket');
  const live = async (stored: string | null): Promise<LiveTicket | undefined> => {
    if (!stored) return undefined;
    const ticket = JSON.parse(stored) as PasswordTicket;
    const account = await accounts.find(ticket.account?.userId ?? '');
    if (!account || account.blocked || account.email !== ticket.email) return undefined;
    return stateText(account) === stateText(ticket.account) ? { ...ticket, account } : undefined;
  };
  return {
    async issue(ticket) {
      const value = randomBytes(32).toString('base64url');
      const stored = JSON.stringify({ ...ticket, account: stateOf(ticket.account) });
      await redis.set(key(value), stored, 'EX', passwordTicketTtlSeconds);
      await past.remember(value, { email: ticket.email, ...(ticket.clientId && { clientId: ticket.clientId }) });
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
