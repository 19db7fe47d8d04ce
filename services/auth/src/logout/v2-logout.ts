/**
 * Auth0’s `v2/logout`: ends the session without asking and redirects to `returnTo`, which must be one of the client’s allowed logout URLs;
 * with `federated`, by way of the provider where the session began. Anybody can link here; all such a link can do is log somebody out. For an
 * application that a stranger registered, a page has a link to `returnTo` instead.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import express, { type Router } from 'express';
import type { Client, Provider, Session } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';
import { queryOf } from '../http/form-fields.ts';
import { addressOf } from '../http/head.ts';
import { sendPage } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import type { MakeCommonContext } from '../interaction/common-context.ts';
import { linkBack } from '../interaction/way-back.ts';
import type { StoredUpstream } from '../library/sessions.ts';
import type { Report } from '../report.ts';
import type { FederatedLogout } from '../upstream/logout.ts';

type OpenSession = Session & {
  authorizations?: Record<string, { sid?: string }>;
  upstream?: StoredUpstream;
  destroy(): Promise<void>;
};

/** The typings lack this method. */
type NotifiedClient = Client & { backchannelLogout(accountId: string, sid: string | undefined): Promise<void> };

export function makeV2LogoutRoutes(parts: {
  provider: Provider;
  commonContext: MakeCommonContext;
  report: Report;
  secure: boolean;
  federated: FederatedLogout;
}): Router {
  const { provider } = parts;
  const router = express.Router();
  router.get('/v2/logout', async (request, response) => {
    setRoute(response, '/v2/logout');
    const { returnTo, client_id, state, federated } = queryOf(request);
    const goesOn = state && returnTo === undefined ? await parts.federated.redeem(state) : undefined;
    if (goesOn) return response.set('cache-control', 'no-store').redirect(302, goesOn);
    const found = client_id ? await provider.Client.find(client_id) : undefined;
    const client = found as (Client & OwnMetadata) | undefined;
    const allowed = client?.allowed_logout_urls ?? [];
    const context = { acceptLanguage: request.get('accept-language'), client };
    if (returnTo !== undefined && !allowed.map(withPath).includes(withPath(returnTo))) {
      const description = 'The "returnTo" address is not among the allowed logout URLs of this application.';
      return sendPage(
        response,
        'error',
        { ...(await parts.commonContext(context)), error: 'invalid_request', description },
        400,
      );
    }
    const ctx = provider.createContext(request, response);
    const session = (await provider.Session.get(ctx)) as OpenSession;
    if (session.accountId) {
      await notifyClients(provider, session);
      await session.destroy();
      parts.report.loggedOut(session.accountId, client?.clientId, addressOf(request));
    }
    for (const name of [provider.cookieName('session'), `${provider.cookieName('session')}.sig`])
      response.cookie(name, '', {
        path: '/',
        httpOnly: true,
        secure: parts.secure,
        sameSite: parts.secure ? 'none' : 'lax',
        expires: new Date(0),
      });
    response.set('cache-control', 'no-store');
    const target = client?.is_vouched_for === false ? undefined : returnTo;
    const own = `${baseUrlOf(provider.issuer)}v2/logout${client_id ? `?${new URLSearchParams({ client_id })}` : ''}`;
    const away = federated === undefined ? undefined : await parts.federated.addressOf(session.upstream, target ?? own);
    if (away) return response.redirect(302, away);
    if (target !== undefined) return response.redirect(302, target);
    const back = returnTo ?? linkBack(client);
    sendPage(response, 'logged-out', { ...(await parts.commonContext(context)), ...(back ? { back } : {}) });
  });
  return router;
}

/** An origin alone, which some SDKs send with the slash and some without, is the same address as with it (RFC 3986 section 6.2.3). */
const withPath = (url: string): string => (/^https?:\/\/[\w.:[\]-]+$/i.test(url) ? `${url}/` : url);

/** Back-channel logout for every client of the session, as in RP-initiated logout, without waiting for slow ones. */
async function notifyClients(provider: Provider, session: OpenSession): Promise<void> {
  for (const [clientId, { sid }] of Object.entries(session.authorizations ?? {})) {
    const client = await provider.Client.find(clientId).catch(() => undefined); // gone or broken: nobody to notify
    if (!client?.backchannelLogoutUri) continue;
    const { accountId } = session;
    (client as NotifiedClient).backchannelLogout(accountId!, sid).catch((error: Error) => {
      provider.emit('backchannel.error', undefined, error, client, accountId!, sid!);
    });
  }
}
