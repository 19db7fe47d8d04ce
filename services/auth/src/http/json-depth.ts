/**
 * Measures how deeply JSON is nested without walking it: functions that walk it (`structuredClone`, `JSON.stringify`) would exhaust the
 * stack.
 */

/** Deeper than any of our bodies and tokens. */
export const depthMax = 20;
// Nothing shorter can be nested deeply enough to break anything; nearly all input is shorter.
const harmlessLength = 1_000;

/** Whether a parameter is a JWT with too deeply nested header or payload, whoever signed it: it is decoded before it is verified. */
export function isDeepToken(value: unknown): boolean {
  if (typeof value !== 'string' || value.length < harmlessLength) return false;
  const parts = value.split('.', 3);
  return (
    parts.length > 1 && parts.slice(0, 2).some((part) => isDeep(Buffer.from(part, 'base64url').toString('latin1')))
  );
}

/** Whether the text nests lists and objects more than `max` deep. For text that is not JSON the answer may be either. */
export function isDeep(json: string, max = depthMax): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1)
    switch (json[at]) {
      case '"':
        for (at += 1; at < json.length && json[at] !== '"'; at += 1) if (json[at] === '\\') at += 1;
        break;
      case '[':
      case '{':
        depth += 1;
        if (depth > max) return true;
        break;
      case ']':
      case '}':
        depth -= 1;
    }
  return false;
}
