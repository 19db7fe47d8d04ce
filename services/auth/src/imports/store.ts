/** Imports as they are stored, and the writing of their users. */
import { randomBytes } from 'node:crypto';
import type { Seal } from '@gatepost/runtime/seal';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import type { Pool } from '../database.ts';
import { toStorable } from '../http/well-formed.ts';
import type { Fault, ImportedUser } from './read-user.ts';

/** How many may be pending at a time, as at Auth0. */
export const pendingMax = 2;

export type Import = {
  id: string;
  connection_id: string;
  connection: string;
  upsert: boolean;
  external_id: string | null;
  /** The permissions of the token that requested it. */
  held: string[];
  state: 'pending' | 'completed' | 'failed';
  total: number;
  inserted: number;
  updated: number;
  failed: number;
  created_at: Date;
};

/** A user who was not imported. `user` is the input without hashes; `index` its place in the file, from 0. */
export type Refused = { index: number; user: object; errors: Fault[] };

const shown =
  'id, connection_id, connection, upsert, external_id, held, state, total, inserted, updated, failed, created_at';

/** Stores an import's users, sealed; undefined when too many imports are pending. Concurrent calls are counted one after the other. */
export async function createImport(
  pool: Pool,
  seal: Seal,
  given: Pick<Import, 'connection_id' | 'connection' | 'upsert' | 'external_id' | 'held'> & { users: unknown[] },
): Promise<Import | undefined> {
  const id = `job_${randomBytes(12).toString('base64url')}`;
  const sealed = seal.seal(JSON.stringify(given.users), purposeOf(id));
  return inTransaction(pool, async (client) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtext('auth.user_imports'))");
    const { rows } = await client.query<Import>(
      `INSERT INTO user_imports (id, connection_id, connection, upsert, external_id, held, users, total)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE (SELECT count(*) FROM user_imports WHERE state = 'pending') < $9
       RETURNING ${shown}`,
      [
        id,
        given.connection_id,
        given.connection,
        given.upsert,
        given.external_id,
        given.held,
        sealed,
        given.users.length,
        pendingMax,
      ],
    );
    return rows[0];
  });
}

const purposeOf = (id: string) => `user import ${id}`;

export async function findImport(pool: Pool, id: string): Promise<Import | undefined> {
  const { rows } = await pool.query<Import>(`SELECT ${shown} FROM user_imports WHERE id = $1`, [id]);
  return rows[0];
}

/** Undefined if there is no such import. */
export async function refusedOf(pool: Pool, id: string): Promise<Refused[] | undefined> {
  const { rows } = await pool.query<{ faults: Refused[] }>('SELECT faults FROM user_imports WHERE id = $1', [id]);
  return rows[0]?.faults;
}

