/** People's authentication methods, recovery codes and remembered browsers. Anything single-use is spent by one conditional write. */
import { randomBytes } from 'node:crypto';
import type { Seal } from '@gatepost/runtime/seal';
import type { AccountState } from '../accounts/store.ts';
import { hashId } from '../adapter/hashed.ts';
import { type Database, type Pool, Prisma } from '../database.ts';
import type { AuthenticationMethodModel } from '../generated/models.ts';
import { hashRecoveryCode, newRecoveryCodes } from './recovery-code.ts';
import { type MethodType, secondFactors } from './types.ts';

export type Method = AuthenticationMethodModel;

type NewMethod = { userId: string; type: MethodType; name?: string | undefined } & (
  | { type: 'totp'; secret: string; step?: number }
  | { type: 'email' | 'phone'; target: string }
  | {
      type: 'webauthn-roaming' | 'webauthn-platform' | 'passkey';
      credentialId: string;
      publicKey: Uint8Array;
      signCount: number;
      transports: string[];
      aaguid: string;
      backedUp: boolean;
    }
);

export type FactorStore = {
  /** Oldest first. */
  list(userId: string): Promise<Method[]>;
  /** The methods of these types, if the account is unchanged and open. One statement, made once per login. */
  listOf(account: AccountState, types: readonly string[]): Promise<Method[]>;
  find(userId: string, id: string): Promise<Method | undefined>;
  /**
   * Undefined when the person has the maximum number, or somebody already has that key; or, if a state is given, when the account is no
   * longer open and unchanged since. It is locked meanwhile: a new password set at that moment ends the one who adds, or removes what they
   * have added (accounts/first-proof.ts).
   */
  add(method: NewMethod, state?: AccountState): Promise<Method | undefined>;
  /**
   * Replaces all second factors at once. Undefined when somebody already has one of the keys. Replacing them by none, like removing the last
   * one (below), also removes recovery codes and remembered browsers.
   */
  replaceAll(userId: string, methods: NewMethod[]): Promise<Method[] | undefined>;
  rename(userId: string, id: string, name: string | null): Promise<Method | undefined>;
  /** False when there is none. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Removes the methods of these types, or all. @returns how many */
  removeAll(userId: string, types?: readonly MethodType[]): Promise<number>;

  /** The unsealed key of a TOTP method. */
  totpSecret(method: Pick<Method, 'id' | 'sealed'>): string;
  /** Takes a code's time step; false when it or a later one was already taken. */
  takeStep(method: Pick<Method, 'id' | 'userId'>, step: number): Promise<boolean>;
  /** Records a use that nothing else records. */
  used(method: Pick<Method, 'id' | 'userId'>): Promise<void>;

  findCredential(credentialId: string): Promise<Method | undefined>;
  /** Takes a key's signature counter; false when one at least as high was already seen, as from a copy of the key. */
  takeSignature(method: Pick<Method, 'id' | 'userId'>, count: number, backedUp: boolean): Promise<boolean>;

  /** Replaces the recovery codes with ten new ones, or with those the person was shown. They can be read only in this result. */
  makeRecoveryCodes(userId: string, codes?: string[]): Promise<string[]>;
  recoveryCodesLeft(userId: string): Promise<number>;
  /** When those that are left were made; null: there are none. */
  recoveryCodesCreatedAt(userId: string): Promise<Date | null>;
  removeRecoveryCodes(userId: string): Promise<boolean>;
  /** False when it is not a recovery code, or was already used. */
  spendRecoveryCode(userId: string, code: string): Promise<boolean>;

  rememberBrowser(userId: string, browser: string): Promise<void>;
  isRemembered(userId: string, browser: string): Promise<boolean>;
  forgetBrowsers(userId: string): Promise<void>;
};

const columns = `id, user_id AS "userId", type, method.name, sealed, target, credential_id AS "credentialId", public_key AS "publicKey",
  sign_count AS "signCount", transports, aaguid, backed_up AS "backedUp", last_step AS "lastStep",
  method.created_at AS "createdAt", last_used_at AS "lastUsedAt"`;

/** How many methods one person may have. */
const methodsMax = 20;
export const rememberedDays = 30;

/** Binds a sealed key to its row. */
export const totpPurpose = (id: string) => `totp ${id}`;

type Stores = { db: Database; pool: Pool; seal: Seal };

