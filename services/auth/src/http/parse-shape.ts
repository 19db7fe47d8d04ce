/** Validates input against its schema and reports the first problem in words close to Auth0’s. */
import type { z } from 'zod';

/** @throws the error that `problem` makes of the first thing that is wrong */
export function parseShape(schema: z.ZodType, value: unknown, problem: (message: string) => Error): unknown {
  const flaw = findFlaw(value);
  if (flaw !== undefined) throw problem(flaw);
  const result = schema.safeParse(value, { error: inWords });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw problem(issue ? describeIssue(issue) : 'malformed');
}

const missing = 'Missing required property';

/** Auth0's words for what people type too long or too short, and for a wrong type; the schema's own text comes before them. */
export function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (issue.code === 'invalid_type')
    return input === undefined ? missing : `Expected type ${issue.expected} but found type ${typeOf(input)}`;
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return undefined;
  const isBig = issue.code === 'too_big';
  const bound = isBig ? `maximum ${issue.maximum}` : `minimum ${issue.minimum}`;
  const extent = isBig ? 'long' : 'short';
  if (typeof input === 'string') return `String is too ${extent} (${input.length} chars), ${bound}`;
  if (Array.isArray(input)) return `Array is too ${extent} (${input.length}), ${bound}`;
  if (typeof input === 'number' && issue.inclusive)
    return `Value ${input} is ${isBig ? 'greater' : 'less'} than ${bound}`;
  return undefined;
}

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return `Additional properties not allowed: ${issue.keys.map((key) => (path ? `${path}.${key}` : key)).join(',')}`;
  if (issue.message === missing) return `${missing}: ${path}`;
  return path === '' ? issue.message : `${issue.message} on property ${path}`;
}

const maxDepth = 32;

/** What no schema covers and PostgreSQL cannot store: NUL, half a surrogate pair; also excessive nesting. */
export function findFlaw(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') {
    if (value.includes('\0')) return 'a string must not contain NUL';
    return value.isWellFormed() ? undefined : 'a string must be well-formed Unicode';
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= maxDepth) return `nested more than ${maxDepth} levels deep`;
  for (const [key, inner] of Object.entries(value)) {
    const flaw = findFlaw(key) ?? findFlaw(inner, depth + 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}
