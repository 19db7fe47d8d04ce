/**
 * Sets up a second factor or a passkey from an open session that was recently begun or stepped up. As in a login, a factor is stored only once
 * a first use has confirmed it. The pages are those of a login.
 */
import type { Request } from 'express';
import { isEmail, parseIdentifier } from '../accounts/identifier.ts';
import { type AccountState, isUnchanged } from '../accounts/store.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import type { Pending } from '../factors/pending.ts';
import { isMultiFactor, multiFactorAcr } from '../factors/policy.ts';
import { newTotpSecret, qrPicture, spaced, stepOf, totpUri } from '../factors/totp.ts';
import { type MethodType, mfaSettingsOf } from '../factors/types.ts';
import { askForNewKey, checkNewKey, type KeyType } from '../factors/webauthn.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { additions, codesPath, isOffered, pendingOf, securityPath } from './security.ts';
import { notFound, type Visit } from './visit.ts';

type Step = (visit: Visit, path: string, request: Request) => Promise<void>;
type Handler = (visit: Visit, request: Request) => Promise<void>;

const steps: Record<MethodType, { show: Step; answer: Step }> = {
  totp: { show: showOtp, answer: confirmOtp },
  phone: { show: showAddress('phone'), answer: enrolAddress('phone') },
  email: { show: showAddress('email'), answer: enrolAddress('email') },
  'webauthn-roaming': { show: showKey('webauthn-roaming'), answer: enrolKey('webauthn-roaming') },
  'webauthn-platform': { show: showKey('webauthn-platform'), answer: enrolKey('webauthn-platform') },
  passkey: { show: showKey('passkey'), answer: enrolKey('passkey') },
};

/** One page per kind. */
export const additionPages: { path: string; needsFresh: true; show: Handler; answer: Handler }[] = additions.map(
  ({ type, slug }) => {
    const path = `${securityPath}/${slug}`;
    const only =
      (step: Step): Handler =>
      async (visit, request) => {
        if (!(await isOffered(visit, type))) throw notFound();
        const { action } = request.method === 'POST' ? fieldsOf(request) : {};
        // A factor of another kind that was begun is left alone: it ends with its page.
        if (action === 'other' || action === 'skip') return leave(visit);
        return step(visit, path, request);
      };
    return { path, needsFresh: true, show: only(steps[type].show), answer: only(steps[type].answer) };
  },
);

async function leave(visit: Visit): Promise<void> {
  await visit.parts.pending.take(visit.owner);
  return visit.turnTo(securityPath);
}

/** The factor being set up, if it is of this kind. */
async function enrollmentOf({ parts, owner }: Visit, type: MethodType): Promise<Pending['enrolling']> {
  const pending = await parts.pending.find(owner);
  return pending?.enrolling?.type === type ? pending.enrolling : undefined;
}

const savePending = (visit: Visit, enrolling: NonNullable<Pending['enrolling']>) =>
  visit.parts.pending.save(visit.owner, { ...pendingOf(visit, [enrolling.type]), enrolling });

const redisplay = (visit: Visit, path: string, problem: ProblemName, status?: number) =>
  visit.turnTo(path, { problems: [problem], ...(status !== undefined && { status }) });

async function showOtp(visit: Visit, path: string): Promise<void> {
  const { account, settings, parts } = visit;
  // A reload shows the same key: the app may already have it.
  const secret = (await enrollmentOf(visit, 'totp'))?.secret ?? newTotpSecret();
  await savePending(visit, { type: 'totp', secret });
  const label = account.email ?? account.username ?? account.phoneNumber ?? account.userId;
  const issuer = settings.friendlyName ?? new URL(parts.issuer).host;
  const page = { path, picture: qrPicture(totpUri({ secret, issuer, label })), key: spaced(secret), other: true };
  return visit.show('enrol-otp', page, await visit.recall(path));
}

async function confirmOtp(visit: Visit, path: string, request: Request): Promise<void> {
  const { code = '' } = fieldsOf(request);
  const secret = (await enrollmentOf(visit, 'totp'))?.secret;
  if (secret === undefined) return visit.turnTo(path);
  if (!code.trim()) return redisplay(visit, path, 'code_missing');
  const step = stepOf(secret, code);
  if (step === undefined) return redisplay(visit, path, 'code_wrong');
  const { userId } = visit.account;
  return enrolled(visit, { type: 'totp', amr: ['otp', 'mfa'], factor: 'otp' }, (state) =>
    visit.parts.factors.add({ userId, type: 'totp', secret, step }, state),
  );
}

const channelOf = (type: 'email' | 'phone') => (type === 'phone' ? ('sms' as const) : ('email' as const));

function showAddress(type: 'email' | 'phone'): Step {
  return async (visit, path) => {
    const outcome = await visit.recall(path);
    const channel = channelOf(type);
    const target = (await enrollmentOf(visit, type))?.target;
    if (target !== undefined) {
      const sent = { sentTo: target, resend: true, resent: outcome.resent ?? false, other: true };
      return visit.show('factor-code', { path, factor: channel, ...sent }, outcome);
    }
    const address = (type === 'email' ? visit.account.email : visit.account.phoneNumber) ?? undefined;
    return visit.show(
      'enrol-address',
      { path, channel, other: true, ...(address !== undefined && { address }) },
      outcome,
    );
  };
}

