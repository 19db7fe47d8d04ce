/** Describes a malformed body in GitHub’s words: 422 without an `errors` array. */
import type { z } from 'zod';
import { ApiError } from './errors.ts';

/** Parses `value` by `schema`. @throws ApiError 422 that names every wrong property. */
export function parseShape<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const lines = new Set(result.error.issues.map((issue) => describe(issue, value)));
  throw new ApiError(422, `Invalid request.\n\n${[...lines].slice(0, 20).join('\n')}`);
}

function describe(issue: z.core.$ZodIssue, root: unknown): string {
  const value = valueAt(root, issue.path);
  const last = issue.path.at(-1);
  if (value === undefined && last !== undefined) return `"${shorten(String(last))}" wasn't supplied.`;
  const where = issue.path.length === 0 ? '' : `For 'properties/${shorten(issue.path.map(String).join('/'))}', `;
  return `${where}${issue.path.some((name) => secretNames.has(name)) ? '********' : inspect(value)} ${complaint(issue)}.`;
}

function complaint(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `is not ${articled(issue.expected)}`;
    case 'invalid_value':
      return `is not a member of ${JSON.stringify(issue.values)}`;
    case 'invalid_union':
      return 'is not of an allowed type';
    default:
      return issue.message;
  }
}

function articled(type: string): string {
  const name = type === 'record' ? 'object' : type;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

/** Values under these names are secret, even if they have the wrong type: answers end up in logs and bug reports. */
const secretNames = new Set<PropertyKey>(['secret', 'headers', 'request_headers']);

/** Like Ruby’s `inspect`, but short. The content of a list or object is not shown, since it may be anything. */
function inspect(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'object') return Array.isArray(value) ? '[…]' : '{…}';
  return shorten(JSON.stringify(value));
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}

function valueAt(root: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    root,
  );
}
