/**
 * Lucene's query syntax (https://lucene.apache.org/core/2_9_4/queryparsersyntax.html) as Auth0's lists take it
 * (https://auth0.com/docs/manage-users/user-search/user-search-query-syntax): words, "phrases", wildcards, ranges, fields, groups and
 * operators; no fuzzy or regular expressions and no `?`. Terms beside each other are alternatives, as Lucene has it.
 *
 *   any    = all { ["OR"] all }       with `+` or `-` before one: that must, must not match
 *   all    = one { "AND" one }
 *   one    = ("NOT" | "!" | "-" | "+") one | "(" any ")" | [field ":"] value
 *   value  = word | phrase | range | "(" any ")"
 *   range  = ("[" | "{") bound "TO" bound ("]" | "}") | (">=" | ">" | "<=" | "<") bound
 *
 * Length, number of terms and depth are bounded, and each character is looked at a fixed number of times.
 */
import { badQuery } from './problem.ts';

/** `text` is literal; `pattern` holds the literals between asterisks. A bound that is not there is open. */
export type Value =
  | { kind: 'text'; text: string }
  | { kind: 'pattern'; parts: string[] }
  | { kind: 'range'; from?: Bound; to?: Bound };
export type Bound = { text: string; inclusive: boolean };
export type Query =
  | { kind: 'everything' }
  | { kind: 'and' | 'or'; of: Query[] }
  | { kind: 'not'; of: Query }
  | { kind: 'exists'; field: string }
  /** Without a field: in any. */
  | { kind: 'match'; field: string | undefined; value: Value };

export const lengthMax = 8_000;
const termsMax = 256;
const depthMax = 20;

/** One that stands in a row of alternatives: joined by an explicit OR to a neighbour, or to be met, or not to be met. */
type Clause = { query: Query; sign: '+' | '-' | undefined; joined: boolean };

