/** Finds some members of a JSON object without building the rest: 24 MB of `[],[],…` would take a gigabyte. */

/** The position of a value, without surrounding white space. */
export type Span = { start: number; end: number };

// The length of a name, which may be spelled with escapes.
const nameMaxBytes = 256;
const none = 'not_json';

/**
 * The values of the `wanted` members of the object in `json`, which is UTF-8; as in JSON.parse, the last of duplicate names wins. Accepts
 * exactly what JSON.parse accepts, and needs memory only for the nesting depth.
 */
export function membersOf(json: Buffer, wanted: ReadonlySet<string>): Map<string, Span> | 'not_json' | 'not_an_object' {
  const members = new Map<string, Span>();
  let open = new Uint8Array(64); // whether each level is an object
  let depth = 0;
  let at = afterSpace(json, 0);
  const isObject = json[at] === curly;
  let name: string | undefined;
  let valueAt = 0;
  let expects: 'name' | 'value' | 'end' = 'value';
  for (;;) {
    if (expects === 'name') {
      const end = json[at] === quote ? stringEnd(json, at) : 0;
      if (end === 0) return none;
      if (depth === 1) name = nameIn(json, at, end, wanted);
      at = afterSpace(json, end);
      if (json[at] !== colon) return none;
      at = afterSpace(json, at + 1);
      if (depth === 1) valueAt = at;
      expects = 'value';
    }
    if (expects === 'value') {
      const first = json[at];
      if (first === curly || first === square) {
        if (depth === open.length) open = grown(open);
        open[depth] = Number(first === curly);
        depth += 1;
        at = afterSpace(json, at + 1);
        // '{' and '[' are two below their closing characters.
        if (json[at] !== first + 2) {
          expects = first === curly ? 'name' : 'value';
          continue;
        }
        at += 1;
        depth -= 1;
      } else {
        at = scalarEnd(json, at);
        if (at === 0) return none;
      }
    }
    // A value has ended.
    if (depth === 1 && name !== undefined) members.set(name, { start: valueAt, end: at });
    at = afterSpace(json, at);
    if (depth === 0) {
      if (at !== json.length) return none;
      return isObject ? members : 'not_an_object';
    }
    const inObject = open[depth - 1] === 1;
    const next = json[at];
    at += 1;
    if (next === comma) {
      at = afterSpace(json, at);
      expects = inObject ? 'name' : 'value';
    } else if (next === (inObject ? curly : square) + 2) {
      depth -= 1;
      if (depth === 0) name = undefined;
      expects = 'end';
    } else return none;
  }
}

const [quote, comma, colon, square, backslash, curly] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b] as const;
const escaped = new Set(Buffer.from('"\\/bfnrt'));
const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text));

function afterSpace(json: Uint8Array, from: number): number {
  let at = from;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at += 1;
  return at;
}

function grown(from: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const to = new Uint8Array(from.length * 2);
  to.set(from);
  return to;
}

function nameIn(json: Buffer, start: number, end: number, wanted: ReadonlySet<string>): string | undefined {
  if (end - start > nameMaxBytes) return undefined;
  const name = JSON.parse(json.toString('utf8', start, end)) as string;
  return wanted.has(name) ? name : undefined;
}

/** Where a string, number or literal ends; 0: it is none of these. */
function scalarEnd(json: Uint8Array, start: number): number {
  if (json[start] === quote) return stringEnd(json, start);
  const literal = literals.find((bytes) => bytes[0] === json[start]);
  if (!literal) return numberEnd(json, start);
  return literal.every((byte, index) => json[start + index] === byte) ? start + literal.length : 0;
}

function stringEnd(json: Uint8Array, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const byte = json[at]!;
    if (byte === quote) return at + 1;
    if (byte < 0x20) return 0;
    if (byte !== backslash) continue;
    at += 1;
    if (json[at] === 0x75) {
      for (const end = at + 4; at < end; ) {
        at += 1;
        if (!isHex(json[at])) return 0;
      }
    } else if (!escaped.has(json[at] ?? 0)) return 0;
  }
  return 0;
}

function numberEnd(json: Uint8Array, start: number): number {
  let at = json[start] === 0x2d ? start + 1 : start;
  const whole = at;
  at = afterDigits(json, at);
  if (at === whole || (json[whole] === 0x30 && at > whole + 1)) return 0;
  if (json[at] === 0x2e) {
    const from = at + 1;
    at = afterDigits(json, from);
    if (at === from) return 0;
  }
  if (json[at] === 0x65 || json[at] === 0x45) {
    at += 1;
    if (json[at] === 0x2b || json[at] === 0x2d) at += 1;
    const from = at;
    at = afterDigits(json, from);
    if (at === from) return 0;
  }
  return at;
}

function afterDigits(json: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(json[at])) at += 1;
  return at;
}

const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;
const isHex = (byte = 0) => isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
