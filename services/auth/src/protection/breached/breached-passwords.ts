/**
 * Acts on a breached password (`attack-protection/breached-password-detection`): at a login, at a sign-up, or when somebody chooses a
 * new one. A wrong password is never looked up.
 */
import type { SettingsStore } from '../../settings/store.ts';
import type { AttemptOrigin, ProtectionEvents } from '../events.ts';
import { type Protection, protectionOf, type Shield } from '../settings.ts';
import type { WarnByMail } from '../warning-mail.ts';
import type { IsBreached } from './source.ts';

export type BreachedPasswords = {
  /** Whether there is a source to look passwords up in. */
  isPossible: boolean;
  /** Whether the login is refused; the caller logs the refusal. */
  refusesLogin(password: string, userId: string, from: AttemptOrigin): Promise<boolean>;
  refusesSignup(password: string, from: AttemptOrigin): Promise<boolean>;
  /** @param userId the account whose new password this would be */
  refusesChange(password: string, userId: string, from: AttemptOrigin): Promise<boolean>;
};

type Rules = Protection['breached-password-detection'];

export function makeBreachedPasswords(parts: {
  isBreached: IsBreached | undefined;
  settings: SettingsStore;
  events: ProtectionEvents;
  warnByMail: WarnByMail;
}): BreachedPasswords {
  const { isBreached, settings, events } = parts;
  /** The active shields if this password is breached; undefined otherwise. */
  const shieldsAgainst = async (password: string, shieldsOf: (rules: Rules) => Shield[]) => {
    if (!isBreached) return undefined;
    const rules = protectionOf(await settings.load())['breached-password-detection'];
    const shields = shieldsOf(rules);
    if (!rules.enabled || shields.length === 0 || !(await isBreached(password))) return undefined;
    const alerts = shields.includes('admin_notification') ? rules.admin_notification_frequency : undefined;
    return { shields, blocks: shields.includes('block'), alerts };
  };
  return {
    isPossible: isBreached !== undefined,
    async refusesLogin(password, userId, from) {
      const up = await shieldsAgainst(password, ({ shields }) => shields);
      if (!up) return false;
      await events.leaked('pwd_leak', from, { ...up, userId });
      if (up.shields.includes('user_notification')) parts.warnByMail('stolen_credentials', userId, from);
      return up.blocks;
    },
    async refusesSignup(password, from) {
      const up = await shieldsAgainst(password, ({ stage }) => stage['pre-user-registration'].shields);
      if (up) await events.leaked('signup_pwd_leak', from, up);
      return up?.blocks ?? false;
    },
    async refusesChange(password, userId, from) {
      const up = await shieldsAgainst(password, ({ stage }) => stage['pre-change-password'].shields);
      if (up) await events.leaked('reset_pwd_leak', from, { ...up, userId });
      return up?.blocks ?? false;
    },
  };
}
