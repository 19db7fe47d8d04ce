/**
 * Reading the environment: every service describes its variables as one zod object, reads them once at start, and reports all bad values
 * together, before opening anything. `docs/configuration.md` is generated from the same objects.
 */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { maskText, maskUrl, unreadable } from './mask.ts';
import { Misconfigured } from './misconfigured.ts';
import { productionProblems } from './production.ts';

/**
 * Parses `env` by `schema`. An empty variable counts as unset, unless its meta says `emptyIsValue`. Instead of `NAME`, `NAME_FILE` may name
 * a file that holds the value, as Docker and Kubernetes provide secrets; a single trailing line break is dropped. A check of the
 * whole object concerns several variables: its message is shown as it is.
 * @throws Misconfigured naming every bad variable at once. A bad value is quoted only if it cannot be a secret: otherwise mixing up two
 * variables could put a password into the log.
 */
export function readEnv<S extends z.ZodObject>(
  schema: S,
  env: Record<string, string | undefined> = process.env,
): z.infer<S> {
  const given: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = env[name] || (readValue(name, schema, env, problems) ?? env[name]);
    if (value !== undefined && (value !== '' || metaOf(field).emptyIsValue)) given[name] = value;
  }
  if (problems.length > 0) throw new Misconfigured('bad environment', problems);
  const result = schema.safeParse(given);
  if (result.success) {
    const unsafe = productionProblems(result.data);
    if (unsafe.length > 0) throw new Misconfigured('bad environment', unsafe);
    Object.freeze(result.data);
    return result.data;
  }
  throw new Misconfigured(
    'bad environment',
    result.error.issues.map((issue) => {
      if (issue.path.length === 0) return issue.message;
      const name = String(issue.path[0] ?? '');
      const field = schema.shape[name];
      if (given[name] === undefined) return `${name} is not set; ${field ? (metaOf(field).description ?? '') : ''}`;
      return `${name}: ${issue.message}${shownOf(field, given[name], isOfUrl(issue))}`;
    }),
  );
}

/** The content of the file that `NAME_FILE` names, unless that is a variable of its own (SEED_FILE). */
function readValue(
  name: string,
  schema: z.ZodObject,
  env: Record<string, string | undefined>,
  problems: string[],
): string | undefined {
  const variable = `${name}_FILE`;
  const file = env[variable];
  if (!file || variable in schema.shape) return undefined;
  try {
    return readValueFile(file);
  } catch (error) {
    problems.push(`${variable}: the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

/** The value in a file: its text without a line break at the end. @throws when it cannot be read */
export const readValueFile = (path: string): string => readFileSync(path, 'utf8').replace(/\r?\n$/, '');

const isOfUrl = (issue: z.core.$ZodIssue): boolean => issue.code === 'custom' && issue.params?.isUrlWanted === true;

/**
 * The part of a bad value that may be shown: a masked URL; numbers, networks and a single short word as they are; nothing of anything else.
 */
function shownOf(field: unknown, value: string, isUrlWanted: boolean): string {
  if (metaOf(field).secret) return '';
  const isPlain = /^[\d\s.,:/+-]*$/.test(value) || /^[a-z]{1,8}$/.test(value);
  if (isPlain && !isUrlWanted) return ` (it is ${JSON.stringify(value)})`;
  const masked = maskUrl(value);
  return masked === unreadable ? '' : ` (it is ${JSON.stringify(masked)})`;
}

/** A configuration as shown in the start-up log: secrets only as `configured`, URLs masked. */
export function describeEnv<S extends z.ZodObject>(schema: S, values: z.infer<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = schema.shape[name];
      if (field && metaOf(field).secret) return [name, { configured: value !== undefined }];
      if (typeof value === 'string') return [name, maskText(value)];
      if (Array.isArray(value)) return [name, value.map((item) => (typeof item === 'string' ? maskText(item) : item))];
      return [name, value];
    }),
  );
}

/** How `docs/configuration.md` presents a variable. */
export type VariableMeta = {
  description?: string;
  unit?: string;
  secret?: boolean;
  emptyIsValue?: boolean;
  shownDefault?: string;
  /** Renamed: refused if still set, and not shown. */
  isGone?: boolean;
};

export function metaOf(field: unknown): VariableMeta {
  let current = field as z.ZodType | undefined;
  while (current) {
    const meta = current.meta() as VariableMeta | undefined;
    if (meta) return meta;
    const inner = current.def as { innerType?: z.ZodType; in?: z.ZodType };
    current = inner.innerType ?? inner.in;
  }
  return {};
}
