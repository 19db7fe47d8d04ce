/** Where a request happens: an account, or a repository in it, as the caller may see it. */
import type { Pool } from '@gatepost/webhook-db/pool';
import { ApiError, notFound } from '../http/errors.ts';
import type { Token } from './token.ts';

export type Role = 'admin' | 'member';

export type Place = {
  account: { id: number; login: string; createdAt: Date };
  /** null: the organization itself. */
  repository: { id: number; name: string; createdAt: Date } | null;
  /** The caller's role in the account. */
  role: Role;
};

const namePattern = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * Finds the place and checks that the caller is of `role` there (an admin is a member too).
 * @throws ApiError 404 when there is no such place or the caller may not know of it (GH section A.10), 403 when the
 * organization restricts the caller's application (GH section C.4).
 */
export async function loadPlace(
  pool: Pool,
  token: Token,
  role: Role,
  owner: string,
  repository: string | undefined,
): Promise<Place> {
  if (!namePattern.test(owner) || (repository !== undefined && !namePattern.test(repository))) throw notFound();
  const { rows } = await pool.query<Row>({
    name: 'place',
    text: placeSql,
    values: [owner, repository ?? null, token.subject, token.app],
  });
  const row = rows[0];
  if (!row || (repository !== undefined && row.repository_id === null)) throw notFound();
  if (role === 'admin' && row.role !== 'admin') throw notFound();
  if (row.restricted) throw restricted(row.login);
  return {
    account: { id: row.id, login: row.login, createdAt: row.created_at },
    repository:
      repository === undefined
        ? null
        : { id: row.repository_id!, name: row.repository_name!, createdAt: row.repository_created_at! },
    role: row.role,
  };
}

type Row = {
  id: number;
  login: string;
  created_at: Date;
  role: Role;
  restricted: boolean;
  repository_id: number | null;
  repository_name: string | null;
  repository_created_at: Date | null;
};

// Names are case-insensitive (GH section 1). No membership, no row.
const placeSql = `
  SELECT a.id, a.login, a.created_at, m.role,
         r.id AS repository_id, r.name AS repository_name, r.created_at AS repository_created_at,
         a.oauth_app_restrictions AND $4::text IS NOT NULL AND NOT EXISTS (
           SELECT FROM oauth_app_approvals o WHERE o.account_id = a.id AND o.client_id = $4) AS restricted
    FROM accounts a
    JOIN memberships m ON m.account_id = a.id AND m.subject = $3
    LEFT JOIN repositories r ON r.account_id = a.id AND lower(r.name) = lower($2::text)
   WHERE lower(a.login) = lower($1)`;

const restricted = (login: string) =>
  new ApiError(
    403,
    `Although you appear to have the correct authorization credentials, the \`${login}\` organization has enabled OAuth App access restrictions, meaning that data access to third-parties is limited. For more information on these restrictions, including how to enable this app, visit https://docs.github.com/articles/restricting-access-to-your-organization-s-data/`,
  );
