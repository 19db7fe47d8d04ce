/** A person's second factors, passkeys, recovery codes and remembered browsers: a list that leads to the pages for adding one (add-factor.ts). */
import type { Request } from 'express';
import { accountClientId } from '../clients/account-client-id.ts';
import { hasPasskeys } from '../factors/passkey-offer.ts';
import type { Method } from '../factors/store.ts';
import { hasSecondFactor, isEnabled, type MethodType, mfaSettingsOf, type SecondFactor } from '../factors/types.ts';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import type { AccountGroup, AccountItem } from '../pages/account.ts';
import type { AccountText } from '../pages/strings/en.ts';
import { notFound, type Visit } from './visit.ts';

export const securityPath = '/account/security';
export const codesPath = `${securityPath}/recovery-codes`;
export const removalPath = `${securityPath}/remove`;
export const newCodesPath = `${securityPath}/new-recovery-codes`;

/** Each with its name in paths and the key of its text. */
export const additions: { type: MethodType; slug: string; key: AccountText }[] = [
  { type: 'totp', slug: 'otp', key: 'otp' },
  { type: 'phone', slug: 'sms', key: 'sms' },
  { type: 'email', slug: 'email', key: 'emailCode' },
  { type: 'webauthn-roaming', slug: 'roaming', key: 'roaming' },
  { type: 'webauthn-platform', slug: 'platform', key: 'platform' },
  { type: 'passkey', slug: 'passkey', key: 'passkey' },
];

/** Whether this person may add this type. */
export async function isOffered({ parts, account, settings }: Visit, type: MethodType): Promise<boolean> {
  if (type === 'passkey') return hasPasskeys(await parts.connections.find(account.connection));
  return isEnabled(mfaSettingsOf(settings), type as SecondFactor);
}

export async function showSecurity(visit: Visit): Promise<void> {
  const page = { path: securityPath, list: 'security' as const, ...(await securityOf(visit)) };
  return visit.show('account-list', page, await visit.recall(securityPath));
}

/** No groups: this person has nothing of the kind, and may add nothing. */
export async function securityOf(visit: Visit) {
  const { parts, account } = visit;
  const [methods, codesLeft, browsers] = await Promise.all([
    parts.factors.list(account.userId),
    parts.factors.recoveryCodesLeft(account.userId),
    parts.db.rememberedBrowser.count({ where: { userId: account.userId, expiresAt: { gt: new Date() } } }),
  ]);
  const offered = await Promise.all(additions.map(async (each) => ((await isOffered(visit, each.type)) ? [each] : [])));
  const links = offered.flat().map(({ type, slug, key }) => ({ type, href: `${securityPath}/${slug}`, key }));
  const [passkeys, factors] = [methods.filter(isPasskey), methods.filter((method) => !isPasskey(method))];
  const hasFactor = hasSecondFactor(methods.map(({ type }) => type));
  const hasCodes = hasFactor && mfaSettingsOf(visit.settings).factors['recovery-code'];
  const lists: AccountGroup[] = [
    {
      title: 'secondSteps',
      empty: 'secondStepsEmpty',
      items: factors.map(itemOf),
      links: links.filter((link) => !isPasskey(link)),
    },
    { title: 'passkeys', empty: 'passkeysEmpty', items: passkeys.map(itemOf), links: links.filter(isPasskey) },
  ];
  const groups: AccountGroup[] = [
    // What nobody may add here is not advertised.
    ...lists.filter(({ items, links = [] }) => items.length + links.length > 0),
    ...(hasCodes
      ? [
          {
            title: 'recoveryCodes' as const,
            about: 'recoveryLeft' as const,
            items: [],
            buttons: [{ action: 'codes', key: 'recoveryNew' as const }],
          },
        ]
      : []),
    ...(browsers > 0
      ? [
          {
            title: 'remembered' as const,
            about: 'rememberedCount' as const,
            items: [],
            buttons: [{ action: 'forget', key: 'forget' as const }],
          },
        ]
      : []),
  ];
  return { groups, codesLeft, browsers };
}

const isPasskey = ({ type }: { type: string }) => type === 'passkey';

export async function changeSecurity(visit: Visit, request: Request): Promise<void> {
  const { action, id = '', name = '' } = fieldsOf(request);
  switch (action) {
    case 'remove':
      return visit.turnTo(`${removalPath}?${new URLSearchParams({ id })}`);
    case 'rename':
      return rename(visit, id, name);
    case 'codes':
      return visit.turnTo(newCodesPath);
    case 'forget':
      return forgetBrowsers(visit);
    default:
      return visit.turnTo(securityPath);
  }
}

