/**
 * The pages on which somebody sets up a second factor, right after proving the first. A factor is stored only once a first use has
 * confirmed it. Then come the recovery codes, shown once.
 */
import type { Request } from 'express';
import { isEmail, parseIdentifier } from '../accounts/identifier.ts';
import { isUnchanged } from '../accounts/store.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { FactorChoice } from '../pages/pages.ts';
import { redisplay, restartLogin } from './navigation.ts';
import { newKeyOptions } from './new-key.ts';
import type { Pending } from './pending.ts';
import { hasFirstFactor } from './policy.ts';
import { eventOf, keepPending, ownerOf, pendingOf, provenTwice, takePending } from './second-factor.ts';
import { newTotpSecret, qrPicture, spaced, stepOf, totpUri } from './totp.ts';
import { mfaSettingsOf, type SecondFactor } from './types.ts';
import { checkNewKey, type KeyType } from './webauthn.ts';

const choices: [type: SecondFactor, choice: FactorChoice][] = [
  ['totp', 'otp'],
  ['webauthn-platform', 'platform'],
  ['webauthn-roaming', 'roaming'],
  ['phone', 'sms'],
  ['email', 'email'],
];
const typeOf = (choice: string) => choices.find(([, name]) => name === choice)?.[0];

export async function showEnrolment(interaction: Interaction, pending: Pending): Promise<void> {
  const offered = choices.filter(([type]) => pending.types.includes(type));
  if (offered.length === 1) return interaction.turnTo(`mfa/enrol/${offered[0]![1]}`);
  return showEnrolmentChoice(interaction);
}

export async function showEnrolmentChoice(interaction: Interaction): Promise<void> {
  const pending = await enrolmentOf(interaction);
  if (!pending) return;
  const factors = choices.filter(([type]) => pending.types.includes(type)).map(([, choice]) => choice);
  const { outcome } = await interaction.recall('mfa/enrol');
  return interaction.show('factor-choice', { step: 'mfa/enrol', enrol: true, factors }, outcome);
}

export async function chooseEnrolment(interaction: Interaction, request: Request): Promise<void> {
  const pending = await enrolmentOf(interaction);
  if (!pending) return;
  const { factor = '' } = fieldsOf(request);
  const type = typeOf(factor);
  if (type === undefined || !pending.types.includes(type)) return interaction.turnTo('mfa/enrol');
  return interaction.turnTo(`mfa/enrol/${factor}`);
}

const hasOthers = ({ types }: Pending) => types.length > 1;

export async function showOtpEnrolment(interaction: Interaction): Promise<void> {
  const pending = await enrolmentOf(interaction, 'totp');
  if (!pending) return;
  // A reload shows the same key: the app may already have it.
  const secret = (pending.enrolling?.type === 'totp' && pending.enrolling.secret) || newTotpSecret();
  await keepPending(interaction, { ...pending, enrolling: { type: 'totp', secret } });
  const { parts } = interaction;
  const [account, settings] = await Promise.all([parts.accounts.find(pending.account.userId), parts.settings.load()]);
  if (!account) return restartLogin(interaction);
  const label = account.email ?? account.username ?? account.phoneNumber ?? account.userId;
  const issuer = settings.friendlyName ?? new URL(parts.provider.issuer).host;
  const { outcome } = await interaction.recall('mfa/enrol/otp');
  const page = {
    step: 'mfa/enrol/otp',
    picture: qrPicture(totpUri({ secret, issuer, label })),
    key: spaced(secret),
    other: hasOthers(pending),
  };
  return interaction.show('enrol-otp', page, outcome);
}

export async function confirmOtp(interaction: Interaction, request: Request): Promise<void> {
  const pending = await enrolmentOf(interaction, 'totp');
  if (!pending) return;
  const { code = '', action } = fieldsOf(request);
  if (action === 'other') return interaction.turnTo('mfa/enrol');
  const { enrolling } = pending;
  if (enrolling?.type !== 'totp' || !enrolling.secret) return interaction.turnTo('mfa/enrol/otp');
  if (!code.trim()) return redisplay(interaction, 'mfa/enrol/otp', 'code_missing');
  const { secret } = enrolling;
  const step = stepOf(secret, code);
  if (step === undefined) return redisplay(interaction, 'mfa/enrol/otp', 'code_wrong');
  const { userId } = pending.account;
  return enrolled(interaction, pending, { amr: ['otp', 'mfa'], type: 'totp' }, () =>
    interaction.parts.factors.add({ userId, type: 'totp', secret, step }, pending.account),
  );
}

