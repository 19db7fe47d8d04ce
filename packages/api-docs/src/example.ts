/** Examples of requests and answers, assembled from the examples of their schemas. */
import type { JsonSchema } from './json-schema.ts';

/**
 * An example for a schema: its own `example`, or one made from its parts and from what format, type and default allow. A text that only its
 * name distinguishes from any other has none: its property is then left out.
 */
export function exampleOf(schema: JsonSchema, schemas: Record<string, JsonSchema>): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref) return exampleOf(schemas[schema.$ref.split('/').at(-1)!] ?? {}, schemas);
  const { allOf, anyOf, oneOf, items, properties, type, format } = schema;
  if (Array.isArray(allOf)) return Object.assign({}, ...allOf.map((part: JsonSchema) => exampleOf(part, schemas)));
  const options = anyOf ?? oneOf;
  if (Array.isArray(options)) return firstExample(options, schemas);
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (type === 'array') {
    const item = exampleOf((items ?? {}) as JsonSchema, schemas);
    return item === undefined ? [] : [item];
  }
  if (type === 'object') return exampleOfObject((properties ?? {}) as Record<string, JsonSchema>, schemas);
  if (typeof format === 'string' && format in byFormat) return byFormat[format];
  if (type === 'boolean') return true;
  return type === 'integer' || type === 'number' ? Math.max(Number(schema.minimum ?? 1), 1) : undefined;
}

const byFormat: Record<string, string> = {
  'date-time': '2026-11-22T10:30:00Z',
  date: '2026-11-22',
  email: 'alice@example.com',
  uri: 'https://example.com/',
  uuid: '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70',
};

function firstExample(options: JsonSchema[], schemas: Record<string, JsonSchema>): unknown {
  return options.map((option) => exampleOf(option, schemas)).find((example) => example !== undefined);
}

function exampleOfObject(properties: Record<string, JsonSchema>, schemas: Record<string, JsonSchema>): object {
  const examples = Object.entries(properties).map(([name, property]) => [name, exampleOf(property, schemas)]);
  return Object.fromEntries(examples.filter(([, example]) => example !== undefined));
}
