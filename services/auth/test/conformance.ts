/** Holds every answer of the management API that a test's `fetch` gets against the description: its status, and the schema of its body. */
import { Ajv, type ValidateFunction } from 'ajv';
import { describeGate } from '../src/description/describe.ts';

const { fetch: plainFetch } = globalThis;

/** From here on, `fetch` of this test file throws when an answer is not what is described. */
export function checkAnswers(): void {
  globalThis.fetch = async (input, init) => {
    const response = await plainFetch(input, init);
    const request = new Request(input, { method: init?.method ?? (input instanceof Request ? input.method : 'GET') });
    if (!new URL(request.url).pathname.startsWith('/api/v2/')) return response;
    description ??= readDescription();
    const problem = await findProblem(description, request, response);
    if (problem !== undefined) throw new Error(`${request.method} ${request.url} → ${response.status}: ${problem}`);
    return response;
  };
}

type Description = ReturnType<typeof readDescription>;
/** Made when the first answer of the management API comes, for which many a file never asks. */
let description: Description | undefined;

function readDescription() {
  const api = describeGate();
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: 'api', ...api });
  // Literal segments win over parameters.
  const templates = Object.keys(api.paths)
    .filter((path) => path.startsWith('/api/v2/'))
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`) }));
  return { api, ajv, templates, validators: new Map<string, ValidateFunction>() };
}

async function findProblem(
  { api, ajv, templates, validators }: Description,
  { method, url }: Request,
  response: Response,
): Promise<string | undefined> {
  const { pathname } = new URL(url);
  const template = templates.find(({ pattern }) => pattern.test(pathname))?.path;
  const operation = template && api.paths[template]![method.toLowerCase()];
  // Preflights, and what is nowhere.
  if (!operation) return undefined;
  const answer = operation.responses[response.status];
  const text = await response.clone().text();
  if (!answer) return `the status is not described; the body is ${text.slice(0, 200)}`;
  if (!answer.content) return text === '' ? undefined : `there is a body: ${text.slice(0, 200)}`;
  const pointer = [
    'paths',
    template,
    method.toLowerCase(),
    'responses',
    response.status,
    'content',
    'application/json',
    'schema',
  ]
    .map((part) => `/${encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` });
  validators.set(pointer, validate);
  if (validate(JSON.parse(text))) return undefined;
  return `${ajv.errorsText(validate.errors)} in ${text.slice(0, 300)}`;
}
