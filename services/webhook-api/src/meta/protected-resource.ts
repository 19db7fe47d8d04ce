/** `GET /.well-known/oauth-protected-resource`: which gate issues tokens for this API, and what to ask it for (RFC 9728 section 2). */
import { z } from 'zod';
import { publicScope } from '../access/scopes.ts';
import { openOperation } from '../http/operation.ts';

/** Scopes for people; `site_admin` is granted to machines. */
const scopes = [
  'repo',
  publicScope,
  'admin:repo_hook',
  'write:repo_hook',
  'read:repo_hook',
  'admin:org_hook',
  'admin:org',
  'read:org',
  'delete_repo',
];

const metadataSchema = z
  .object({
    resource: z.string().meta({ description: 'The audience of access tokens' }),
    authorization_servers: z.array(z.url()).meta({ description: 'The issuers whose tokens are accepted' }),
    bearer_methods_supported: z.array(z.literal('header')),
    scopes_supported: z.array(z.string()),
  })
  .meta({ id: 'ProtectedResource' });

export const getProtectedResource = openOperation({
  id: 'protected-resource',
  summary: 'Get which gate issues tokens for this API',
  answers: { 200: { description: 'The metadata', schema: metadataSchema } },
  run: ({ parts: { issuers, audience } }) => ({
    status: 200,
    body: {
      resource: audience,
      authorization_servers: issuers,
      bearer_methods_supported: ['header' as const],
      scopes_supported: scopes,
    },
  }),
});
