/** Writes to somebody who wants to log in without a password: whom, how often, and what nobody learns from it. */
import type { MessageLimits } from '../accounts/message-limits.ts';
import type { Rate } from '../accounts/rate.ts';
import { type AccountStore, stateText } from '../accounts/store.ts';
import type { Background } from '../background.ts';
import { networkOf } from '../http/network.ts';
import type { PostBox } from '../mail/post-box.ts';
import type { SettingsStore } from '../settings/store.ts';
import { busy } from '../stores-away.ts';

export type Channel = 'email' | 'sms';
export type Message = { subject: string; text: string };

export type SendMessage = (request: {
  channel: Channel;
  connection: string;
  recipient: string;
  /** The address that asks. */
  ip: string;
  /**
   * Made for everybody, so that it takes as long for those who are not written to. @param name the tenant's @param owner whom the
   * address logs in, as he is now
   */
  compose: (name: string, owner: string) => Promise<Message>;
}) => Promise<'sent' | 'too_many'>;

/** Of anybody, in an hour. */
const perAsker = { max: 100, windowSeconds: 3_600 };

/**
 * A message goes to whom it can log in: a known account, or anybody while sign-up is open. Others hear nothing, and whoever asked
 * cannot tell: the answer is the same, and nobody waits for the message to leave.
 */
export function makeSendMessage(parts: {
  accounts: AccountStore;
  rate: Rate;
  limits: MessageLimits;
  settings: SettingsStore;
  postBox: PostBox;
  background: Background;
}): SendMessage {
  return async ({ channel, connection, recipient, ip, compose }) => {
    const network = networkOf(ip);
    if (!(await parts.rate.take('codes-by', network, perAsker.max, perAsker.windowSeconds))) return 'too_many';
    const [known, settings] = await Promise.all([
      parts.accounts.findAddressee(channel, connection, recipient),
      parts.settings.load(),
    ]);
    const ownNetwork = known?.lastIp ? networkOf(known.lastIp) : undefined;
    if (!(await parts.limits.take({ kind: 'login', recipient, network, ownNetwork }))) return 'too_many';
    const { subject, text } = await compose(settings.friendlyName ?? 'Gatepost', stateText(known));
    if (known ? known.blocked : !settings.allowSignup) return 'sent';
    const send = () =>
      channel === 'email'
        ? parts.postBox.sendMail({ to: recipient, subject, text })
        : parts.postBox.sendText({ to: recipient, text });
    if (!parts.background.add('a message', send)) throw busy();
    return 'sent';
  };
}
