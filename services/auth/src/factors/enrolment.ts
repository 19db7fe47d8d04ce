/**
 * The steps of setting up a second factor or a passkey, the same in a login (enrol.ts) and at `/account` (self-service/add-factor.ts). A
 * factor is stored only once a first use has confirmed it.
 */
import type { Request } from 'express';
import type { Provider } from 'oidc-provider';
import { isEmail, parseIdentifier } from '../accounts/identifier.ts';
import type { AccountState } from '../accounts/store.ts';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { Outcome } from '../interaction/page-memory.ts';
import type { Languages } from '../mail/language.ts';
import type { Form, PageName, Pages } from '../pages/pages.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { FactorParts } from './parts.ts';
import type { Pending } from './pending.ts';
import { newTotpSecret, qrPicture, spaced, stepOf, totpUri } from './totp.ts';
import { channelOf, type MethodType } from './types.ts';
import { askForNewKey, checkNewKey, type KeyType } from './webauthn.ts';

type Enrolling = NonNullable<Pending['enrolling']>;
type Shown = Omit<Outcome, 'step'>;
export type AddFactor = (state: AccountState) => Promise<unknown>;

/** A factor of one kind that somebody sets up on one page. */
export type Enrolment = {
  parts: FactorParts & { provider: Provider };
  account: AccountModel;
  settings: SettingsModel;
  clientId: string;
  ip: string;
  languages: Languages;
  /** Whose it is: where its codes may be typed. */
  owner: string;
  /** What was begun of this kind. */
  enrolling: Enrolling | undefined;
  /** Whether the page leads to other kinds. */
  hasOthers: boolean;
  keep(enrolling: Enrolling): Promise<unknown>;
  /** The key's challenge, which is answered once, whatever the outcome; undefined, after sending the answer, if there is none. */
  takeChallenge(): Promise<string | undefined>;
  recall(): Promise<Shown>;
  show<Name extends PageName>(name: Name, page: Omit<Pages[Name], keyof Form>, outcome: Shown): Promise<void>;
  /** Shows the page again. */
  turnBack(outcome?: Shown): Promise<void>;
  /** Too many wrong codes. */
  pause(seconds: number): Promise<void>;
  /** The first use is proven. @param amr what it adds to the session; nothing for a passkey, which is a sign-in of its own */
  finish(amr: string[], add: AddFactor): Promise<void>;
};

type Steps = {
  show(enrolment: Enrolment): Promise<void>;
  answer(enrolment: Enrolment, request: Request): Promise<void>;
};

export const enrolmentSteps: Record<MethodType, Steps> = {
  totp: { show: showOtp, answer: confirmOtp },
  phone: addressSteps('phone'),
  email: addressSteps('email'),
  'webauthn-roaming': keySteps('webauthn-roaming'),
  'webauthn-platform': keySteps('webauthn-platform'),
  passkey: keySteps('passkey'),
};

const redisplay = ({ turnBack }: Enrolment, problem: ProblemName, status?: number) =>
  turnBack({ problems: [problem], ...(status !== undefined && { status }) });

async function showOtp(enrolment: Enrolment): Promise<void> {
  const { parts, account, settings, enrolling, hasOthers } = enrolment;
  // A reload shows the same key: the app may already have it.
  const secret = enrolling?.secret ?? newTotpSecret();
  await enrolment.keep({ type: 'totp', secret });
  const label = account.email ?? account.username ?? account.phoneNumber ?? account.userId;
  const issuer = settings.friendlyName ?? new URL(parts.provider.issuer).host;
  const page = { picture: qrPicture(totpUri({ secret, issuer, label })), key: spaced(secret), other: hasOthers };
  return enrolment.show('enrol-otp', page, await enrolment.recall());
}

