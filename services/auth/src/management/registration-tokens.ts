/** `registration-tokens`: initial access tokens for registering a client at `oidc/register` (RFC 7591 section 3). */
import { z } from 'zod';
import { created, operation } from './operation.ts';

export const createRegistrationToken = operation({
  body: z.strictObject({ ttl_sec: z.number().int().min(1).max(2_592_000).default(86_400) }),
  run: async ({ parts, body }) => created({ token: await parts.issueRegistrationToken(body.ttl_sec) }),
});
