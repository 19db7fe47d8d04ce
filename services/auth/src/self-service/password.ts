/**
 * Changes the password. Somebody who knows the old one changes it here; somebody who has none or has lost it gets a link by mail. As with a link,
 * all other sessions and everything that applications hold end; this session continues.
 */
import type { Request } from 'express';
import { endAccess, sessionsEnd } from '../accounts/end-access.ts';
import { hashPassword, TooBusy } from '../accounts/password.ts';
import { passwordMinLength, passwordProblem } from '../accounts/signup.ts';
import { stateOf } from '../accounts/store.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import type { AccountModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { networkOf } from '../http/network.ts';
import { busySeconds } from '../stores-away.ts';
import { endOthers } from './devices.ts';
import type { Visit } from './visit.ts';

const path = '/account/password';

/** Since the visit began, while the password is that of a linked account: the session may have ended. */
class OwnerChanged extends Error {}

export async function showPassword(visit: Visit): Promise<void> {
  const { holder, way } = await passwordOf(visit);
  const identifier = (holder && nameOf(holder)) ?? '';
  const hasMail = holder !== undefined && holder.email !== null;
  return visit.show(
    'account-password',
    { path, way, identifier, hasMail, passwordMinLength },
    await visit.recall(path),
  );
}

export async function changePassword(visit: Visit, request: Request): Promise<void> {
  const { parts, address } = visit;
  const { action, old_password: old = '', password } = fieldsOf(request);
  const { holder, way } = await passwordOf(visit);
  if (!holder || way === 'none') return visit.turnTo(path);
  if (action === 'mail') return sendMail(visit, holder);
  if (way !== 'old') return visit.turnTo(path);
  const problem = passwordProblem(password, holder.email ?? '');
  if (problem) return visit.turnTo(path, { problems: [problem] });
  const proven = await parts.authenticate({
    connection: holder.connection,
    login: nameOf(holder) ?? '',
    password: old,
    address,
    clientId: accountClientId,
  });
  if (proven.kind === 'busy') return tryLater(visit);
  if (proven.kind === 'locked') return visit.turnTo(path, { problems: ['locked'], status: 429 });
  // A leaked password is still its owner's to change.
  const isRight = proven.kind === 'right' || proven.kind === 'leaked';
  if (!isRight || proven.account.userId !== visit.account.userId) {
    visit.note('fcp', { reason: 'wrong_password' });
    return visit.turnTo(path, { problems: ['old_password_wrong'] });
  }
  const from = { ip: address, network: networkOf(address), clientId: accountClientId };
  if (await parts.breached.refusesChange(password!, visit.account.userId, from))
    return visit.turnTo(path, { problems: ['password_leaked'] });
  const hashed = await hash(visit, password!);
  if (hashed === undefined) return tryLater(visit);
  const ended = { sessionsNotBefore: sessionsEnd() };
  const change = { passwordHash: hashed, lastPasswordReset: new Date(), ...ended };
  const { userId } = visit.account;
  let owner: AccountModel | undefined;
  // The write succeeds only if the old password still opens the account: it may have been reset by mail meanwhile.
  const changing = parts.accounts.updateState(stateOf(proven.holder), change, async (transaction, changed) => {
    const where = stateOf(visit.account);
    owner =
      changed.userId === userId ? changed : (await transaction.account.updateManyAndReturn({ where, data: ended }))[0];
    if (!owner) throw new OwnerChanged();
    await endAccess(transaction, userId);
  });
  const changed = await changing.catch((error) => {
    if (!(error instanceof OwnerChanged)) throw error;
  });
  if (!changed || !owner) return visit.turnTo(path, { problems: ['refused'] });
  await endOthers(visit, owner.sessionsNotBefore!);
  parts.report.passwordChanged(visit.account.userId, address);
  parts.notifyOfChange({ name: 'password_changed' }, changed, { ip: address });
  await parts.people.afterPasswordChange(changed, { request, ip: address });
  return visit.turnTo(path, { notice: 'password' });
}

/** The account with the password: the person's own, or a linked database identity. */
async function passwordOf({ parts, account }: Visit): Promise<{ holder?: AccountModel; way: 'old' | 'mail' | 'none' }> {
  const linked = await parts.db.account.findMany({ where: { linkedTo: account.userId }, orderBy: { userId: 'asc' } });
  const all = [account, ...linked];
  const holder = all.find(({ passwordHash }) => passwordHash !== null);
  if (holder) return { holder, way: 'old' };
  const databases = new Set(
    (await parts.connections.list()).filter(({ strategy }) => strategy === 'auth0').map(({ name }) => name),
  );
  const able = all.find(({ connection, email }) => databases.has(connection) && email !== null);
  return able ? { holder: able, way: 'mail' } : { way: 'none' };
}

const nameOf = ({ email, username, phoneNumber }: AccountModel) => email ?? username ?? phoneNumber ?? undefined;

async function hash({ address, account }: Visit, password: string): Promise<string | undefined> {
  try {
    return await hashPassword(password, { network: networkOf(address), account: account.userId });
  } catch (error) {
    if (error instanceof TooBusy) return undefined;
    throw error;
  }
}

const tryLater = (visit: Visit) =>
  visit.turnTo(path, { problems: ['busy'], status: 503, retryAfterSeconds: busySeconds });

async function sendMail(visit: Visit, { connection, email }: AccountModel): Promise<void> {
  const { parts, address: ip, languages } = visit;
  if (email === null) return visit.turnTo(path);
  const sent = await parts.sendPasswordMail({ connection, email, ip, languages });
  if (sent === 'too_many') return visit.turnTo(path, { problems: ['too_many_mails'], status: 429 });
  visit.note('scpr');
  return visit.turnTo(path, { notice: 'mail' });
}