/** Locks the oldest pending import that no other process has, until the transaction ends. */
export async function takeImport(client: PoolClient): Promise<(Import & { users: Buffer }) | undefined> {
  const { rows } = await client.query<Import & { users: Buffer }>(
    `SELECT ${shown}, users FROM user_imports WHERE state = 'pending' ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  return rows[0];
}

/** Until the transaction ends, the import's connection cannot be deleted. @returns false if it is gone */
export async function holdConnection(client: PoolClient, { connection_id }: Import): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM connections WHERE id = $1 FOR KEY SHARE', [connection_id]);
  return rowCount === 1;
}

/** @throws when none of our keys opens them */
export const usersOf = (seal: Seal, { id, users }: { id: string; users: Buffer }): unknown[] =>
  JSON.parse(seal.open(users, purposeOf(id))) as unknown[];

/** Records how it ended, and deletes its users. */
export async function endImport(
  client: PoolClient,
  id: string,
  {
    state,
    inserted,
    updated,
    refused,
  }: { state: 'completed' | 'failed'; inserted: number; updated: number; refused: Refused[] },
): Promise<void> {
  await client.query(
    `UPDATE user_imports SET state = $2, inserted = $3, updated = $4, failed = $5, faults = $6, users = NULL, ended_at = now()
      WHERE id = $1`,
    [id, state, inserted, updated, refused.length, JSON.stringify(refused, storable)],
  );
}

/** For JSON.stringify: a user may have been refused because of text that cannot be stored. */
function storable(_name: string, value: unknown): unknown {
  if (typeof value === 'string') return toStorable(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [toStorable(name), inner]));
}

const columns = `user_id text, email text, email_verified boolean, username text, phone_number text, phone_verified boolean, name text,
  nickname text, given_name text, family_name text, picture text, blocked boolean, password_hash text, last_password_reset timestamptz,
  user_metadata jsonb, app_metadata jsonb`;

/** Without factors, which have rows of their own and are secrets. */
const rowsOf = (users: ImportedUser[]): string => JSON.stringify(users.map(({ mfa_factors, ...row }) => row));

/** Writes the users whose names are still free. @returns the user ids of those written */
export async function insertUsers(client: PoolClient, connection: string, users: ImportedUser[]): Promise<Set<string>> {
  const { rows } = await client.query<{ user_id: string }>(
    `INSERT INTO accounts (user_id, connection, email, email_verified, username, phone_number, phone_verified, name, nickname, given_name,
                           family_name, picture, blocked, password_hash, last_password_reset, user_metadata, app_metadata)
     SELECT user_id, $1, email, coalesce(email_verified, false), username, phone_number, coalesce(phone_verified, false), name, nickname,
            given_name, family_name, picture, coalesce(blocked, false), password_hash, last_password_reset, coalesce(user_metadata, '{}'),
            coalesce(app_metadata, '{}')
       FROM json_to_recordset($2) AS r (${columns})
     ON CONFLICT DO NOTHING RETURNING user_id`,
    [connection, rowsOf(users)],
  );
  return new Set(rows.map(({ user_id }) => user_id));
}

/** The accounts of these addresses. */
export async function accountsOf(
  client: PoolClient,
  connection: string,
  emails: string[],
): Promise<{ userId: string; linkedTo: string | null; email: string }[]> {
  const { rows } = await client.query<{ userId: string; linkedTo: string | null; email: string }>(
    `SELECT user_id AS "userId", linked_to AS "linkedTo", email FROM accounts WHERE connection = $1 AND email = ANY ($2)`,
    [connection, emails],
  );
  return rows;
}

/** One entry for each address, in which what a later one gives replaces what an earlier one gave. */
function joinedByAddress(users: ImportedUser[]): ImportedUser[] {
  const joined = new Map<string, ImportedUser>();
  for (const user of users) {
    const given = Object.fromEntries(Object.entries(user).filter(([, value]) => value !== null));
    joined.set(user.email, { ...joined.get(user.email), ...given } as ImportedUser);
  }
  return [...joined.values()];
}

/**
 * Updates existing users, found by address: the fields that Auth0 calls upsertable, which exclude how they sign in and whether they may.
 * Who occurs several times gets all that is given, in order; one statement would otherwise apply any one of them.
 * @returns their addresses
 */
export async function updateUsers(client: PoolClient, connection: string, users: ImportedUser[]): Promise<Set<string>> {
  const { rows } = await client.query<{ email: string }>(
    `UPDATE accounts a SET email_verified = coalesce(r.email_verified, a.email_verified), name = coalesce(r.name, a.name),
            nickname = coalesce(r.nickname, a.nickname), given_name = coalesce(r.given_name, a.given_name),
            family_name = coalesce(r.family_name, a.family_name), picture = coalesce(r.picture, a.picture),
            user_metadata = coalesce(r.user_metadata, a.user_metadata), app_metadata = coalesce(r.app_metadata, a.app_metadata),
            updated_at = now()
       FROM json_to_recordset($2) AS r (${columns})
      WHERE a.connection = $1 AND a.email = r.email RETURNING a.email`,
    [connection, rowsOf(joinedByAddress(users))],
  );
  return new Set(rows.map(({ email }) => email));
}
