/**
 * `q` of Auth0's lists, the part of Lucene's syntax that its users write: `email:"a@b.c"`, `name:jo*`, `blocked:true`,
 * `logins_count:3`, `_exists_:phone_number`, joined by AND, OR, NOT and parentheses. A word without a field looks in all
 * text fields.
 *
 *   any    = all { "OR" all }         all = one { ["AND"] one }
 *   one    = ("NOT" | "-") one | "(" any ")" | [field ":"] value
 */
import { badQuery } from './problem.ts';

/** The searchable fields by their names outside: the column as Prisma names it, and what it holds. */
export type SearchFields = Record<string, { column: string; holds: 'text' | 'boolean' | 'number' }>;
/** A `where` of Prisma's. */
export type Where = Record<string, unknown>;

const maxTokens = 100;

/** @throws ManagementProblem 400 for what is not in this language, or names a field that is not searchable. */
export function parseSearch(q: string, fields: SearchFields): Where {
  const tokens = [...q.matchAll(/\(|\)|-(?=[\w"(])|(?:[\w.]+:)?(?:"(?:\\.|[^"\\])*"|[^\s()"]+)/g)].map(
    ([token]) => token,
  );
  if (tokens.length > maxTokens) throw badQuery(`'q' has more than ${maxTokens} terms`);
  let at = 0;
  const where = any();
  if (at < tokens.length) throw badQuery(`'q' is not understood at ${tokens[at]}`);
  return where;

  function any(): Where {
    const alternatives = [all()];
    while (tokens[at] === 'OR') {
      at += 1;
      alternatives.push(all());
    }
    return alternatives.length === 1 ? (alternatives[0] as Where) : { OR: alternatives };
  }

  function all(): Where {
    const terms = [one()];
    while (at < tokens.length && tokens[at] !== 'OR' && tokens[at] !== ')') {
      if (tokens[at] === 'AND') at += 1;
      terms.push(one());
    }
    return terms.length === 1 ? (terms[0] as Where) : { AND: terms };
  }

  function one(): Where {
    const token = tokens[at];
    at += 1;
    if (token === undefined || token === ')' || token === 'AND' || token === 'OR') throw badQuery("'q' ends too early");
    if (token === 'NOT' || token === '-') return { NOT: one() };
    if (token !== '(') return term(token, fields);
    const inner = any();
    if (tokens[at] !== ')') throw badQuery("'q' lacks a closing parenthesis");
    at += 1;
    return inner;
  }
}

function term(token: string, fields: SearchFields): Where {
  const [, name, value = ''] = /^(?:([\w.]+):)?(.*)$/s.exec(token) ?? [];
  if (name === '_exists_') return { NOT: { [columnOf(value, fields).column]: null } };
  if (name !== undefined) return condition(columnOf(name, fields), value);
  const texts = Object.values(fields).filter(({ holds }) => holds === 'text');
  return { OR: texts.map((field) => condition(field, value)) };
}

function columnOf(name: string, fields: SearchFields): SearchFields[string] {
  // Auth0's exact-match subfields (`email.raw`) are the fields themselves here.
  const exact = name.replace(/\.raw$/, '');
  const field = Object.hasOwn(fields, exact) ? fields[exact] : undefined;
  if (field === undefined) throw badQuery(`'q' names a field that cannot be searched: ${name}`);
  return field;
}

function condition({ column, holds }: SearchFields[string], value: string): Where {
  switch (holds) {
    case 'boolean':
      if (value !== 'true' && value !== 'false') throw badQuery(`'q' compares a boolean with ${value}`);
      return { [column]: value === 'true' };
    case 'number':
      if (!/^\d{1,9}$/.test(value)) throw badQuery(`'q' compares a number with ${value}`);
      return { [column]: Number(value) };
    case 'text':
      return { [column]: textCondition(value) };
  }
}

function textCondition(value: string): object {
  const insensitive = { mode: 'insensitive' };
  if (value.startsWith('"')) return { equals: value.slice(1, -1).replace(/\\(.)/g, '$1'), ...insensitive };
  if (value === '*') return { not: null };
  const starts = value.endsWith('*');
  const ends = value.startsWith('*');
  const text = value.slice(ends ? 1 : 0, starts ? -1 : undefined);
  if (text === '' || text.includes('*')) throw badQuery("'q' may have a * at the beginning or the end of a word only");
  if (starts && ends) return { contains: text, ...insensitive };
  if (starts) return { startsWith: text, ...insensitive };
  if (ends) return { endsWith: text, ...insensitive };
  return { equals: text, ...insensitive };
}
