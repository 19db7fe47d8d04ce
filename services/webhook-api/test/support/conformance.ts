/** Holds every answer against the OpenAPI description: status, media type, and the schema of the body. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describeApi } from '../../src/meta/describe.ts';
import { routes } from '../../src/routes.ts';

const api = describeApi(routes);
const ajv = new Ajv2020({ strict: false, allErrors: true });
// The package's default export is its CommonJS module's.
(addFormats as unknown as { default: (ajv: Ajv2020) => void }).default(ajv);
ajv.addSchema({ $id: 'api', ...api });

const validators = new Map<string, ValidateFunction>();

/** `fetch`, that throws when the answer is not what `/openapi.json` promises. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const request = new Request(input, { method: init?.method ?? 'GET' });
  if (request.method === 'OPTIONS') return response;
  const problem = await findProblem(request, response.clone());
  if (problem) throw new Error(`${request.method} ${request.url} → ${response.status}: ${problem}`);
  return response;
};

/** What is wrong with an answer, by the description; undefined: nothing. */
export async function findProblem(request: Request, response: Response): Promise<string | undefined> {
  const mediaType = response.headers.get('content-type')?.split(';')[0];
  const text = await response.text();
  if (response.status === 403 && mediaType === 'text/html' && text.trim().startsWith('Request forbidden by'))
    return undefined; // whoever has no User-Agent hears what GitHub's proxy says, which no description has
  const pointer = findSchema(request, response.status, mediaType);
  if (pointer === undefined)
    return text === '' ? undefined : `nothing is described, but there is: ${text.slice(0, 200)}`;
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` });
  validators.set(pointer, validate);
  if (validate(mediaType === 'application/json' ? JSON.parse(text) : text)) return undefined;
  return `${ajv.errorsText(validate.errors)} in ${text.slice(0, 300)}`;
}

/** Where the schema of the answer's body stands in the description; undefined where no body is promised. */
function findSchema(request: Request, status: number, mediaType: string | undefined): string | undefined {
  const path = new URL(request.url).pathname.replace(/^\/api\/v3(?=\/|$)/, '') || '/';
  const template = Object.keys(api.paths).find((candidate) => matches(candidate, path));
  const described = template && api.paths[template]?.[request.method.toLowerCase()];
  if (!described) return '/components/schemas/Error';
  const key = described.responses[String(status)] ? String(status) : 'default';
  const response = described.responses[key]!;
  if (response.$ref) return '/components/schemas/Error';
  if (!response.content) return undefined;
  if (!mediaType || !response.content[mediaType]) throw new Error(`${mediaType} is not described`);
  const parts = ['paths', template, request.method.toLowerCase(), 'responses', key, 'content', mediaType, 'schema'];
  return parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
}

/** Literal segments win over parameters by standing first in the table of routes. */
function matches(template: string, path: string): boolean {
  const pattern = template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(path);
}