/** Asks first: what is removed here cannot be brought back. */
export async function showRemoval(visit: Visit, request: Request): Promise<void> {
  const { id } = queryOf(request);
  // A sign-in in between leads here without it.
  if (id === undefined) return visit.turnTo(securityPath);
  const { factors } = visit.parts;
  const { userId } = visit.account;
  const methods = await factors.list(userId);
  const method = methods.find((each) => each.id === id);
  if (!method) throw notFound();
  const others = methods.filter((each) => each !== method);
  const [isTwoFactor, remainsSo] = [methods, others].map((each) => hasSecondFactor(each.map(({ type }) => type)));
  const losesCodes = isTwoFactor && !remainsSo && (await factors.recoveryCodesLeft(userId)) > 0;
  const { title, kind } = itemOf(method);
  const page = { path: removalPath, hidden: { id }, asks: 'removal' as const, item: { title, kind }, losesCodes };
  return visit.show('account-confirm', { ...page, back: securityPath });
}

export async function remove(visit: Visit, request: Request): Promise<void> {
  const { parts, account, address: ip } = visit;
  const { userId } = account;
  const { id = '' } = fieldsOf(request);
  const method = await parts.factors.find(userId, id);
  if (!method || !(await parts.factors.remove(userId, id))) throw notFound();
  parts.factorEvents.removed({ userId, clientId: accountClientId, ip }, method.type);
  visit.notify({ name: 'factor_removed', factor: method.type as MethodType });
  return visit.turnTo(securityPath, { notice: 'removed' });
}

const nameMax = 60;

async function rename(visit: Visit, id: string, typed: string): Promise<void> {
  const name = typed.trim();
  if (name.length > nameMax) return visit.turnTo(securityPath, { problems: ['text_too_long'] });
  const renamed = await visit.parts.factors.rename(visit.account.userId, id, name || null);
  if (!renamed) throw notFound();
  visit.note('sapi', { operation: 'PATCH account/security', target: id });
  return visit.turnTo(securityPath, { notice: 'saved' });
}

const mayHaveCodes = ({ account, settings }: Visit) =>
  hasSecondFactor(account.factors) && mfaSettingsOf(settings).factors['recovery-code'];

/** Asks first: the codes that somebody has written down stop working. */
export async function showNewCodes(visit: Visit): Promise<void> {
  if (!mayHaveCodes(visit)) return visit.turnTo(securityPath);
  return visit.show('account-confirm', { path: newCodesPath, asks: 'codes', back: securityPath });
}

export async function makeCodes(visit: Visit): Promise<void> {
  if (!mayHaveCodes(visit)) return visit.turnTo(securityPath);
  const { parts, account } = visit;
  const recoveryCodes = await parts.factors.makeRecoveryCodes(account.userId);
  await parts.pending.save(visit.owner, { ...pendingOf(visit, []), recoveryCodes });
  visit.note('sapi', { operation: 'POST account/recovery-codes' });
  visit.notify({ name: 'recovery_codes_changed' });
  return visit.turnTo(codesPath);
}

async function forgetBrowsers(visit: Visit): Promise<void> {
  await visit.parts.factors.forgetBrowsers(visit.account.userId);
  visit.note('sapi', { operation: 'DELETE account/remembered-browsers' });
  return visit.turnTo(securityPath, { notice: 'saved' });
}

/** The pending setup in this session. */
export function pendingOf({ account, session }: Visit, types: MethodType[]) {
  const { userId, incarnation, credentialsVersion } = account;
  return {
    account: { userId, incarnation, credentialsVersion },
    amr: session.amr ?? [],
    at: session.loginTs,
    due: 'enrolment' as const,
    types,
    isStepUp: true,
    isReported: true,
  };
}

function itemOf({ id, type, name, target, createdAt, lastUsedAt }: Method): AccountItem {
  const title = name ?? target;
  return {
    id,
    kind: additions.find((each) => each.type === type)?.key ?? 'otp',
    ...(title !== null && { title }),
    notes: [{ key: 'added', at: createdAt }, ...(lastUsedAt ? [{ key: 'lastUsed' as const, at: lastUsedAt }] : [])],
    actions: [{ action: 'remove', key: 'remove' }],
    rename: { name: name ?? '' },
  };
}
