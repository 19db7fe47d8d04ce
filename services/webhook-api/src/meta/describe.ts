/** The API in OpenAPI 3.0, generated from the table of routes and the validating schemas. */
import { exampleOf } from '@gatepost/api-docs/example';
import { type JsonSchema, refTo, toJsonSchema } from '@gatepost/api-docs/json-schema';
import { z } from 'zod';
import type { AnswerSchema } from '../http/operation.ts';
import type { AnyRoute } from '../http/route.ts';
import {
  examplesOfAnswers,
  examplesOfBodies,
  examplesOfErrors,
  examplesOfParameters,
  examplesOfSchemas,
} from './examples.ts';
import { operationTags, type Tag } from './guides.ts';

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
};
type Content = Record<string, { schema: JsonSchema; example?: unknown }>;
export type Response = { $ref?: string; description?: string; content?: Content };
export type Described = {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  externalDocs?: { description: string; url: string };
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, Response>;
  'x-gatepost'?: true;
};
export type OpenApi = {
  openapi: string;
  info: { title: string; version: string; description: string };
  tags: Tag[];
  paths: Record<string, Record<string, Described>>;
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, JsonSchema> };
};

const described = new WeakMap<readonly AnyRoute[], OpenApi>();

/** Describes the routes, without `servers`; the same object for the same routes. */
export function describeApi(routes: readonly AnyRoute[]): OpenApi {
  const known = described.get(routes);
  if (known) return known;
  const schemas: Record<string, JsonSchema> = {};
  const paths: OpenApi['paths'] = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method] = describeRoute(route, schemas);
  }
  const api: OpenApi = {
    openapi: '3.0.3',
    info: {
      title: 'Gatepost webhook API',
      version: '2026-03-10',
      description:
        "GitHub's webhook routes, and the accounts they belong to. Every route is also served below `/api/v3`. Routes and properties that GitHub does not have are marked with `x-gatepost`. A request without a `User-Agent` is answered 403 in HTML, as at GitHub.",
    },
    tags: operationTags,
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token of the gate' },
      },
      responses: Object.fromEntries(
        Object.entries(errors).map(([name, { status, description }]) => [name, describeError(status, description)]),
      ),
      schemas: { Error: toJsonSchema(errorSchema, 'output', schemas), ...schemas },
    },
  };
  addExamples(api);
  described.set(routes, api);
  return api;
}

const errors = {
  BadRequest: { status: 400, description: 'The request cannot be read' },
  Unauthorized: { status: 401, description: 'No token, or an invalid one' },
  Forbidden: {
    status: 403,
    description: "The hour's requests are used up, or the organization restricts this OAuth application",
  },
  NotFound: { status: 404, description: 'It does not exist, or the token may not see it' },
  TooLarge: { status: 413, description: 'The body is over 1 MB' },
  UnknownEncoding: { status: 415, description: 'The body has an unsupported content encoding' },
  Invalid: { status: 422, description: 'The request is well formed but cannot be done' },
  TooMany: { status: 429, description: 'Too many requests at once' },
  Unavailable: { status: 503, description: 'A store or the gate is away; try again' },
};

const errorSchema = z.object({
  message: z.string(),
  documentation_url: z.string(),
  status: z.string(),
  errors: z
    .array(
      z.object({
        resource: z.string(),
        code: z.enum(['missing', 'missing_field', 'invalid', 'already_exists', 'unprocessable', 'custom']),
        field: z.string().optional(),
        message: z.string().optional(),
        value: z.string().optional(),
      }),
    )
    .optional(),
});

function describeRoute(route: AnyRoute, schemas: Record<string, JsonSchema>): Described {
  const { operation, family, access } = route;
  const tag = tagOf(route.path);
  const closed = access.kind !== 'open';
  return {
    operationId: operationIdOf(route),
    summary: operation.summary,
    tags: [tag],
    ...(operation.docs && {
      externalDocs: { description: "GitHub's page about this operation", url: operation.docs(family) },
    }),
    ...(closed && access.scopes.length > 0 && { description: `Takes one of the scopes ${listOf(access.scopes)}.` }),
    security: closed ? [{ token: [] }] : [],
    parameters: [
      ...pathParameters(route.path),
      ...queryParameters(operation.query, schemas),
      ...(operation.streams ? [lastEventId] : []),
    ],
    ...(operation.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: toJsonSchema(operation.body, 'input', schemas) } },
          },
        }
      : {}),
    responses: {
      ...errorsOf(route),
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [
          status,
          describeAnswer(Number(status), answer, route, schemas),
        ]),
      ),
      ...(route.method === 'get' && operation.answers[200] && !operation.streams
        ? { 304: { description: 'Not modified' } }
        : {}),
    },
    ...(operation.docs ? {} : { 'x-gatepost': true }),
  };
}

