/** Reads an operator’s YAML file and reports all problems at once, each with its path (`clients[0].callback`). */
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { parse as parseYaml } from 'yaml';
import type { z } from 'zod';

/**
 * The parsed text. An empty file is an empty object.
 * @throws Misconfigured with one line per problem; unknown keys are problems where the schema is strict.
 */
export function readYaml<S extends z.ZodType>(what: string, schema: S, text: string): z.infer<S> {
  let document: unknown;
  try {
    document = parseYaml(text);
  } catch (error) {
    throw new Misconfigured(`bad ${what}`, [`not YAML: ${(error as Error).message.split('\n')[0]}`]);
  }
  const result = schema.safeParse(document ?? {});
  if (result.success) return result.data;
  throw new Misconfigured(
    `bad ${what}`,
    result.error.issues.flatMap((issue) => problemLines(issue)),
  );
}

function problemLines(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: unknown key`);
  return [`${pathText(issue.path) || 'the file'}: ${issue.message}`];
}

/** `['clients', 0, 'callbacks']` → `clients[0].callbacks` */
function pathText(path: PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
}
