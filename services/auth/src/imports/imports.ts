/**
 * Carries imports out, one at a time and each in one transaction: after a crash it is either written or begun again, by whichever process comes
 * to it first.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import { isAway } from '@gatepost/runtime/store-errors';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import type { Pool } from '../database.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { type ImportedUser, readUser } from './read-user.ts';
import { endImport, type Import, insertUsers, type Refused, takeImport, updateUsers, usersOf } from './store.ts';

export type Imports = AsyncDisposable & {
  /** There is one that is pending. */
  begin(): void;
};

type Parts = { pool: Pool; seal: Seal; connections: Pick<ConnectionStore, 'find'>; log: Log };

/** What a process left behind as it died waits so long. */
const lookEveryMs = 10_000;
/** Checked without a pause for others. */
const sliceMax = 50;

export function openImports(parts: Parts): Imports {
  const stop = new AbortController();
  let again = false;
  let working: Promise<void> | undefined;
  const work = async () => {
    do {
      again = false;
      while (!stop.signal.aborted && (await carryOutNext(parts))) again = false;
    } while (again && !stop.signal.aborted);
  };
  const begin = () => {
    again = true;
    working ??= work()
      .catch((error) => parts.log.warn({ error: describeError(error) }, 'could not import users, trying again'))
      .finally(() => {
        working = undefined;
      });
  };
  const looking = setInterval(begin, lookEveryMs);
  begin();
  return {
    begin,
    async [Symbol.asyncDispose]() {
      stop.abort();
      clearInterval(looking);
      await working;
    },
  };
}

/** False: none is pending. */
function carryOutNext(parts: Parts): Promise<boolean> {
  return inTransaction(parts.pool, async (client) => {
    const taken = await takeImport(client);
    if (!taken) return false;
    await client.query('SAVEPOINT users');
    try {
      const written = await write(client, parts, taken);
      await endImport(client, taken.id, { state: 'completed', ...written });
      const { inserted, updated, refused } = written;
      parts.log.info({ job: taken.id, inserted, updated, failed: refused.length }, 'imported users');
    } catch (error) {
      if (isAway(error)) throw error;
      // It would fail again.
      parts.log.error({ job: taken.id, error: describeError(error) }, 'an import of users failed');
      await client.query('ROLLBACK TO SAVEPOINT users');
      await endImport(client, taken.id, { state: 'failed', inserted: 0, updated: 0, refused: [] });
    }
    return true;
  });
}

async function write(
  client: PoolClient,
  { seal, connections }: Parts,
  taken: Import & { users: Buffer },
): Promise<{ inserted: number; updated: number; refused: Refused[] }> {
  const connection = await connections.find(taken.connection);
  if (!connection) throw new Error('the connection is gone');
  const given = usersOf(seal, taken);
  const refused: Refused[] = [];
  const read = new Map<ImportedUser, number>();
  for (const [index, one] of given.entries()) {
    if (index % sliceMax === 0) await yieldToOthers();
    const result = readUser(one, connection);
    if ('user' in result) read.set({ ...result.user, user_id: result.user.user_id ?? newUserId() }, index);
    else refused.push({ index, user: withoutHashes(one), errors: result.faults });
  }
  const users = [...read.keys()];
  const inserted = await insertUsers(client, connection.name, users);
  const known = users.filter(({ user_id }) => !inserted.has(user_id!));
  // One who comes twice in a file was inserted the first time.
  const updated = taken.upsert ? await updateUsers(client, connection.name, known) : new Set<string>();
  for (const user of known)
    if (!updated.has(user.email))
      refused.push({ index: read.get(user)!, user: withoutHashes(given[read.get(user)!]), errors: [duplicate] });
  return {
    inserted: inserted.size,
    updated: known.filter(({ email }) => updated.has(email)).length,
    refused: refused.toSorted((a, b) => a.index - b.index),
  };
}

const newUserId = () => `auth0|${randomBytes(12).toString('hex')}`;

const duplicate = {
  code: 'DUPLICATED_USER',
  message: 'The connection has a user with this email, username or user_id already',
  path: 'email',
};

const withoutHashes = (given: unknown): object => {
  if (typeof given !== 'object' || given === null) return {};
  const { password_hash, custom_password_hash, ...rest } = given as Record<string, unknown>;
  return rest;
};
