/** Passkeys: signing in with one on the identifier page, and making one after a login by password. */
import type { Request } from 'express';
import { isUnchanged } from '../accounts/store.ts';
import type { AccountModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { networkOf } from '../http/network.ts';
import type { Interaction } from '../interaction/interaction.ts';
import { redisplay, restartLogin } from './navigation.ts';
import { declinePasskey, hasPasskeys } from './passkey-offer.ts';
import type { Pending } from './pending.ts';
import { isMultiFactor } from './policy.ts';
import { continueAuthorization, eventOf, keepPending, ownerOf, pendingOf, takePending } from './second-factor.ts';
import { hasSecondFactor } from './types.ts';
import { askForKey, askForNewKey, checkNewKey, checkPasskey, isHandleOf } from './webauthn.ts';

/** Each try costs a signature check. */
const tries = { max: 60, windowSeconds: 60 };

/** The page's options for the browser; undefined where nobody can have a passkey. Each page has a challenge of its own. */
export async function passkeyOptions(interaction: Interaction): Promise<string | undefined> {
  const { parts, client } = interaction;
  if (!(await parts.connections.list(client.clientId)).some(hasPasskeys)) return undefined;
  const asked = await askForKey(parts, []);
  await parts.pending.keepChallenge(ownerOf(interaction), asked.challenge);
  return JSON.stringify(asked);
}

export type PasskeyLogin =
  | { kind: 'right'; account: AccountModel; amr: string[] }
  /** `unknown`: belongs to nobody who may sign in here, or a wrong signature. `failed`: the browser gave none. */
  | { kind: 'unknown' | 'failed' | 'busy' };

/** Finds who signs in by the passkey that the page has sent. A challenge is answered once, whatever the outcome. */
export async function logInByPasskey(interaction: Interaction, credential: string): Promise<PasskeyLogin> {
  const { parts, client, address } = interaction;
  const challenge = await parts.pending.takeChallenge(ownerOf(interaction));
  if (challenge === undefined || /^\{"error"/.test(credential)) return { kind: 'failed' };
  if (!(await parts.rate.take('passkeys-by', networkOf(address), tries.max, tries.windowSeconds)))
    return { kind: 'busy' };
  const proven = await checkPasskey(parts, { credential, challenge });
  const account = proven && (await parts.accounts.find(proven.method.userId));
  if (!account || account.blocked || account.linkedTo !== null) return { kind: 'unknown' };
  if (!isHandleOf(credential, account)) return { kind: 'unknown' };
  const connection = await parts.connections.find(account.connection, client.clientId);
  return hasPasskeys(connection) ? { kind: 'right', account, amr: proven!.amr } : { kind: 'unknown' };
}

export async function showPasskeyOffer(interaction: Interaction): Promise<void> {
  const pending = await offeredOf(interaction);
  if (!pending) return;
  const options = await newPasskeyOptions(interaction, pending);
  if (options === undefined) return restartLogin(interaction);
  const { outcome } = await interaction.recall('mfa/passkey');
  const page = { step: 'mfa/passkey', kind: 'passkey' as const, options };
  return interaction.show('enrol-key', page, outcome);
}

/** The browser's options for making it, as JSON; undefined when the account is gone. The login remembers the challenge. */
async function newPasskeyOptions(interaction: Interaction, pending: Pending): Promise<string | undefined> {
  const { parts } = interaction;
  const [account, settings] = await Promise.all([parts.accounts.find(pending.account.userId), parts.settings.load()]);
  if (!account) return undefined;
  const asked = await askForNewKey(parts, { account, type: 'passkey', settings });
  await keepPending(interaction, { ...pending, enrolling: { type: 'passkey', challenge: asked.challenge } });
  return JSON.stringify(asked);
}

export async function answerPasskeyOffer(interaction: Interaction, request: Request): Promise<void> {
  const pending = await offeredOf(interaction);
  if (!pending) return;
  const { credential = '', action } = fieldsOf(request);
  // If two forms arrive at once, one of them continues.
  if (!(await takePending(interaction, pending))) return restartLogin(interaction);
  if (action === 'skip') {
    declinePasskey(interaction);
    return continueAuthorization(interaction, pending);
  }
  const { enrolling, ...rest } = pending;
  const challenge = enrolling?.challenge ?? '';
  const key = await checkNewKey(interaction.parts, { credential, challenge, type: 'passkey' });
  const { userId } = pending.account;
  const account = await interaction.parts.accounts.find(userId);
  const isAllowed = isMultiFactor(pending.amr) || !hasSecondFactor(account?.factors ?? []);
  if (!isUnchanged(account, pending.account) || !isAllowed) return restartLogin(interaction);
  const isKept = key && (await interaction.parts.factors.add({ userId, type: 'passkey', ...key }, pending.account));
  if (!isKept) {
    await keepPending(interaction, rest);
    return redisplay(interaction, 'mfa/passkey', 'key_failed');
  }
  interaction.parts.factorEvents.enrolled(eventOf(interaction, userId), 'passkey');
  interaction.parts.notifyOfChange({ name: 'factor_added', factor: 'passkey' }, account, { ip: interaction.address });
  return continueAuthorization(interaction, pending);
}

/** Undefined, after sending the answer, where no passkey is offered (any more). */
async function offeredOf(interaction: Interaction): Promise<Pending | undefined> {
  const pending = await pendingOf(interaction);
  if (pending?.due === 'passkey') return pending;
  await (pending ? interaction.turnTo('mfa') : restartLogin(interaction));
  return undefined;
}
