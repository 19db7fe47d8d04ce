/**
 * `users/{id}/identities`: further ways to log in to an account. Linking makes one account an identity of another, only at an
 * administrator’s request and never because both have the same email address; unlinking makes it an account of its own again.
 */
import { z } from 'zod';
import { type LinkProblem, link, unlink } from '../accounts/link.ts';
import { type identityOf, presentUsers } from '../accounts/present-user.ts';
import type { AccountModel } from '../generated/models.ts';
import { accountOfIdToken } from './linked-token.ts';
import { type Answer, created, ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { checkTargetNotAbove } from './permissions.ts';
import { badBody, conflict, ManagementProblem, missing } from './problem.ts';
import { loadUser } from './users.ts';

export const linkIdentity = operation({
  body: z
    .strictObject({
      provider: z.string().max(256),
      user_id: z.union([z.string().max(300), z.int()]).transform(String),
      connection_id: z.string().max(256),
      link_with: z.string().max(10_000),
    })
    .partial(),
  async run({ parts, params, body, scopes: held }) {
    const primary = await loadUser(parts, params.id);
    await checkTargetNotAbove(parts, primary, held);
    const secondary = await secondaryOf(parts, body);
    // Somebody who signs in as the one is the other from then on.
    await checkTargetNotAbove(parts, secondary, held);
    if (secondary.userId === primary.userId) throw badBody('an account cannot be linked to itself');
    const problem = await link(parts.pool, { primary: primary.userId, secondary: secondary.userId });
    if (problem) throw linkProblems[problem]();
    return created(await identitiesOf(parts, primary.userId));
  },
});

/** It is unknown which of the account's sessions were begun with the removed identity, so all of them end. */
export const unlinkIdentity = operation({
  async run({ parts, params, scopes: held }): Promise<Answer> {
    const { provider = '', user_id = '' } = params;
    const primary = await loadUser(parts, params.id);
    await checkTargetNotAbove(parts, primary, held);
    const { identities } = await presented(parts, primary);
    if (isNamed(identities[0], provider, user_id))
      throw new ManagementProblem(400, 'operation_not_supported', 'Main identity cannot be unlinked');
    const isLeaving = (row: { user_id: string; strategy: string }) =>
      row.strategy === provider && withoutPrefix(row.user_id) === user_id;
    if (!(await unlink(parts.pool, primary.userId, isLeaving)))
      throw missing('identity', 'The user has no such identity.');
    return ok(await identitiesOf(parts, primary.userId));
  },
});

type Named = { provider?: string; user_id?: string; connection_id?: string; link_with?: string };

/** Found by an ID token, or by name. */
async function secondaryOf(
  parts: Parts,
  { provider, user_id, connection_id, link_with }: Named,
): Promise<AccountModel> {
  if (link_with !== undefined) {
    if (provider !== undefined || user_id !== undefined)
      throw badBody('link_with cannot be specified together with provider or user_id');
    const account = await accountOfIdToken(parts, link_with);
    if (account.linkedTo !== null) throw alreadyLinked();
    return account;
  }
  if (provider === undefined || user_id === undefined)
    throw badBody(`Missing required property: ${provider === undefined ? 'provider' : 'user_id'}`);
  return findIdentity(parts, { provider, user_id, connection_id });
}

/** Found by user_id, with or without its prefix. */
async function findIdentity(
  { db, connections }: Parts,
  { provider, user_id, connection_id }: { provider: string; user_id: string; connection_id: string | undefined },
): Promise<AccountModel> {
  const all = (await connections.list()).filter(
    ({ id, strategy }) => strategy === provider && (connection_id === undefined || id === connection_id),
  );
  const prefixes = new Set([provider, ...all.map(({ name }) => name)]);
  const userIds = [user_id, ...[...prefixes].map((prefix) => `${prefix}|${user_id}`)];
  const found = await db.account.findMany({
    where: { userId: { in: userIds }, connection: { in: all.map(({ name }) => name) } },
  });
  const account = found.find(({ userId }) => userId === user_id) ?? found[0];
  if (!account) throw missing('user', 'The user to link does not exist.');
  if (account.linkedTo !== null) throw alreadyLinked();
  return account;
}

const alreadyLinked = () => conflict('identity_conflict', 'The specified identity is linked to a user already.');

const linkProblems: Record<LinkProblem, () => ManagementProblem> = {
  no_account: () => missing('user', 'The user does not exist.'),
  already_linked: alreadyLinked,
  blocked: () => badBody('a blocked user cannot be linked'),
  has_linked: () => conflict('identity_conflict', 'The user has identities of their own: unlink them first.'),
};

type Identity = ReturnType<typeof identityOf>;

async function presented(parts: Parts, account: AccountModel): Promise<{ identities: Identity[] }> {
  const [user] = await presentUsers(parts, [account]);
  return user as { identities: Identity[] };
}

async function identitiesOf(parts: Parts, userId: string): Promise<Identity[]> {
  return (await presented(parts, await loadUser(parts, userId))).identities;
}

function isNamed(identity: Identity | undefined, provider: string, userId: string): boolean {
  return identity?.provider === provider && identity.user_id === userId;
}

function withoutPrefix(userId: string): string {
  return userId.slice(userId.indexOf('|') + 1);
}