async function confirmOtp(enrolment: Enrolment, request: Request): Promise<void> {
  const { code = '' } = fieldsOf(request);
  const secret = enrolment.enrolling?.secret;
  if (secret === undefined) return enrolment.turnBack();
  if (!code.trim()) return redisplay(enrolment, 'code_missing');
  const step = stepOf(secret, code);
  if (step === undefined) return redisplay(enrolment, 'code_wrong');
  const { parts, account } = enrolment;
  return enrolment.finish(['otp', 'mfa'], (state) =>
    parts.factors.add({ userId: account.userId, type: 'totp', secret, step }, state),
  );
}

function addressSteps(type: 'email' | 'phone'): Steps {
  return {
    async show(enrolment) {
      const { account, enrolling, hasOthers } = enrolment;
      const outcome = await enrolment.recall();
      const channel = channelOf(type);
      if (enrolling?.target !== undefined) {
        const sent = { sentTo: enrolling.target, resend: true, resent: outcome.resent ?? false, other: true };
        return enrolment.show('factor-code', { factor: channel, ...sent }, outcome);
      }
      const address = (type === 'email' ? account.email : account.phoneNumber) ?? undefined;
      const page = { channel, other: hasOthers, ...(address !== undefined && { address }) };
      return enrolment.show('enrol-address', page, outcome);
    },
    async answer(enrolment, request) {
      const { code, address, action } = fieldsOf(request);
      const target = enrolment.enrolling?.target;
      if (target === undefined || action === 'resend') return sendFirstCode(enrolment, type, target ?? address);
      if (!code?.trim()) return redisplay(enrolment, 'code_missing');
      const { parts, account, owner } = enrolment;
      const proof = await parts.prove.sent(account.userId, { type, target }, owner, code);
      if (proof.kind === 'locked') return enrolment.pause(proof.seconds);
      if (proof.kind !== 'right') return redisplay(enrolment, proof.kind === 'expired' ? 'code_expired' : 'code_wrong');
      return enrolment.finish(proof.amr, (state) => parts.factors.add({ userId: account.userId, type, target }, state));
    },
  };
}

async function sendFirstCode(enrolment: Enrolment, type: 'email' | 'phone', typed = ''): Promise<void> {
  const { parts, account, owner, ip, clientId, languages, enrolling } = enrolment;
  const identifier = parseIdentifier(typed);
  const target = identifier?.kind === type ? identifier.value : undefined;
  if (target === undefined || (type === 'email' && !isEmail(target)))
    return redisplay(enrolment, type === 'email' ? 'email_invalid' : 'phone_invalid');
  const to = { type, target };
  const sent = await parts.sendFactorCode({ account, to, isTyped: true, binding: owner, ip, clientId, languages });
  if (sent === 'too_many') return redisplay(enrolment, 'too_many_codes', 429);
  parts.factorEvents.codeSent({ userId: account.userId, clientId, ip }, type);
  await enrolment.keep(to);
  return enrolment.turnBack({ resent: enrolling?.target === target });
}

function keySteps(type: KeyType): Steps {
  return {
    async show(enrolment) {
      const { parts, account, settings, hasOthers } = enrolment;
      const asked = await askForNewKey(parts, { account, type, settings });
      await enrolment.keep({ type, challenge: asked.challenge });
      const kind = type === 'passkey' ? ('passkey' as const) : ('key' as const);
      const page = { kind, options: JSON.stringify(asked), other: hasOthers };
      return enrolment.show('enrol-key', page, await enrolment.recall());
    },
    async answer(enrolment, request) {
      const { parts, account } = enrolment;
      const { credential = '' } = fieldsOf(request);
      const challenge = await enrolment.takeChallenge();
      if (challenge === undefined) return;
      const key = await checkNewKey(parts, { credential, challenge, type });
      if (!key) return redisplay(enrolment, 'key_failed');
      return enrolment.finish(type === 'passkey' ? [] : ['hwk', 'mfa'], (state) =>
        parts.factors.add({ userId: account.userId, type, ...key }, state),
      );
    },
  };
}