export const showEmailEnrolment = (interaction: Interaction) => showAddressEnrolment(interaction, 'email');
export const showSmsEnrolment = (interaction: Interaction) => showAddressEnrolment(interaction, 'phone');
export const enrolEmail = (interaction: Interaction, request: Request) => enrolAddress(interaction, request, 'email');
export const enrolSms = (interaction: Interaction, request: Request) => enrolAddress(interaction, request, 'phone');

async function showAddressEnrolment(interaction: Interaction, type: 'email' | 'phone'): Promise<void> {
  const pending = await enrolmentOf(interaction, type);
  if (!pending) return;
  const channel = channelOf(type);
  const step = `mfa/enrol/${channel}`;
  const { outcome } = await interaction.recall(step);
  const { enrolling } = pending;
  if (enrolling?.type === type && enrolling.target !== undefined) {
    const sent = { step, factor: channel, sentTo: enrolling.target, resend: true, resent: outcome.resent ?? false };
    return interaction.show('factor-code', { ...sent, other: true }, outcome);
  }
  const account = await interaction.parts.accounts.find(pending.account.userId);
  const address = (type === 'email' ? account?.email : account?.phoneNumber) ?? undefined;
  const page = { step, channel, other: hasOthers(pending), ...(address !== undefined && { address }) };
  return interaction.show('enrol-address', page, outcome);
}

async function enrolAddress(interaction: Interaction, request: Request, type: 'email' | 'phone'): Promise<void> {
  const pending = await enrolmentOf(interaction, type);
  if (!pending) return;
  const step = `mfa/enrol/${channelOf(type)}`;
  const { code, address, action } = fieldsOf(request);
  const { enrolling, ...rest } = pending;
  const target = enrolling?.type === type ? enrolling.target : undefined;
  if (action === 'other') {
    await keepPending(interaction, rest);
    return interaction.turnTo(hasOthers(pending) ? 'mfa/enrol' : step);
  }
  if (target === undefined || action === 'resend') return sendFirstCode(interaction, pending, type, target ?? address);
  if (!code?.trim()) return redisplay(interaction, step, 'code_missing');
  const { userId } = pending.account;
  const sent = { type, target };
  const proof = await interaction.parts.prove.sent(userId, sent, ownerOf(interaction), code);
  if (proof.kind === 'locked')
    return interaction.turnTo('mfa/wait', { pause: { until: Date.now() + proof.seconds * 1000 } });
  if (proof.kind !== 'right')
    return redisplay(interaction, step, proof.kind === 'expired' ? 'code_expired' : 'code_wrong');
  return enrolled(interaction, pending, { amr: proof.amr, type }, () =>
    interaction.parts.factors.add({ userId, type, target }, pending.account),
  );
}

async function sendFirstCode(
  interaction: Interaction,
  pending: Pending,
  type: 'email' | 'phone',
  typed = '',
): Promise<void> {
  const { parts, address: ip, client, languages } = interaction;
  const step = `mfa/enrol/${channelOf(type)}`;
  const identifier = parseIdentifier(typed);
  const target = identifier?.kind === type ? identifier.value : undefined;
  if (target === undefined || (type === 'email' && !isEmail(target)))
    return redisplay(interaction, step, type === 'email' ? 'email_invalid' : 'phone_invalid');
  const account = await parts.accounts.find(pending.account.userId);
  if (!account) return restartLogin(interaction);
  const to = { type, target };
  const { clientId } = client;
  const sent = await parts.sendFactorCode({ account, to, binding: ownerOf(interaction), ip, clientId, languages });
  if (sent === 'too_many') return redisplay(interaction, step, 'too_many_codes', { status: 429 });
  parts.factorEvents.codeSent(eventOf(interaction, account.userId), type);
  const resent = pending.enrolling?.target === target;
  await keepPending(interaction, { ...pending, enrolling: to });
  return interaction.turnTo(step, {}, { resent });
}

export const showRoamingEnrolment = (interaction: Interaction) => showKeyEnrolment(interaction, 'webauthn-roaming');
export const showPlatformEnrolment = (interaction: Interaction) => showKeyEnrolment(interaction, 'webauthn-platform');
export const enrolRoaming = (interaction: Interaction, request: Request) =>
  enrolKey(interaction, request, 'webauthn-roaming');
export const enrolPlatform = (interaction: Interaction, request: Request) =>
  enrolKey(interaction, request, 'webauthn-platform');

const pathOfKey = (type: KeyType) => (type === 'webauthn-roaming' ? 'mfa/enrol/roaming' : 'mfa/enrol/platform');

