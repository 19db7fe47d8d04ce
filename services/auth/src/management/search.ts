/**
 * Compiles `q` of Auth0's lists to a PostgreSQL condition. A list's searchable fields are in its table of fields; values reach the
 * statement only as parameters, and its text depends only on the form of the query.
 */
import { Prisma } from '../database.ts';
import { type Bound, parseLucene, type Query, type Value } from './lucene.ts';
import { badQuery } from './problem.ts';

/** A field, by the name that clients use. */
export type Field =
  /** `ignoreCase`: compared in lower case, like its index. */
  | { holds: 'text'; sql: Prisma.Sql; ignoreCase?: boolean; within?: (condition: Prisma.Sql) => Prisma.Sql }
  | { holds: 'boolean' | 'number' | 'date'; sql: Prisma.Sql }
  /** At a path in a JSON column. */
  | { holds: 'json'; sql: Prisma.Sql; path: string[] }
  /** Several fields, any of which may match. */
  | { holds: 'any'; of: Field[] }
  /** An Auth0 field that nobody has here. */
  | { holds: 'nothing' };

export type Fields = {
  find(name: string): Field | undefined;
  /** The fields searched for a term without a field. */
  anywhere: Field[];
};

/** @throws ManagementProblem 400 for text outside of the language, or a field that is not searchable */
export function searchCondition(q: string, fields: Fields): Prisma.Sql {
  return q.trim() === '' ? Prisma.sql`true` : compile(parseLucene(q), fields);
}

function compile(query: Query, fields: Fields): Prisma.Sql {
  switch (query.kind) {
    case 'everything':
      return Prisma.sql`true`;
    case 'and':
      return group(query.of, ' AND ', fields);
    case 'or':
      return group(query.of, ' OR ', fields);
    case 'not':
      // A row without the field does not match either, and so is found.
      return Prisma.sql`(${compile(query.of, fields)}) IS NOT TRUE`;
    case 'exists':
      return existence(findField(query.field, fields));
    case 'match': {
      const { value } = query;
      if (query.field !== undefined) return condition(findField(query.field, fields), value);
      return any(fields.anywhere.map((field) => condition(field, value)));
    }
  }
}

function group(of: Query[], operator: ' AND ' | ' OR ', fields: Fields): Prisma.Sql {
  return Prisma.sql`(${Prisma.join(
    of.map((query) => compile(query, fields)),
    operator,
  )})`;
}

function findField(name: string, fields: Fields): Field {
  // Auth0's former exact-match subfields (`email.raw`) are the fields themselves.
  const field = fields.find(name) ?? fields.find(name.replace(/\.raw$/, ''));
  if (field === undefined) throw badQuery(`'q' names a field that cannot be searched: ${name}`);
  return field;
}

function existence(field: Field): Prisma.Sql {
  switch (field.holds) {
    case 'nothing':
      return Prisma.sql`false`;
    case 'any':
      return any(field.of.map(existence));
    case 'json':
      // Auth0 does not index null, empty objects and empty arrays, and treats them as absent.
      return found(field, '(@.type() == "object" && exists(@.*)) || (@.type() != "object" && @ != null)');
    case 'text':
      return within(field, Prisma.sql`${field.sql} IS NOT NULL`);
    default:
      return Prisma.sql`${field.sql} IS NOT NULL`;
  }
}

function condition(field: Field, value: Value): Prisma.Sql {
  switch (field.holds) {
    case 'nothing':
      return Prisma.sql`false`;
    case 'any':
      return any(field.of.map((each) => condition(each, value)));
    case 'text':
      return within(field, textCondition(field, value));
    case 'json':
      return jsonCondition(field, value);
    case 'boolean':
      if (value.kind !== 'text' || (value.text !== 'true' && value.text !== 'false'))
        throw badQuery("'q' compares a field that is true or false with something else");
      return Prisma.sql`${field.sql} = ${value.text === 'true'}`;
    case 'number':
      return spanCondition(field.sql, value, (text) => {
        if (!isNumber(text)) throw badQuery(`'q' compares a number with ${text}`);
        return { from: Prisma.sql`${Number(text)}::float8` };
      });
    case 'date':
      return spanCondition(field.sql, value, (text) => {
        const { from, to } = readDate(text);
        return { from: Prisma.sql`${from}::timestamptz`, to: Prisma.sql`${to}::timestamptz` };
      });
  }
}

const within = ({ within: wrap }: Field & { holds: 'text' }, inner: Prisma.Sql) => (wrap ? wrap(inner) : inner);

function textCondition({ sql, ignoreCase }: Field & { holds: 'text' }, value: Value): Prisma.Sql {
  const given = (text: string) => (ignoreCase ? Prisma.sql`lower(${text}::text)` : Prisma.sql`${text}::text`);
  switch (value.kind) {
    case 'text':
      return Prisma.sql`${sql} = ${given(value.text)}`;
    case 'pattern':
      return Prisma.sql`${sql} LIKE ${given(likePattern(value.parts))}`;
    case 'range':
      return all([
        value.from && Prisma.sql`${sql} COLLATE "C" ${more(value.from)} ${given(value.from.text)}`,
        value.to && Prisma.sql`${sql} COLLATE "C" ${less(value.to)} ${given(value.to.text)}`,
        Prisma.sql`${sql} IS NOT NULL`,
      ]);
  }
}

function likePattern(parts: string[]): string {
  checkBeginning(parts);
  return parts.map((part) => part.replace(/[\\%_]/g, '\\$&')).join('%');
}

