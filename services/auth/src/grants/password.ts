/**
 * Resource owner password credentials, and Auth0's variant with a `realm` that names the connection. For clients of the first
 * party alone (contract section 4).
 */
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { GateEvents } from '../events.ts';
import { addressOf, parseAddress } from '../http/head.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { asking, Busy } from '../stores-away.ts';
import type { GrantPlugin } from './plugin.ts';
import { retryLater, TooManyAttempts } from './too-many-attempts.ts';

export function passwordGrants(parts: {
  authenticate: Authenticate;
  connections: ConnectionStore;
  events: GateEvents;
}): GrantPlugin[] {
  const { authenticate, connections, events } = parts;
  return ['password', 'http://auth0.com/oauth/grant-type/password-realm'].map((grantType) => ({
    grantType,
    parameters: ['username', 'password', 'realm'],
    async authenticate(ctx, client) {
      if (!(client as Client & OwnMetadata).is_first_party)
        throw new errors.UnauthorizedClient('only first-party clients may use this grant');
      const { username, password, realm } = ctx.oidc.params as Record<string, string | undefined>;
      if (!username || !password) throw new errors.InvalidRequest('missing required parameter(s) username, password');
      const connection = realm ? await asking(connections.find(realm)) : await asking(connections.database());
      if (connection?.strategy !== 'auth0') throw new errors.InvalidRequest('unknown connection');
      const address = personAddress(ctx, client, events);
      const result = await authenticate({ connection: connection.name, login: username, password, address });
      switch (result.kind) {
        case 'right':
          return { accountId: result.account.userId, amr: ['pwd'] };
        case 'busy':
          throw retryLater(ctx, new Busy(result.excess));
        case 'locked':
          events.loginFailed({ client, address }, 'too_many_attempts', result.subject);
          throw retryLater(ctx, new TooManyAttempts(result.seconds));
        case 'wrong': {
          events.loginFailed({ client, address }, 'wrong_password', result.subject);
          const error = new errors.InvalidGrant('wrong password');
          error.error_description = 'Wrong email or password.';
          throw error;
        }
      }
    },
  }));
}

/**
 * Where the person is: a client that has authenticated and is trusted with it may say so, in Auth0's header. Whatever else stands there is
 * passed over: it would give every guess a limit of its own.
 */
function personAddress(ctx: KoaContextWithOIDC, client: Client, events: GateEvents): string {
  const claimed = ctx.get('auth0-forwarded-for');
  if (claimed === '') return addressOf(ctx.req);
  const isTrusted =
    client.clientAuthMethod !== 'none' && (client as Client & OwnMetadata).is_token_endpoint_ip_header_trusted;
  const address = isTrusted ? parseAddress(claimed) : undefined;
  if (address === undefined) events.claimedAddressIgnored(client.clientId, isTrusted ? 'no_address' : 'not_trusted');
  return address ?? addressOf(ctx.req);
}
