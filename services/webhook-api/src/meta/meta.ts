/** `GET /meta`: where deliveries come from (https://docs.github.com/rest/meta/meta). */
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';

const metaSchema = z
  .object({
    verifiable_password_authentication: z.boolean(),
    hooks: z.array(z.string()).meta({ description: 'CIDRs that deliveries come from' }),
  })
  .meta({ id: 'Meta' });

export const getMeta = openOperation({
  id: 'get',
  summary: 'Addresses of this service',
  docs: 'https://docs.github.com/rest/meta/meta#get-github-meta-information',
  answers: { 200: { description: 'Addresses', schema: metaSchema } },
  run: ({ parts }) => ({
    status: 200,
    body: { verifiable_password_authentication: false, hooks: parts.egressCidrs },
  }),
});