async function showKeyEnrolment(interaction: Interaction, type: SecondFactor & KeyType): Promise<void> {
  const pending = await enrolmentOf(interaction, type);
  if (!pending) return;
  const options = await newKeyOptions(interaction, pending, type);
  if (options === undefined) return restartLogin(interaction);
  const step = pathOfKey(type);
  const { outcome } = await interaction.recall(step);
  const page = { step, kind: 'key' as const, options, other: hasOthers(pending) };
  return interaction.show('enrol-key', page, outcome);
}

async function enrolKey(interaction: Interaction, request: Request, type: SecondFactor & KeyType): Promise<void> {
  const pending = await enrolmentOf(interaction, type);
  if (!pending) return;
  const { credential = '', action } = fieldsOf(request);
  if (action === 'other') return interaction.turnTo('mfa/enrol');
  const { enrolling, ...rest } = pending;
  if (enrolling?.type !== type || enrolling.challenge === undefined) return interaction.turnTo(pathOfKey(type));
  // Answered once, whatever the outcome.
  const answered = await interaction.parts.pending.replace(ownerOf(interaction), pending, rest);
  if (!answered) return restartLogin(interaction);
  const key = await checkNewKey(interaction.parts, { credential, challenge: enrolling.challenge, type });
  if (!key) return redisplay(interaction, pathOfKey(type), 'key_failed');
  const { userId } = pending.account;
  return enrolled(interaction, answered, { amr: ['hwk', 'mfa'], type }, () =>
    interaction.parts.factors.add({ userId, type, ...key }, pending.account),
  );
}

/** The factor is stored; then recovery codes are shown, or the login continues. */
async function enrolled(
  interaction: Interaction,
  pending: Pending,
  { amr, type }: { amr: string[]; type: SecondFactor },
  add: () => Promise<unknown>,
): Promise<void> {
  const { parts } = interaction;
  // If two forms arrive at once, one of them sets it up.
  const isTaken = await takePending(interaction, pending);
  const [account, settings] = await Promise.all([parts.accounts.find(pending.account.userId), parts.settings.load()]);
  // A first factor is set up by the password alone, but not once there is one, which may be somebody else's.
  if (
    !isTaken ||
    !isUnchanged(account, pending.account) ||
    hasFirstFactor(mfaSettingsOf(settings), pending, account.factors)
  )
    return restartLogin(interaction);
  if (!(await add())) {
    const { enrolling: _, ...rest } = pending;
    await keepPending(interaction, rest);
    return redisplay(interaction, 'mfa/enrol', 'factor_refused');
  }
  const factor = { totp: 'otp', phone: 'sms' }[type as string] ?? type;
  parts.factorEvents.enrolled(eventOf(interaction, account.userId), factor);
  parts.notifyOfChange({ name: 'factor_added', factor: type }, account, { ip: interaction.address });
  // Recovery codes of an earlier factor were removed with it.
  if (!mfaSettingsOf(settings).factors['recovery-code']) return provenTwice(interaction, pending, { amr });
  const recoveryCodes = await parts.factors.makeRecoveryCodes(account.userId);
  await keepPending(interaction, { ...pending, recoveryCodes, provenAmr: amr });
  return interaction.turnTo('mfa/recovery-codes');
}

export async function showRecoveryCodes(interaction: Interaction): Promise<void> {
  const pending = await pendingOf(interaction);
  if (!pending?.recoveryCodes) return interaction.turnTo('mfa');
  return interaction.show('recovery-codes', { step: 'mfa/recovery-codes', codes: pending.recoveryCodes });
}

export async function confirmCodesSaved(interaction: Interaction): Promise<void> {
  const pending = await pendingOf(interaction);
  if (!pending?.recoveryCodes || !pending.provenAmr) return interaction.turnTo('mfa');
  if (!(await takePending(interaction, pending))) return restartLogin(interaction);
  return provenTwice(interaction, pending, { amr: pending.provenAmr });
}

/** Undefined, after sending the answer, where this is not (or no longer) a page of this login. */
async function enrolmentOf(interaction: Interaction, type?: SecondFactor): Promise<Pending | undefined> {
  const pending = await pendingOf(interaction);
  if (!pending) await restartLogin(interaction);
  else if (pending.due !== 'enrolment' || pending.recoveryCodes) await interaction.turnTo('mfa');
  else if (type === undefined || pending.types.includes(type)) return pending;
  else await interaction.turnTo('mfa/enrol');
  return undefined;
}

const channelOf = (type: 'email' | 'phone') => (type === 'phone' ? ('sms' as const) : ('email' as const));
