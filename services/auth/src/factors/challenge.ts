/** The pages on which a second factor is proven. Each form is answered by a redirect; nothing here reveals others' factors. */
import type { Request } from 'express';
import { fieldsOf } from '../http/form-fields.ts';
import { networkOf } from '../http/network.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { FactorChoice } from '../pages/pages.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { showEnrolment } from './enrol.ts';
import { redisplay, restartLogin } from './navigation.ts';
import type { Pending } from './pending.ts';
import type { Proof } from './proof.ts';
import { eventOf, keepPending, ownerOf, pendingOf, provenTwice, takePending } from './second-factor.ts';
import type { Method } from './store.ts';
import { channelOf, type MethodType, mfaSettingsOf, type SecondFactor } from './types.ts';
import { askForKey, checkKey } from './webauthn.ts';

/** Our pages’ names for a person's factors. */
const choiceOf: Record<SecondFactor, FactorChoice> = {
  totp: 'otp',
  phone: 'sms',
  email: 'email',
  'webauthn-roaming': 'roaming',
  'webauthn-platform': 'platform',
};

/** Each try costs a signature check. */
const keyTries = { max: 60, windowSeconds: 60 };

/** Shows the first page: the person's least demanding factor, or the choice if a message would have to be sent. */
export async function showSecondFactor(interaction: Interaction): Promise<void> {
  const pending = await pendingOf(interaction);
  if (!pending) return restartLogin(interaction);
  if (pending.recoveryCodes) return interaction.turnTo('mfa/recovery-codes');
  if (pending.due === 'passkey') return interaction.turnTo('mfa/passkey');
  if (pending.due === 'enrolment') return showEnrolment(interaction, pending);
  if (pending.types.some(isKey)) return interaction.turnTo('mfa/key');
  if (pending.types.includes('totp')) return interaction.turnTo('mfa/otp');
  return pending.sentTo ? interaction.turnTo(pathOfSent(pending.sentTo.type)) : showChoice(interaction);
}

export async function showChoice(interaction: Interaction): Promise<void> {
  const pending = await challengeOf(interaction);
  if (!pending) return;
  const { outcome } = await interaction.recall('mfa/choose');
  const page = { step: 'mfa/choose', enrol: false, factors: await choicesOf(interaction, pending) };
  return interaction.show('factor-choice', page, outcome);
}

export async function choose(interaction: Interaction, request: Request): Promise<void> {
  const pending = await challengeOf(interaction);
  if (!pending) return;
  const { factor } = fieldsOf(request);
  switch (factor) {
    case 'otp':
    case 'recovery':
      return interaction.turnTo(`mfa/${factor}`);
    case 'roaming':
    case 'platform':
      return interaction.turnTo('mfa/key');
    case 'email':
    case 'sms':
      return sendCode(interaction, pending, factor);
    default:
      return interaction.turnTo('mfa/choose');
  }
}

/** The available choices; recovery codes only if the person has some left. */
async function choicesOf({ parts }: Interaction, { types, account }: Pending): Promise<FactorChoice[]> {
  const settings = mfaSettingsOf(await parts.settings.load());
  const choices = types.map((type) => choiceOf[type as SecondFactor]);
  const hasCodes = settings.factors['recovery-code'] && (await parts.factors.recoveryCodesLeft(account.userId)) > 0;
  return [...choices, ...(hasCodes ? (['recovery'] as const) : [])];
}

export async function showOtp(interaction: Interaction): Promise<void> {
  const pending = await challengeOf(interaction, 'totp');
  if (!pending) return;
  const { outcome } = await interaction.recall('mfa/otp');
  const page = { step: 'mfa/otp', factor: 'otp' as const, remember: true, other: true };
  return interaction.show('factor-code', page, outcome);
}

export async function checkOtp(interaction: Interaction, request: Request): Promise<void> {
  const pending = await challengeOf(interaction, 'totp');
  if (!pending) return;
  const { code = '', action } = fieldsOf(request);
  if (action === 'other') return interaction.turnTo('mfa/choose');
  if (!code.trim()) return redisplay(interaction, 'mfa/otp', 'code_missing');
  const { userId } = pending.account;
  const methods = await methodsOf(interaction, pending);
  if (methods.length === 0) return restartLogin(interaction);
  return handleProof(interaction, request, {
    pending,
    step: 'mfa/otp',
    factor: 'otp',
    proof: await interaction.parts.prove.totp(userId, methods, code),
  });
}

export const showEmail = (interaction: Interaction) => showSent(interaction, 'email');
export const showSms = (interaction: Interaction) => showSent(interaction, 'phone');
export const checkEmail = (interaction: Interaction, request: Request) => checkSent(interaction, request, 'email');
export const checkSms = (interaction: Interaction, request: Request) => checkSent(interaction, request, 'phone');

