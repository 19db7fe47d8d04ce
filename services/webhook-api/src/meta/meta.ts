/** `GET /meta`: where deliveries come from (https://docs.github.com/rest/meta/meta). */
import { createRequire } from 'node:module';
import { z } from 'zod';
import { openOperation, ours } from '../http/operation.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const metaSchema = z
  .object({
    verifiable_password_authentication: z.boolean(),
    hooks: z.array(z.string()).meta({ description: 'CIDRs that deliveries come from' }),
    installed_version: z
      .string()
      .meta({ ...ours, description: 'The version of this service, given as GitHub Enterprise Server gives its own' }),
  })
  .meta({ id: 'Meta' });

export const getMeta = openOperation({
  id: 'get',
  summary: 'Get the addresses of this service',
  docs: 'https://docs.github.com/rest/meta/meta#get-github-meta-information',
  answers: { 200: { description: 'Addresses', schema: metaSchema } },
  run: ({ parts }) => ({
    status: 200,
    body: { verifiable_password_authentication: false, hooks: parts.egressCidrs, installed_version: version },
  }),
});
