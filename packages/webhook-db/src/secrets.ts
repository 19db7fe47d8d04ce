import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from './pool.ts';

/** The purposes that a hook's columns are sealed for (`Seal` of `@gatepost/runtime/seal`): webhook-api seals, both open. */

/** `hooks.secret`: the webhook secret as the user gave it. */
export const hookSecretPurpose = 'hook secret';

/** `hooks.headers`: the custom request headers, as the text of a JSON object. */
export const hookHeadersPurpose = 'hook headers';

/** `hooks.credentials`: user name and password as they appeared in the URL. */
export const hookCredentialsPurpose = 'hook credentials';

/**
 * Both services call this at start, before they take any work: under another key a hook's secret could not be read, and its events would not
 * be delivered.
 * @throws Misconfigured when the newest sealed secret does not open under this key.
 */
export async function checkSecretsKey(pool: Pool, seal: Seal): Promise<void> {
  const { rows } = await pool.query<{ id: number; secret: Buffer }>(
    'SELECT id, secret FROM hooks WHERE secret IS NOT NULL ORDER BY id DESC LIMIT 1',
  );
  const newest = rows[0];
  if (!newest) return;
  try {
    seal.open(newest.secret, hookSecretPurpose);
  } catch {
    throw new Misconfigured('could not start', [
      `SECRETS_KEY is not the key that the webhook secrets in this database are sealed under (hook ${newest.id})`,
    ]);
  }
}

const sealedColumns = [
  ['secret', hookSecretPurpose],
  ['previous_secret', hookSecretPurpose],
  ['headers', hookHeadersPurpose],
  ['credentials', hookCredentialsPurpose],
] as const;

type SealedRow = { id: number } & Record<(typeof sealedColumns)[number][0], Buffer | null>;

const sealedOf = 'SELECT id, secret, previous_secret, headers, credentials FROM hooks';

/**
 * Reseals under the present key what the other one sealed, for up to `most` hooks after `afterId`. @returns how many hooks were resealed,
 * those that neither key opens, and the last one examined if there may be more.
 */
export async function resealHooks(
  pool: Pool,
  seal: Seal,
  afterId: number,
  most: number,
): Promise<{ resealed: number; unreadable: number[]; lastId: number | undefined }> {
  const { rows } = await pool.query<SealedRow>(
    `${sealedOf} WHERE id > $1 AND coalesce(secret, previous_secret, headers, credentials) IS NOT NULL ORDER BY id LIMIT $2`,
    [afterId, most],
  );
  let resealed = 0;
  const unreadable: number[] = [];
  for (const row of rows) {
    const outcome = await resealHook(pool, seal, row);
    if (outcome === 'resealed') resealed += 1;
    if (outcome === 'unreadable') unreadable.push(row.id);
  }
  return { resealed, unreadable, lastId: rows.length === most ? rows.at(-1)!.id : undefined };
}

/** A hook changed meanwhile is read again: not all of it need have been written under the present key. */
async function resealHook(pool: Pool, seal: Seal, row: SealedRow): Promise<'resealed' | 'unreadable' | 'unchanged'> {
  for (let read: SealedRow | undefined = row; read; ) {
    const changed = resealRow(read, seal);
    if (!changed) return 'unreadable';
    if (changed.length === 0) return 'unchanged';
    const set = changed.map(({ column }, index) => `${column} = $${2 * index + 2}`);
    const unchanged = changed.map(({ column }, index) => `${column} = $${2 * index + 3}`);
    const { rowCount } = await pool.query(
      `UPDATE hooks SET ${set.join(', ')} WHERE id = $1 AND ${unchanged.join(' AND ')}`,
      [row.id, ...changed.flatMap(({ bytes, before }) => [bytes, before])],
    );
    if (rowCount === 1) return 'resealed';
    read = (await pool.query<SealedRow>(`${sealedOf} WHERE id = $1`, [row.id])).rows[0];
  }
  return 'unchanged'; // deleted
}

/** The changes to the row; undefined when neither key opens it. */
function resealRow(
  row: SealedRow,
  seal: Seal,
): { column: keyof SealedRow; before: Buffer; bytes: Buffer }[] | undefined {
  try {
    return sealedColumns.flatMap(([column, purpose]) => {
      const before = row[column];
      const bytes = before && seal.reseal(before, purpose);
      return bytes ? [{ column, before, bytes }] : [];
    });
  } catch {
    return undefined;
  }
}
