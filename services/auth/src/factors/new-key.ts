/** Making a key or passkey during a login, after the password. */
import type { Interaction } from '../interaction/interaction.ts';
import type { Pending } from './pending.ts';
import { keepPending } from './second-factor.ts';
import { askForNewKey, type KeyType } from './webauthn.ts';

/** The browser's options for making it, as JSON; undefined when the account is gone. The login remembers the challenge. */
export async function newKeyOptions(
  interaction: Interaction,
  pending: Pending,
  type: KeyType,
): Promise<string | undefined> {
  const { parts } = interaction;
  const [account, settings] = await Promise.all([parts.accounts.find(pending.account.userId), parts.settings.load()]);
  if (!account) return undefined;
  const asked = await askForNewKey(parts, { account, type, settings });
  await keepPending(interaction, { ...pending, enrolling: { type, challenge: asked.challenge } });
  return JSON.stringify(asked);
}
