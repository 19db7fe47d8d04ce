/**
 * Tells people by mail what changed about how they sign in, when, and from where, so that they notice if it was not them. Never uses a
 * tenant's template, and is sent even if one is disabled.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Rate } from '../accounts/rate.ts';
import type { Background } from '../background.ts';
import type { MethodType } from '../factors/types.ts';
import type { AccountModel } from '../generated/models.ts';
import { isSelfService } from '../self-service/settings.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { Letters } from './letters.ts';
import type { PostBox } from './post-box.ts';

export type AccountChange =
  | { name: 'email_changed' | 'password_changed' | 'recovery_codes_changed' }
  | { name: 'factor_added' | 'factor_removed'; factor: MethodType }
  /** Another provider that can (or no longer can) be used to sign in, by the name that people know. */
  | { name: 'factor_added' | 'factor_removed'; provider: string };

/**
 * Never waits and never throws.
 *
 * @param account as it was before the change: the mail goes to its former address, in the language of its metadata
 * @param from where the change was made from
 */
export type NotifyOfChange = (change: AccountChange, account: AccountModel, from: { ip: string }) => void;

/** Per person: somebody who signed up with another's address must not be able to fill that mailbox. */
const perPerson = { max: 30, windowSeconds: 86_400 };

export function makeNotifyOfChange(parts: {
  issuer: string;
  settings: SettingsStore;
  rate: Rate;
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail'>;
}): NotifyOfChange {
  return (change, account, { ip }) => {
    const { email, connection, userId } = account;
    if (email === null) return;
    const at = new Date();
    parts.background.mail.add('a mail of a change', async () => {
      if (!(await parts.rate.take('change-notice', userId, perPerson.max, perPerson.windowSeconds))) return;
      // The former address can no longer sign in, so a link to the account would be useless.
      const isOpen = change.name !== 'email_changed' && isSelfService(await parts.settings.load());
      const url = isOpen ? `${baseUrlOf(parts.issuer)}account` : undefined;
      const about = { email, account, connection, clientId: undefined, ...(url && { url }) };
      const { name, ...what } = change;
      // Not the request's language: whoever made the change may not want the mail to be understood.
      const letter = await parts.letters.write({ name, ...about, languages: {}, change: { at, ip, ...what } });
      await parts.postBox.sendMail({ to: email, ...letter });
    });
  };
}
