/** Changes the email address: a code goes there, and only somebody who reads it can claim it. The code counts only in the session that asked. */
import type { Request } from 'express';
import { isEmail, parseIdentifier } from '../accounts/identifier.ts';
import { stateOf } from '../accounts/store.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { Prisma } from '../database.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { typedMax } from '../interaction/redisplay.ts';
import { providerOf } from './profile.ts';
import type { Visit } from './visit.ts';

const path = '/account/email';
const ownerOf = (visit: Visit) => `${visit.owner} email`;

export async function showEmail(visit: Visit): Promise<void> {
  if ((await providerOf(visit)) !== undefined) return visit.turnTo('/account/profile');
  const outcome = await visit.recall(path);
  const { codeTo } = await visit.parts.pageMemory.recall(ownerOf(visit));
  const typed = outcome.typed?.email;
  const page = codeTo ? { sentTo: codeTo, resent: outcome.resent ?? false } : { ...(typed && { typed }) };
  return visit.show('account-email', { path, ...page }, outcome);
}

export async function changeEmail(visit: Visit, request: Request): Promise<void> {
  const { parts, account } = visit;
  if ((await providerOf(visit)) !== undefined) return visit.turnTo('/account/profile');
  const { email, code, action } = fieldsOf(request);
  const { codeTo } = await parts.pageMemory.recall(ownerOf(visit));
  if (action === 'other') return forget(visit, path);
  if (!codeTo || action === 'resend') return sendCode(visit, codeTo || email, { resent: Boolean(codeTo) });
  if (!code?.trim()) return visit.turnTo(path, { problems: ['code_missing'] });
  const proof = await parts.prove.sent(account.userId, { type: 'email', target: codeTo }, ownerOf(visit), code);
  if (proof.kind === 'locked') return visit.turnTo(path, { problems: ['too_many_codes'], status: 429 });
  if (proof.kind !== 'right')
    return visit.turnTo(path, { problems: [proof.kind === 'expired' ? 'code_expired' : 'code_wrong'] });
  // The write succeeds only if nothing else about signing in has changed.
  const changed = await parts.accounts
    .updateState(stateOf(account), { email: codeTo, emailVerified: true })
    .catch((error: unknown) => {
      if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return undefined;
      throw error;
    });
  if (!changed) {
    visit.note('fce', { reason: 'taken' });
    await parts.pageMemory.note(ownerOf(visit), { codeTo: '' });
    return visit.turnTo(path, { problems: ['email_taken'] });
  }
  visit.note('sce');
  visit.notify({ name: 'email_changed' });
  await parts.pageMemory.note(ownerOf(visit), { codeTo: '' });
  return visit.turnTo('/account/profile', { notice: 'email' });
}

async function sendCode(visit: Visit, typed: string | undefined, outcome: { resent: boolean }): Promise<void> {
  const { parts, account, address: ip, languages } = visit;
  const identifier = parseIdentifier(typed ?? '');
  const target = identifier?.kind === 'email' && isEmail(identifier.value) ? identifier.value : undefined;
  const again = { typed: { email: typed?.slice(0, typedMax) } };
  if (target === undefined) return visit.turnTo(path, { problems: ['email_invalid'], ...again });
  const to = { type: 'email' as const, target };
  const asked = { account, to, isTyped: true, binding: ownerOf(visit), ip, clientId: accountClientId, languages };
  if ((await parts.sendFactorCode(asked)) === 'too_many')
    return visit.turnTo(path, { problems: ['too_many_codes'], status: 429, ...again });
  await parts.pageMemory.note(ownerOf(visit), { codeTo: target });
  return visit.turnTo(path, outcome);
}

async function forget(visit: Visit, next: string): Promise<void> {
  await visit.parts.pageMemory.note(ownerOf(visit), { codeTo: '' });
  return visit.turnTo(next);
}
