/** Writes to somebody who wants to log in without a password: whom, how often, and what nobody learns from it. */
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Rate } from '../accounts/rate.ts';
import { type AccountStore, stateText } from '../accounts/store.ts';
import type { PostBox } from '../mail/post-box.ts';
import type { SettingsStore } from '../settings/store.ts';
import { asking } from '../stores-away.ts';

export type Channel = 'email' | 'sms';
export type Message = { subject: string; text: string };

export type SendMessage = (request: {
  channel: Channel;
  connection: string;
  address: string;
  /** The address that asks. */
  ip: string;
  /**
   * Made for everybody, so that it takes as long for those who are not written to. @param name the tenant's @param owner whom the
   * address logs in, as he is now
   */
  compose: (name: string, owner: string) => Promise<Message>;
}) => Promise<'sent' | 'too_many'>;

// Per address that is written to, and per address that asks: what a stranger may cause.
const perRecipient = { max: 50, windowSeconds: 3_600 };
const perAsker = { max: 100, windowSeconds: 3_600 };

/**
 * A message goes to whom it can log in: a known account, or anybody while sign-up is open. Others hear nothing, and whoever asked
 * cannot tell: the answer is the same, and nobody waits for the message to leave.
 */
export function makeSendMessage(parts: {
  accounts: AccountStore;
  rate: Rate;
  settings: SettingsStore;
  postBox: PostBox;
  log: Log;
}): SendMessage {
  return async ({ channel, connection, address, ip, compose }) => {
    const [recipient, asker] = await Promise.all([
      parts.rate.take('codes-to', address, perRecipient.max, perRecipient.windowSeconds),
      parts.rate.take('codes-by', ip, perAsker.max, perAsker.windowSeconds),
    ]);
    if (!recipient || !asker) return 'too_many';
    const [known, settings] = await Promise.all([
      parts.accounts.findAddressee(channel, connection, address),
      asking(parts.settings.load()),
    ]);
    const { subject, text } = await compose(settings.friendlyName ?? 'Gatepost', stateText(known));
    if (known ? known.blocked : !settings.allowSignup) return 'sent';
    const sending =
      channel === 'email'
        ? parts.postBox.sendMail({ to: address, subject, text })
        : parts.postBox.sendText({ to: address, text });
    sending.catch((error) => parts.log.error({ error: describeError(error), channel }, 'could not send a message'));
    return 'sent';
  };
}
