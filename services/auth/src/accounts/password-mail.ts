/** Sends the link to set a new password to somebody who has lost theirs. */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Background } from '../background.ts';
import { networkOf } from '../http/network.ts';
import type { Languages } from '../mail/language.ts';
import type { Letters } from '../mail/letters.ts';
import type { PostBox } from '../mail/post-box.ts';
import { busy } from '../stores-away.ts';
import type { AccountTickets } from './account-ticket.ts';
import type { MessageLimits } from './message-limits.ts';
import type { Rate } from './rate.ts';
import type { AccountStore } from './store.ts';

type PasswordMailRequest = {
  connection: string;
  email: string;
  /** The application that requested it, if known: the page behind the link leads back there. */
  clientId?: string;
  /** The network address of the request. */
  ip: string;
  languages: Languages;
};

/**
 * Nobody learns whether an address has an account: everything that depends on it, including the limit on mails to its owner,
 * happens after the answer. Only requests from the asker’s own network can be refused as too many.
 */
export type SendPasswordMail = (asked: PasswordMailRequest) => Promise<'accepted' | 'too_many'>;

/** The default for links whose template does not say. */
export const passwordTtlSeconds = 3_600;

/** For each asking network, per hour. */
const perAsker = { max: 100, windowSeconds: 3_600 };

export function makeSendPasswordMail(parts: {
  issuer: string;
  accounts: AccountStore;
  passwordTickets: AccountTickets;
  rate: Rate;
  limits: MessageLimits;
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail'>;
}): SendPasswordMail {
  const makeJob = ({ connection, email, clientId, ip, languages }: PasswordMailRequest) => {
    let isCounted = false; // once, however often it is tried
    return async (): Promise<void> => {
      const account = await parts.accounts.findByLogin(connection, email);
      // Counted for unknown recipients as well, so that they cause the same work as known ones.
      const ownNetwork = account?.lastIp ? networkOf(account.lastIp) : undefined;
      const to = { kind: 'password' as const, recipient: email, network: networkOf(ip), ownNetwork };
      if (!isCounted && !(await parts.limits.take(to))) return;
      isCounted = true;
      if (!account?.email || account.blocked) return;
      const rules = await parts.letters.linkRules('reset_email', clientId);
      const { ttlSeconds = passwordTtlSeconds, resultUrl, includeEmail } = rules;
      const { uiLocales } = languages;
      const kept = {
        email: account.email,
        includeEmail,
        ...(clientId && { clientId }),
        ...(uiLocales && { uiLocales }),
        ...(resultUrl && { resultUrl }),
      };
      const ticket = await parts.passwordTickets.issue({ account, ...kept }, ttlSeconds);
      const url = `${baseUrlOf(parts.issuer)}change-password?ticket=${ticket}`;
      const about = { email: account.email, account, connection, clientId, languages };
      const letter = await parts.letters.write({ name: 'reset_email', ...about, url, ttlSeconds });
      await parts.postBox.sendMail({ to: account.email, ...letter });
    };
  };
  return async (asked) => {
    const network = networkOf(asked.ip);
    if (!(await parts.rate.take('password-mails-by', network, perAsker.max, perAsker.windowSeconds))) return 'too_many';
    if (!parts.background.mail.add('a password mail', makeJob(asked))) throw busy();
    return 'accepted';
  };
}
