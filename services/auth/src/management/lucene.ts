/**
 * Lucene's query syntax (https://lucene.apache.org/core/2_9_4/queryparsersyntax.html) as Auth0's lists take it
 * (https://auth0.com/docs/manage-users/user-search/user-search-query-syntax): words, "phrases", wildcards, ranges, fields, groups and
 * operators; no fuzzy or regular expressions and no `?`. Adjacent terms are alternatives, as in Lucene.
 *
 *   any    = all { ["OR"] all }       with `+` or `-` before one: it must, or must not, match
 *   all    = one { "AND" one }
 *   one    = ("NOT" | "!" | "-" | "+") one | "(" any ")" | [field ":"] value
 *   value  = word | phrase | range | "(" any ")"
 *   range  = ("[" | "{") bound "TO" bound ("]" | "}") | (">=" | ">" | "<=" | "<") bound
 *
 * Length, number of terms and depth are bounded, and each character is read a fixed number of times.
 */
import { badQuery } from './problem.ts';

/** `text` is literal; `pattern` holds the literals between asterisks. An absent bound is open. */
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
  /** Without a field: in any field. */
  | { kind: 'match'; field: string | undefined; value: Value };

export const lengthMax = 8_000;
const termsMax = 256;
const depthMax = 20;

/** One of several adjacent alternatives: joined to a neighbour by an explicit OR, or marked as required or excluded. */
type Clause = { query: Query; sign: '+' | '-' | undefined; joined: boolean };

/** @throws ManagementProblem 400 for text outside of this language */
export function parseLucene(q: string): Query {
  if (q.length > lengthMax) throw badQuery(`'q' has more than ${lengthMax} characters`);
  return new Parser(q).parse();
}

/** Each grammar rule reads from where the previous one ended, and skips the space after itself. */
class Parser {
  readonly #q: string;
  #at = 0;
  #terms = 0;
  #depth = 0;

  constructor(q: string) {
    this.#q = q;
  }

  parse(): Query {
    this.#skipSpace();
    const query = this.#any(undefined);
    if (this.#at < this.#q.length) throw this.#unexpected();
    return query;
  }

  #here(): string | undefined {
    return this.#q[this.#at];
  }

  #any(field: string | undefined): Query {
    const clauses: Clause[] = [];
    let joined = false;
    for (;;) {
      const sign = this.#signHere();
      const { query, alone } = this.#all(field);
      clauses.push({ query, sign: alone ? sign : undefined, joined });
      joined = this.#operator('OR') || this.#operator('||');
      if (joined) clauses.at(-1)!.joined = true;
      else if (this.#at >= this.#q.length || this.#here() === ')') return combine(clauses);
    }
  }

  #signHere(): Clause['sign'] {
    if (this.#here() === '+') return '+';
    return this.#here() === '-' || this.#here() === '!' || this.#operator('NOT', { peek: true }) ? '-' : undefined;
  }

