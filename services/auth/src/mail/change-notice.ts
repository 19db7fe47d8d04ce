/**
 * Tells somebody by mail what was changed of how they sign in, when, and from where, so that they learn of it when it was not them. In no
 * template of a tenant's, and never left out because one is disabled.
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
  /** Another provider that somebody signs in by, or does no more, by the name that people know it by. */
  | { name: 'factor_added' | 'factor_removed'; provider: string };

/**
 * Never waits and never throws.
 *
 * @param account as it was before the change: the mail goes to the address that it had, in the language that its metadata name
 * @param from from where it was changed
 */
export type TellOfChange = (change: AccountChange, account: AccountModel, from: { ip: string }) => void;

/** Of one person; somebody who signed up with another's address is not to fill that mailbox. */
const perPerson = { max: 30, windowSeconds: 86_400 };

export function makeTellOfChange(parts: {
  issuer: string;
  settings: SettingsStore;
  rate: Rate;
  letters: Letters;
  postBox: PostBox;
  background: Background;
}): TellOfChange {
  return (change, account, { ip }) => {
    const { email, connection, userId } = account;
    if (email === null) return;
    const at = new Date();
    parts.background.add('a mail of a change', async () => {
      if (!(await parts.rate.take('change-notice', userId, perPerson.max, perPerson.windowSeconds))) return;
      // Whoever lost the address has lost the way in with it: there is nothing to open for them.
      const isOpen = change.name !== 'email_changed' && isSelfService(await parts.settings.load());
      const url = isOpen ? `${baseUrlOf(parts.issuer)}account` : undefined;
      const about = { email, account, connection, clientId: undefined, ...(url && { url }) };
      const { name, ...what } = change;
      // Not the language of the request: that is of whoever makes the change, who may not want the mail to be understood.
      const letter = await parts.letters.write({ name, ...about, languages: {}, change: { at, ip, ...what } });
      await parts.postBox.sendMail({ to: email, ...letter });
    });
  };
}
