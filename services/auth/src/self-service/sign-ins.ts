/** The ways to sign in to this account: its own, and identities at other providers linked to it. */
import type { Request } from 'express';
import { unlink } from '../accounts/link.ts';
import type { AccountModel, ConnectionModel } from '../generated/models.ts';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { seeOther } from '../http/page.ts';
import type { AccountGroup, AccountItem } from '../pages/account.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { UpstreamFailure } from '../upstream/failure.ts';
import { buttonsOf, labelOf } from '../upstream/offered.ts';
import { isUpstream } from '../upstream/strategies.ts';
import { notFound, type Visit } from './visit.ts';

const path = '/account/sign-ins';

export async function showSignIns(visit: Visit, request: Request): Promise<void> {
  const { account } = visit;
  const [linked, connections] = await Promise.all([linkedTo(visit), visit.parts.connections.list()]);
  const itemOf = (identity: AccountModel) => itemOfIdentity(identity, connections, identity.userId === account.userId);
  const offered = offeredTo(connections, [account, ...linked]);
  const groups: AccountGroup[] = [
    { items: [account, ...linked].map(itemOf) },
    ...(offered.length > 0 ? [{ title: 'linkAnother' as const, items: [], buttons: offered }] : []),
  ];
  return visit.show('account-list', { path, list: 'signIns', groups }, await outcomeOf(visit, request, linked));
}

/** The outcome of a form, or of a return from a provider (upstream/link.ts). */
async function outcomeOf(visit: Visit, request: Request, linked: AccountModel[]) {
  const { linked: name, link_error: error } = queryOf(request);
  if (name !== undefined && linked.some(({ connection }) => connection === name)) return { notice: 'linked' as const };
  if (error !== undefined) return { problems: [problems.get(error) ?? ('link_failed' as const)] };
  return visit.recall(path);
}

const problems = new Map<string, ProblemName>([
  ['already_linked', 'link_taken'],
  ['second_factor', 'link_second_factor'],
  ['last_administrator', 'link_last_admin'],
  ['refused', 'link_refused'],
]);

export async function changeSignIns(visit: Visit, request: Request): Promise<void> {
  const { action, id = '' } = fieldsOf(request);
  if (action === 'link') return redirectToLink(visit, id);
  if (action !== 'unlink') return visit.turnTo(path);
  const { parts, account } = visit;
  const leaving = (await linkedTo(visit)).find(({ userId }) => userId === id);
  if (!(await unlink(parts.pool, account.userId, ({ user_id }) => user_id === id))) throw notFound();
  visit.note('sapi', { operation: 'DELETE account/sign-ins', target: id });
  const connection = (await parts.connections.list()).find(({ name }) => name === leaving?.connection);
  if (connection) visit.notify({ name: 'factor_removed', provider: labelOf(connection) });
  // This session has ended too: it may have begun with the removed identity.
  return visit.turnTo(path);
}

async function redirectToLink(visit: Visit, name: string): Promise<void> {
  const { parts, account, session, response } = visit;
  const offered = offeredTo(await parts.connections.list(), [account, ...(await linkedTo(visit))]);
  if (!offered.some(({ id }) => id === name)) throw notFound();
  try {
    const whose = { accountId: account.userId, sessionUid: session.uid, returnTo: path };
    seeOther(response, await parts.linking.begin(name, whose));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    await visit.turnTo(path, { problems: ['link_failed'] });
  }
}

export const linkedTo = ({ parts, account }: Pick<Visit, 'parts' | 'account'>): Promise<AccountModel[]> =>
  parts.db.account.findMany({ where: { linkedTo: account.userId }, orderBy: { userId: 'asc' } });

/** Providers with a button that people may sign in by, and that this person has not linked. */
function offeredTo(connections: ConnectionModel[], identities: AccountModel[]) {
  const has = new Set(identities.map(({ connection }) => connection));
  const open = connections.filter(
    ({ name, everyClient, enabledClients }) => !has.has(name) && (everyClient || enabledClients.length > 0),
  );
  const nameOf = (href: string) => decodeURIComponent(href.slice('connection/'.length));
  return buttonsOf(open, (step) => step).map(({ href, label, mark, icon }) => ({
    action: 'link',
    key: 'add' as const,
    id: nameOf(href),
    label,
    mark,
    ...(icon !== undefined && { icon }),
  }));
}

function itemOfIdentity(identity: AccountModel, connections: ConnectionModel[], isMain: boolean): AccountItem {
  const connection = connections.find(({ name }) => name === identity.connection);
  const known = identity.email ?? identity.username ?? identity.phoneNumber ?? identity.nickname ?? identity.name;
  const isElsewhere = connection !== undefined && isUpstream(connection.strategy);
  const kind = { email: 'emailCode', sms: 'sms' }[connection?.strategy ?? ''] as 'emailCode' | 'sms' | undefined;
  return {
    id: identity.userId,
    ...(isElsewhere ? { title: labelOf(connection) } : { kind: kind ?? 'database' }),
    notes: [...(known === null ? [] : [{ text: known }]), ...(isMain ? [{ key: 'mainSignIn' as const }] : [])],
    ...(!isMain && { actions: [{ action: 'unlink', key: 'unlink' as const }] }),
  };
}