/** The page shows it under this name. */
export function operationIdOf({ path, family, operation }: AnyRoute): string {
  const second = path.endsWith('/test') ? '-by-test-url' : path === '/graphql' ? '-at-root' : '';
  return `${tagOf(path)}/${operation.id(family)}${second}`;
}

/** What may be answered on the way to an operation (`http/serve.ts`). */
function errorsOf({ access, operation }: AnyRoute): Described['responses'] {
  // A caller without the scope does not learn whether the thing exists.
  const hides = access.kind === 'place' || (access.kind === 'token' && access.scopes.length > 0);
  const names: (keyof typeof errors)[] = [
    'BadRequest',
    'Unauthorized',
    ...(operation.uncounted ? [] : (['Forbidden', 'TooMany'] as const)),
    ...(hides ? (['NotFound'] as const) : []),
    ...(operation.body ? (['TooLarge', 'UnknownEncoding'] as const) : []),
    ...(operation.body || isParticular(operation.query) ? (['Invalid'] as const) : []),
    'Unavailable',
  ];
  return Object.fromEntries(names.map((name) => [errors[name].status, { $ref: `#/components/responses/${name}` }]));
}

/** Whether a query refuses some values, rather than only clamping them. */
const isParticular = (query: z.ZodObject | undefined): boolean =>
  query?.safeParse(Object.fromEntries(Object.keys(query.shape).map((name) => [name, 'odd']))).success === false;

const tagOf = (path: string): string => {
  if (/^\/(organizations\/|user\/memberships\/|user\/orgs$)/.test(path)) return 'orgs';
  const first = path.split('/')[1] ?? '';
  if (['user', 'users'].includes(first)) return 'users';
  if (first === 'repositories') return 'repos';
  return ['repos', 'orgs', 'admin', 'accounts'].includes(first) ? first : 'meta';
};

const listOf = (scopes: readonly string[]) => scopes.map((scope) => `\`${scope}\``).join(', ');

const describeError = (status: number, description: string): Response => ({
  description,
  content: { 'application/json': { schema: refTo('Error'), example: examplesOfErrors[status] } },
});

function describeAnswer(
  status: number,
  answer: AnswerSchema,
  route: AnyRoute,
  schemas: Record<string, JsonSchema>,
): Response {
  if (status >= 400) return describeError(status, answer.description);
  const schema = typeof answer.schema === 'function' ? answer.schema(route.family) : answer.schema;
  if (!schema) return { description: answer.description };
  const mediaType = answer.mediaType ?? 'application/json';
  return {
    description: answer.description,
    content: { [mediaType]: { schema: toJsonSchema(schema, 'output', schemas) } },
  };
}

function pathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: { type: typeof examplesOfParameters[name!] === 'number' ? 'integer' : 'string' },
    example: examplesOfParameters[name!],
  }));
}

const lastEventId: Parameter = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The last delivery that the client knows',
  schema: { type: 'string' },
};

function queryParameters(query: z.ZodObject | undefined, schemas: Record<string, JsonSchema>): Parameter[] {
  if (!query) return [];
  const { properties = {}, required = [] } = toJsonSchema(query, 'input', schemas) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(typeof description === 'string' ? { description } : {}),
    schema,
    ...(required.includes(name) ? { example: examplesOfParameters[name] } : {}),
  }));
}

/** Gives every request and answer an example. */
function addExamples({ paths, components: { schemas } }: OpenApi): void {
  const known = Object.entries(schemas).map(([name, schema]) => [
    name,
    { ...schema, example: examplesOfSchemas[name] },
  ]);
  const withExamples = Object.fromEntries(known) as Record<string, JsonSchema>;
  for (const { operationId, requestBody, responses } of Object.values(paths).flatMap(Object.values<Described>)) {
    for (const content of Object.values(requestBody?.content ?? {}))
      content.example = examplesOfBodies[operationId] ?? exampleOf(content.schema, withExamples);
    for (const { content = {} } of Object.values(responses))
      for (const answer of Object.values(content))
        answer.example ??= examplesOfAnswers[operationId] ?? exampleOf(answer.schema, withExamples);
  }
}
