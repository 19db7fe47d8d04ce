/** Auth0’s passwordless grant: exchanges the code that `passwordless/start` sent for tokens. */
import { errors } from 'oidc-provider';
import type { CheckCode } from '../accounts/check-code.ts';
import { parseIdentifier } from '../accounts/identifier.ts';
import { personAddress } from '../clients/person-address.ts';
import type { RequireSecondFactor } from '../factors/mfa-token.ts';
import { type OpenAccount, SignUpDenied } from '../passwordless/account.ts';
import { apiCodeRequest } from '../passwordless/code-request.ts';
import { amrOf, type Channel } from '../passwordless/message.ts';
import type { Report } from '../report.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { busy, tooManyAttempts } from '../stores-away.ts';
import type { GrantPlugin } from './plugin.ts';

export function passwordlessOtp(parts: {
  checkCode: CheckCode;
  connections: ConnectionStore;
  openAccount: OpenAccount;
  report: Report;
  requireSecondFactor: RequireSecondFactor;
}): GrantPlugin {
  return {
    grantType: 'http://auth0.com/oauth/grant-type/passwordless/otp',
    parameters: ['username', 'otp', 'realm'],
    async authenticate(ctx, client) {
      const { username, otp, realm } = ctx.oidc.params as Record<string, string | undefined>;
      if (!username || !otp || !realm)
        throw new errors.InvalidRequest('missing required parameter(s) username, otp, realm');
      const connection = await parts.connections.find(realm, client.clientId);
      if (connection?.strategy !== 'email' && connection?.strategy !== 'sms')
        throw new errors.InvalidRequest('unknown connection');
      const channel: Channel = connection.strategy;
      const identifier = parseIdentifier(username);
      const recipient = identifier?.value ?? username;
      const isAuthenticated = client.clientAuthMethod !== 'none';
      const ip = personAddress(ctx.req, { client, isAuthenticated, report: parts.report });
      const asked = apiCodeRequest({ connection: realm, recipient, clientId: client.clientId, ip });
      const answer = await parts.checkCode({ channel, asked, code: otp, ip });
      const where = { client, address: ip };
      switch (answer.kind) {
        case 'right': {
          const { clientId } = client;
          const account = await parts.openAccount(channel, realm, recipient, { clientId, request: ctx.req, ip });
          if (account instanceof SignUpDenied) throw signUpDenied(account.said);
          if (account) {
            const amr = amrOf(channel);
            await parts.requireSecondFactor(ctx, { client, account, amr, ip });
            return { accountId: account.userId, amr, loggedInFrom: ip };
          }
          parts.report.loginFailed(where, 'wrong_code', answer.subject);
          throw wrongCode('nobody may log in with that address');
        }
        case 'busy':
          throw busy().withHeader(ctx);
        case 'locked':
          parts.report.loginFailed(where, answer.reason, answer.subject);
          throw tooManyAttempts(answer.seconds).withHeader(ctx);
        case 'wrong':
          parts.report.loginFailed(where, 'wrong_code', answer.subject);
          throw wrongCode('wrong code');
        case 'expired':
          parts.report.loginFailed(where, 'code_expired', answer.subject);
          throw wrongCode('no such code, or no more');
      }
    },
  };
}

function wrongCode(detail: string): Error {
  const error = new errors.InvalidGrant(detail);
  error.error_description = 'Wrong email, phone number or verification code.';
  return error;
}

/** The code was right, but an action rejected the account. The refusal is already in the log. */
function signUpDenied(said: string): Error {
  const error = new errors.AccessDenied(said);
  error.error_description = said;
  error.statusCode = error.status = 403;
  return error;
}
