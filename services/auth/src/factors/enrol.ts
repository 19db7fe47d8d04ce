/**
 * The pages on which somebody sets up a second factor (enrolment.ts), right after proving the first. Then come the recovery codes, shown
 * once.
 */
import type { Request } from 'express';
import { isUnchanged } from '../accounts/store.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { FactorChoice } from '../pages/pages.ts';
import { type AddFactor, type Enrolment, enrolmentSteps } from './enrolment.ts';
import { redisplay, restartLogin } from './navigation.ts';
import type { Pending } from './pending.ts';
import { hasFirstFactor } from './policy.ts';
import { eventOf, keepPending, ownerOf, pendingOf, provenTwice, takePending } from './second-factor.ts';
import { factorNameOf, mfaSettingsOf, type SecondFactor } from './types.ts';

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

type Page = {
  /** Below `mfa/enrol`. */
  path: string;
  show(interaction: Interaction): Promise<void>;
  answer(interaction: Interaction, request: Request): Promise<void>;
};

/** One page per kind. */
export const enrolmentPages = choices.map(([type, choice]): Page => {
  const step = `mfa/enrol/${choice}`;
  return {
    path: choice,
    async show(interaction) {
      const pending = await enrolmentOf(interaction, type);
      const enrolment = pending && (await openEnrolment(interaction, pending, { type, step }));
      if (enrolment) await enrolmentSteps[type].show(enrolment);
    },
    async answer(interaction, request) {
      const pending = await enrolmentOf(interaction, type);
      if (!pending) return;
      if (fieldsOf(request).action === 'other') return leave(interaction, pending, { type, step });
      const enrolment = await openEnrolment(interaction, pending, { type, step });
      if (enrolment) await enrolmentSteps[type].answer(enrolment, request);
    },
  };
});

const hasOthers = ({ types }: Pending) => types.length > 1;

/** To the other kinds. A key that was shown is kept, since an app may already have it; an address may be another next time. */
async function leave(interaction: Interaction, pending: Pending, { type, step }: EnrolmentStep): Promise<void> {
  if (type !== 'email' && type !== 'phone') return interaction.turnTo('mfa/enrol');
  const { enrolling: _, ...rest } = pending;
  await keepPending(interaction, rest);
  return interaction.turnTo(hasOthers(pending) ? 'mfa/enrol' : step);
}

type EnrolmentStep = { type: SecondFactor; step: string };

/** Undefined, after sending the answer, if the account is gone. */
async function openEnrolment(
  interaction: Interaction,
  begun: Pending,
  { type, step }: EnrolmentStep,
): Promise<Enrolment | undefined> {
  const { parts, client, address: ip, languages } = interaction;
  const [account, settings] = await Promise.all([parts.accounts.find(begun.account.userId), parts.settings.load()]);
  if (!account) {
    await restartLogin(interaction);
    return undefined;
  }
  const owner = ownerOf(interaction);
  let pending = begun;
  return {
    parts,
    account,
    settings,
    clientId: client.clientId,
    ip,
    languages,
    owner,
    enrolling: begun.enrolling?.type === type ? begun.enrolling : undefined,
    hasOthers: hasOthers(begun),
    keep: (enrolling) => keepPending(interaction, { ...pending, enrolling }),
    async takeChallenge() {
      const { enrolling, ...rest } = pending;
      if (enrolling?.type !== type || enrolling.challenge === undefined) {
        await interaction.turnTo(step);
        return undefined;
      }
      const answered = await parts.pending.replace(owner, pending, rest);
      if (!answered) {
        await restartLogin(interaction);
        return undefined;
      }
      pending = answered;
      return enrolling.challenge;
    },
    recall: async () => (await interaction.recall(step)).outcome,
    show: (name, page, outcome) => interaction.show(name, { ...page, step }, outcome),
    turnBack: (outcome) => interaction.turnTo(step, {}, outcome),
    pause: (seconds) => interaction.turnTo('mfa/wait', { pause: { until: Date.now() + seconds * 1000 } }),
    finish: (amr, add) => enrolled(interaction, pending, { amr, type }, add),
  };
}

/** The factor is stored; then recovery codes are shown, or the login continues. */
async function enrolled(
  interaction: Interaction,
  pending: Pending,
  { amr, type }: { amr: string[]; type: SecondFactor },
  add: AddFactor,
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
  if (!(await add(pending.account))) {
    const { enrolling: _, ...rest } = pending;
    await keepPending(interaction, rest);
    return redisplay(interaction, 'mfa/enrol', 'factor_refused');
  }
  parts.factorEvents.enrolled(eventOf(interaction, account.userId), factorNameOf(type));
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
