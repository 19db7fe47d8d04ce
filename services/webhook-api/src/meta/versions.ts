/** `GET /versions`: the API versions that `X-GitHub-Api-Version` may name. Nothing served here differs between them. */
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';
import { apiVersions } from '../http/standing-headers.ts';

export const getVersions = openOperation({
  id: 'get-all-versions',
  summary: 'List API versions',
  docs: 'https://docs.github.com/rest/meta/meta#get-all-api-versions',
  answers: { 200: { description: 'Versions, newest first', schema: z.array(z.iso.date()) } },
  run: () => ({ status: 200, body: apiVersions }),
});
