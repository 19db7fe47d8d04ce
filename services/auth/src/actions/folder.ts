/**
 * Actions from files (`ACTIONS_DIR`): a folder for each trigger, with a file `NAME.js` for each action, run in the order of their names,
 * and beside it `NAME.secrets.json`, an object of strings, if it has secrets. Read once at startup: changed files need a restart. They
 * may use all npm packages that the packages folder lists.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { z } from 'zod';
import type { BoundAction } from './store.ts';
import { syntaxProblem } from './syntax.ts';
import { isTriggerId, type TriggerId, triggerIds } from './triggers.ts';
import { programMaxBytes } from './worker/messages.ts';

const secretsShape = z.record(z.string().min(1).max(128), z.string().max(4_096));

/** @param dependencies names of npm packages. @throws Misconfigured naming each file that cannot be an action, and each folder that is no trigger */
export function readActions(
  folder: string | undefined,
  dependencies: readonly string[],
): Map<TriggerId, BoundAction[]> {
  if (folder === undefined) return new Map();
  const problems: string[] = [];
  const folders = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));
  for (const { name } of folders)
    if (!isTriggerId(name))
      problems.push(`${join(folder, name)}: there is no trigger of that name (${triggerIds.join(', ')})`);
  const found = new Map(
    folders.flatMap(({ name }) =>
      isTriggerId(name) ? [[name, readTrigger(join(folder, name), name, { problems, dependencies })] as const] : [],
    ),
  );
  if (problems.length > 0) throw new Misconfigured('ACTIONS_DIR', problems);
  return found;
}

type Reading = { problems: string[]; dependencies: readonly string[] };

function readTrigger(folder: string, trigger: TriggerId, { problems, dependencies }: Reading): BoundAction[] {
  const files = readdirSync(folder)
    .filter((file) => /^[^.].*\.c?js$/.test(file))
    .sort();
  return files.map((file) => {
    const name = basename(file).replace(/\.c?js$/, '');
    const path = join(folder, file);
    const code = readFileSync(path, 'utf8');
    const problem = syntaxProblem(code);
    if (problem) problems.push(`${path}: ${problem}`);
    const key = `file ${trigger}/${file}`;
    const secrets = readSecrets(join(folder, `${name}.secrets.json`), problems);
    const bytes = Buffer.byteLength(JSON.stringify({ code, secrets, dependencies }));
    if (bytes > programMaxBytes)
      problems.push(`${path}: takes ${bytes} bytes as JSON, with its secrets; at most ${programMaxBytes} are possible`);
    return { id: key, name, version: key, code, secrets, dependencies };
  });
}

function readSecrets(path: string, problems: string[]): Record<string, string> {
  if (!existsSync(path)) return {};
  try {
    return secretsShape.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    problems.push(`${path}: must be a JSON object of texts`);
    return {};
  }
}
