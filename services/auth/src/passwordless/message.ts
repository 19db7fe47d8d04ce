/** Sends a message to somebody who logs in without a password: decides who gets one, how often, and what it must not reveal. */
import type { MessageLimits } from '../accounts/message-limits.ts';
import type { Rate } from '../accounts/rate.ts';
import { type AccountStore, stateText } from '../accounts/store.ts';
import type { Background } from '../background.ts';
import { networkOf } from '../http/network.ts';
import type { Languages } from '../mail/language.ts';
import type { Letters } from '../mail/letters.ts';
import type { PostBox } from '../mail/post-box.ts';
import type { SettingsStore } from '../settings/store.ts';
import { busy } from '../stores-away.ts';

export type Channel = 'email' | 'sms';

/** What a code or link proves, in the words of RFC 8176; for a text message the same as of a second factor (factors/proof.ts). */
export const amrOf = (channel: Channel): string[] => [channel === 'sms' ? 'sms' : 'otp'];
/** Who asks for a message, and who receives it. */
export type MessageTarget = {
  channel: Channel;
  connection: string;
  recipient: string;
  /** The network address of the request. */
  ip: string;
  /** The application that the login is for. */
  clientId: string;
  languages: Languages;
};

export type SendMessage = (
  request: MessageTarget & {
    /**
     * The content of the message; composed for everybody, so that it takes equally long for those who get none. @param owner the state of
     * the account that the recipient opens
     */
    compose: (owner: string) => Promise<MessageContent>;
  },
) => Promise<'sent' | 'too_many'>;
type MessageContent = { ttlSeconds: number } & (
  | { name: 'auth_email_by_code'; code: string }
  | { name: 'login_link'; url: string }
);

/** For each asking network, per hour. */
const perAsker = { max: 100, windowSeconds: 3_600 };

/**
 * Only those who can log in get a message: a known account, or anybody while sign-up is open. The asker cannot tell the difference: the
 * answer is the same and does not wait for the message.
 */
export function makeSendMessage(parts: {
  accounts: AccountStore;
  rate: Rate;
  limits: MessageLimits;
  settings: SettingsStore;
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail' | 'text'>;
}): SendMessage {
  return async ({ channel, connection, recipient, ip, clientId, languages, compose }) => {
    const network = networkOf(ip);
    if (!(await parts.rate.take('codes-by', network, perAsker.max, perAsker.windowSeconds))) return 'too_many';
    const [known, settings] = await Promise.all([
      parts.accounts.findAddressee(channel, connection, recipient),
      parts.settings.load(),
    ]);
    const ownNetwork = known?.lastIp ? networkOf(known.lastIp) : undefined;
    if (!(await parts.limits.take({ kind: 'login', recipient, network, ownNetwork }))) return 'too_many';
    const composed = await compose(stateText(known));
    const mayLogIn = known ? !known.blocked : settings.allowSignup;
    const about = { account: known, connection, clientId, languages };
    const send = async () => {
      if (!mayLogIn) return;
      if (channel === 'email')
        await parts.postBox.sendMail({
          to: recipient,
          ...(await parts.letters.write({ ...composed, ...about, email: recipient })),
        });
      else if ('code' in composed)
        await parts.postBox.sendText({ to: recipient, text: await parts.letters.writeText({ ...composed, ...about }) });
    };
    // Queued for everybody: whoever gets none is told as well that too many wait.
    if (!parts.background[channel === 'sms' ? 'text' : 'mail'].add('a message', send)) throw busy();
    return 'sent';
  };
}
