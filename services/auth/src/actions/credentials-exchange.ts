/** The trigger credentials-exchange: a machine asks for a token. */
import type { KoaContextWithOIDC } from 'oidc-provider';
import { addressOf } from '../http/head.ts';
import { clientOf, requestOf, tenantOf, transactionOf } from './event.ts';
import { setOutcome } from './outcomes.ts';
import { checkMachineAllowed, withPublicErrors } from './refusal.ts';
import type { ActionRunner } from './runner.ts';

export type CredentialsExchange = {
  /** While an action is bound, token requests take the common path (../grants/fast-path.ts). */
  isBound(): Promise<boolean>;
  /** @param scopes the scopes the token would have. @throws the error that refuses it */
  run(ctx: KoaContextWithOIDC, given: { audience: string; scopes: string[] }): Promise<void>;
};

const trigger = 'credentials-exchange';

export function makeCredentialsExchange({
  runner,
  issuer,
}: {
  runner: ActionRunner;
  issuer: string;
}): CredentialsExchange {
  return {
    isBound: () => runner.isBound(trigger),
    async run(ctx, { audience, scopes }) {
      const { client } = ctx.oidc;
      const { clientId } = client!;
      const params = (ctx.oidc.params ?? {}) as Record<string, unknown>;
      const ran = await withPublicErrors(
        runner.run(trigger, { clientId, ip: addressOf(ctx.req) }, async () => ({
          tenant: tenantOf(issuer),
          request: requestOf(issuer, ctx.req, params),
          client: clientOf(client),
          accessToken: { customClaims: {}, scope: scopes },
          resource_server: { identifier: audience },
          transaction: { ...transactionOf(params, 'oauth2-client-credentials'), requested_scopes: scopes },
        })),
      );
      const outcome = ran?.outcome;
      checkMachineAllowed(outcome);
      if (outcome) setOutcome(ctx, clientId, outcome);
    },
  };
}
