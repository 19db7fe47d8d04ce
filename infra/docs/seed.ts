/** `npm run docs` generates docs/seed.md from the seed file's schema; a test compares the page with it, and the examples with the schema. */
import { writeFileSync } from 'node:fs';
import { seedSchema } from '@gatepost/contracts/seed';
import { metaOf } from '@gatepost/runtime/env';
import { z } from 'zod';

export const seedPageFile = new URL('../../docs/seed.md', import.meta.url);

/** A key of the file: its path and description. A key that only contains others has no example. */
export type SeedKey = {
  path: string;
  type: string;
  fallback: string;
  example: unknown;
  description: string;
  schema: z.ZodType;
};

const head = `# The seed file

Clients, users, APIs, connections, organizations and repositories that exist from the start. \`SEED_FILE\` names YAML files, separated by commas; [infra/demo/seed.yaml](../infra/demo/seed.yaml) is one,
and [the walk-through](walk-through.md) makes another. Under \`npm start\` yours are added to the demo's; \`SEED_FILE=\` means no seed at all. \`npm run docs\` generates this page from the schema.

- It is applied at each start: what it names is created or updated; what it does not name stays as it is. Nothing is ever deleted.
- An unknown key is refused with its path (\`clients[0].callback\`), and the service does not start. So are a client's grant for an API that does not exist or for a scope that its API does not have,
  and a grant type that nobody serves. All faults are named at once.
- Field names are those of Auth0's Management API. The gate applies all but \`organizations\`, which belong to the webhook API; its own are \`gate_organizations\`, and roles are given by name.
- The default applies when a file leaves a key out. Keys without one are optional unless marked *required*.`;

/** The text of docs/seed.md. */
export function seedPage(): string {
  const sections = Object.entries(seedSchema.shape).map(([name, field]) => {
    const keys = keysOf(field).map(
      ({ path, type, fallback, example, description }) =>
        `| \`${path}\` | ${type} | ${fallback} | ${example === undefined ? '' : code(example)} | ${description.replaceAll('|', '\\|')} |`,
    );
    const about = `${metaOf(field).description} ${isList(field) ? 'A list; each item has' : 'An object with'}`;
    return [
      `## ${name}`,
      '',
      about,
      '',
      '| key | type | default | example | meaning |',
      '|---|---|---|---|---|',
      ...keys,
    ].join('\n');
  });
  return `${[head, ...sections].join('\n\n')}\n`;
}

/** The keys within a key, in schema order, each followed by its own. */
export function keysOf(field: z.ZodType, path = ''): SeedKey[] {
  return Object.entries(objectIn(field)?.shape ?? {}).flatMap(([name, inner]) => {
    const own = path + name;
    const { description = '', example } = metaOf(inner) as { description?: string; example?: unknown };
    const key = { path: own, type: typeOf(inner), fallback: fallbackOf(inner), example, description, schema: inner };
    return [key, ...(example === undefined ? keysOf(inner, `${own}${isList(inner) ? '[]' : ''}.`) : [])];
  });
}

/** The schema inside of an optional one or one with a default. */
function bare(field: z.ZodType): z.ZodType {
  if (field instanceof z.ZodDefault || field instanceof z.ZodOptional || field instanceof z.ZodNullable)
    return bare(field.unwrap() as z.ZodType);
  return field;
}

function objectIn(field: z.ZodType): z.ZodObject | undefined {
  const inner = bare(field);
  if (inner instanceof z.ZodArray) return objectIn(inner.element as z.ZodType);
  return inner instanceof z.ZodObject ? inner : undefined;
}

const isList = (field: z.ZodType): boolean => bare(field) instanceof z.ZodArray;

function typeOf(field: z.ZodType): string {
  const inner = bare(field);
  const orNull = field.safeParse(null).success ? ' or null' : '';
  if (inner instanceof z.ZodArray) return `list of ${plural(inner.element as z.ZodType)}`;
  if (inner instanceof z.ZodEnum) return inner.options.map((option) => `\`${option}\``).join(', ') + orNull;
  return names[inner.type] + orNull;
}

const names: Record<string, string> = {
  string: 'text',
  number: 'number',
  boolean: '`true`, `false`',
  object: 'object',
  record: 'object',
};

function plural(element: z.ZodType): string {
  if (element instanceof z.ZodUnion)
    return [...new Set(element.options.map((option) => plural(option as z.ZodType)))].join(' or ');
  return element instanceof z.ZodObject ? 'objects' : 'texts';
}

function fallbackOf(field: z.ZodType): string {
  const unset = field.safeParse(undefined);
  if (!unset.success) return '*required*';
  return unset.data === undefined ? '' : code(unset.data);
}

/** A value in YAML: JSON is YAML, and a plain word needs no quotes. */
function code(value: unknown): string {
  const written = typeof value === 'string' && /^[a-z][\w-]*$/i.test(value) ? value : JSON.stringify(value);
  return `\`${written.replaceAll('|', '\\|')}\``;
}

if (import.meta.main) {
  writeFileSync(seedPageFile, seedPage());
  console.log('docs/seed.md is written');
}
