/**
 * Resource owner password credentials, and Auth0's variant with a `realm` that names the connection. For clients of the first
 * party alone.
 */
import { type Client, errors } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { personAddress } from '../clients/person-address.ts';
import type { GateEvents } from '../events.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { Busy } from '../stores-away.ts';
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
      const connection = realm ? await connections.find(realm) : await connections.database();
      if (connection?.strategy !== 'auth0') throw new errors.InvalidRequest('unknown connection');
      const isAuthenticated = client.clientAuthMethod !== 'none';
      const address = personAddress(ctx.req, { client, isAuthenticated, events });
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
