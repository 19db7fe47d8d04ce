/**
 * A login made elsewhere (`passwordless/verify_redirect`) that an authorization request brings along: single use, a minute,
 * bound to the client it was made for.
 */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { hashId } from '../adapter/hashed.ts';
import { asking } from '../stores-away.ts';

export type Ticket = { accountId: string; clientId: string; amr: string[] };
export type TicketStore = {
  issue(ticket: Ticket): Promise<string>;
  redeem(value: string): Promise<Ticket | undefined>;
};

const ttlSeconds = 60;

export function makeTicketStore(redis: Redis, prefix: string): TicketStore {
  const key = (value: string) => `${prefix}login-ticket:${hashId(value)}`;
  return {
    async issue(ticket) {
      const value = randomBytes(32).toString('base64url');
      await asking(redis.set(key(value), JSON.stringify(ticket), 'EX', ttlSeconds));
      return value;
    },
    async redeem(value) {
      const stored = await asking(redis.getdel(key(value)));
      return stored ? (JSON.parse(stored) as Ticket) : undefined;
    },
  };
}

type Session = {
  accountId?: string;
  new?: boolean;
  authorizations?: unknown;
  resetIdentifier(): void;
  loginAccount(details: { accountId: string; amr: string[] }): void;
};

/** Logs the session in by the ticket; one that is spent, foreign or unknown changes nothing. */
export async function loginByTicket(
  tickets: TicketStore,
  ctx: KoaContextWithOIDC,
  value: string | undefined,
  client: Client,
): Promise<void> {
  if (value === undefined) return;
  (ctx.oidc.params as Record<string, unknown>).login_ticket = undefined;
  const session = ctx.oidc.session as unknown as Session | undefined;
  const ticket = session ? await tickets.redeem(value) : undefined;
  if (!session || ticket?.clientId !== client.clientId) return;
  if (session.accountId && session.accountId !== ticket.accountId) session.authorizations = undefined;
  if (!session.new) session.resetIdentifier();
  session.loginAccount({ accountId: ticket.accountId, amr: ticket.amr });
}
