/** Sends the link by which somebody who lost a password sets a new one. */
import { describeError, type Log } from '@gatepost/runtime/log';
import type { PostBox } from '../mail/post-box.ts';
import type { SettingsStore } from '../settings/store.ts';
import { asking } from '../stores-away.ts';
import type { PasswordTickets } from './password-ticket.ts';
import type { Rate } from './rate.ts';
import type { AccountStore } from './store.ts';

/** Nobody learns whether the address has an account: unknown ones get the same answer, and no mail. */
export type SendPasswordMail = (given: {
  connection: string;
  email: string;
  /** The application where it was asked for: the page behind the link leads back there. */
  clientId: string;
}) => Promise<void>;

export function makeSendPasswordMail(parts: {
  issuer: string;
  accounts: AccountStore;
  tickets: PasswordTickets;
  rate: Rate;
  settings: SettingsStore;
  postBox: PostBox;
  log: Log;
}): SendPasswordMail {
  return async ({ connection, email, clientId }) => {
    if (!(await parts.rate.take('password-mails', email, 10, 3_600))) return;
    const account = await parts.accounts.findByLogin(connection, email);
    const settings = await asking(parts.settings.load());
    if (!account?.email || account.blocked) return;
    const ticket = await parts.tickets.issue({ account, email: account.email, clientId });
    const name = settings.friendlyName ?? 'Gatepost';
    const text = `Somebody asked to change the password of your ${name} account. To choose a new one, open

${parts.issuer}change-password?ticket=${ticket}

within an hour. If that was not you, ignore this message: nothing has changed.`;
    parts.postBox
      .sendMail({ to: account.email, subject: `Change your ${name} password`, text })
      .catch((error) => parts.log.error({ error: describeError(error) }, 'could not send a password mail'));
  };
}
