/**
 * Checks a one-time code, for the hosted page, the passwordless grant and Auth0’s API alike. Failures count towards the lockout,
 * together with wrong passwords for the same account. A right code, typed where it was asked for, works even during a lockout: its
 * own tries are bounded (one-time-code.ts), and a stranger’s failures must not keep out the person who received the mail.
 */
import type { AttemptLimits, Closed } from '../protection/attempt-limits.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { CodeRequest, OneTimeCodes } from './one-time-code.ts';
import type { AccountStore } from './store.ts';
import { type Subject, subjectOf } from './subject.ts';

export type CodeAnswer =
  | { kind: 'right' | 'wrong' | 'expired'; subject: Subject }
  | { kind: 'locked'; seconds: number; subject: Subject; reason: Closed['reason'] }
  | { kind: 'busy' };

export type CheckCode = (given: {
  channel: 'email' | 'sms';
  asked: CodeRequest;
  code: string;
  /** The address of the person typing it. */
  ip: string;
  /** Does not spend a right code: this is not a login yet. */
  keep?: boolean;
}) => Promise<CodeAnswer>;

export function makeCheckCode(parts: {
  accounts: AccountStore;
  connections: ConnectionStore;
  codes: OneTimeCodes;
  attemptLimits: AttemptLimits;
}): CheckCode {
  const { accounts, codes, attemptLimits } = parts;
  /** The account that the code would open, or else the subject for which a wrong password would count. */
  const find = async (channel: 'email' | 'sms', { connection, recipient }: CodeRequest): Promise<Subject> => {
    const database = (await parts.connections.database())?.name ?? connection;
    // Both are always looked up, so that the response time reveals nothing.
    const [addressee, login] = await Promise.all([
      accounts.findAddressee(channel, connection, recipient),
      accounts.findByLogin(database, recipient),
    ]);
    return subjectOf(database, recipient, addressee ?? login);
  };

  return async ({ channel, asked, code, ip, keep = false }) => {
    const subject = await find(channel, asked);
    const attempt = await attemptLimits.begin(subject, { ip });
    if (attempt.kind === 'busy') return { kind: 'busy' };
    if (attempt.kind === 'closed') {
      if ((await codes.check(asked, code, keep)) !== 'right')
        return { kind: 'locked', seconds: attempt.seconds, reason: attempt.reason, subject };
      if (!keep) await attemptLimits.clear(subject.key, ip);
      return { kind: 'right', subject };
    }
    let answer: Awaited<ReturnType<OneTimeCodes['check']>>;
    try {
      answer = await codes.check(asked, code, keep);
    } catch (error) {
      await attempt.takenBack();
      throw error;
    }
    if (answer !== 'right') await attempt.failed();
    else await (keep ? attempt.takenBack() : attempt.succeeded());
    return { kind: answer, subject };
  };
}
