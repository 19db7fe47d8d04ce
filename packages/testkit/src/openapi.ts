/** Checks that an OpenAPI description is valid, and that its examples match its schemas. */
import { createConfig, lintFromString } from '@redocly/openapi-core';

/** Its problems, each with its location. */
export async function findDescriptionProblems(api: object): Promise<string[]> {
  const config = await createConfig({
    rules: {
      struct: 'error',
      'no-unresolved-refs': 'error',
      'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: false },
      'no-invalid-parameter-examples': 'error',
      'operation-operationId-unique': 'error',
      'operation-parameters-unique': 'error',
      'path-parameters-defined': 'error',
      'path-declaration-must-exist': 'error',
      'security-defined': 'error',
      'tag-description': 'off',
    },
  });
  const problems = await lintFromString({ source: withoutBounds(api), absoluteRef: '/openapi.json', config });
  return problems.map(({ message, location, ruleId }) => `${location[0]?.pointer}: ${message} (${ruleId})`);
}

/** The checker of examples knows only OpenAPI 3.1's form of `exclusiveMinimum`. */
const withoutBounds = (api: object): string =>
  JSON.stringify(api, (key, value) => (key === 'exclusiveMinimum' ? undefined : value));

type Operation = {
  requestBody?: { content?: Content };
  responses: Record<string, { $ref?: string; content?: Content }>;
};
type Content = Record<string, { schema?: unknown; example?: unknown }>;

/** Requests and answers without an example: `get /hooks 200`. */
export function findWithoutExample(paths: Record<string, Record<string, Operation>>): string[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody, responses }]) => {
      const parts = [['body', requestBody] as const, ...Object.entries(responses)];
      return parts
        .filter(([, part]) => Object.values(part?.content ?? {}).some(({ example }) => example === undefined))
        .map(([name]) => `${method} ${path} ${name}`);
    }),
  );
}
