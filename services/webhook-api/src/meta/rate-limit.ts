/** `GET /rate_limit`: what is left of the hour's requests. Asking is not counted. */
import { z } from 'zod';
import { ApiError } from '../http/errors.ts';
import { rateLimitHeaders } from '../http/limits.ts';
import { uncountedOperation } from '../http/operation.ts';

const rateOf = <const Resource extends string>(resource: Resource) =>
  z
    .object({ limit: z.int(), used: z.int(), remaining: z.int(), reset: z.int(), resource: z.literal(resource) })
    .meta({ description: '`reset` in seconds since 1970' });
const rate = rateOf('core');

// hub4j takes no answer that lacks one of the four.
const resources = z.object({
  core: rate,
  search: rateOf('search'),
  graphql: rateOf('graphql'),
  integration_manifest: rateOf('integration_manifest'),
});

const rateLimitSchema = z.object({ resources, rate });

export const getRateLimit = uncountedOperation({
  id: 'get-rate-limit',
  summary: 'Get what is left of the rate limit',
  docs: 'https://docs.github.com/rest/rate-limit/rate-limit#get-rate-limit-status-for-the-authenticated-user',
  answers: {
    200: {
      description: 'The only limit is `core`; the others, which GitHub has too, are never used up',
      schema: rateLimitSchema,
    },
    404: { description: 'Requests are not counted' },
  },
  async run({ rateLimit }) {
    const core = await rateLimit();
    // In GitHub Enterprise Server's words, which clients know.
    if (!core) throw new ApiError(404, 'Rate limiting is not enabled.');
    const unused = (resource: string) => ({ ...core, used: 0, remaining: core.limit, resource });
    const others = ['search', 'graphql', 'integration_manifest'].map((resource) => [resource, unused(resource)]);
    // octokit.rb reads the headers, not the body.
    const headers = rateLimitHeaders(core);
    return { status: 200, headers, body: { resources: { core, ...Object.fromEntries(others) }, rate: core } };
  },
});
