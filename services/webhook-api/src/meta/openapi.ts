/** `GET /openapi.json`: OpenAPI 3.0, generated from the validating schemas and the table of routes. */
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';
import { describeApi } from './describe.ts';
import { guides } from './guides.ts';

export const getOpenApi = openOperation({
  id: 'get-openapi',
  summary: 'This description',
  answers: { 200: { description: 'OpenAPI 3.0', schema: z.record(z.string(), z.unknown()) } },
  run({ routes, base, parts: { catalog } }) {
    const api = describeApi(routes);
    return { status: 200, body: { ...api, tags: [...guides(catalog), ...api.tags], servers: [{ url: base }] } };
  },
});
