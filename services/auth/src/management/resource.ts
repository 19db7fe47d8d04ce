/** Makes a resource's schema from an example with all its properties, so that readers and tests use the same text. */
import type { JsonSchema as Schema } from '@gatepost/api-docs/json-schema';

const isFree = Symbol('free');

/** Marks an object with arbitrary properties. */
export const free = <Value extends object>(value: Value): Value => ({ ...value, [isFree]: true });

/** No property is required: `fields` may omit any of them. `nullable` names those that may be null. */
export function resource(example: object, nullable: string[] = []): Schema {
  const schema = schemaOf(example) as { properties: Record<string, Schema> };
  for (const name of nullable) schema.properties[name]!.nullable = true;
  return { ...schema, additionalProperties: false, example };
}

/** A resource that may have more properties, such as those stored for Auth0's tools. */
export function openResource(example: object, nullable: string[] = []): Schema {
  return { ...resource(example, nullable), additionalProperties: true };
}

function schemaOf(value: unknown): Schema {
  if (value === null) return {};
  if (Array.isArray(value)) return { type: 'array', items: value.length > 0 ? schemaOf(value[0]) : {} };
  if (typeof value === 'object') {
    if (isFree in value) return { type: 'object', additionalProperties: true };
    const properties = Object.entries(value).map(([name, inner]) => [name, schemaOf(inner)]);
    return { type: 'object', properties: Object.fromEntries(properties) };
  }
  if (typeof value === 'number') return { type: Number.isInteger(value) ? 'integer' : 'number' };
  return { type: typeof value };
}