async function showSent(interaction: Interaction, type: 'email' | 'phone'): Promise<void> {
  const pending = await challengeOf(interaction, type);
  if (!pending) return;
  if (pending.sentTo?.type !== type) return interaction.turnTo('mfa/choose');
  const step = pathOfSent(type);
  const { outcome } = await interaction.recall(step);
  const page = {
    step,
    factor: channelOf(type),
    sentTo: masked(pending.sentTo.target),
    resend: true,
    resent: outcome.resent ?? false,
    remember: true,
    other: true,
  };
  return interaction.show('factor-code', page, outcome);
}

async function checkSent(interaction: Interaction, request: Request, type: 'email' | 'phone'): Promise<void> {
  const pending = await challengeOf(interaction, type);
  if (!pending) return;
  const { code = '', action } = fieldsOf(request);
  if (action === 'other') return interaction.turnTo('mfa/choose');
  const { sentTo } = pending;
  if (sentTo?.type !== type) return interaction.turnTo('mfa/choose');
  if (action === 'resend') return sendCode(interaction, pending, channelOf(type), true);
  const step = pathOfSent(type);
  if (!code.trim()) return redisplay(interaction, step, 'code_missing');
  const { userId } = pending.account;
  // The method may have been removed, or the account blocked, since the code was sent.
  const methods = await methodsOf(interaction, pending);
  if (!methods.some((method) => method.type === type && method.target === sentTo.target))
    return restartLogin(interaction);
  const proof = await interaction.parts.prove.sent(userId, sentTo, ownerOf(interaction), code);
  return handleProof(interaction, request, { pending, step, factor: channelOf(type), proof });
}

/** Sends a code to the person's newest method of that kind. */
async function sendCode(
  interaction: Interaction,
  pending: Pending,
  channel: 'email' | 'sms',
  resent = false,
): Promise<void> {
  const { parts, address: ip, client, languages } = interaction;
  const type = channel === 'sms' ? 'phone' : 'email';
  const method = (await methodsOf(interaction, pending)).findLast((one) => one.type === type);
  const account = method && (await parts.accounts.find(pending.account.userId));
  if (!method?.target || !account) return restartLogin(interaction);
  const to = { type, target: method.target } as const;
  const { clientId } = client;
  const sent = await parts.sendFactorCode({ account, to, binding: ownerOf(interaction), ip, clientId, languages });
  if (sent === 'too_many')
    return redisplay(interaction, resent ? pathOfSent(type) : 'mfa/choose', 'too_many_codes', { status: 429 });
  parts.factorEvents.codeSent(eventOf(interaction, account.userId), type);
  await keepPending(interaction, { ...pending, sentTo: to });
  return interaction.turnTo(pathOfSent(type), {}, { resent });
}

export async function showRecovery(interaction: Interaction): Promise<void> {
  if (!(await recoveryOf(interaction))) return;
  const { outcome } = await interaction.recall('mfa/recovery');
  return interaction.show('factor-code', { step: 'mfa/recovery', factor: 'recovery-code', other: true }, outcome);
}

export async function checkRecovery(interaction: Interaction, request: Request): Promise<void> {
  const pending = await recoveryOf(interaction);
  if (!pending) return;
  const { code = '', action } = fieldsOf(request);
  if (action === 'other') return interaction.turnTo('mfa/choose');
  if (!code.trim()) return redisplay(interaction, 'mfa/recovery', 'code_missing');
  if ((await methodsOf(interaction, pending)).length === 0) return restartLogin(interaction);
  const proof = await interaction.parts.prove.recoveryCode(pending.account.userId, code);
  return handleProof(interaction, request, { pending, step: 'mfa/recovery', factor: 'recovery-code', proof });
}

/** As `challengeOf`, while recovery codes are on. */
async function recoveryOf(interaction: Interaction): Promise<Pending | undefined> {
  const pending = await challengeOf(interaction);
  if (!pending || mfaSettingsOf(await interaction.parts.settings.load()).factors['recovery-code']) return pending;
  await interaction.turnTo('mfa/choose');
  return undefined;
}

export async function showKey(interaction: Interaction): Promise<void> {
  const pending = await challengeOf(interaction);
  if (!pending?.types.some(isKey)) return pending && interaction.turnTo('mfa/choose');
  const { outcome } = await interaction.recall('mfa/key');
  const methods = (await methodsOf(interaction, pending)).filter(({ type }) => isKey(type as MethodType));
  const asked = await askForKey(interaction.parts, methods);
  await keepPending(interaction, { ...pending, challenge: asked.challenge });
  const page = { step: 'mfa/key', options: JSON.stringify(asked), remember: true, other: true };
  return interaction.show('factor-key', page, outcome);
}

