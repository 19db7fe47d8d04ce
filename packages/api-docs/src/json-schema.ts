/** Zod schemas as OpenAPI 3.0 schemas, like GitHub's own description: more generators accept it than 3.1. */
import { z } from 'zod';

export type JsonSchema = { [key: string]: unknown; $ref?: string; definitions?: Record<string, JsonSchema> };

/** A reference to a component. */
export const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** A schema as JSON Schema; a schema with an `id` goes into `schemas`, replaced by a reference. */
export function toJsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  const made = z.toJSONSchema(schema, {
    io,
    target: 'openapi-3.0',
    // Any value is allowed where only the code knows more.
    unrepresentable: 'any',
    override: ({ jsonSchema, zodSchema }) => adapt(jsonSchema, zodSchema, io, schemas),
  });
  const { $schema, definitions = {}, ...root } = made as JsonSchema;
  for (const [name, definition] of Object.entries(definitions)) schemas[name] = withReferences(definition);
  return withReferences(root);
}

/**
 * Removes what the format or type already says, for readers' sake, and what generators take too strictly: a client of today must not refuse a
 * property of tomorrow.
 */
function adapt(
  schema: Record<string, unknown>,
  zodSchema: unknown,
  io: 'input' | 'output',
  schemas: Record<string, JsonSchema>,
): void {
  const prepared = io === 'input' && afterPreparation(zodSchema);
  if (prepared) Object.assign(schema, toJsonSchema(prepared, io, schemas));
  // A generated client would fail on syntax that only some languages' regular expressions know (`\p{…}`, a look-ahead).
  if (schema.format !== undefined || /\\[pP]\{|\(\?[!=<]/.test(String(schema.pattern))) delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  // Anything without a type may be null anyway.
  if (schema.type === undefined) delete schema.nullable;
  // OpenAPI 3.0.3: otherwise null would not be among the values.
  if (schema.nullable && Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum.push(null);
}

/** The output side of `z.preprocess`: whatever gets tidied up first, that is what clients should send. */
function afterPreparation(schema: unknown): z.ZodType | undefined {
  if (!(schema instanceof z.ZodPipe)) return undefined;
  return schema.def.in instanceof z.ZodTransform ? (schema.def.out as z.ZodType) : undefined;
}

function withReferences(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema, (key, value) => (key === 'id' && typeof value === 'string' ? undefined : value));
  return JSON.parse(text.replaceAll('"#/definitions/', '"#/components/schemas/')) as JsonSchema; // it came from JSON
}
