/** `--set key=value`: changes one value in a payload. */
import { usage } from '../problem.ts';
import type { Json } from './place.ts';

/** Changes `payload` at a path such as `issue.labels.0.name`, creating missing levels. @throws Problem `usage`. */
export function setValue(payload: Json, assignment: string): void {
  const equals = assignment.indexOf('=');
  const path = assignment.slice(0, equals).split('.');
  if (equals < 1 || path.some((name) => name === '')) throw usage(`--set ${assignment}: it is KEY=VALUE`);
  // `__proto__` would change all objects; it is valid in JSON, but nobody needs it.
  if (path.includes('__proto__')) throw usage(`--set ${assignment}: not this key`);
  const last = path.pop()!;
  let at = payload;
  for (const [index, name] of path.entries()) {
    const next = path[index + 1] ?? last;
    if (!Object.hasOwn(at, name) || typeof at[name] !== 'object' || at[name] === null)
      at[name] = /^\d+$/.test(next) ? [] : {};
    at = at[name];
  }
  at[last] = readValue(assignment.slice(equals + 1));
}

/** The value as JSON if it is valid, otherwise the text itself. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