/** In a PostgreSQL regular expression, a backslash makes any character but a letter or digit literal. */
function regexPattern(parts: string[]): string {
  checkBeginning(parts);
  return `^${parts.map((part) => part.replace(/[!-/:-@[-`{-~]/g, '\\$&')).join('.*')}$`;
}

/** As at Auth0, a leading wildcard needs at least three literal characters. */
function checkBeginning(parts: string[]): void {
  if (parts[0] === '' && parts.join('').length < 3)
    throw badQuery("'q' has a wildcard at the beginning of fewer than 3 characters");
}

/** For ordered values; one may span a period (a day, a month), whose end is excluded. */
function spanCondition(
  sql: Prisma.Sql,
  value: Value,
  read: (text: string) => { from: Prisma.Sql; to?: Prisma.Sql },
): Prisma.Sql {
  if (value.kind === 'pattern') throw badQuery("'q' has a wildcard in a number or date");
  if (value.kind === 'text') {
    const { from, to } = read(value.text);
    return to ? Prisma.sql`(${sql} >= ${from} AND ${sql} < ${to})` : Prisma.sql`${sql} = ${from}`;
  }
  const lower = (bound: Bound) => {
    const { from, to } = read(bound.text);
    if (to) return bound.inclusive ? Prisma.sql`${sql} >= ${from}` : Prisma.sql`${sql} >= ${to}`;
    return Prisma.sql`${sql} ${more(bound)} ${from}`;
  };
  const upper = (bound: Bound) => {
    const { from, to } = read(bound.text);
    if (to) return bound.inclusive ? Prisma.sql`${sql} < ${to}` : Prisma.sql`${sql} < ${from}`;
    return Prisma.sql`${sql} ${less(bound)} ${from}`;
  };
  return all([value.from && lower(value.from), value.to && upper(value.to), Prisma.sql`${sql} IS NOT NULL`]);
}

/**
 * As in Auth0's metadata search: arrays on the path are searched, a number matches its digits and `true` its name, quoted or not. An
 * equality uses PostgreSQL's own `@?`, which has an index.
 */
function jsonCondition(field: Field & { holds: 'json' }, value: Value): Prisma.Sql {
  switch (value.kind) {
    case 'text':
      return found(
        field,
        literals(value.text)
          .map((literal) => `@ == ${literal}`)
          .join(' || '),
      );
    case 'pattern':
      return found(field, `@ like_regex ${JSON.stringify(regexPattern(value.parts))} flag "s"`);
    case 'range': {
      const { from, to } = value;
      if (!from && !to) return existence(field);
      const isNumeric = [from, to].every((bound) => bound === undefined || isNumber(bound.text));
      const literal = ({ text }: Bound) => (isNumeric ? String(Number(text)) : JSON.stringify(text));
      const tests = [
        from && `@ ${from.inclusive ? '>=' : '>'} ${literal(from)}`,
        to && `@ ${to.inclusive ? '<=' : '<'} ${literal(to)}`,
      ];
      return found(field, tests.filter((test) => test !== undefined).join(' && '));
    }
  }
}

/** Whether any value there passes a jsonpath filter, which is a parameter like any other. */
function found(field: Field & { holds: 'json' }, filter: string): Prisma.Sql {
  return Prisma.sql`${field.sql} @? ${`${pathOf(field)} ? (${filter})`}::jsonpath`;
}

/** Jsonpath's default lax mode unwraps arrays on the path. Its strings are written like JSON's. */
function pathOf({ path }: Field & { holds: 'json' }): string {
  return `$${path.map((key) => `.${JSON.stringify(key)}`).join('')}`;
}

function literals(text: string): string[] {
  const string = JSON.stringify(text);
  if (text === 'true' || text === 'false') return [string, text];
  return isNumber(text) ? [string, String(Number(text))] : [string];
}

const isNumber = (text: string) => /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text);

const dateForm =
  /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d:?\d\d)?)?)?)?$/;

/** Parses an ISO 8601 date of any precision: from its beginning to that of the next year, month, day, … */
function readDate(text: string): { from: Date; to: Date } {
  const [, year, month, day, hour, minute, second, fraction, zone = 'Z'] = dateForm.exec(text) ?? [];
  const ms = (fraction ?? '').padEnd(3, '0').slice(0, 3);
  const full = `${year}-${month ?? '01'}-${day ?? '01'}T${hour ?? '00'}:${minute ?? '00'}:${second ?? '00'}.${ms}`;
  const written = new Date(`${full}Z`);
  // An invalid day, such as the 30th of February, comes back as a different one.
  if (year === undefined || Number.isNaN(written.getTime()) || written.toISOString() !== `${full}Z` || Number(year) < 1)
    throw badQuery(`'q' compares a date with ${text}`);
  const end = new Date(written);
  if (month === undefined) end.setUTCFullYear(end.getUTCFullYear() + 1);
  else if (day === undefined) end.setUTCMonth(end.getUTCMonth() + 1);
  else {
    const length = fraction ? 1 : second ? 1_000 : minute ? 60_000 : hour ? 3_600_000 : 86_400_000;
    end.setTime(end.getTime() + length);
  }
  const [, sign, hours = '0', minutes = '0'] = /([+-])(\d\d):?(\d\d)/.exec(zone) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return { from: new Date(written.getTime() - offset), to: new Date(end.getTime() - offset) };
}

const more = ({ inclusive }: Bound) => (inclusive ? Prisma.sql`>=` : Prisma.sql`>`);
const less = ({ inclusive }: Bound) => (inclusive ? Prisma.sql`<=` : Prisma.sql`<`);

function all(conditions: (Prisma.Sql | undefined)[]): Prisma.Sql {
  return Prisma.sql`(${Prisma.join(
    conditions.filter((each) => each !== undefined),
    ' AND ',
  )})`;
}

function any(conditions: Prisma.Sql[]): Prisma.Sql {
  return Prisma.sql`(${Prisma.join(conditions, ' OR ')})`;
}
