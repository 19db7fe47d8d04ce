/**
 * Carries out imports, one at a time and each in one transaction: after a crash an import is either fully written, or begun again by
 * whichever process finds it first.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import { isAway } from '@gatepost/runtime/store-errors';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import { newUserId } from '../accounts/store.ts';
import type { Pool } from '../database.ts';
import type { ConnectionModel } from '../generated/models.ts';
import type { PermissionStore } from '../roles/permissions.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { addFactors } from './mfa-factors.ts';
import type { ProgressStore } from './progress.ts';
import { type Fault, type ImportedUser, maskSecrets, readUser } from './read-user.ts';
import {
  accountsOf,
  endImport,
  holdConnection,
  type Import,
  insertUsers,
  type Refused,
  takeImport,
  updateUsers,
  usersOf,
} from './store.ts';

export type Imports = AsyncDisposable & {
  /** Call it when an import is pending. */
  begin(): void;
};

type Parts = {
  pool: Pool;
  seal: Seal;
  connections: Pick<ConnectionStore, 'find'>;
  permissions: Pick<PermissionStore, 'above'>;
  importProgress: ProgressStore;
  log: Log;
};

/** How long an import of a process that died waits at most. */
const lookEveryMs = 10_000;
/** How many users are checked before other work gets a turn. */
const sliceMax = 50;
/** How many users are written by one statement. */
const partMax = 250;

export function openImports(parts: Parts): Imports {
  const stop = new AbortController();
  let again = false;
  let working: Promise<void> | undefined;
  const work = async () => {
    do {
      again = false;
      while (!stop.signal.aborted && (await runNextImport(parts))) again = false;
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

/** False if none is pending. */
function runNextImport(parts: Parts): Promise<boolean> {
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
      // It would only fail again.
      parts.log.error({ job: taken.id, error: describeError(error) }, 'an import of users failed');
      await client.query('ROLLBACK TO SAVEPOINT users');
      await endImport(client, taken.id, { state: 'failed', inserted: 0, updated: 0, refused: [] });
    }
    return true;
  });
}

type WriteResult = { inserted: number; updated: number; refused: Refused[] };

/** Writes the users in parts, so that other work gets a turn and progress can be reported. */
async function write(client: PoolClient, parts: Parts, taken: Import & { users: Buffer }): Promise<WriteResult> {
  const connection = await parts.connections.find(taken.connection);
  if (!connection || !(await holdConnection(client, taken))) throw new Error('the connection is gone');
  const given = usersOf(parts.seal, taken);
  const startedAt = Date.now();
  const written: WriteResult = { inserted: 0, updated: 0, refused: [] };
  for (let from = 0; from < given.length; from += partMax) {
    await parts.importProgress.note(taken.id, { done: from, total: given.length, startedAt });
    const part = await writePart(client, parts, { taken, connection, users: given.slice(from, from + partMax), from });
    written.inserted += part.inserted;
    written.updated += part.updated;
    written.refused.push(...part.refused);
  }
  return written;
}

async function writePart(
  client: PoolClient,
  { seal, permissions }: Parts,
  part: { taken: Import; connection: ConnectionModel; users: unknown[]; from: number },
): Promise<WriteResult> {
  const { taken, connection } = part;
  const refused: Refused[] = [];
  const read = new Map<ImportedUser & { user_id: string }, number>();
  const refuse = (index: number, errors: Fault[]) =>
    refused.push({ index: part.from + index, user: maskSecrets(part.users[index]), errors });
  for (const [index, one] of part.users.entries()) {
    if (index % sliceMax === 0) await yieldToOthers();
    const result = readUser(one, connection);
    if ('user' in result) read.set({ ...result.user, user_id: result.user.user_id ?? newUserId() }, index);
    else refuse(index, result.faults);
  }
  const users = [...read.keys()];
  // Of users with the same id, the first: otherwise it would be unknown which ones were not written.
  const byId = new Map(users.toReversed().map((user) => [user.user_id, user]));
  const inserted = await insertUsers(
    client,
    connection.name,
    users.filter((user) => byId.get(user.user_id) === user),
  );
  const isNew = (user: (typeof users)[number]) => byId.get(user.user_id) === user && inserted.has(user.user_id);
  const known = users.filter((user) => !isNew(user));
  const owners = taken.upsert ? await ownersOf(client, connection.name, known) : new Map<string, Owner>();
  const above = await permissions.above(
    [...owners.values()].map(({ owner }) => owner),
    new Set(taken.held),
  );
  const changed = known.filter(({ email }) => owners.has(email) && !above.has(owners.get(email)!.owner));
  // A user who occurs twice in a file was inserted the first time.
  const updated = taken.upsert ? await updateUsers(client, connection.name, changed) : new Set<string>();
  for (const user of known)
    if (!updated.has(user.email)) refuse(read.get(user)!, [owners.has(user.email) ? isAbove : duplicate]);
  await addFactors(client, seal, [
    ...users.filter(isNew).map(({ user_id, mfa_factors }) => ({ userId: user_id, factors: mfa_factors })),
    ...changed
      .filter(({ email }) => updated.has(email))
      .map(({ email, mfa_factors }) => ({ userId: owners.get(email)!.userId, factors: mfa_factors })),
  ]);
  return {
    inserted: inserted.size,
    updated: known.filter(({ email }) => updated.has(email)).length,
    refused: refused.toSorted((a, b) => a.index - b.index),
  };
}

type Owner = { userId: string; owner: string };

/** By address: the account, and the one that it is linked to, whose permissions count. */
async function ownersOf(client: PoolClient, connection: string, users: ImportedUser[]): Promise<Map<string, Owner>> {
  const emails = users.map(({ email }) => email);
  const accounts = await accountsOf(client, connection, emails);
  return new Map(accounts.map(({ email, userId, linkedTo }) => [email, { userId, owner: linkedTo ?? userId }]));
}

const duplicate = {
  code: 'DUPLICATED_USER',
  message: 'The connection has a user with this email, username or user_id already',
  path: 'email',
};

const isAbove = {
  code: 'INSUFFICIENT_SCOPE',
  message: 'The user may do more at the management API than the token that asked for the import',
  path: 'email',
};
