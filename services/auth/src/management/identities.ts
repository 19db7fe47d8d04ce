/**
 * `users/{id}/identities`: further ways to log in to an account. Linking makes one account an identity of another, only at an
 * administrator’s request and never because both have the same email address; unlinking makes it an account of its own again.
 */
import { z } from '@gatepost/runtime/env';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import { sessionsEnd, sessionsEnded } from '../accounts/end-access.ts';
import type { AccountModel } from '../generated/models.ts';
import { accountOfIdToken } from './linked-token.ts';
import { type Answer, created, ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { checkTargetNotAbove } from './permissions.ts';
import { type identityOf, presentUsers } from './present-user.ts';
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
    await link(parts, primary.userId, secondary.userId);
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
    await unlink(parts, primary.userId, (row) => row.strategy === provider && withoutPrefix(row.user_id) === user_id);
    return ok(await identitiesOf(parts, primary.userId));
  },
});

/** In one transaction; then all sessions of both end. @throws ManagementProblem 404 when no linked identity matches */
export async function unlink(
  { pool }: Pick<Parts, 'pool'>,
  primary: string,
  isLeaving: (identity: { user_id: string; strategy: string }) => boolean,
): Promise<void> {
  const mark = sessionsEnd();
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ user_id: string; strategy: string }>(
      `SELECT user_id, strategy FROM accounts JOIN connections ON connections.name = connection
       WHERE linked_to = $1 ORDER BY user_id FOR UPDATE OF accounts`,
      [primary],
    );
    const leaving = rows.find(isLeaving);
    if (!leaving) throw missing('identity', 'The user has no such identity.');
    const both = [primary, leaving.user_id];
    await client.query('UPDATE accounts SET linked_to = NULL WHERE user_id = $1', [leaving.user_id]);
    await client.query('UPDATE accounts SET sessions_not_before = $2, updated_at = now() WHERE user_id = ANY ($1)', [
      both,
      mark,
    ]);
    await client.query('DELETE FROM artefacts WHERE account_id = ANY ($1)', [both]);
  });
  await sessionsEnded(mark);
}

type LockedPrimary = { blocked: boolean; sessionsNotBefore: Date | null; incarnation: string };

/**
 * In one transaction, so that neither account can be linked elsewhere meanwhile. Sessions of the linked account end.
 * @param checks further ones in the transaction, which throw to prevent the link: `before` it locks the accounts, and of the `primary` one
 */
export async function link(
  { pool }: Pick<Parts, 'pool'>,
  primary: string,
  secondary: string,
  checks?: { before(client: PoolClient): Promise<void>; primary(account: LockedPrimary): void },
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await checks?.before(client);
    const { rows } = await client.query<LockedPrimary & { user_id: string; linked_to: string | null }>(
      `SELECT user_id, linked_to, blocked, sessions_not_before AS "sessionsNotBefore", incarnation
         FROM accounts WHERE user_id = ANY ($1) ORDER BY user_id FOR UPDATE`,
      [[primary, secondary]],
    );
    const [first, second] = [primary, secondary].map((id) => rows.find((row) => row.user_id === id));
    if (!first || first.linked_to !== null || !second) throw missing('user', 'The user does not exist.');
    checks?.primary(first);
    if (second.linked_to !== null) throw alreadyLinked();
    if (second.blocked) throw badBody('a blocked user cannot be linked');
    const { rowCount } = await client.query('SELECT FROM accounts WHERE linked_to = $1 LIMIT 1', [secondary]);
    if (rowCount) throw conflict('identity_conflict', 'The user has identities of their own: unlink them first.');
    await client.query(
      'UPDATE accounts SET linked_to = $2, sessions_not_before = $3, updated_at = now() WHERE user_id = $1',
      [secondary, primary, sessionsEnd()],
    );
    await client.query('UPDATE accounts SET updated_at = now() WHERE user_id = $1', [primary]);
    await client.query('DELETE FROM consents WHERE user_id = $1', [secondary]);
    await client.query('DELETE FROM artefacts WHERE account_id = $1', [secondary]);
  });
}

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
