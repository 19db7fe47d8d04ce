/**
 * `user-blocks`: people locked out by wrong passwords and codes, and the networks concerned (accounts/lockout.ts). Does not affect
 * accounts that are `blocked`.
 */
import { z } from 'zod';
import { parseIdentifier } from '../accounts/identifier.ts';
import { withIdentities } from '../accounts/present-user.ts';
import { subjectOf } from '../accounts/subject.ts';
import type { AccountModel } from '../generated/models.ts';
import { gone, ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { badQuery } from './problem.ts';
import { loadUser } from './users.ts';

const consider_brute_force_enablement = z.enum(['true', 'false']).optional();
const byIdentifier = z.strictObject({ identifier: z.string().min(1).max(320) });

export const listBlocks = operation({
  query: z.strictObject({ consider_brute_force_enablement }),
  run: async ({ parts, params }) => ok(await blocksOf(parts, await targetsOfUser(parts, params.id))),
});

export const unblock = operation({
  async run({ parts, params }) {
    for (const { key } of await targetsOfUser(parts, params.id)) await parts.attemptLimits.open(key);
    return gone;
  },
});

export const listBlocksByIdentifier = operation({
  query: byIdentifier.extend({ consider_brute_force_enablement }),
  run: async ({ parts, query }) => ok(await blocksOf(parts, await targetsOf(parts, query.identifier))),
});

export const unblockByIdentifier = operation({
  query: byIdentifier,
  async run({ parts, query }) {
    for (const { key } of await targetsOf(parts, query.identifier)) await parts.attemptLimits.open(key);
    return gone;
  },
});

/** What the lockout counts under one key. */
type Target = { key: string; identifier: string; connection: string };

/** One per identity of the user. */
async function targetsOfUser(parts: Parts, id: string | undefined): Promise<Target[]> {
  const [person] = await withIdentities(parts, [await loadUser(parts, id)]);
  return [person!.account, ...person!.linked].map(targetOf);
}

function targetOf(account: AccountModel): Target {
  const identifier = account.email ?? account.username ?? account.phoneNumber ?? account.userId;
  return { key: subjectOf(account.connection, identifier, account).key, identifier, connection: account.connection };
}

/** The accounts with that address, name or number; in connections without one, the unknown login, whose failures count too. */
async function targetsOf({ accounts, connections }: Parts, typed: string): Promise<Target[]> {
  const identifier = parseIdentifier(typed)?.value;
  if (identifier === undefined) throw badQuery('identifier must be an email address, a username or a phone number');
  const names = (await connections.list()).map(({ name }) => name);
  return Promise.all(
    names.map(async (connection) => {
      const account = await accounts.findByLogin(connection, identifier);
      return { key: subjectOf(connection, identifier, account).key, identifier, connection };
    }),
  );
}

async function blocksOf({ attemptLimits }: Parts, targets: Target[]): Promise<object> {
  const blocked = await Promise.all(
    targets.map(async ({ key, identifier, connection }) =>
      (await attemptLimits.closedFor(key)).map((ip) => ({ identifier, ...(ip !== undefined && { ip }), connection })),
    ),
  );
  return { blocked_for: blocked.flat() };
}