export function makeFactorStore(stores: Stores): FactorStore {
  return { ...methodsOf(stores), ...proofsOf(stores), ...recoveryCodesOf(stores), ...browsersOf(stores) };
}

/** The methods that people have set up. */
function methodsOf({ db, pool, seal }: Stores) {
  return {
    list: (userId) =>
      db.authenticationMethod.findMany({ where: { userId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }),
    async listOf({ userId, incarnation, credentialsVersion }, types) {
      const { rows } = await pool.query<Method>({
        name: 'factors of',
        text: `SELECT ${columns} FROM authentication_methods method JOIN accounts account USING (user_id)
               WHERE user_id = $1 AND incarnation = $2 AND credentials_version = $3 AND NOT blocked AND type = ANY ($4)
               ORDER BY method.created_at, id`,
        values: [userId, incarnation, credentialsVersion, types],
      });
      return rows;
    },
    find: async (userId, id) => (await db.authenticationMethod.findFirst({ where: { id, userId } })) ?? undefined,
    add: (method, state) =>
      undefinedOnConflict(db.$transaction((transaction) => add(transaction, seal, method, state))),
    replaceAll: (userId, methods) =>
      undefinedOnConflict(
        db.$transaction(async (transaction) => {
          await transaction.authenticationMethod.deleteMany({ where: { userId, type: { in: [...secondFactors] } } });
          const data = methods.map((method) => rowOf(seal, method));
          const after = await transaction.authenticationMethod.createManyAndReturn({ data });
          await removeRecoveryAndBrowsers(transaction, userId);
          return after;
        }),
      ),
    async rename(userId, id, name) {
      return (await db.authenticationMethod.updateManyAndReturn({ where: { id, userId }, data: { name } }))[0];
    },
    remove: async (userId, id) => (await removeMethods(db, { userId, id })) > 0,
    removeAll: (userId, types) => removeMethods(db, { userId, ...(types && { type: { in: [...types] } }) }),
    findCredential: async (credentialId) =>
      (await db.authenticationMethod.findUnique({ where: { credentialId } })) ?? undefined,
  } satisfies Partial<FactorStore>;
}

/** Proofs made with the methods: each code and each signature counts once. */
function proofsOf({ pool, seal }: Stores) {
  return {
    totpSecret: ({ id, sealed }) => seal.open(sealed!, totpPurpose(id)),
    takeStep: ({ id, userId }, step) =>
      changedOneRow(
        pool,
        'totp step',
        [id, userId, step],
        `UPDATE authentication_methods SET last_step = $3, last_used_at = now()
        WHERE id = $1 AND user_id = $2 AND last_step < $3`,
      ),
    async used({ id, userId }) {
      await changedOneRow(
        pool,
        'factor used',
        [id, userId],
        `UPDATE authentication_methods SET last_used_at = now()
        WHERE id = $1 AND user_id = $2`,
      );
    },
    // A key without a counter always says 0 (WebAuthn 6.1.1).
    takeSignature: ({ id, userId }, count, backedUp) =>
      changedOneRow(
        pool,
        'signature',
        [id, userId, count, backedUp],
        `UPDATE authentication_methods
        SET sign_count = $3, backed_up = $4, last_used_at = now()
        WHERE id = $1 AND user_id = $2 AND (sign_count < $3 OR (sign_count = 0 AND $3 = 0))`,
      ),
  } satisfies Partial<FactorStore>;
}

function recoveryCodesOf({ db, pool }: Stores) {
  return {
    async makeRecoveryCodes(userId, codes = newRecoveryCodes()) {
      await db.$transaction([
        db.recoveryCode.deleteMany({ where: { userId } }),
        db.recoveryCode.createMany({ data: codes.map((code) => ({ userId, hash: hashRecoveryCode(code) })) }),
      ]);
      return codes;
    },
    recoveryCodesLeft: (userId) => db.recoveryCode.count({ where: { userId } }),
    async recoveryCodesCreatedAt(userId) {
      const { _min } = await db.recoveryCode.aggregate({ where: { userId }, _min: { createdAt: true } });
      return _min.createdAt;
    },
    removeRecoveryCodes: async (userId) => (await db.recoveryCode.deleteMany({ where: { userId } })).count > 0,
    spendRecoveryCode: (userId, code) =>
      changedOneRow(
        pool,
        'recovery code',
        [userId, hashRecoveryCode(code)],
        `DELETE FROM recovery_codes
        WHERE user_id = $1 AND hash = $2`,
      ),
  } satisfies Partial<FactorStore>;
}

/** Browsers that need no second factor for a while. */
function browsersOf({ db, pool }: Stores) {
  return {
    async rememberBrowser(userId, browser) {
      await pool.query({
        name: 'remember browser',
        text: `INSERT INTO remembered_browsers (hash, user_id, expires_at) VALUES ($1, $2, now() + $3 * interval '1 day')
               ON CONFLICT (hash, user_id) DO UPDATE SET expires_at = excluded.expires_at`,
        values: [hashId(browser), userId, rememberedDays],
      });
    },
    async isRemembered(userId, browser) {
      const { rowCount } = await pool.query({
        name: 'remembered browser',
        text: 'SELECT FROM remembered_browsers WHERE hash = $1 AND user_id = $2 AND expires_at > now()',
        values: [hashId(browser), userId],
      });
      return rowCount === 1;
    },
    async forgetBrowsers(userId) {
      await db.rememberedBrowser.deleteMany({ where: { userId } });
    },
  } satisfies Partial<FactorStore>;
}

/** @returns how many */
function removeMethods(
  db: Database,
  where: Prisma.AuthenticationMethodWhereInput & { userId: string },
): Promise<number> {
  return db.$transaction(async (transaction) => {
    const { count } = await transaction.authenticationMethod.deleteMany({ where });
    await removeRecoveryAndBrowsers(transaction, where.userId);
    return count;
  });
}

/**
 * Recovery codes and remembered browsers stand in for a second factor: left over from the last one, they would stand in for the next. In the
 * transaction that removes methods, whose trigger has locked the account: of two at once, the second sees what the first has left.
 */
async function removeRecoveryAndBrowsers(transaction: Prisma.TransactionClient, userId: string): Promise<void> {
  await transaction.$executeRaw`
    WITH bare AS (SELECT WHERE NOT EXISTS (
           SELECT FROM authentication_methods WHERE user_id = ${userId} AND type = ANY (${[...secondFactors]}))),
         codes AS (DELETE FROM recovery_codes WHERE user_id = ${userId} AND EXISTS (SELECT FROM bare))
    DELETE FROM remembered_browsers WHERE user_id = ${userId} AND EXISTS (SELECT FROM bare)`;
}

async function changedOneRow(pool: Pool, name: string, values: unknown[], text: string): Promise<boolean> {
  const { rowCount } = await pool.query({ name, text, values });
  return rowCount === 1;
}

async function add(
  transaction: Prisma.TransactionClient,
  seal: Seal,
  method: NewMethod,
  state: AccountState | undefined,
): Promise<Method | undefined> {
  if (state && !(await lockUnchanged(transaction, state))) return undefined;
  const { userId } = method;
  if ((await transaction.authenticationMethod.count({ where: { userId } })) >= methodsMax) return undefined;
  return transaction.authenticationMethod.create({ data: rowOf(seal, method) });
}

async function lockUnchanged(
  transaction: Prisma.TransactionClient,
  { userId, incarnation, credentialsVersion }: AccountState,
): Promise<boolean> {
  const rows = await transaction.$queryRaw<object[]>`
    SELECT user_id FROM accounts WHERE user_id = ${userId} AND incarnation = ${incarnation}::uuid
       AND credentials_version = ${credentialsVersion} AND NOT blocked FOR NO KEY UPDATE`;
  return rows.length === 1;
}

function rowOf(seal: Seal, { userId, name, ...given }: NewMethod): Prisma.AuthenticationMethodCreateManyInput {
  const id = `${given.type}|dev_${randomBytes(12).toString('base64url')}`;
  const { secret, step, publicKey, ...rest } = { secret: undefined, step: undefined, publicKey: undefined, ...given };
  return {
    id,
    userId,
    name: name ?? null,
    ...rest,
    ...(secret !== undefined && { sealed: new Uint8Array(seal.seal(secret, totpPurpose(id))) }),
    ...(step !== undefined && { lastStep: step, lastUsedAt: new Date() }),
    ...(publicKey !== undefined && { publicKey: new Uint8Array(publicKey) }),
  };
}

async function undefinedOnConflict<T>(writing: Promise<T>): Promise<T | undefined> {
  try {
    return await writing;
  } catch (error) {
    // The key is already known, or the account is gone.
    if (error instanceof Prisma.PrismaClientKnownRequestError && /^P200[23]$/.test(error.code)) return undefined;
    throw error;
  }
}
