/** Sends a message to somebody who wants to log in without a password: to whom, how often, and what it must not reveal. */
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
  /** The network address of the request. */
  ip: string;
  /**
   * Composed for everybody, so that it takes equally long for those who get no message. @param name the tenant’s name @param owner
   * the state of the account that the recipient opens
   */
  compose: (name: string, owner: string) => Promise<Message>;
}) => Promise<'sent' | 'too_many'>;

/** For each asking network, per hour. */
const perAsker = { max: 100, windowSeconds: 3_600 };

/**
 * Only those who can log in get a message: a known account, or anybody while sign-up is open. Whoever asked cannot tell the
 * difference: the answer is the same and does not wait for the message.
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
