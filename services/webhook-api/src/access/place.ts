/** Where a request takes place: an account, or a repository in it, as far as the caller may see it. */

import type { Queryable } from '@gatepost/webhook-db/pool';
import { isRestricted } from '@gatepost/webhook-db/restricted-apps';
import type { RepositorySettings, Visibility } from '../accounts/repository-settings.ts';
import { ApiError, notFound } from '../http/errors.ts';
import type { Token } from './token.ts';

export type Role = 'admin' | 'member';

export type Repository = {
  id: number;
  name: string;
  createdAt: Date;
  updatedAt: Date;
  visibility: Visibility;
  settings: RepositorySettings;
};

export type Place = {
  account: { id: number; login: string; createdAt: Date };
  /** null: the organization itself. */
  repository: Repository | null;
  /** The caller's role in the account. */
  role: Role;
};

/**
 * The place that a request names, and the role that its caller must have there (an admin is also a member). `publicOnly`: the token
 * gives access to public repositories only.
 */
export type Wanted = { login: string; repository: string | undefined; role: Role; publicOnly: boolean };

/** The parts of a place that appear in URLs. */
export type PlaceNames = { account: { login: string }; repository: { name: string } | null };

const namePattern = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * Finds the place and checks that the caller may enter.
 * @throws ApiError 404 when the place does not exist or the caller may not know of it (docs/reference/webhooks-api.md#scopes-and-roles),
 * 403 when the organization restricts the caller's application.
 */
export async function loadPlace(pool: Queryable, token: Token, wanted: Wanted): Promise<Place> {
  const { rows } = await pool.query<PlaceRow>({
    name: 'place',
    text: placeSql,
    values: placeValues(token, wanted),
  });
  return readPlace(rows[0], wanted);
}

/** The parameters $1 to $4 of `placeSql`. @throws ApiError 404 for anything that cannot be a name. */
export function placeValues(token: Token, { login, repository }: Wanted): unknown[] {
  if (!namePattern.test(login) || (repository !== undefined && !namePattern.test(repository))) throw notFound();
  return [login, repository ?? null, token.siteAdmin ? null : token.subject, token.app];
}

/** The place that `placeSql` found. @throws ApiError like `loadPlace`. */
function readPlace(row: PlaceRow | undefined, wanted: Wanted): Place {
  checkEntry(row, wanted);
  return {
    account: { id: row.account_id, login: row.login, createdAt: row.account_created_at },
    repository: wanted.repository === undefined ? null : readRepository(row),
    role: row.role,
  };
}

/** Only valid after `checkEntry`, which has seen that there is one. */
const readRepository = (row: PlaceRow): Repository => ({
  id: row.repository_id!,
  name: row.repository_name!,
  createdAt: row.repository_created_at!,
  updatedAt: row.repository_updated_at!,
  visibility: row.visibility!,
  settings: row.repository_settings!,
});

/** Checks that the place found by `placeSql` may be entered. @throws ApiError like `loadPlace`. */
export function checkEntry<R extends EntryRow>(row: R | undefined, wanted: Wanted): asserts row is R {
  if (!row || (wanted.repository !== undefined && row.repository_id === null)) throw notFound();
  if (wanted.role === 'admin' && row.role !== 'admin') throw notFound();
  if (wanted.publicOnly && row.visibility !== 'public') throw notFound();
  if (row.app_restricted) throw restricted(row.login);
}

/** The columns that decide who may enter. */
export type EntryRow = {
  login: string;
  role: Role;
  app_restricted: boolean;
  repository_id: unknown;
  visibility: Visibility | null;
};

export type PlaceRow = EntryRow & {
  account_id: number;
  account_created_at: Date;
  oauth_app_restrictions: boolean;
  repository_id: number | null;
  repository_name: string | null;
  repository_created_at: Date | null;
  repository_updated_at: Date | null;
  repository_settings: RepositorySettings | null;
};

/**
 * One row with the place if the caller is a member there, otherwise none. Without a caller ($3) it is the site's administrator, who is every
 * account's admin. Statements that read something in a place include it in a `WITH`, so that one round trip does both. Names are
 * case-insensitive.
 */
export const placeSql = `
  SELECT a.id AS account_id, a.login, a.created_at AS account_created_at, a.oauth_app_restrictions,
         coalesce(m.role, 'admin') AS role,
         r.id AS repository_id, r.name AS repository_name, r.created_at AS repository_created_at,
         r.updated_at AS repository_updated_at, r.visibility, r.settings AS repository_settings,
         ${isRestricted('a.oauth_app_restrictions', 'a.id', '$4::text')} AS app_restricted
    FROM accounts a
    LEFT JOIN memberships m ON m.account_id = a.id AND m.subject = $3
    LEFT JOIN repositories r ON r.account_id = a.id AND lower(r.name) = lower($2::text)
   WHERE lower(a.login) = lower($1) AND (m.subject IS NOT NULL OR $3::text IS NULL)`;

const restricted = (login: string) =>
  new ApiError(
    403,
    `Although you appear to have the correct authorization credentials, the \`${login}\` organization has enabled OAuth App access restrictions, meaning that data access to third-parties is limited. For more information on these restrictions, including how to enable this app, visit https://docs.github.com/articles/restricting-access-to-your-organization-s-data/`,
  );
