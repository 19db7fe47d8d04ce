/** Writes to somebody who wants to log in without a password: whom, how often, and what nobody learns from it. */
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Rate } from '../accounts/rate.ts';
import { type AccountStore, stateText } from '../accounts/store.ts';
import { networkOf } from '../http/network.ts';
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

// What one may cause in an hour: whoever asks, of anybody and of one person. What all together may cause one person; but however
// much they ask, whoever asks for the first few times is heard, or strangers would keep a person from asking for his own.
const windowSeconds = 3_600;
const perAsker = 100;
const perAskerAndRecipient = 25;
const perRecipient = 50;
const alwaysHeard = 3;

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
    const network = networkOf(ip);
    const pair = JSON.stringify([network, address]);
    const [asker, both, recipient, first] = await Promise.all([
      parts.rate.take('codes-by', network, perAsker, windowSeconds),
      parts.rate.take('codes-by-to', pair, perAskerAndRecipient, windowSeconds),
      parts.rate.take('codes-to', address, perRecipient, windowSeconds),
      parts.rate.take('codes-first', pair, alwaysHeard, windowSeconds),
    ]);
    if (!asker || !both || !(recipient || first)) return 'too_many';
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