export async function checkSecurityKey(interaction: Interaction, request: Request): Promise<void> {
  const pending = await challengeOf(interaction);
  if (!pending) return;
  const { credential = '', action } = fieldsOf(request);
  if (action === 'other') return interaction.turnTo('mfa/choose');
  const { challenge, ...rest } = pending;
  if (challenge === undefined) return interaction.turnTo('mfa/key');
  // Answered once, whatever the outcome.
  const answered = await interaction.parts.pending.replace(ownerOf(interaction), pending, rest);
  if (!answered) return restartLogin(interaction);
  const methods = (await methodsOf(interaction, pending)).filter(({ type }) => isKey(type as MethodType));
  const { parts, address } = interaction;
  // Nobody guesses a signature: failures do not count for the account, so a stranger with the password cannot lock out its key.
  const isTaken = await parts.rate.take('keys-by', networkOf(address), keyTries.max, keyTries.windowSeconds);
  const proof: Proof = isTaken
    ? await checkKey(parts, { methods, credential, challenge })
    : { kind: 'locked', seconds: keyTries.windowSeconds };
  return handleProof(interaction, request, { pending: answered, step: 'mfa/key', factor: 'webauthn', proof });
}

/** Acts on the result of a proof from any page. @param proven.pending the login that it was checked for */
async function handleProof(
  interaction: Interaction,
  request: Request,
  { pending, step, factor, proof }: { pending: Pending; step: string; factor: string; proof: Proof },
): Promise<void> {
  const { factorEvents } = interaction.parts;
  const isOpen = proof.kind === 'right' ? await takePending(interaction, pending) : await pendingOf(interaction);
  if (!isOpen) return restartLogin(interaction);
  const event = eventOf(interaction, pending.account.userId);
  switch (proof.kind) {
    case 'right':
      factorEvents.succeeded(event, factor);
      return provenTwice(interaction, pending, { amr: proof.amr, remember: fieldsOf(request).remember === 'yes' });
    case 'locked':
      factorEvents.locked(event, factor);
      return interaction.turnTo('mfa/wait', { pause: { until: Date.now() + proof.seconds * 1000 } });
    case 'wrong':
    case 'used':
    case 'expired':
      factorEvents.failed(event, factor, proof.kind);
      return redisplay(interaction, step, problemOf(factor, proof.kind));
  }
}

function problemOf(factor: string, kind: 'wrong' | 'used' | 'expired'): ProblemName {
  if (factor === 'recovery-code') return 'recovery_code_wrong';
  if (factor === 'webauthn') return 'key_failed';
  return kind === 'used' ? 'code_used' : kind === 'expired' ? 'code_expired' : 'code_wrong';
}

/** Too many tries; shown while the pause lasts. */
export async function showWait(interaction: Interaction): Promise<void> {
  const { pause } = await interaction.recall('mfa/wait');
  const seconds = pause?.until === undefined ? 0 : Math.ceil((pause.until - Date.now()) / 1000);
  if (seconds <= 0) return interaction.turnTo('mfa');
  const page = { back: interaction.path('mfa/choose'), minutes: Math.ceil(seconds / 60) };
  return interaction.show('too-many-attempts', page, { status: 429, retryAfterSeconds: seconds });
}

/** The methods that count; none if the account has changed since the first factor was proven. */
function methodsOf({ parts }: Interaction, { account, types }: Pending): Promise<Method[]> {
  return parts.factors.listOf(account, types);
}

/** Undefined, after sending the answer, where this is not (or no longer) a page of this login. */
async function challengeOf(interaction: Interaction, type?: MethodType): Promise<Pending | undefined> {
  const pending = await pendingOf(interaction);
  if (!pending) await restartLogin(interaction);
  else if (pending.due !== 'challenge' || pending.recoveryCodes) await interaction.turnTo('mfa');
  else if (type === undefined || pending.types.includes(type)) return pending;
  else await interaction.turnTo('mfa/choose');
  return undefined;
}

const isKey = (type: MethodType) => type === 'webauthn-roaming' || type === 'webauthn-platform';
const pathOfSent = (type: 'email' | 'phone') => `mfa/${channelOf(type)}`;

/** Shows enough to recognize a target, too little to learn it. */
function masked(target: string): string {
  const [name = '', domain] = target.split('@');
  return domain === undefined ? `••••••${target.slice(-4)}` : `${name.slice(0, 1)}••••@${domain}`;
}
