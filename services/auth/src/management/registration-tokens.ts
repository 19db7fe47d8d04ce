/** `registration-tokens`: what lets somebody register a client at `oidc/register` (RFC 7591 section 3, initial access token). */
import { z } from '@gatepost/runtime/env';
import { created, type Route, route } from './route.ts';

/** @param issue makes and saves an initial access token that lives so many seconds */
export function makeRegistrationTokenRoutes(issue: (ttlSeconds: number) => Promise<string>): Route[] {
  return [
    route({
      method: 'post',
      path: '/registration-tokens',
      scopes: ['create:registration_tokens'],
      body: z.strictObject({ ttl_sec: z.number().int().min(1).max(2_592_000).default(86_400) }),
      handle: async ({ body }) => created({ token: await issue(body.ttl_sec) }),
    }),
  ];
}
