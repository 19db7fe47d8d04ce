/** Repositories in PostgreSQL: rows in, rows out. Names are unique regardless of case, by an index that Prisma cannot name. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import pg from 'pg';
import type { Repository } from '../access/place.ts';
import { type ErrorItem, notFound } from '../http/errors.ts';
import type { RepositorySettings, Visibility } from './repository-settings.ts';

type Row = {
  id: number;
  name: string;
  created_at: Date;
  updated_at: Date;
  visibility: Visibility;
  settings: RepositorySettings;
};

/** null: unchanged, or the default. */
export type RepositoryValues = { name: string | null; visibility: Visibility | null; settings: RepositorySettings };

const columns = 'id, name, created_at, updated_at, visibility, settings';

/** The answer when another repository of the account has the name. */
export const nameTaken: ErrorItem = {
  resource: 'Repository',
  code: 'custom',
  field: 'name',
  message: 'name already exists on this account',
};

export async function listRows(
  db: Queryable,
  accountId: number,
  page: { limit: number; offset: number },
): Promise<{ repositories: Repository[]; total: number }> {
  const [{ rows }, total] = await Promise.all([
    db.query<Row>({
      name: 'repositories',
      text: `SELECT ${columns} FROM repositories WHERE account_id = $1 ORDER BY id LIMIT $2 OFFSET $3`,
      values: [accountId, page.limit, page.offset],
    }),
    countRows(db, accountId),
  ]);
  return { repositories: rows.map(readRow), total };
}

export async function countRows(db: Queryable, accountId: number): Promise<number> {
  const { rows } = await db.query<{ total: number }>({
    name: 'count of repositories',
    text: 'SELECT count(*)::integer AS total FROM repositories WHERE account_id = $1',
    values: [accountId],
  });
  return rows[0]!.total;
}

/** @returns undefined when the name is taken. */
export async function insertRow(
  db: Queryable,
  accountId: number,
  values: RepositoryValues,
): Promise<Repository | undefined> {
  const { rows } = await db.query<Row>(
    `INSERT INTO repositories (account_id, name, visibility, settings) VALUES ($1, $2, coalesce($3, 'private'), $4)
     ON CONFLICT (account_id, lower(name)) DO NOTHING RETURNING ${columns}`,
    [accountId, values.name, values.visibility, JSON.stringify(values.settings)],
  );
  return rows[0] && readRow(rows[0]);
}

/** Changes the values given. @returns undefined when the name is taken. @throws ApiError 404 when it is gone. */
export async function updateRow(db: Queryable, id: number, values: RepositoryValues): Promise<Repository | undefined> {
  try {
    const { rows } = await db.query<Row>(
      `UPDATE repositories SET name = coalesce($2, name), visibility = coalesce($3, visibility), settings = settings || $4,
                               updated_at = now() WHERE id = $1 RETURNING ${columns}`,
      [id, values.name, values.visibility, JSON.stringify(values.settings)],
    );
    if (!rows[0]) throw notFound();
    return readRow(rows[0]);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === uniqueViolation) return undefined;
    throw error;
  }
}

const uniqueViolation = '23505';

/** Its hooks are deleted with it, by a foreign key; its deliveries stay in the log until that is dropped. */
export async function deleteRow(db: Queryable, id: number): Promise<void> {
  await db.query('DELETE FROM repositories WHERE id = $1', [id]);
}

const readRow = ({ created_at: createdAt, updated_at: updatedAt, ...row }: Row): Repository => ({
  ...row,
  createdAt,
  updatedAt,
});
