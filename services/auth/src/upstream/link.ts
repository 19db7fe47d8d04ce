/**
 * Lets somebody link an identity at another provider to their own account: they are signed in here, and prove the identity by signing
 * in there. The answer counts only in the browser with that very session; it begins no session itself.
 */
import type { Request, Response } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { PoolClient } from 'pg';
import { isLastAdministrator } from '../accounts/last-administrator.ts';
import { link } from '../accounts/link.ts';
import { type AccountStore, isSessionEnded } from '../accounts/store.ts';
import type { Audit } from '../audit.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import type { Pool } from '../database.ts';
import { hasSecondFactor } from '../factors/types.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { ApiError } from '../http/api-error.ts';
import { addressOf as clientAddress } from '../http/head.ts';
import { countedFrom } from '../library/sessions.ts';
import type { NotifyOfChange } from '../mail/change-notice.ts';
import { isSelfService } from '../self-service/settings.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { Attempt } from './attempts.ts';
import { authorizationUrl } from './authorization-url.ts';
import { exchange } from './exchange.ts';
import { failureOf, UpstreamFailure } from './failure.ts';
import { labelOf } from './offered.ts';
import { callbackParams } from './sign-in.ts';
import type { Upstream } from './upstream.ts';

type LinkAttempt = Extract<Attempt['for'], { kind: 'link' }>;

export type Linking = {
  /**
   * Where somebody proves who they are. One of our pages sends them there after checking the session and its form; they return to `returnTo`,
   * a path of ours, with `linked=NAME`, or `link_error=` one of `already_linked`, `second_factor`, `last_administrator`, `refused`, `failed`.
   * @throws UpstreamFailure
   */
  begin(connection: string, whose: Omit<LinkAttempt, 'kind'>): Promise<string>;
  /**
   * Where the browser goes next. @throws errors.SessionNotFound when it lacks the session that asked, or the answer was already used;
   * ApiError when the tenant has closed the pages for linking
   */
  finish(request: Request, response: Response, provider: Provider): Promise<string>;
};

class LastAdministrator extends Error {}
const sessionOver = () => new errors.SessionNotFound('the session that asked for this link is over');

type Parts = {
  /** The management API's audience. */
  management: string;
  settings: SettingsStore;
  upstream: Upstream;
  accounts: AccountStore;
  connections: ConnectionStore;
  pool: Pool;
  audit: Pick<Audit, 'add'>;
  notifyOfChange: NotifyOfChange;
};

export function makeLinking(parts: Parts): Linking {
  const { management, settings, upstream, accounts, connections, pool, audit } = parts;
  return {
    async begin(name, whose) {
      const connection = await connections.find(name);
      if (!connection) throw new UpstreamFailure('not_enabled');
      return (await authorizationUrl(upstream, connection, { kind: 'link', ...whose })).href;
    },

    async finish(request, response, provider) {
      // The pages were closed meanwhile: nothing is requested from the provider, and nothing is linked.
      if (!isSelfService(await settings.load()))
        throw new ApiError(404, 'not_found', 'people link nothing by themselves here');
      const answer = callbackParams(request);
      const state = answer.get('state') ?? '';
      const asked = await upstream.attempts.find(state);
      const session = await provider.Session.get(provider.createContext(request, response));
      const isTheirs =
        asked?.for.kind === 'link' && session.uid === asked.for.sessionUid && session.accountId === asked.for.accountId;
      const attempt = isTheirs ? await upstream.attempts.redeem(state) : undefined;
      if (attempt?.for.kind !== 'link') throw new errors.SessionNotFound('another session asked for this link');
      const { accountId, returnTo } = attempt.for;
      const outcome = await linked(attempt, answer, { accountId, session, request });
      return `${returnTo}?${new URLSearchParams(outcome)}`;
    },
  };

  /** The identity can sign in from now on, so the account's owner is told, in case somebody else did this. */
  async function notifyOwner(connection: ConnectionModel, accountId: string, request: Request): Promise<void> {
    const account = await accounts.find(accountId);
    const change = { name: 'factor_added', provider: labelOf(connection) } as const;
    if (account) parts.notifyOfChange(change, account, { ip: clientAddress(request) });
  }

  async function checkNotLast(client: PoolClient, userId: string): Promise<void> {
    if (await isLastAdministrator(client, management, userId)) throw new LastAdministrator();
  }

  async function linked(
    attempt: Attempt,
    answer: URLSearchParams,
    { accountId, session, request }: { accountId: string; session: object; request: Request },
  ): Promise<Record<string, string>> {
    try {
      const connection = await connections.find(attempt.connection);
      if (!connection) throw new UpstreamFailure('not_enabled');
      const remote = await upstream.remotes.open(connection);
      const answered = await exchange(remote, attempt, answer);
      // Their password may have changed, or they may have been blocked, while they were away.
      const asker = await accounts.findForTokens(accountId, countedFrom(session));
      if (!asker) throw sessionOver();
      const { account } = await upstream.openAccount(remote, answered, { isLink: true });
      const owner = await accounts.ownerOf(account);
      const isOtherAccount = owner?.userId !== accountId;
      // An account with a second factor cannot be taken over with the first one alone.
      if (isOtherAccount && hasSecondFactor(account.factors)) return { link_error: 'second_factor' };
      if (isOtherAccount) {
        const both = { primary: accountId, secondary: account.userId };
        const problem = await link(pool, both, {
          before: (client) => checkNotLast(client, account.userId),
          // Nor may either happen between that check and this write: a new password removes the identities that it finds.
          primary(owner) {
            if (owner.blocked || isSessionEnded(countedFrom(session), owner)) throw sessionOver();
          },
        });
        if (problem) return { link_error: 'already_linked' };
      }
      const details = { operation: 'POST account/sign-ins', target: account.userId };
      audit.add({ type: 'sapi', userId: accountId, clientId: accountClientId, details });
      if (isOtherAccount) await notifyOwner(connection, accountId, request);
      return { linked: connection.name };
    } catch (error) {
      if (error instanceof LastAdministrator) return { link_error: 'last_administrator' };
      const failure = failureOf(error);
      if (!(failure instanceof UpstreamFailure)) throw failure;
      return { link_error: failure.code === 'access_denied' ? 'refused' : 'failed' };
    }
  }
}
