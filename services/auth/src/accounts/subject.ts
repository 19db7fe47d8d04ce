/**
 * Whom a try to log in is about, as the lockout counts it and the log names it: the account, however it was typed; where there is
 * none, the identifier, so that unknown people are counted like known ones.
 */
import type { AccountModel } from '../generated/models.ts';
import { parseIdentifier } from './identifier.ts';

export type Subject = {
  /** Equal for what is counted together. */
  key: string;
  /** Of a known account. */
  userId?: string;
  /** What was typed, in the form we keep it; it may be anything, a password in the wrong field too. */
  typed: string;
};

/** @param connection where the account would be, if there were one */
export function subjectOf(connection: string, typed: string, account: AccountModel | undefined): Subject {
  const identifier = parseIdentifier(typed);
  // Names are compared without regard to case.
  const text = (identifier?.value ?? typed.trim()).toLowerCase();
  if (account)
    return {
      key: JSON.stringify([account.connection, account.userId]),
      userId: account.linkedTo ?? account.userId,
      typed: text,
    };
  return { key: JSON.stringify([connection, identifier?.kind ?? 'none', text]), typed: text };
}
