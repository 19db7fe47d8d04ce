/**
 * A federated logout: ends the session at the provider where ours began (OpenID Connect RP-Initiated Logout 1.0). The browser goes
 * there and comes back to `v2/logout`, which the provider knows, with a `state` that stands for its original destination.
 */
import { randomBytes } from 'node:crypto';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Redis } from 'ioredis';
import type { Provider } from 'oidc-provider';
import * as oidc from 'openid-client';
import { hashId } from '../adapter/hashed.ts';
import { minute } from '../clients/lifetimes.ts';
import { changeAnswers } from '../library/middleware.ts';
import type { StoredUpstream } from '../library/sessions.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { Remotes } from './discovery.ts';
import { openHint } from './session.ts';

export type FederatedLogout = {
  /** Where to send the browser, which then returns to `back`. Undefined if the provider ends no sessions or is down; ours ends anyway. */
  addressOf(upstream: StoredUpstream | undefined, back: string): Promise<string | undefined>;
  /** Where a returning browser goes next; works once. */
  redeem(state: string): Promise<string | undefined>;
};

type Parts = {
  issuer: string;
  redis: Redis;
  prefix: string;
  seal: Seal;
  connections: ConnectionStore;
  remotes: Remotes;
  log: Log;
};

const ttlSeconds = 10 * minute;

export function makeFederatedLogout({
  issuer,
  redis,
  prefix,
  seal,
  connections,
  remotes,
  log,
}: Parts): FederatedLogout {
  const keyOf = (state: string) => `${prefix}upstream-logout:${hashId(state)}`;
  return {
    async addressOf(upstream, back) {
      const connection = upstream && (await connections.find(upstream.connection));
      if (!connection) return undefined;
      try {
        const remote = await remotes.open(connection);
        if (remote.options.logoutUrl) return remote.options.logoutUrl;
        if (!remote.metadata.end_session_endpoint) return undefined;
        const state = randomBytes(32).toString('base64url');
        await redis.set(keyOf(state), back, 'EX', ttlSeconds);
        const hint = openHint(upstream, seal);
        const parameters = {
          ...(hint && { id_token_hint: hint }),
          post_logout_redirect_uri: `${baseUrlOf(issuer)}v2/logout`,
          state,
        };
        return oidc.buildEndSessionUrl(await remote.configuration(), parameters).href;
      } catch (error) {
        log.info({ connection: connection.name, error: describeError(error) }, 'a provider’s session was not ended');
        return undefined;
      }
    },
    async redeem(state) {
      return (await redis.getdel(keyOf(state))) ?? undefined;
    },
  };
}

/** The field that carries `federated` through the confirmation page. */
export const federatedField = 'federated';

/** The same for `oidc/logout?federated`, where the library would go straight to the application. */
export function federateLogouts(provider: Provider, federated: FederatedLogout): void {
  changeAnswers(provider, 'end_session_confirm', async (ctx) => {
    if (ctx.status !== 303 || !ctx.oidc.params?.logout) return;
    if ((ctx.oidc.body as Record<string, unknown> | undefined)?.[federatedField] === undefined) return;
    // Our own property (library/sessions.ts).
    const { upstream } = ctx.oidc.session as unknown as { upstream?: StoredUpstream };
    const address = await federated.addressOf(upstream, String(ctx.response.get('location')));
    if (address) ctx.redirect(address);
  });
}
