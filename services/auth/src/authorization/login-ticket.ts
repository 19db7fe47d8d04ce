/**
 * A login made elsewhere (by a link or code in a mail) that an authorization request brings along: single use, valid for a minute,
 * bound to its client. The URL of such a request can be sent to somebody else (login CSRF). So it logs in without asking only in
 * the browser that proved the login; any other browser asks first (interaction/sign-in-as.ts).
 */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { type AccountState, type AccountStore, stateOf, stateText } from '../accounts/store.ts';
import { hashId } from '../adapter/hashed.ts';
import type { Sessions } from '../adapter/sessions.ts';
import { dueOf } from '../factors/second-factor.ts';
import { makeBrowserCookie } from '../http/browser-cookie.ts';
import type { SettingsStore } from '../settings/store.ts';

export type Ticket = {
  /** The state of the account at the time of the proof: a changed address or password ends the ticket. */
  account: AccountState;
  clientId: string;
  amr: string[];
  /** The connection it was proven by; older tickets do not say. */
  connection?: string;
  /** The browser that proved the login (http/browser-cookie.ts), if known. */
  browser?: string;
  /** When it was issued, in epoch milliseconds. The login is noted afterwards. */
  loggedInAt?: number;
};
export type TicketStore = {
  issue(ticket: Ticket): Promise<string>;
  /** Looks up the ticket without spending it; adds the types of the account's authentication methods. */
  find(value: string): Promise<(Ticket & { factors: string[] }) | undefined>;
  redeem(value: string): Promise<Ticket | undefined>;
};

// A browser that continues automatically needs seconds; a person who is asked first has as long as the page lasts.
const ttlSeconds = 60;
const askedTtlSeconds = 600;

export function makeTicketStore(redis: Redis, prefix: string, accounts: AccountStore): TicketStore {
  const key = (value: string) => `${prefix}login-ticket:${hashId(value)}`;
  const live = async (stored: string | null): Promise<(Ticket & { factors: string[] }) | undefined> => {
    if (!stored) return undefined;
    const ticket = JSON.parse(stored) as Ticket;
    const account = await accounts.find(ticket.account?.userId ?? '');
    const isLive = account && !account.blocked && stateText(account) === stateText(ticket.account);
    return isLive ? { ...ticket, factors: account.factors } : undefined;
  };
  return {
    async issue(ticket) {
      const value = randomBytes(32).toString('base64url');
      const stored = JSON.stringify({ ...ticket, account: stateOf(ticket.account), loggedInAt: Date.now() });
      await redis.set(key(value), stored, 'EX', ticket.browser ? ttlSeconds : askedTtlSeconds);
      return value;
    },
    find: async (value) => live(await redis.get(key(value))),
    redeem: async (value) => live(await redis.getdel(key(value))),
  };
}

type Session = {
  uid: string;
  accountId?: string;
  new?: boolean;
  authorizations?: unknown;
  resetIdentifier(): void;
  loginAccount(
    details: Pick<Ticket, 'amr' | 'connection' | 'loggedInAt'> & { accountId: string; incarnation: string },
  ): void;
};

/**
 * Logs the session in with a ticket from this very browser. A ticket proven elsewhere stays among the parameters, which makes the
 * policy ask; so does one whose account still has a second factor to prove, so that nobody is half signed in. A ticket that is spent,
 * unknown or another client’s is dropped and changes nothing.
 */
export async function loginByTicket(
  {
    tickets,
    settings,
    sessions,
    issuer,
  }: { tickets: TicketStore; settings: SettingsStore; sessions: Pick<Sessions, 'end'>; issuer: string },
  ctx: KoaContextWithOIDC,
  value: string | undefined,
  client: Client,
): Promise<void> {
  if (value === undefined) return;
  const params = ctx.oidc.params as Record<string, unknown>;
  // The typings leave out parts of a session.
  const session = ctx.oidc.session as unknown as Session | undefined;
  const found = session ? await tickets.find(value) : undefined;
  if (session && found?.clientId === client.clientId && !isOfThisBrowser(found, ctx, issuer)) return;
  if (session && found?.clientId === client.clientId) {
    const { factors, amr } = found;
    if (dueOf({ settings: await settings.load(), client, factors, params, amr }).kind === 'challenge') return;
  }
  params.login_ticket = undefined;
  if (!session || found?.clientId !== client.clientId) return;
  const ticket = await tickets.redeem(value);
  if (!ticket) return;
  const { userId: accountId, incarnation } = ticket.account;
  if (session.accountId && session.accountId !== accountId) {
    // Ended, so that neither a form on /account nor a request still in progress counts for the other person.
    await sessions.end(session.uid);
    session.uid = randomBytes(16).toString('base64url');
    session.authorizations = undefined;
  }
  if (!session.new) session.resetIdentifier();
  const { amr, connection, loggedInAt } = ticket;
  session.loginAccount({
    accountId,
    incarnation,
    amr,
    ...(connection !== undefined && { connection }),
    ...(loggedInAt !== undefined && { loggedInAt }),
  });
}

/** Only a top-level navigation logs in; an image or frame, from whatever site, does not. */
function isOfThisBrowser(ticket: Ticket, ctx: KoaContextWithOIDC, issuer: string): boolean {
  const destination = ctx.get('sec-fetch-dest');
  if (destination !== '' && destination !== 'document') return false;
  return ticket.browser !== undefined && ticket.browser === makeBrowserCookie(issuer).of(ctx.get('cookie'));
}
