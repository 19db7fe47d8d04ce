/**
 * Holds answers and payloads against GitHub's published OpenAPI description, of which `extract-github-openapi.ts` keeps what we serve. It is
 * OpenAPI 3.0, whose `nullable` Ajv knows where it stands beside a `type`.
 */
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

type Schema = { [key: string]: unknown };

export type GithubOpenApi = {
  source: { package: string; file: string; integrity: string };
  /** By path, method and status; null where no JSON is described. */
  answers: Record<string, Record<string, Record<string, Schema | null>>>;
  /** By path and method. */
  bodies: Record<string, Record<string, Schema | null>>;
  /** By event. */
  payloads: Record<string, Schema>;
  components: { schemas: Record<string, Schema> };
};

export type Answered = { method: string; path: string; status: number; mediaType: string | undefined; text: string };

/** Paths are the same when only the names of their parameters differ. */
export const shapeOf = (path: string): string => path.replace(/\{\w+\}/g, '{}');

const github = JSON.parse(readFileSync(new URL('github-openapi.json', import.meta.url), 'utf8')) as GithubOpenApi;
// GitHub itself takes and shows any text for one, and none as an empty one.
for (const { properties } of Object.values(github.components.schemas))
  delete (properties as Record<string, Schema> | undefined)?.homepage?.format;
const pathOf = new Map([
  ...Object.keys(github.answers).map((path) => [shapeOf(path), path] as const),
  // GitHub answers there too, though its description does not say so.
  ['/repositories/{}', '/repos/{owner}/{repo}'],
  ['/organizations/{}', '/orgs/{org}'],
  ['/repos/{}/{}/hooks/{}/test', '/repos/{owner}/{repo}/hooks/{hook_id}/tests'],
]);

// `discriminator` helps programs to choose, and changes nothing about what is valid.
const ajv = new Ajv({ strict: false, allErrors: true });
// The package's default export is its CommonJS module's.
(addFormats as unknown as { default: (ajv: Ajv) => void }).default(ajv);
ajv.addFormat('int64', true);
ajv.addSchema({ $id: 'github', ...(spellOutNullable(github) as GithubOpenApi) });

// Compiled when first asked for: a test file meets few of them.
const validators = new Map<string, ValidateFunction>();

/** What GitHub describes for a route of ours; undefined: it has no such route. */
export function describedByGithub(method: string, path: string): Record<string, Schema | null> | undefined {
  const known = pathOf.get(shapeOf(path));
  return known === undefined ? undefined : github.answers[known]?.[method];
}

/**
 * The names of what GitHub describes in a route's good answers (`answers`) or body, as paths such as `[].config.url`; undefined: no object is described.
 */
export function namesOfGithub(part: 'answers' | 'bodies', method: string, path: string): Set<string> | undefined {
  const known = pathOf.get(shapeOf(path));
  const described = known === undefined ? undefined : github[part][known]?.[method];
  const schemas =
    part === 'bodies'
      ? [described]
      : Object.entries(described ?? {})
          .filter(([status]) => status < '300')
          .map(([, schema]) => schema);
  const names = new Set<string>(schemas.flatMap((schema) => namesIn(schema as Schema, github.components.schemas)));
  return names.size > 0 ? names : undefined;
}

/** The paths of a schema's properties; those that `leave` says of are left out, with all below them. */
export function namesIn(
  schema: Schema | null | undefined,
  named: Record<string, Schema>,
  leave: (property: Schema) => boolean = () => false,
  at = '',
): string[] {
  if (!schema || at.split('.').length > 4) return [];
  if (typeof schema.$ref === 'string') return namesIn(named[schema.$ref.split('/').at(-1)!], named, leave, at);
  const variants = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => (schema[key] as Schema[] | undefined) ?? []);
  return [
    ...variants.flatMap((variant) => namesIn(variant, named, leave, at)),
    ...namesIn(schema.items as Schema | undefined, named, leave, `${at}[]`),
    ...Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {})
      .filter(([, property]) => !leave(property))
      .flatMap(([name, property]) => [`${at}.${name}`, ...namesIn(property, named, leave, `${at}.${name}`)]),
  ];
}

/**
 * What is wrong with an answer on a path of the table of routes, by GitHub's description; undefined: nothing, or GitHub has no such route. An error
 * whose status is not described has to be one of GitHub's all the same.
 */
export function findAnswerProblem({ method, path, status, mediaType, text }: Answered): string | undefined {
  const answers = describedByGithub(method, path);
  if (!answers) return undefined;
  const key = String(status);
  if (!answers[key] && status >= 400) return findProblem('#/components/schemas/basic-error', text);
  if (answers[key] === undefined) return undefined;
  if (answers[key] === null)
    return text === '' || mediaType === 'text/plain' ? undefined : `GitHub answers ${status} without JSON`;
  return findProblem(pointer('answers', pathOf.get(shapeOf(path))!, method, key), text);
}

/** What is wrong with an event's payload. */
export const findPayloadProblem = (event: string, text: string): string | undefined =>
  findProblem(pointer('payloads', event), text);

function findProblem(pointer: string, text: string): string | undefined {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `github${pointer}` });
  validators.set(pointer, validate);
  return validate(JSON.parse(text)) ? undefined : `${ajv.errorsText(validate.errors)} by ${github.source.package}`;
}

const pointer = (...parts: string[]): string =>
  `#${parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`;

/** Where `nullable` has no `type` beside it, that null is one of the choices. */
function spellOutNullable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(spellOutNullable);
  const schema = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spellOutNullable(item)]));
  if (schema.nullable !== true || schema.type !== undefined) return schema;
  const { nullable, ...rest } = schema;
  return { anyOf: [rest, { type: 'null' }] };
}
