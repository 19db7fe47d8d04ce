/**
 * `POST /api/graphql`, at the path of a GitHub Enterprise Server, and `POST /graphql`, at that of api.github.com: answers who the caller is, and
 * nothing else. `gh auth login` and `gh auth status` ask only that, and give up without an answer.
 */
import { z } from 'zod';
import { tokenOperation } from '../http/operation.ts';

const whoAmI = /^\s*(query\s*(\w+\s*)?)?\{\s*viewer\s*\{\s*login\s*\}\s*\}\s*$/;

const answer = z
  .object({
    data: z.object({ viewer: z.object({ login: z.string() }) }).optional(),
    errors: z.array(z.object({ type: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'GraphqlAnswer' });

export const askGraphql = tokenOperation({
  id: 'graphql',
  summary: 'Get the caller: `query { viewer { login } }`. No other GraphQL is supported',
  docs: 'https://docs.github.com/graphql',
  body: z.object({ query: z.string() }),
  answers: { 200: { description: 'Data or errors, as in GraphQL', schema: answer } },
  run: ({ token, body: { query } }) => ({
    status: 200,
    body: whoAmI.test(query)
      ? { data: { viewer: { login: token.subject } } }
      : { errors: [{ type: 'undefinedField', message: 'Only `query { viewer { login } }` is supported here' }] },
  }),
});
