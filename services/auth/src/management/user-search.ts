/** The fields that people can be searched and sorted by. Never fields that are not shown, above all the password hash. */
import { Prisma } from '../database.ts';
import { isSocial, strategies } from '../upstream/strategies.ts';
import { badQuery } from './problem.ts';
import type { Field, Fields } from './search.ts';

const { sql } = Prisma;
const text = (expression: Prisma.Sql): Field => ({ holds: 'text', sql: expression });
/** Lower-cased for comparison: Auth0's five. */
const normalized = (expression: Prisma.Sql): Field => ({
  holds: 'text',
  sql: sql`lower(${expression})`,
  ignoreCase: true,
});
/** Already stored in lower case. */
const lowered = (column: Prisma.Sql): Field => ({ holds: 'text', sql: column, ignoreCase: true });
const date = (column: Prisma.Sql): Field => ({ holds: 'date', sql: column });

// The names that accounts/present-user.ts derives for an account without these. The indexes use the same expressions.
const name = sql`coalesce(account.name, account.email, account.phone_number, account.username, account.user_id)`;
const nickname = sql`coalesce(account.nickname, account.username, split_part(coalesce(account.email, account.phone_number, account.user_id), '@', 1))`;

const social = Object.keys(strategies).filter(isSocial);

/** Indexed unless noted. Equality and prefixes use the index; leading wildcards and the rest need a scan. */
const fields: Record<string, Field> = {
  user_id: text(sql`account.user_id`),
  email: lowered(sql`account.email`),
  'email.domain': { holds: 'text', sql: sql`split_part(account.email, '@', 2)`, ignoreCase: true },
  username: lowered(sql`account.username`),
  phone_number: text(sql`account.phone_number`),
  name: normalized(name),
  nickname: normalized(nickname),
  given_name: normalized(sql`account.given_name`),
  family_name: normalized(sql`account.family_name`),
  created_at: date(sql`account.created_at`),
  // From here on by a scan: a login changes some of these, and would have to update an index each time.
  'identities.isSocial': {
    holds: 'boolean',
    sql: sql`split_part(account.user_id, '|', 1) IN (${Prisma.join(social)})`,
  },
  email_verified: { holds: 'boolean', sql: sql`(account.email IS NOT NULL AND account.email_verified)` },
  phone_verified: { holds: 'boolean', sql: sql`(account.phone_number IS NOT NULL AND account.phone_verified)` },
  blocked: { holds: 'boolean', sql: sql`account.blocked` },
  picture: text(sql`account.picture`),
  logins_count: { holds: 'number', sql: sql`account.logins_count` },
  last_login: date(sql`account.last_login`),
  last_ip: text(sql`account.last_ip`),
  last_password_reset: date(sql`account.last_password_reset`),
  updated_at: date(sql`account.updated_at`),
};
/** Fields of an identity, the account's own or a linked one; these are few, and found by their index. */
const identityFields: Record<string, (alias: Prisma.Sql) => Field> = {
  connection: (alias) => text(sql`${alias}.connection`),
  provider: (alias) => ({
    holds: 'text',
    sql: sql`strategy`,
    within: (condition) =>
      sql`${alias}.connection = ANY (ARRAY(SELECT connections.name FROM connections WHERE ${condition}))`,
  }),
  user_id: (alias) => text(sql`substr(${alias}.user_id, strpos(${alias}.user_id, '|') + 1)`),
};
const profileFields: Record<string, Field> = {
  email: lowered(sql`identity.email`),
  username: lowered(sql`identity.username`),
  phone_number: text(sql`identity.phone_number`),
  name: normalized(sql`identity.name`),
  nickname: normalized(sql`identity.nickname`),
  given_name: normalized(sql`identity.given_name`),
  family_name: normalized(sql`identity.family_name`),
};
const linked = (field: Field): Field => {
  if (field.holds !== 'text') return field;
  const within = (condition: Prisma.Sql) =>
    sql`account.user_id = ANY (ARRAY(SELECT identity.linked_to FROM accounts identity WHERE identity.linked_to IS NOT NULL AND ${
      field.within ? field.within(condition) : condition
    }))`;
  return { ...field, within };
};
function identityField(asked: string): Field | undefined {
  const name = asked.replace(/^identities\./, '');
  if (name === asked) return undefined;
  const own = Object.hasOwn(identityFields, name) ? identityFields[name] : undefined;
  if (own) return { holds: 'any', of: [own(sql`account`), linked(own(sql`identity`))] };
  const ofProfile = name.replace(/^profileData\./, '');
  if (ofProfile === name) return undefined;
  return Object.hasOwn(profileFields, ofProfile) ? linked(profileFields[ofProfile]!) : { holds: 'nothing' };
}

const metadata: Record<string, Prisma.Sql> = {
  user_metadata: sql`account.user_metadata`,
  app_metadata: sql`account.app_metadata`,
};
/** Fields of Auth0's profiles that nobody has here. */
const unsupported = new Set([
  'organization_id',
  'multifactor',
  'locale',
  'gender',
  'birthdate',
  'description',
  'verified',
]);

export const userFields: Fields = {
  find(asked) {
    if (Object.hasOwn(fields, asked)) return fields[asked];
    const [column = '', ...path] = asked.split('.');
    if (Object.hasOwn(metadata, column) && path.every((key) => key !== ''))
      return { holds: 'json', sql: metadata[column]!, path };
    return identityField(asked) ?? (unsupported.has(asked) ? { holds: 'nothing' } : undefined);
  },
  anywhere: ['user_id', 'email', 'username', 'phone_number', 'name', 'nickname', 'given_name', 'family_name'].map(
    (each) => fields[each]!,
  ),
};

/** `email:1`, `created_at:-1`; oldest first by default. As at Auth0, metadata cannot be sorted by. */
export function userOrder(sort: string | undefined): Prisma.Sql {
  const [, asked = '', direction] = /^([\w.]+):(-?1)$/.exec(sort ?? 'created_at:1') ?? [];
  const field = Object.hasOwn(fields, asked) ? fields[asked] : undefined;
  if (field === undefined || !('sql' in field) || asked.startsWith('identities.'))
    throw badQuery('`sort` must be a field, a colon and 1 or -1');
  return direction === '1'
    ? sql`${field.sql} ASC, account.user_id`
    : sql`${field.sql} DESC NULLS LAST, account.user_id`;
}
