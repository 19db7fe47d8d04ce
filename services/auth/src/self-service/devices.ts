/** Where a person is signed in. Ending a session here also ends the access that applications got through it. */
import type { Request } from 'express';
import { endAccess, endSessionAndTokens, sessionsEnd, sparedBy, waitForSessionsEnd } from '../accounts/end-access.ts';
import { isSessionEnded, stateOf } from '../accounts/store.ts';
import type { StoredSession } from '../adapter/sessions.ts';
import { sessionLifetime } from '../clients/lifetimes.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { countedFrom } from '../library/sessions.ts';
import type { AccountItem } from '../pages/account.ts';
import { browserOf } from './browser.ts';
import { notFound, type Visit } from './visit.ts';

const path = '/account/devices';
/** Keeps the page finite: somebody with more sessions ends all of them. */
const shownMax = 50;

export async function showDevices(visit: Visit): Promise<void> {
  const sessions = await liveSessions(visit);
  const items = sessions.slice(0, shownMax).map((session) => itemOf(visit, session));
  const others = sessions.length > 1 ? [{ action: 'others', key: 'endOthers' as const }] : [];
  const groups = [{ items, buttons: others }];
  return visit.show('account-list', { path, list: 'devices', groups }, await visit.recall(path));
}

export async function endDevices(visit: Visit, request: Request): Promise<void> {
  const { parts, account, session } = visit;
  const { action, id = '' } = fieldsOf(request);
  if (action === 'others') {
    // Whatever else has changed the account since this visit began may have ended this session, too.
    const change = { sessionsNotBefore: sessionsEnd() };
    const marked = await parts.accounts.updateState(stateOf(account), change, (transaction) =>
      endAccess(transaction, account.userId),
    );
    if (!marked) return visit.turnTo(path, { problems: ['refused'] });
    await endOthers(visit, marked.sessionsNotBefore!);
    visit.note('sapi', { operation: 'DELETE account/devices' });
    return visit.turnTo(path, { notice: 'signed_out' });
  }
  const found = await parts.sessions.find(id);
  if (found?.accountId !== account.userId) throw notFound();
  await endSessionAndTokens(parts, found);
  visit.note('sapi', { operation: 'DELETE account/devices', target: found.uid });
  return visit.turnTo(found.uid === session.uid ? '/account' : path, { notice: 'signed_out' });
}

/**
 * Ends all sessions up to the mark, which is set on the account already and has ended them as well as everything that applications hold: so
 * nothing stays open if Redis is away now. This session continues, no fresher than before, so that finding an open session does not amount to
 * a login. It is spared only by that very mark, as stored by this request: not by one that an administrator sets meanwhile.
 */
export async function endOthers({ parts, account, session }: Visit, mark: Date): Promise<void> {
  for (const { uid } of await parts.sessions.ofAccount(account.userId))
    if (uid !== session.uid) await parts.sessions.end(uid);
  await waitForSessionsEnd(mark);
  session.continuedAt = sparedBy(mark);
  await session.persist();
}

async function liveSessions({ parts, account }: Visit): Promise<StoredSession[]> {
  const stored = await parts.sessions.ofAccount(account.userId);
  return stored.filter((each) => !isSessionEnded(countedFrom(each), account));
}

function itemOf({ session }: Visit, { uid, device, iat, exp }: StoredSession): AccountItem {
  const browser = browserOf(device?.last_user_agent ?? '');
  return {
    id: uid,
    ...(browser === undefined ? { kind: 'unknownDevice' as const } : { title: browser }),
    notes: [
      ...(uid === session.uid ? [{ key: 'here' as const }] : []),
      ...(device ? [{ text: device.last_ip }] : []),
      ...(exp === undefined ? [] : [{ key: 'lastSeen' as const, at: seconds(exp - sessionLifetime.idle) }]),
      ...(iat === undefined ? [] : [{ key: 'firstSeen' as const, at: seconds(iat) }]),
    ],
    actions: [{ action: 'end', key: 'endSession' }],
  };
}

const seconds = (epoch: number) => new Date(epoch * 1000);
