/** Tells somebody by mail that their account was attacked or their password is known: once a day, with a link to set a new password. */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { AccountTickets } from '../accounts/account-ticket.ts';
import { passwordTtlSeconds } from '../accounts/password-mail.ts';
import type { Rate } from '../accounts/rate.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Background } from '../background.ts';
import type { AccountModel } from '../generated/models.ts';
import type { Letters } from '../mail/letters.ts';
import type { PostBox } from '../mail/post-box.ts';

/** Auth0's names for the mails. */
export type Warning = 'blocked_account' | 'stolen_credentials';

/** Never waits and never throws: if too many mails are already queued, this one is dropped. One that could not be sent does not count. */
export type WarnByMail = (warning: Warning, userId: string, from: { clientId?: string | undefined }) => void;

const daySeconds = 86_400;

export function makeWarnByMail(parts: {
  issuer: string;
  accounts: AccountStore;
  passwordTickets: AccountTickets;
  rate: Rate;
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail'>;
}): WarnByMail {
  const send = async (warning: Warning, userId: string, clientId: string | undefined): Promise<void> => {
    const account = await parts.accounts.find(userId);
    if (!account?.email || account.passwordHash === null || account.blocked) return;
    if (!(await parts.rate.take(warning, userId, 1, daySeconds))) return;
    try {
      await write(warning, { ...account, email: account.email }, clientId);
    } catch (error) {
      await parts.rate.giveBack(warning, userId, 1, daySeconds);
      throw error;
    }
  };
  const write = async (
    warning: Warning,
    account: AccountModel & { email: string },
    clientId: string | undefined,
  ): Promise<void> => {
    const rules = await parts.letters.linkRules(warning, clientId);
    if (!rules.isSent) return;
    const { ttlSeconds = passwordTtlSeconds, resultUrl, includeEmail } = rules;
    const { email, connection } = account;
    const kept = { email, includeEmail, ...(clientId && { clientId }), ...(resultUrl && { resultUrl }) };
    const ticket = await parts.passwordTickets.issue({ account, ...kept }, ttlSeconds);
    const url = `${baseUrlOf(parts.issuer)}change-password?ticket=${ticket}`;
    const about = { email, account, connection, clientId, languages: {} };
    const letter = await parts.letters.write({ name: warning, ...about, url, ttlSeconds });
    await parts.postBox.sendMail({ to: email, ...letter });
  };
  return (warning, userId, { clientId }) =>
    void parts.background.mail.add('a warning by mail', () => send(warning, userId, clientId));
}
