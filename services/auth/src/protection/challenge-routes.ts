/**
 * Where an application's page gets the challenge it has to solve, at the addresses that Auth0’s SDKs know. The solution is sent as
 * `captcha`.
 */
import type { Router } from 'express';
import type { Provider } from 'oidc-provider';
import { type ApiHandler, makeApiRouter, textField } from '../http/api-router.ts';
import { addressOf } from '../http/head.ts';
import type { Bots } from './bots.ts';
import type { ChallengeStage } from './challenge.ts';

export function makeChallengeRoutes({ provider, bots }: { provider: Provider; bots: Bots }): Router {
  const give =
    (stage: ChallengeStage): ApiHandler =>
    async ({ fields, client: { clientId }, request, response }) => {
      const login = textField(fields, 'login');
      const challenge = await bots.challenge({ stage, ip: addressOf(request), clientId, login });
      response.json(
        challenge === undefined
          ? { required: false }
          : { required: true, provider: 'auth_challenge', challenge: JSON.parse(challenge) },
      );
    };
  return makeApiRouter(provider, {
    '/usernamepassword/challenge': give('login'),
    '/passwordless/challenge': give('passwordless'),
    '/dbconnections/signup/challenge': give('signup'),
    '/dbconnections/change_password/challenge': give('password-reset'),
  });
}
