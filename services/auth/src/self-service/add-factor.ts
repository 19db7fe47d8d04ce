/**
 * Sets up a second factor or a passkey (factors/enrolment.ts) from an open session that was recently begun or stepped up. The pages are those
 * of a login.
 */
import type { Request } from 'express';
import { isUnchanged } from '../accounts/store.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { type AddFactor, type Enrolment, enrolmentSteps } from '../factors/enrolment.ts';
import type { Pending } from '../factors/pending.ts';
import { isMultiFactor, multiFactorAcr } from '../factors/policy.ts';
import { factorNameOf, type MethodType, mfaSettingsOf } from '../factors/types.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { additions, codesPath, isOffered, pendingOf, securityPath } from './security.ts';
import { notFound, type Visit } from './visit.ts';

type Handler = (visit: Visit, request: Request) => Promise<void>;

/** One page per kind. */
export const additionPages: { path: string; needsFresh: true; show: Handler; answer: Handler }[] = additions.map(
  ({ type, slug }) => {
    const path = `${securityPath}/${slug}`;
    const page =
      (run: (enrolment: Enrolment, request: Request) => Promise<void>): Handler =>
      async (visit, request) => {
        if (!(await isOffered(visit, type))) throw notFound();
        const { action } = request.method === 'POST' ? fieldsOf(request) : {};
        // A factor of another kind that was begun is left alone: it ends with its page.
        if (action === 'other' || action === 'skip') return leave(visit);
        return run(await openEnrolment(visit, type, path), request);
      };
    const { show, answer } = enrolmentSteps[type];
    return { path, needsFresh: true, show: page(show), answer: page(answer) };
  },
);

async function leave(visit: Visit): Promise<void> {
  await visit.parts.pending.take(visit.owner);
  return visit.turnTo(securityPath);
}

async function openEnrolment(visit: Visit, type: MethodType, path: string): Promise<Enrolment> {
  const { parts, owner, address: ip } = visit;
  const enrollingOf = (pending?: Pending) => (pending?.enrolling?.type === type ? pending.enrolling : undefined);
  let taken: Pending | undefined;
  return {
    ...visit,
    clientId: accountClientId,
    ip,
    enrolling: enrollingOf(await parts.pending.find(owner)),
    hasOthers: type !== 'passkey',
    keep: (enrolling) => parts.pending.save(owner, { ...pendingOf(visit, [type]), enrolling }),
    async takeChallenge() {
      taken = await parts.pending.take(owner);
      const challenge = enrollingOf(taken)?.challenge;
      if (challenge === undefined) await visit.turnTo(path);
      return challenge;
    },
    recall: () => visit.recall(path),
    show: (name, page, outcome) => visit.show(name, { ...page, path }, outcome),
    turnBack: (outcome) => visit.turnTo(path, outcome),
    pause: () => visit.turnTo(path, { problems: ['locked'], status: 429 }),
    async finish(amr, add) {
      // If two forms arrive at once, one of them sets it up.
      const pending = taken ?? (await parts.pending.take(owner));
      return pending ? addProven(visit, pending, { type, amr }, add) : visit.turnTo(securityPath);
    },
  };
}

const redisplay = (visit: Visit, problem: ProblemName) => visit.turnTo(securityPath, { problems: [problem] });

async function addProven(
  visit: Visit,
  pending: Pending,
  { type, amr }: { type: MethodType; amr: string[] },
  add: AddFactor,
): Promise<void> {
  const { parts, account, session, address: ip } = visit;
  const { userId } = account;
  if (!isUnchanged(await parts.accounts.find(userId), pending.account)) return redisplay(visit, 'refused');
  if (!(await add(pending.account))) return redisplay(visit, 'factor_refused');
  parts.factorEvents.enrolled({ userId, clientId: accountClientId, ip }, factorNameOf(type));
  visit.notify({ name: 'factor_added', factor: type });
  // Its owner has just proven it in this very session, so the session is not asked for it again.
  if (amr.length > 0 && !isMultiFactor(session.amr)) {
    session.amr = [...new Set([...(session.amr ?? []), ...amr])];
    session.acr = multiFactorAcr;
    await session.persist();
  }
  const wantsCodes = amr.length > 0 && mfaSettingsOf(visit.settings).factors['recovery-code'];
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
