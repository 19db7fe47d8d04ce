/** Resource owner password credentials, and Auth0’s variant with a `realm` that names the connection. For first-party clients only. */
import { type Client, errors } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { personAddress } from '../clients/person-address.ts';
import type { RequireSecondFactor } from '../factors/mfa-token.ts';
import type { Bots } from '../protection/bots.ts';
import { refusalOf } from '../protection/refused-challenge.ts';
import type { Report } from '../report.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { busy, tooManyAttempts } from '../stores-away.ts';
import type { GrantPlugin } from './plugin.ts';

export function passwordGrants(parts: {
  authenticate: Authenticate;
  connections: ConnectionStore;
  report: Report;
  requireSecondFactor: RequireSecondFactor;
  bots: Bots;
}): GrantPlugin[] {
  const { authenticate, connections, report, requireSecondFactor } = parts;
  return ['password', 'http://auth0.com/oauth/grant-type/password-realm'].map((grantType) => ({
    grantType,
    parameters: ['username', 'password', 'realm', 'captcha'],
    async authenticate(ctx, client) {
      if (!(client as Client & OwnMetadata).is_first_party)
        throw new errors.UnauthorizedClient('only first-party clients may use this grant');
      const { username, password, realm, captcha } = ctx.oidc.params as Record<string, string | undefined>;
      if (!username || !password) throw new errors.InvalidRequest('missing required parameter(s) username, password');
      const { clientId } = client;
      const connection = await (realm ? connections.find(realm, clientId) : connections.database(clientId));
      if (connection?.strategy !== 'auth0') throw new errors.InvalidRequest('unknown connection');
      const isAuthenticated = client.clientAuthMethod !== 'none';
      const address = personAddress(ctx.req, { client, isAuthenticated, report });
      // A client that authenticated has login pages of its own and is responsible for challenges there.
      const asking = { stage: 'login', ip: address, clientId, login: username } as const;
      const person = isAuthenticated ? 'passed' : await parts.bots.check(asking, captcha);
      if (person !== 'passed') throw challengeRefused(person);
      const result = await authenticate({ connection: connection.name, login: username, password, address, clientId });
      switch (result.kind) {
        case 'right':
          await requireSecondFactor(ctx, { client, account: result.account, amr: ['pwd'], ip: address });
          return { accountId: result.account.userId, amr: ['pwd'], loggedInFrom: address };
        case 'busy':
          throw busy(result.excess).withHeader(ctx);
        case 'locked':
          report.loginFailed({ client, address }, result.reason, result.subject);
          throw tooManyAttempts(result.seconds, result.reason).withHeader(ctx);
        case 'leaked': {
          report.loginFailed({ client, address }, 'password_leaked', result.subject);
          throw passwordLeaked();
        }
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

function challengeRefused(answer: 'missing' | 'wrong'): errors.OIDCProviderError {
  const { code, description } = refusalOf(answer);
  return new errors.CustomOIDCProviderError(code, description);
}

/** In Auth0's words. */
function passwordLeaked(): errors.OIDCProviderError {
  return new errors.CustomOIDCProviderError(
    'password_leaked',
    'This login attempt has been blocked because the password you’re using was previously disclosed through a data breach (not in this application).',
  );
}
