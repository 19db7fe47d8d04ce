/** The management API's part of the description, made from its table of routes. */
import { toJsonSchema } from '@gatepost/api-docs/json-schema';
import { absentRoutes } from '../management/absent.ts';
import { descriptions } from '../management/descriptions.ts';
import { resources } from '../management/resource-examples.ts';
import type { Route } from '../management/routes.ts';
import type { Answer, Operation, Schema } from './openapi.ts';

export const managementSchemas: Record<string, Schema> = {
  ...resources,
  ManagementError: {
    type: 'object',
    properties: {
      statusCode: { type: 'integer' },
      error: { type: 'string' },
      message: { type: 'string' },
      errorCode: { type: 'string' },
    },
    required: ['statusCode', 'error', 'message'],
    additionalProperties: false,
    // For answers from descriptions.ts; the others have their own example.
    example: {
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Too many requests',
      errorCode: 'too_many_requests',
    },
  },
};

export const pathOf = ({ path }: Route): string => `/api/v2${path.replace(/:(\w+)/g, '{$1}')}`;

/** `schemas` collects the named schemas of the parts of bodies. */
export function describeManagement(route: Route, schemas: Record<string, Schema>): Operation {
  const { method, path, scopes, operation } = route;
  const found = route.description ?? descriptions[`${method} ${path}`];
  if (!found) throw new Error(`${method} ${path} is not described in management/descriptions.ts`);
  const [summary, answers, bodyExample] = found;
  const absent = absentRoutes.includes(route);
  return {
    id: `management${absent ? '-absent' : ''}/${method}${path.replace(/[/:_]+/g, '-')}`,
    tag: absent ? 'absent' : tagOf(path),
    summary,
    description: `Takes one of the scopes ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`,
    bearer: true,
    ...queryOf(route, schemas),
    ...(operation.body && {
      [operation.multipart ? 'multipart' : 'json']: toJsonSchema(operation.body, 'input', schemas),
      ...(bodyExample !== undefined && { bodyExample }),
    }),
    answers: { ...answers, ...errorsOf(route) } as Record<number, Answer>,
  };
}

export const tagOf = (path: string): string => (path.startsWith('/users-by-email') ? 'users' : path.split('/')[1]!);

function queryOf({ operation }: Route, schemas: Record<string, Schema>): Pick<Operation, 'query' | 'required'> {
  if (!operation.query) return {};
  const { properties = {}, required = [] } = toJsonSchema(operation.query, 'input', schemas);
  return { query: properties as Record<string, Schema>, required: required as string[] };
}

function errorsOf({ method }: Route): Record<number, Answer> {
  return Object.fromEntries([
    error(400, 'Bad Request', 'invalid_body', 'Payload validation error: Missing required property: name'),
    error(401, 'Unauthorized', undefined, 'Missing authentication'),
    error(403, 'Forbidden', 'insufficient_scope', 'Insufficient scope, expected any of: read:users'),
    error(404, 'Not Found', 'inexistent_user', 'The user does not exist.'),
    ...(method === 'get'
      ? []
      : [
          error(409, 'Conflict', 'auth0_idp_error', 'The user already exists.'),
          error(413, 'Payload Too Large', 'invalid_body', 'The body is too large'),
          error(
            415,
            'Unsupported Media Type',
            'invalid_body',
            'The body must be JSON (content-type: application/json)',
          ),
        ]),
    error(503, 'Service Unavailable', 'temporarily_unavailable', 'Try again in a moment'),
  ]);
}

const meanings: Record<number, string> = {
  400: 'The body or the query does not match the description, or cannot be carried out',
  401: 'There is no token, or it is invalid',
  403: 'The token does not have the scope',
  404: 'It does not exist, or something that the request names does not',
  409: 'It conflicts with an existing one',
  413: 'The body is over 512 kB',
  415: 'The body is not JSON',
  503: 'A store is away',
};

function error(status: number, name: string, errorCode: string | undefined, message: string): [number, Answer] {
  const example = { statusCode: status, error: name, message, ...(errorCode && { errorCode }) };
  return [status, { description: meanings[status]!, schema: 'ManagementError', example }];
}
