/**
 * What pages remember from a POST to the GET that follows it. Each form is answered by a redirect (303) to a page shown by GET, so
 * that a reload repeats nothing. The outcome of a POST is shown once; the login somebody typed stays in the fields of the next
 * pages. Passwords are never stored; all is sealed, since people do type a password into the wrong field.
 */
import type { Seal } from '@gatepost/runtime/seal';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { interactionLifetime } from '../clients/lifetimes.ts';
import type { NoticeName, ProblemName } from '../pages/strings/en.ts';

export type Facts = {
  /** The login, as it was typed. */
  identifier?: string;
  /** A device's code, as it was typed. */
  userCode?: string;
  /** Where a code was sent. */
  codeTo?: string;
  /** Where a mail was sent. */
  mailTo?: string;
  /** The link from a mail that no longer worked. */
  link?: string;
  /** Too many attempts: when they may go on (epoch milliseconds) if known, and whether a new password would help. */
  pause?: { until?: number; reset?: boolean };
};

export type Outcome = {
  /** The page that shows it. */
  step: string;
  problems?: ProblemName[];
  /** What was typed into the fields, for the page to show again. */
  typed?: Record<string, string | undefined>;
  /** What an action says to the person. */
  said?: string;
  /** Another code or mail is on its way. */
  resent?: boolean;
  /** What was done. */
  notice?: NoticeName;
  /** The page's HTTP status; by default 400 for a problem. */
  status?: number;
  retryAfterSeconds?: number;
};

/** `owner` is an interaction, a link or a browser, prefixed with its kind. */
export type PageMemory = {
  note(owner: string, facts: Facts, outcome?: Outcome): Promise<void>;
  /** Returns the outcome only once. */
  recall(owner: string): Promise<Facts & { outcome?: Outcome }>;
};

export function makePageMemory(redis: Redis, prefix: string, seal: Seal): PageMemory {
  const keyOf = (owner: string) => `${prefix}page:${hashId(owner)}`;
  return {
    async note(owner, facts, outcome) {
      const key = keyOf(owner);
      const fields = Object.entries({ ...facts, outcome }).flatMap(([name, value]) =>
        value === undefined ? [] : [name, seal.seal(JSON.stringify(value), key)],
      );
      if (fields.length > 0)
        await redis
          .multi()
          .hset(key, ...fields)
          .expire(key, interactionLifetime.answered)
          .exec();
    },
    async recall(owner) {
      const key = keyOf(owner);
      const [[error, fields] = []] = (await redis.multi().hgetallBuffer(key).hdel(key, 'outcome').exec()) ?? [];
      if (error) throw error;
      return Object.fromEntries(
        Object.entries(fields as Record<string, Buffer>).map(([name, value]) => [
          name,
          JSON.parse(seal.open(value, key)),
        ]),
      );
    },
  };
}
