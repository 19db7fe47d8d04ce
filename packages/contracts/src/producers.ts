/**
 * The file named by `PRODUCERS_FILE`: which AMQP users may publish events for which accounts. RabbitMQ ensures that a message’s
 * `user_id`, if set, names the user who published it.
 */
import { z } from 'zod';
import type { DeadReason } from './dead-reason.ts';
import { readYaml } from './read-yaml.ts';

export type Refusal = { reason: DeadReason & `producer_${string}`; detail: string };

export type Producers = {
  /** Why this user may not publish an event of this account (a login in lower case); undefined: the user may. */
  refuse(userId: string | undefined, account: string): Refusal | undefined;
};

/** Without a file, anyone who may write to the exchange may publish for all accounts. */
export const anyProducer: Producers = { refuse: () => undefined };

const account = z
  .string()
  .regex(/^(?:\*|[A-Za-z0-9._-]{1,100})$/, 'must be the login of an account, or `*` for all of them');

const file = z.strictObject({
  producers: z.array(z.strictObject({ user: z.string().min(1).max(255), accounts: z.array(account).min(1) })),
});

/** @throws Misconfigured with the path of every problem, unknown keys included. */
export function parseProducers(text: string): Producers {
  const { producers } = readYaml('producers file', file, text);
  const accountsOf = new Map<string, Set<string>>();
  for (const { user, accounts } of producers) {
    const known = accountsOf.get(user) ?? new Set();
    for (const login of accounts) known.add(login.toLowerCase());
    accountsOf.set(user, known);
  }
  return {
    refuse(userId, account) {
      if (userId === undefined) return { reason: 'producer_unknown', detail: 'the message has no `user_id`' };
      const accounts = accountsOf.get(userId);
      if (!accounts) return { reason: 'producer_unknown', detail: `no producer is named ${userId}` };
      if (accounts.has(account) || accounts.has('*')) return undefined;
      return { reason: 'producer_not_allowed', detail: `${userId} may not publish for ${account}` };
    },
  };
}
