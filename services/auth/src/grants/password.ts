/** Resource owner password credentials, and Auth0’s variant with a `realm` that names the connection. For first-party clients only. */
import { type Client, errors } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { personAddress } from '../clients/person-address.ts';
import type { RequireSecondFactor } from '../factors/mfa-token.ts';
import type { Report } from '../report.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { busy, tooManyAttempts } from '../stores-away.ts';
import type { GrantPlugin } from './plugin.ts';

export function passwordGrants(parts: {
  authenticate: Authenticate;
  connections: ConnectionStore;
  report: Report;
  requireSecondFactor: RequireSecondFactor;
}): GrantPlugin[] {
  const { authenticate, connections, report, requireSecondFactor } = parts;
  return ['password', 'http://auth0.com/oauth/grant-type/password-realm'].map((grantType) => ({
    grantType,
    parameters: ['username', 'password', 'realm'],
    async authenticate(ctx, client) {
      if (!(client as Client & OwnMetadata).is_first_party)
        throw new errors.UnauthorizedClient('only first-party clients may use this grant');
      const { username, password, realm } = ctx.oidc.params as Record<string, string | undefined>;
      if (!username || !password) throw new errors.InvalidRequest('missing required parameter(s) username, password');
      const { clientId } = client;
      const connection = await (realm ? connections.find(realm, clientId) : connections.database(clientId));
      if (connection?.strategy !== 'auth0') throw new errors.InvalidRequest('unknown connection');
      const isAuthenticated = client.clientAuthMethod !== 'none';
      const address = personAddress(ctx.req, { client, isAuthenticated, report });
      const result = await authenticate({ connection: connection.name, login: username, password, address, clientId });
      switch (result.kind) {
        case 'right':
          await requireSecondFactor(ctx, { client, account: result.account, amr: ['pwd'], ip: address });
          return { accountId: result.account.userId, amr: ['pwd'] };
        case 'busy':
          throw busy(result.excess).withHeader(ctx);
        case 'locked':
          report.loginFailed({ client, address }, result.reason, result.subject);
          throw tooManyAttempts(result.seconds, result.reason).withHeader(ctx);
        case 'wrong': {
          report.loginFailed({ client, address }, 'wrong_password', result.subject);
          const error = new errors.InvalidGrant('wrong password');
          error.error_description = 'Wrong email or password.';
          throw error;
        }
      }
    },
  }));
}
