/** Auth0's passwordless grant: the code that `passwordless/start` sent, for tokens. */
import { errors } from 'oidc-provider';
import { parseIdentifier } from '../accounts/identifier.ts';
import type { OneTimeCodes } from '../accounts/one-time-code.ts';
import type { GateEvents } from '../events.ts';
import { addressOf } from '../http/head.ts';
import type { OpenAccount } from '../passwordless/account.ts';
import type { Channel } from '../passwordless/message.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { asking } from '../stores-away.ts';
import type { GrantPlugin } from './plugin.ts';

export function passwordlessOtp(parts: {
  codes: OneTimeCodes;
  connections: ConnectionStore;
  openAccount: OpenAccount;
  events: GateEvents;
}): GrantPlugin {
  return {
    grantType: 'http://auth0.com/oauth/grant-type/passwordless/otp',
    parameters: ['username', 'otp', 'realm'],
    async authenticate(ctx, client) {
      const { username, otp, realm } = ctx.oidc.params as Record<string, string | undefined>;
      if (!username || !otp || !realm)
        throw new errors.InvalidRequest('missing required parameter(s) username, otp, realm');
      const connection = await asking(parts.connections.find(realm));
      if (connection?.strategy !== 'email' && connection?.strategy !== 'sms')
        throw new errors.InvalidRequest('unknown connection');
      const channel: Channel = connection.strategy;
      const identifier = parseIdentifier(username);
      const address = identifier?.value ?? username;
      const check = await parts.codes.check({ connection: realm, address, binding: client.clientId }, otp);
      const account = check === 'right' ? await parts.openAccount(channel, realm, address) : undefined;
      if (account) return { accountId: account.userId, amr: ['otp'] };
      parts.events.loginFailed(
        { client, address: addressOf(ctx.req) },
        check === 'expired' ? 'code_expired' : 'wrong_code',
      );
      const error = new errors.InvalidGrant(check);
      error.error_description = 'Wrong email, phone number or verification code.';
      throw error;
    },
  };
}
