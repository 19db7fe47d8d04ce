/**
 * The subject of a login attempt, as the lockout counts it and the log names it: the account, however it was typed, or the
 * identifier if there is no such account. So unknown people are counted like known ones.
 */
import type { AccountModel } from '../generated/models.ts';
import { parseIdentifier } from './identifier.ts';

export type Subject = {
  /** Equal for attempts that are counted together. */
  key: string;
  /** The id of a known account. */
  userId?: string;
  /** The normalized input. It may be anything, even a password typed into the wrong field. */
  typed: string;
};

/** @param connection where the account would be if it existed */
export function subjectOf(connection: string, typed: string, account: AccountModel | undefined): Subject {
  const identifier = parseIdentifier(typed);
  // Names are compared case-insensitively.
  const text = (identifier?.value ?? typed.trim()).toLowerCase();
  if (account)
    return {
      key: JSON.stringify([account.connection, account.userId]),
      userId: account.linkedTo ?? account.userId,
      typed: text,
    };
  return { key: JSON.stringify([connection, identifier?.kind ?? 'none', text]), typed: text };
}
