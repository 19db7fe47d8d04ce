/** The part of OpenAPI 3.0 that the gate's description uses, and its conversion from short declarations. */
import { exampleOf } from '@gatepost/api-docs/example';
import { type JsonSchema, refTo } from '@gatepost/api-docs/json-schema';

export type Schema = JsonSchema;
/** `schema`: the name of a component, or the schema itself. Without one the answer has no body, or is a page. */
export type Answer = { description: string; schema?: string | Schema; mediaType?: string; example?: unknown };
export type Operation = {
  id: string;
  tag: string;
  summary: string;
  description?: string;
  query?: Record<string, Schema>;
  /** Names of required query parameters. */
  required?: string[];
  form?: Schema;
  json?: Schema;
  multipart?: Schema;
  bodyExample?: unknown;
  /** Whether it takes an access token. */
  bearer?: boolean;
  answers: Record<number, Answer>;
};

type Content = Record<string, { schema: Schema; example?: unknown }>;
export type Described = {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters: object[];
  requestBody?: { required: true; content: Content };
  responses: Record<string, { description: string; content?: Content }>;
};

/** `path` in OpenAPI's notation. `schemas` are the components, with their examples. */
export function describeOperation(path: string, operation: Operation, schemas: Record<string, Schema>): Described {
  const { id, tag, summary, description, query = {}, required = [], bearer, answers } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    example: examplesOfPaths[name!] ?? 'x1',
  }));
  const inQuery = Object.entries(query).map(([name, { description: said, example, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(typeof said === 'string' && said !== '' && { description: said }),
    schema,
    ...(example !== undefined && { example }),
  }));
  return {
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    security: bearer ? [{ token: [] }] : [],
    parameters: [...inPath, ...inQuery],
    ...bodyOf(operation, schemas),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, schemas)]),
    ),
  };
}

const examplesOfPaths: Record<string, string> = {
  user_id: 'auth0|alice',
  provider: 'auth0',
  kid: 'hV2pTq',
  language: 'de',
  prompt: 'login',
};

function bodyOf(
  { form, json, multipart, bodyExample }: Operation,
  schemas: Record<string, Schema>,
): Pick<Described, 'requestBody'> {
  const schema = form ?? json ?? multipart;
  if (!schema) return {};
  const mediaType = form ? 'application/x-www-form-urlencoded' : multipart ? 'multipart/form-data' : 'application/json';
  const example = bodyExample ?? exampleOf(schema, schemas);
  return { requestBody: { required: true, content: { [mediaType]: { schema: plain(schema), example } } } };
}

function describeAnswer(answer: Answer, schemas: Record<string, Schema>): Described['responses'][string] {
  const { description, mediaType = 'application/json' } = answer;
  if (answer.schema === undefined) return { description };
  const schema = typeof answer.schema === 'string' ? refTo(answer.schema) : answer.schema;
  const example = answer.example ?? exampleOf(schema, schemas);
  return { description, content: { [mediaType]: { schema: plain(schema), example } } };
}

/** Removes empty descriptions. */
const plain = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema, (key, value) => (key === 'description' && value === '' ? undefined : value)));