function enrolAddress(type: 'email' | 'phone'): Step {
  return async (visit, path, request) => {
    const { code, address, action } = fieldsOf(request);
    const target = (await enrollmentOf(visit, type))?.target;
    if (target === undefined || action === 'resend')
      return sendFirstCode(visit, { path, type, typed: target ?? address });
    if (!code?.trim()) return redisplay(visit, path, 'code_missing');
    const { parts, account, owner } = visit;
    const proof = await parts.prove.sent(account.userId, { type, target }, owner, code);
    if (proof.kind === 'locked') return redisplay(visit, path, 'locked', 429);
    if (proof.kind !== 'right') return redisplay(visit, path, proof.kind === 'expired' ? 'code_expired' : 'code_wrong');
    return enrolled(visit, { type, amr: proof.amr, factor: channelOf(type) }, (state) =>
      parts.factors.add({ userId: account.userId, type, target }, state),
    );
  };
}

async function sendFirstCode(
  visit: Visit,
  { path, type, typed = '' }: { path: string; type: 'email' | 'phone'; typed: string | undefined },
): Promise<void> {
  const { parts, account, owner, address: ip, languages } = visit;
  const identifier = parseIdentifier(typed);
  const target = identifier?.kind === type ? identifier.value : undefined;
  if (target === undefined || (type === 'email' && !isEmail(target)))
    return redisplay(visit, path, type === 'email' ? 'email_invalid' : 'phone_invalid');
  const to = { type, target };
  const sent = await parts.sendFactorCode({ account, to, binding: owner, ip, clientId: accountClientId, languages });
  if (sent === 'too_many') return redisplay(visit, path, 'too_many_codes', 429);
  parts.factorEvents.codeSent({ userId: account.userId, clientId: accountClientId, ip }, type);
  const resent = (await enrollmentOf(visit, type))?.target === target;
  await savePending(visit, to);
  return visit.turnTo(path, { resent });
}

function showKey(type: KeyType): Step {
  return async (visit, path) => {
    const { parts, account, settings } = visit;
    const asked = await askForNewKey(parts, { account, type, settings });
    await savePending(visit, { type, challenge: asked.challenge });
    const kind = type === 'passkey' ? ('passkey' as const) : ('key' as const);
    const page = { path, kind, options: JSON.stringify(asked), other: kind === 'key' };
    return visit.show('enrol-key', page, await visit.recall(path));
  };
}

function enrolKey(type: KeyType): Step {
  return async (visit, path, request) => {
    const { parts, account, owner } = visit;
    const { credential = '' } = fieldsOf(request);
    // Answered once, whatever the outcome.
    const pending = await parts.pending.take(owner);
    const challenge = pending?.enrolling?.type === type ? pending.enrolling.challenge : undefined;
    if (!pending || challenge === undefined) return visit.turnTo(path);
    const key = await checkNewKey(parts, { credential, challenge, type });
    if (!key) return redisplay(visit, path, 'key_failed');
    const proof = type === 'passkey' ? { type, factor: 'passkey' } : { type, amr: ['hwk', 'mfa'], factor: type };
    return addProven(visit, pending, proof, (state) =>
      parts.factors.add({ userId: account.userId, type, ...key }, state),
    );
  };
}

type Add = (state: AccountState) => Promise<unknown>;
type Proven = { type: MethodType; amr?: string[]; factor: string };

/** If two forms arrive at once, one of them sets it up. */
async function enrolled(visit: Visit, proven: Proven, add: Add): Promise<void> {
  const pending = await visit.parts.pending.take(visit.owner);
  if (!pending) return visit.turnTo(securityPath);
  return addProven(visit, pending, proven, add);
}

async function addProven(visit: Visit, pending: Pending, proven: Proven, add: Add): Promise<void> {
  const { parts, account, session, address: ip } = visit;
  const { userId } = account;
  if (!isUnchanged(await parts.accounts.find(userId), pending.account))
    return redisplay(visit, securityPath, 'refused');
  if (!(await add(pending.account))) return redisplay(visit, securityPath, 'factor_refused');
  parts.factorEvents.enrolled({ userId, clientId: accountClientId, ip }, proven.factor);
  visit.notify({ name: 'factor_added', factor: proven.type });
  // Its owner has just proven it in this very session, so the session is not asked for it again.
  if (proven.amr && !isMultiFactor(session.amr)) {
    session.amr = [...new Set([...(session.amr ?? []), ...proven.amr])];
    session.acr = multiFactorAcr;
    await session.persist();
  }
  const wantsCodes = proven.amr !== undefined && mfaSettingsOf(visit.settings).factors['recovery-code'];
  if (!wantsCodes || (await parts.factors.recoveryCodesLeft(userId)) > 0)
    return visit.turnTo(securityPath, { notice: 'added' });
  const recoveryCodes = await parts.factors.makeRecoveryCodes(userId);
  await parts.pending.save(visit.owner, { ...pendingOf(visit, []), recoveryCodes });
  return visit.turnTo(codesPath);
}

/** Shown until somebody confirms having stored them. */
export async function showCodes(visit: Visit): Promise<void> {
  const pending = await visit.parts.pending.find(visit.owner);
  if (!pending?.recoveryCodes) return visit.turnTo(securityPath);
  return visit.show('recovery-codes', { path: codesPath, codes: pending.recoveryCodes });
}

export async function confirmCodesSaved(visit: Visit): Promise<void> {
  return leave(visit);
}