  #all(field: string | undefined): { query: Query; alone: boolean } {
    const queries = [this.#one(field)];
    while (this.#operator('AND') || this.#operator('&&')) queries.push(this.#one(field));
    return { query: joined('and', queries), alone: queries.length === 1 };
  }

  #one(field: string | undefined): Query {
    if (this.#operator('NOT') || ((this.#here() === '!' || this.#here() === '-') && this.#take()))
      return this.#deeper(() => ({ kind: 'not', of: this.#one(field) }));
    if (this.#here() === '+' && this.#take()) return this.#deeper(() => this.#one(field));
    if (this.#here() === '(') return this.#group(field);
    if (['AND', 'OR', '&&', '||'].some((name) => this.#operator(name, { peek: true }))) throw this.#unexpected();
    return this.#clause(field);
  }

  #group(field: string | undefined): Query {
    this.#take();
    const inner = this.#deeper(() => this.#any(field));
    if (this.#here() !== ')') throw badQuery("'q' lacks a closing parenthesis");
    this.#take();
    return inner;
  }

  #clause(outer: string | undefined): Query {
    this.#terms += 1;
    if (this.#terms > termsMax) throw badQuery(`'q' has more than ${termsMax} terms`);
    if (this.#here() === '"') return { kind: 'match', field: outer, value: this.#phrase() };
    if (this.#here() === '[' || this.#here() === '{')
      return { kind: 'match', field: this.#needed(outer), value: this.#range() };
    const parts = this.#word(true);
    if (this.#here() !== ':') return this.#matching(outer, parts);
    this.#take();
    const field = parts.join('*');
    if (field === '*' || field === '_exists_') return this.#special(field);
    if (this.#here() === '(') return this.#group(field);
    if (this.#here() === '"') return { kind: 'match', field, value: this.#phrase() };
    if (this.#here() === '[' || this.#here() === '{') return { kind: 'match', field, value: this.#range() };
    if (this.#here() === '<' || this.#here() === '>') return { kind: 'match', field, value: this.#comparison() };
    return this.#matching(field, this.#word(false));
  }

  /** Expressions with a colon but no field before it: `*:*`, `_exists_:field`. */
  #special(name: '*' | '_exists_'): Query {
    const [text = '', ...more] = this.#here() === '"' ? [this.#phrase().text] : this.#word(true);
    if (name === '*') {
      if (text !== '' || more.join('') !== '' || more.length !== 1) throw badQuery("'q' has a * for a field");
      return { kind: 'everything' };
    }
    if (more.length > 0) throw badQuery("'q' has a * in the name of a field");
    return { kind: 'exists', field: text };
  }

  #matching(field: string | undefined, parts: string[]): Query {
    if (parts.length > 1 && parts.every((part) => part === ''))
      return field === undefined ? { kind: 'everything' } : { kind: 'exists', field };
    const [text = ''] = parts;
    return { kind: 'match', field, value: parts.length === 1 ? { kind: 'text', text } : { kind: 'pattern', parts } };
  }

  #phrase(): Value & { kind: 'text' } {
    let text = '';
    for (this.#at += 1; this.#here() !== '"'; this.#at += 1) {
      if (this.#here() === '\\') this.#at += 1;
      if (this.#at >= this.#q.length) throw badQuery("'q' lacks a closing quote");
      text += this.#here();
    }
    this.#at += 1;
    if (this.#here() === '~' || this.#here() === '^') throw this.#unexpected();
    this.#skipSpace();
    return { kind: 'text', text };
  }

  /** A word's literals, split at its asterisks. */
  #word(colonEnds: boolean): string[] {
    const parts = [''];
    const start = this.#at;
    for (
      ;
      this.#at < this.#q.length && !/[\s()"]/.test(this.#here()!) && !(colonEnds && this.#here() === ':');
      this.#at += 1
    ) {
      if (this.#here() === '*') {
        parts.push('');
        continue;
      }
      if (this.#here() === '?') throw badQuery("'q' has a ?, which is no wildcard here; write \\? for the character");
      if (this.#here() === '\\') this.#at += 1;
      if (this.#at >= this.#q.length) throw badQuery("'q' ends with a backslash");
      parts.push(`${parts.pop()}${this.#here()}`);
    }
    const written = this.#q.slice(start, this.#at);
    if (written === '') throw this.#unexpected();
    if (/^\/|(?<!\\)[~^][\d.]*$/.test(written))
      throw badQuery(
        "'q' has a regular expression, a fuzzy term or a boost, which are not supported; put it into quotes if it is none",
      );
    if (this.#here() !== ':') this.#skipSpace();
    return parts;
  }

  #range(): Value {
    const fromInclusive = this.#here() === '[';
    this.#take();
    const from = this.#bound(fromInclusive);
    if (!this.#operator('TO')) throw badQuery("'q' has a range without TO");
    const to = this.#bound(true);
    if (this.#here() !== ']' && this.#here() !== '}') throw badQuery("'q' has a range that is not closed");
    const inclusive = this.#here() === ']';
    this.#take();
    return { kind: 'range', ...(from && { from }), ...(to && { to: { ...to, inclusive } }) };
  }

  #comparison(): Value {
    const isFrom = this.#here() === '>';
    this.#at += 1;
    const inclusive = this.#here() === '=';
    if (inclusive) this.#at += 1;
    const limit = this.#bound(inclusive);
    if (!limit) throw badQuery("'q' compares with *");
    return { kind: 'range', ...(isFrom ? { from: limit } : { to: limit }) };
  }

  /** Undefined for `*`. */
  #bound(inclusive: boolean): Bound | undefined {
    if (this.#here() === '"') return { text: this.#phrase().text, inclusive };
    let text = '';
    const start = this.#at;
    for (; this.#at < this.#q.length && !/[\s()[\]{}"]/.test(this.#here()!); this.#at += 1) {
      if (this.#here() === '\\') this.#at += 1;
      text += this.#here() ?? '';
    }
    if (start === this.#at) throw this.#unexpected();
    const isOpen = this.#q.slice(start, this.#at) === '*';
    this.#skipSpace();
    return isOpen ? undefined : { text, inclusive };
  }

  /** Whether this word comes next as a separate word; if so, moves past it. */
  #operator(name: string, { peek = false } = {}): boolean {
    const end = this.#q[this.#at + name.length];
    if (!this.#q.startsWith(name, this.#at) || !(end === undefined || /[\s()"]/.test(end))) return false;
    if (!peek) {
      this.#at += name.length;
      this.#skipSpace();
    }
    return true;
  }

  #take(): true {
    this.#at += 1;
    this.#skipSpace();
    return true;
  }

  #skipSpace(): void {
    while (this.#at < this.#q.length && /\s/.test(this.#here()!)) this.#at += 1;
  }

  #deeper(parse: () => Query): Query {
    this.#depth += 1;
    if (this.#depth > depthMax) throw badQuery(`'q' is nested more than ${depthMax} levels deep`);
    const query = parse();
    this.#depth -= 1;
    return query;
  }

  #needed(field: string | undefined): string {
    if (field === undefined) throw badQuery("'q' has a range without a field");
    return field;
  }

  #unexpected() {
    return badQuery(
      this.#at < this.#q.length
        ? `'q' is not understood at ${this.#q.slice(this.#at, this.#at + 20)}`
        : "'q' ends too early",
    );
  }
}

/** Adjacent clauses are alternatives; signed ones are conditions, unless an OR makes them alternatives too. */
function combine(clauses: Clause[]): Query {
  const must: Query[] = [];
  const should: Query[] = [];
  for (const { query, sign, joined } of clauses) (sign === undefined || joined ? should : must).push(query);
  if (clauses.some(({ sign, joined }) => sign === '+' && !joined)) return joined('and', must);
  return joined('and', should.length === 0 ? must : [joined('or', should), ...must]);
}

function joined(kind: 'and' | 'or', of: Query[]): Query {
  return of.length === 1 ? of[0]! : { kind, of };
}