/** @throws ManagementProblem 400 for what is not in this language */
export function parseLucene(q: string): Query {
  if (q.length > lengthMax) throw badQuery(`'q' has more than ${lengthMax} characters`);
  let at = 0;
  let terms = 0;
  let depth = 0;

  skipSpace();
  const query = any(undefined);
  if (at < q.length) throw unexpected();
  return query;

  function any(field: string | undefined): Query {
    const clauses: Clause[] = [];
    let joined = false;
    for (;;) {
      const sign = signHere();
      const { query, alone } = all(field);
      clauses.push({ query, sign: alone ? sign : undefined, joined });
      joined = operator('OR') || operator('||');
      if (joined) clauses.at(-1)!.joined = true;
      else if (at >= q.length || q[at] === ')') return combine(clauses);
    }
  }

  function signHere(): Clause['sign'] {
    if (q[at] === '+') return '+';
    return q[at] === '-' || q[at] === '!' || operator('NOT', { peek: true }) ? '-' : undefined;
  }

  function all(field: string | undefined): { query: Query; alone: boolean } {
    const queries = [one(field)];
    while (operator('AND') || operator('&&')) queries.push(one(field));
    return { query: joinedBy('and', queries), alone: queries.length === 1 };
  }

  function one(field: string | undefined): Query {
    if (operator('NOT') || ((q[at] === '!' || q[at] === '-') && take()))
      return deeper(() => ({ kind: 'not', of: one(field) }));
    if (q[at] === '+' && take()) return deeper(() => one(field));
    if (q[at] === '(') return group(field);
    if (['AND', 'OR', '&&', '||'].some((name) => operator(name, { peek: true }))) throw unexpected();
    return clause(field);
  }

  function group(field: string | undefined): Query {
    take();
    const inner = deeper(() => any(field));
    if (q[at] !== ')') throw badQuery("'q' lacks a closing parenthesis");
    take();
    return inner;
  }

  function clause(outer: string | undefined): Query {
    terms += 1;
    if (terms > termsMax) throw badQuery(`'q' has more than ${termsMax} terms`);
    if (q[at] === '"') return { kind: 'match', field: outer, value: phrase() };
    if (q[at] === '[' || q[at] === '{') return { kind: 'match', field: needed(outer), value: range() };
    const parts = word(true);
    if (q[at] !== ':') return matching(outer, parts);
    take();
    const field = parts.join('*');
    if (field === '*' || field === '_exists_') return special(field);
    if (q[at] === '(') return group(field);
    if (q[at] === '"') return { kind: 'match', field, value: phrase() };
    if (q[at] === '[' || q[at] === '{') return { kind: 'match', field, value: range() };
    if (q[at] === '<' || q[at] === '>') return { kind: 'match', field, value: comparison() };
    return matching(field, word(false));
  }

  /** What has a colon, but no field before it: `*:*`, `_exists_:field`. */
  function special(name: '*' | '_exists_'): Query {
    const [text = '', ...more] = q[at] === '"' ? [phrase().text] : word(true);
    if (name === '*') {
      if (text !== '' || more.join('') !== '' || more.length !== 1) throw badQuery("'q' has a * for a field");
      return { kind: 'everything' };
    }
    if (more.length > 0) throw badQuery("'q' has a * in the name of a field");
    return { kind: 'exists', field: text };
  }

  function matching(field: string | undefined, parts: string[]): Query {
    if (parts.length > 1 && parts.every((part) => part === ''))
      return field === undefined ? { kind: 'everything' } : { kind: 'exists', field };
    const [text = ''] = parts;
    return { kind: 'match', field, value: parts.length === 1 ? { kind: 'text', text } : { kind: 'pattern', parts } };
  }

  function phrase(): Value & { kind: 'text' } {
    let text = '';
    for (at += 1; q[at] !== '"'; at += 1) {
      if (q[at] === '\\') at += 1;
      if (at >= q.length) throw badQuery("'q' lacks a closing quote");
      text += q[at];
    }
    at += 1;
    if (q[at] === '~' || q[at] === '^') throw unexpected();
    skipSpace();
    return { kind: 'text', text };
  }

  /** The literals between its asterisks. */
  function word(colonEnds: boolean): string[] {
    const parts = [''];
    const start = at;
    for (; at < q.length && !/[\s()"]/.test(q[at]!) && !(colonEnds && q[at] === ':'); at += 1) {
      if (q[at] === '*') {
        parts.push('');
        continue;
      }
      if (q[at] === '?') throw badQuery("'q' has a ?, which is no wildcard here; write \\? for the character");
      if (q[at] === '\\') at += 1;
      if (at >= q.length) throw badQuery("'q' ends with a backslash");
      parts.push(`${parts.pop()}${q[at]}`);
    }
    const written = q.slice(start, at);
    if (written === '') throw unexpected();
    if (/^\/|(?<!\\)[~^][\d.]*$/.test(written))
      throw badQuery(
        "'q' has a regular expression, a fuzzy term or a boost, which are not supported; put it into quotes if it is none",
      );
    if (q[at] !== ':') skipSpace();
    return parts;
  }

  function range(): Value {
    const fromInclusive = q[at] === '[';
    take();
    const from = bound(fromInclusive);
    if (!operator('TO')) throw badQuery("'q' has a range without TO");
    const to = bound(true);
    if (q[at] !== ']' && q[at] !== '}') throw badQuery("'q' has a range that is not closed");
    const inclusive = q[at] === ']';
    take();
    return { kind: 'range', ...(from && { from }), ...(to && { to: { ...to, inclusive } }) };
  }

  function comparison(): Value {
    const isFrom = q[at] === '>';
    at += 1;
    const inclusive = q[at] === '=';
    if (inclusive) at += 1;
    const limit = bound(inclusive);
    if (!limit) throw badQuery("'q' compares with *");
    return { kind: 'range', ...(isFrom ? { from: limit } : { to: limit }) };
  }

  /** Undefined for `*`. */
  function bound(inclusive: boolean): Bound | undefined {
    if (q[at] === '"') return { text: phrase().text, inclusive };
    let text = '';
    const start = at;
    for (; at < q.length && !/[\s()[\]{}"]/.test(q[at]!); at += 1) {
      if (q[at] === '\\') at += 1;
      text += q[at] ?? '';
    }
    if (start === at) throw unexpected();
    const isOpen = q.slice(start, at) === '*';
    skipSpace();
    return isOpen ? undefined : { text, inclusive };
  }

  /** Whether this word comes next, by itself; and goes past it. */
  function operator(name: string, { peek = false } = {}): boolean {
    const end = q[at + name.length];
    if (!q.startsWith(name, at) || !(end === undefined || /[\s()"]/.test(end))) return false;
    if (!peek) {
      at += name.length;
      skipSpace();
    }
    return true;
  }

  function take(): true {
    at += 1;
    skipSpace();
    return true;
  }

  function skipSpace(): void {
    while (at < q.length && /\s/.test(q[at]!)) at += 1;
  }

  function deeper(parse: () => Query): Query {
    depth += 1;
    if (depth > depthMax) throw badQuery(`'q' is nested more than ${depthMax} levels deep`);
    const query = parse();
    depth -= 1;
    return query;
  }

  function needed(field: string | undefined): string {
    if (field === undefined) throw badQuery("'q' has a range without a field");
    return field;
  }

  function unexpected() {
    return badQuery(at < q.length ? `'q' is not understood at ${q.slice(at, at + 20)}` : "'q' ends too early");
  }
}

/** Alternatives beside each other; those with a sign are conditions, but where OR says that they are alternatives like the others. */
function combine(clauses: Clause[]): Query {
  const must: Query[] = [];
  const should: Query[] = [];
  for (const { query, sign, joined } of clauses) (sign === undefined || joined ? should : must).push(query);
  if (clauses.some(({ sign, joined }) => sign === '+' && !joined)) return joinedBy('and', must);
  return joinedBy('and', should.length === 0 ? must : [joinedBy('or', should), ...must]);
}

function joinedBy(kind: 'and' | 'or', of: Query[]): Query {
  return of.length === 1 ? of[0]! : { kind, of };
}
