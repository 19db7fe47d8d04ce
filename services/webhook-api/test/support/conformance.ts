/** Holds every answer against our OpenAPI description, and against GitHub's: status, media type, and the schema of the body. */

import type { JsonSchema } from '@gatepost/api-docs/json-schema';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { describeApi } from '../../src/meta/describe.ts';
import { routes } from '../../src/routes.ts';
import { findAnswerProblem } from './github-openapi.ts';

const api = describeApi(routes);
const ajv = new Ajv({ strict: false, allErrors: true });
// The package's default export is its CommonJS module's.
(addFormats as unknown as { default: (ajv: Ajv) => void }).default(ajv);
ajv.addSchema({ $id: 'api', ...(exact(api) as typeof api) });

const validators = new Map<string, ValidateFunction>();

/** `fetch`, that throws when the answer is not what `/openapi.json` and GitHub promise. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await begun(await fetch(input, init));
  const request = new Request(input, { method: init?.method ?? 'GET' });
  if (request.method === 'OPTIONS') return response;
  const problem = await findProblem(request, response.clone());
  if (problem) throw new Error(`${request.method} ${request.url} → ${response.status}: ${problem}`);
  return response;
};

/** Of a stream only how it begins: it does not end. */
async function begun(response: Response): Promise<Response> {
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const reader = response.body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new Response(value, response);
}

/** What is wrong with an answer, by both descriptions; undefined: nothing. */
export async function findProblem(request: Request, response: Response): Promise<string | undefined> {
  const mediaType = response.headers.get('content-type')?.split(';')[0];
  const text = await response.text();
  if (response.status === 403 && mediaType === 'text/html' && text.trim().startsWith('Request forbidden by'))
    return undefined; // whoever has no User-Agent hears what GitHub's proxy says, which no description has
  const path = findTemplate(request);
  return (
    findOwnProblem(request, path, response.status, mediaType, text) ??
    (path &&
      findAnswerProblem({ method: request.method.toLowerCase(), path, status: response.status, mediaType, text }))
  );
}

function findOwnProblem(
  request: Request,
  path: string | undefined,
  status: number,
  mediaType: string | undefined,
  text: string,
): string | undefined {
  const pointer = findSchema(request, path, status, mediaType);
  if (pointer === undefined)
    return text === '' ? undefined : `nothing is described, but there is: ${text.slice(0, 200)}`;
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` });
  validators.set(pointer, validate);
  if (validate(mediaType === 'application/json' ? JSON.parse(text) : text)) return undefined;
  return `${ajv.errorsText(validate.errors)} in ${text.slice(0, 300)}`;
}

/** Where the schema of the answer's body stands in the description; undefined where no body is promised. */
function findSchema(
  request: Request,
  template: string | undefined,
  status: number,
  mediaType: string | undefined,
): string | undefined {
  const described = template && api.paths[template]?.[request.method.toLowerCase()];
  if (!described) return '/components/schemas/Error';
  const key = String(status);
  const response = described.responses[key];
  if (!response) throw new Error(`${request.method} ${template} does not list ${status}`);
  if (response.$ref) return '/components/schemas/Error';
  if (!response.content) return undefined;
  if (!mediaType || !response.content[mediaType]) throw new Error(`${mediaType} is not described`);
  const parts = ['paths', template, request.method.toLowerCase(), 'responses', key, 'content', mediaType, 'schema'];
  return parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
}

/** What we answer has no property that is not described, though clients are to bear them; and a boolean `exclusiveMinimum` is unknown to Ajv. */
function exact(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(exact);
  const { exclusiveMinimum, ...schema } = value as JsonSchema;
  const isObject = typeof schema.properties === 'object' && schema.type === 'object';
  return {
    ...(isObject ? { additionalProperties: false } : {}),
    ...(exclusiveMinimum === true ? { exclusiveMinimum: schema.minimum } : {}),
    ...Object.fromEntries(Object.entries(schema).map(([key, item]) => [key, exact(item)])),
  };
}

/** The path of the table of routes that a request goes to. */
function findTemplate(request: Request): string | undefined {
  const path = new URL(request.url).pathname.replace(/^\/api\/v3(?=\/|$)/, '') || '/';
  return Object.keys(api.paths).find((candidate) => matches(candidate, path));
}

/** Literal segments win over parameters by standing first in the table of routes. */
function matches(template: string, path: string): boolean {
  const pattern = template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(path);
}
