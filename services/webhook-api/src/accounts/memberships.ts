/**
 * `/orgs/{org}/memberships/{subject}`, and `/user/memberships/orgs/{org}` for the caller: the members of an organization and their roles. An
 * organization keeps at least one admin. Admins are appointed and removed through first-party clients only: an admin appointed by an
 * application could approve that application.
 */

import { inTransaction } from '@gatepost/runtime/transaction';
import type { Queryable } from '@gatepost/webhook-db/pool';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { checkFirstParty } from '../access/first-party.ts';
import type { Place, Role } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { notFound, validationFailed } from '../http/errors.ts';
import { type Answer, placeOperation } from '../http/operation.ts';
import { presentSimpleOrganization, simpleOrganizationSchema } from '../objects/organization.ts';
import { presentUser, userOfSubject, userSchema } from '../objects/user.ts';
import { identifierIn } from './name.ts';

const role = z.enum(['admin', 'member']);

export const membershipSchema = z
  .object({
    url: z.url(),
    state: z.literal('active'),
    role,
    organization_url: z.url(),
    organization: simpleOrganizationSchema,
    user: userSchema,
  })
  .meta({ id: 'Membership' });

const docs = (anchor: string) => `https://docs.github.com/rest/orgs/members#${anchor}`;

export const getMembership = placeOperation({
  id: 'get-membership-for-user',
  summary: "Get a subject's membership",
  docs: docs('get-organization-membership-for-a-user'),
  answers: { 200: { description: 'The membership', schema: membershipSchema } },
  async run({ parts: { pool }, place, params, base }) {
    return showMembership(pool, place, identifierIn(params, 'subject'), base);
  },
});

export const getOwnMembership = placeOperation({
  id: 'get-membership-for-authenticated-user',
  summary: "Get the caller's membership",
  docs: docs('get-an-organization-membership-for-the-authenticated-user'),
  answers: { 200: { description: 'The membership', schema: membershipSchema } },
  run: ({ parts: { reads }, place, token, base }) => showMembership(reads, place, token.subject, base),
});

/** @throws ApiError 404 for somebody who is not a member: also for a site's administrator, who enters without being one. */
async function showMembership(db: Queryable, place: Place, subject: string, base: string): Promise<Answer> {
  const role = await findRole(db, place.account.id, subject);
  if (!role) throw notFound();
  return { status: 200, body: presentMembership(place.account, subject, role, base) };
}

/** undefined: not a member. */
export async function findRole(db: Queryable, accountId: number, subject: string): Promise<Role | undefined> {
  const { rows } = await db.query<{ role: Role }>({
    name: 'role of a member',
    text: 'SELECT role FROM memberships WHERE account_id = $1 AND subject = $2',
    values: [accountId, subject],
  });
  return rows[0]?.role;
}

export const setMembership = placeOperation({
  id: 'set-membership-for-user',
  summary: 'Make a subject a member or an admin',
  docs: docs('set-organization-membership-for-a-user'),
  body: z.object({ role: role.optional().meta({ description: 'Default `member`' }) }),
  answers: { 200: { description: 'The membership', schema: membershipSchema } },
  async run({ parts: { pool }, place, token, params, body, base }) {
    const subject = identifierIn(params, 'subject');
    const wanted = body.role ?? 'member';
    if (wanted === 'admin') checkFirstParty(token);
    await inTransaction(pool, async (client) => {
      const admins = await holdMembers(client, place, token);
      if (wanted !== 'admin') checkMayUnmake(admins, token, subject);
      await client.query(
        `INSERT INTO memberships (account_id, subject, role) VALUES ($1, $2, $3)
         ON CONFLICT (account_id, subject) DO UPDATE SET role = excluded.role`,
        [place.account.id, subject, wanted],
      );
    });
    return { status: 200, body: presentMembership(place.account, subject, wanted, base) };
  },
});

export const removeMembership = placeOperation({
  id: 'remove-membership-for-user',
  summary: "End a subject's membership",
  docs: docs('remove-organization-membership-for-a-user'),
  answers: { 204: { description: 'Ended' }, 422: { description: 'It is the last admin' } },
  async run({ parts: { pool }, place, token, params }) {
    const subject = identifierIn(params, 'subject');
    await inTransaction(pool, async (client) => {
      checkMayUnmake(await holdMembers(client, place, token), token, subject);
      const { rowCount } = await client.query('DELETE FROM memberships WHERE account_id = $1 AND subject = $2', [
        place.account.id,
        subject,
      ]);
      if (rowCount === 0) throw notFound();
    });
    return { status: 204 };
  },
});

/**
 * Memberships change one at a time: two admins cannot remove each other at once, and nothing changes between check and write.
 * @returns the admins. @throws ApiError 404 when the organization is gone, or the caller is no longer one of them.
 */
async function holdMembers(client: PoolClient, place: Place, token: Token): Promise<string[]> {
  const { rowCount } = await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [place.account.id]);
  if (rowCount === 0) throw notFound();
  // Not in the same statement: that would see the members as they were before it waited.
  const { rows } = await client.query<{ subject: string }>(
    "SELECT subject FROM memberships WHERE account_id = $1 AND role = 'admin'",
    [place.account.id],
  );
  const admins = rows.map(({ subject }) => subject);
  if (!token.siteAdmin && !admins.includes(token.subject)) throw notFound();
  return admins;
}

/** @throws ApiError 403 when the subject is an admin and the caller an application, 422 when there is no other admin. */
function checkMayUnmake(admins: string[], token: Token, subject: string): void {
  if (admins.includes(subject)) checkFirstParty(token);
  if (!admins.some((admin) => admin !== subject))
    throw validationFailed({
      resource: 'Membership',
      code: 'unprocessable',
      field: 'role',
      message: 'An organization must have at least one admin',
    });
}

export function presentMembership(
  account: Place['account'],
  subject: string,
  role: Role,
  base: string,
): z.infer<typeof membershipSchema> {
  const organization = presentSimpleOrganization(account, base);
  return {
    url: `${organization.url}/memberships/${encodeURIComponent(subject)}`,
    state: 'active',
    role,
    organization_url: organization.url,
    organization,
    user: presentUser(userOfSubject(subject), base),
  };
}
