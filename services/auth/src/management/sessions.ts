/** `sessions`: where people are signed in. A session deleted here ends at once; access that applications got through it continues. */
import { z } from 'zod';
import { endAccess, endSessionAndTokens, sessionsEnd, waitForSessionsEnd } from '../accounts/end-access.ts';
import { presentSession } from '../accounts/present-session.ts';
import { type Also, isSessionEnded } from '../accounts/store.ts';
import type { StoredSession } from '../adapter/sessions.ts';
import { countedFrom } from '../library/sessions.ts';
import { ok, operation } from './operation.ts';
import { checkpointQuery, list, ofArray } from './paging.ts';
import type { Parts } from './parts.ts';
import { insufficientScope, missing } from './problem.ts';
import { loadUser } from './users.ts';

export const listSessions = operation({
  query: z.strictObject({ ...checkpointQuery, include_totals: z.enum(['true', 'false']).optional() }),
  async run({ parts, params, query: { from, take = 50 } }) {
    const account = await loadUser(parts, params.id);
    const stored = await parts.sessions.ofAccount(account.userId);
    const alive = stored.filter((session) => !isSessionEnded(countedFrom(session), account));
    return list(
      'sessions',
      { from, take },
      ofArray(alive, ({ uid }) => uid),
      presentSession,
    );
  },
});

/** Ends all sessions, including those that begin at this very moment. */
export const endSessions = operation({
  async run({ parts, params }) {
    const { userId } = await loadUser(parts, params.id);
    const mark = sessionsEnd();
    await parts.accounts.update(userId, { sessionsNotBefore: mark });
    for (const { uid } of await parts.sessions.ofAccount(userId)) await parts.sessions.end(uid);
    await waitForSessionsEnd(mark);
    return { status: 202 };
  },
});

/** Signs a person out everywhere, or ends one of their sessions; with the refresh tokens unless these are to stay. */
export const revokeAccess = operation({
  body: z.strictObject({ session_id: z.string().max(256), preserve_refresh_tokens: z.boolean() }).partial(),
  async run({ parts, params, body: { session_id: uid, preserve_refresh_tokens: keepsTokens = false } }) {
    const { userId } = await loadUser(parts, params.id);
    if (uid !== undefined) {
      const session = await load(parts, uid);
      if (session.accountId !== userId) throw noSession();
      await (keepsTokens ? parts.sessions.end(uid) : endSessionAndTokens(parts, session));
      return { status: 202 };
    }
    const mark = sessionsEnd();
    const also: Also | undefined = keepsTokens ? undefined : (transaction) => endAccess(transaction, userId);
    await parts.accounts.update(userId, { sessionsNotBefore: mark }, {}, also);
    await waitForSessionsEnd(mark);
    return { status: 202 };
  },
});

export const getSession = operation({
  run: async ({ parts, params }) => ok(presentSession(await load(parts, params.id))),
});

export const endSession = operation({
  async run({ parts, params }) {
    await parts.sessions.end(params.id ?? '');
    return { status: 202 };
  },
});

/** Also ends refresh tokens that applications got from the session, which takes a scope of its own. */
export const revokeSession = operation({
  async run({ parts, params, scopes }) {
    if (!scopes.has('delete:refresh_tokens')) throw insufficientScope(['delete:refresh_tokens']);
    await endSessionAndTokens(parts, await load(parts, params.id));
    return { status: 202 };
  },
});

async function load({ sessions, accounts }: Parts, uid = ''): Promise<StoredSession> {
  const session = await sessions.find(uid);
  const account = session && (await accounts.find(session.accountId));
  if (!account || isSessionEnded(countedFrom(session), account)) throw noSession();
  return session;
}

const noSession = () => missing('session', 'The session does not exist.');
