/** The link in a password mail: proves who reads that mailbox, once, for an hour. */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { asking } from '../stores-away.ts';

export type PasswordTicket = { userId: string; email: string; back?: string };

export type PasswordTickets = {
  issue(ticket: PasswordTicket): Promise<string>;
  /** Looks, without spending it: mail scanners open links too. */
  find(value: string): Promise<PasswordTicket | undefined>;
  redeem(value: string): Promise<PasswordTicket | undefined>;
};

const ttlSeconds = 3_600;

export function makePasswordTickets(redis: Redis, prefix: string): PasswordTickets {
  const key = (value: string) => `${prefix}password-ticket:${hashId(value)}`;
  const parse = (stored: string | null) => (stored ? (JSON.parse(stored) as PasswordTicket) : undefined);
  return {
    async issue(ticket) {
      const value = randomBytes(32).toString('base64url');
      await asking(redis.set(key(value), JSON.stringify(ticket), 'EX', ttlSeconds));
      return value;
    },
    find: async (value) => parse(await asking(redis.get(key(value)))),
    redeem: async (value) => parse(await asking(redis.getdel(key(value)))),
  };
}
